/* SPDX-License-Identifier: MIT
 *
 * Keeps the features of each tf.train.Example from which a reader makes a sample (see
 * formats/format.h). A conversion to the same container writes these features again. */
#ifndef READER_READER_FEATURES_H
#define READER_READER_FEATURES_H

#include "formats/format.h"

/* Keeps the features of all samples from now on. */
void reader_keep_features(struct sheaf_reader *reader);
/* Returns the features of a sample that the last call of sheaf_reader_next has returned. They are
 * valid as long as the sample. The list is empty if the sample's container has no features. */
struct kept_features reader_features(const struct sheaf_reader *reader,
                                     const struct sheaf_sample *sample);

#endif
