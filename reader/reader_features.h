/* SPDX-License-Identifier: MIT
 *
 * Keeps the features of the tf.train.Examples (formats/format.h) from which a reader makes samples.
 * A conversion into the same container needs them. */
#ifndef READER_READER_FEATURES_H
#define READER_READER_FEATURES_H

#include "formats/format.h"

/* Keeps the features of all samples from now on. */
void reader_keep_features(struct sheaf_reader *reader);
/* Returns the features of a sample of the last call. They are valid as long as the sample. They are
 * empty if its container has no features. */
struct kept_features reader_features(const struct sheaf_reader *reader,
                                     const struct sheaf_sample *sample);

#endif
