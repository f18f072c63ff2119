/* SPDX-License-Identifier: MIT
 *
 * Counts the samples of each class from the labels in the index. The count of a class is the number
 * of samples with its label. A sample may have got this label before the label became a class. */
#ifndef PUBLISH_CLASS_COUNTS_H
#define PUBLISH_CLASS_COUNTS_H

#include "formats/manifest.h"

/* Adds the samples of one shard to `counts`, which has an entry for each of `count` classes. The
 * first class has the label `label_base`. `section` is the shard's section of the index. Returns
 * SHEAF_END if the section has no labels. */
int class_counts_add(const uint8_t *section, size_t size, uint64_t samples, int label_base,
                     uint64_t *counts, size_t count, struct sheaf_error *err);
/* Adds the samples of part number `part` of the data set in `directory`, whose manifest is `m`. The
 * first packing made part 0, and each append another part. Returns SHEAF_END if a shard has no
 * labels in the index. */
int class_counts_add_part(const struct manifest *m, const char *directory, size_t part,
                          uint64_t *counts, size_t count, struct sheaf_error *err);
/* Counts the samples of `count` classes in the data set in `directory`, whose manifest is `m`. The
 * first classes are those of the manifest. Sets *counts, which the caller frees, or sets it to NULL
 * if the numbers are unknown. Reads the index only if it may have samples of further classes. */
int class_counts_all(const struct manifest *m, const char *directory, size_t count,
                     uint64_t **counts, struct sheaf_error *err);

#endif
