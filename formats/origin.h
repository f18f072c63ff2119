/* SPDX-License-Identifier: MIT
 *
 * The origin of a data set is a hash that shows whether the data set is a conversion of another one
 * (see ARCHITECTURE.md). Only conversions, and other data sets whose samples a program passed to
 * the packer through the C API, have an origin. Their manifests store the origin as the option
 * "plan". A data set that was packed from files has no origin. Its manifest stores the hash of the
 * packing plan as the option "plan". */
#ifndef FORMATS_ORIGIN_H
#define FORMATS_ORIGIN_H

#include <stdbool.h>

#include "formats/manifest_data.h"

/* Computes the origin: the hash that identifies a data set whose samples a program passed to the
 * packer. The hash covers two things: the options that determine the bytes, and `samples`, a text
 * by which the program identifies its samples. For a conversion, this text begins with the
 * fingerprint of the source data set. */
void origin_hash(const struct sheaf_pack_options *options, const char *samples, char hash[33]);

/* Sets *is to whether the manifest `m` describes a conversion of the data set with the fingerprint
 * `fingerprint`. */
int origin_is(const struct manifest *m, const char *fingerprint, bool *is,
              struct sheaf_error *err);

#endif
