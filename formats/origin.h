/* SPDX-License-Identifier: MIT
 *
 * The origin of a data set that a program packed (see ARCHITECTURE.md). It is a hash in the
 * manifest, at the place where other manifests store their plan's hash. The origin shows whether a
 * data set is a conversion of another one. */
#ifndef FORMATS_ORIGIN_H
#define FORMATS_ORIGIN_H

#include <stdbool.h>

#include "formats/manifest_data.h"

/* Computes the origin (the hash that identifies a data set packed by a program). The hash covers
 * the options that determine the bytes, and a text by which the program identifies its samples. For
 * a conversion, this text is the fingerprint of its source. */
void origin_hash(const struct sheaf_pack_options *options, const char *samples, char hash[33]);

/* Sets *is to whether the manifest `m` belongs to a conversion of the data set with this
 * fingerprint. */
int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err);

#endif
