/* SPDX-License-Identifier: MIT
 *
 * What a program's data set was made of, as the hash that its manifest has for a plan: so it can be
 * told later that one data set was made of another. */
#ifndef FORMATS_ORIGIN_H
#define FORMATS_ORIGIN_H

#include <stdbool.h>

#include "formats/manifest_data.h"

/* The hash of the options that determine bytes, and of what the program says its samples are made
 * of: of a conversion, the fingerprint of its source. */
void origin_hash(const struct sheaf_pack_options *options, const char *samples, char hash[33]);

/* Whether a manifest is that of a conversion of the data set that has this fingerprint, as far as
 * it shows. */
int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err);

#endif
