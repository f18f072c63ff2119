/* SPDX-License-Identifier: MIT
 *
 * The origin of a data set that a program packed: a hash that its manifest stores where another
 * manifest stores its plan's hash. By the origin, a data set is recognised as a conversion of
 * another one. */
#ifndef FORMATS_ORIGIN_H
#define FORMATS_ORIGIN_H

#include <stdbool.h>

#include "formats/manifest_data.h"

/* Computes the origin: the hash of the options that determine the bytes, and of a text by which the
 * program identifies its samples. A conversion identifies them by the fingerprint of its source. */
void origin_hash(const struct sheaf_pack_options *options, const char *samples, char hash[33]);

/* Sets *is to whether the manifest shows a conversion of the data set with this fingerprint. */
int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err);

#endif
