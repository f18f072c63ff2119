/* SPDX-License-Identifier: MIT
 *
 * Reads samples by their numbers, with columns. */
#ifndef READER_NUMBER_COLUMNS_H
#define READER_NUMBER_COLUMNS_H

#include "sheaf.h"

#define LACKS_NONE UINT32_MAX

/* Reads samples like sheaf_dataset_read. But if `lacks` is not NULL, a sample without a value in a
 * column is not an error. lacks[i] is then set to the index of the first column without a value for
 * samples[i], or to LACKS_NONE. */
int number_columns_read(const struct sheaf_dataset *dataset, const uint64_t *numbers, size_t count,
                        const struct sheaf_read_options *options, uint32_t *lacks,
                        const struct sheaf_sample **samples, struct sheaf_kept **kept,
                        struct sheaf_error *err);
/* Returns the error for a sample without a value in a column. */
int number_columns_refuse(const struct sheaf_dataset *dataset, const struct sheaf_sample *sample,
                          const char *column, struct sheaf_error *err);

#endif
