/* SPDX-License-Identifier: MIT
 *
 * Counts the samples of each class from the labels in the index. A sample belongs to a class if it
 * has the number of the class as its label. This also holds if the sample got its label before the
 * class existed. */
#ifndef PUBLISH_CLASS_COUNTS_H
#define PUBLISH_CLASS_COUNTS_H

#include "formats/manifest.h"

/* Adds the samples of one shard to `counts`, which has an entry for each of `count` classes. The
 * first class has the label `label_base`. `section` is the shard's section of the index. Returns
 * SHEAF_END if the section has no labels. */
int class_counts_add(const uint8_t *section, size_t size, uint64_t samples, int label_base,
                     uint64_t *counts, size_t count, struct sheaf_error *err);
/* Adds to `counts` the samples of one part of the data set in `directory`, whose manifest is `m`.
 * Part 0 is from the first packing, part 1 from the first append, and so on. Returns SHEAF_END if a
 * shard has no labels in the index. */
int class_counts_add_part(const struct manifest *m, const char *directory, size_t part,
                          uint64_t *counts, size_t count, struct sheaf_error *err);
/* Counts the samples of each class in the data set in `directory`, whose manifest is `m`. There are
 * `count` classes: first the classes of the manifest, and then new classes. Sets *counts to an
 * array, which the caller frees. Sets *counts to NULL if the numbers are unknown. Reads the index
 * only if existing samples may belong to new classes. */
int class_counts_all(const struct manifest *m, const char *directory, size_t count,
                     uint64_t **counts, struct sheaf_error *err);

#endif
