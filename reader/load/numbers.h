/* SPDX-License-Identifier: MIT
 *
 * Reads samples by their numbers. */
#ifndef READER_NUMBERS_H
#define READER_NUMBERS_H

#include "sheaf.h"

/* Facts about the samples that were read. */
struct numbers_read {
    /* NULL, or an array of the caller, in which crcs[i] is set to the CRC-32C that the index states
     * for samples[i] */
    uint32_t *crcs;
    /* memory in bytes that is taken until the samples are freed */
    uint64_t memory_bytes;
};

/* Copies the options over the defaults. */
struct sheaf_read_options numbers_options(const struct sheaf_read_options *given);
/* Reads samples like sheaf_dataset_read, but without columns. Returns SHEAF_ERR_UNSUPPORTED if the
 * caller wants checksums and the index does not contain checksums. */
int numbers_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                 const struct sheaf_read_options *options, struct numbers_read *facts,
                 const struct sheaf_sample **samples, struct sheaf_kept **kept,
                 struct sheaf_error *err);

#endif
