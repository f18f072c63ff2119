/* SPDX-License-Identifier: MIT
 *
 * What a reader keeps of the records that its samples were made of, for a conversion into the same
 * container: the features of a tf.train.Example (formats/format.h). */
#ifndef READER_READER_FEATURES_H
#define READER_READER_FEATURES_H

#include "formats/format.h"

/* From now on they are kept. */
void reader_keep_features(struct sheaf_reader *reader);
/* Those of a sample of the last call, valid as long as it is; none where its container has none. */
struct kept_features reader_features(const struct sheaf_reader *reader,
                                     const struct sheaf_sample *sample);

#endif
