/* SPDX-License-Identifier: MIT
 *
 * The origin of a data set that a program packed, as the hash that its manifest has in the place of
 * a plan's. It shows later that one data set was made of another. */
#ifndef FORMATS_ORIGIN_H
#define FORMATS_ORIGIN_H

#include <stdbool.h>

#include "formats/manifest_data.h"

/* Computes the hash of the options that determine bytes, and of the program's statement about its
 * samples. For a conversion this statement is the fingerprint of its source. */
void origin_hash(const struct sheaf_pack_options *options, const char *samples, char hash[33]);

/* Sets *is to whether the manifest shows a conversion of the data set with this fingerprint. */
int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err);

#endif
