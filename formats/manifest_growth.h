/* SPDX-License-Identifier: MIT
 *
 * Reads and writes the member "grown" of dataset.json. This member records the state of the data
 * set before each append.
 *
 * An append does not rewrite existing files. It adds shards, and an index and a table of keys for
 * them. So a reader that has opened the data set before the append finds its files unchanged. */
#ifndef FORMATS_MANIFEST_GROWTH_H
#define FORMATS_MANIFEST_GROWTH_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* Returns the list of the manifest's appends as JSON (the member "grown"). Returns NULL if memory
 * is exhausted, or if the options of an append are not valid JSON. */
json_t *manifest_growth_tree(const struct manifest *m, json_error_t *error);
/* Reads the list of appends (the member "grown" of a manifest) into m->growths. Returns
 * SHEAF_ERR_CORRUPT if the list is invalid. */
int manifest_growth_read(const json_t *array, struct manifest *m, struct sheaf_error *err);
void manifest_growth_clear(struct manifest *m);

/* Exchanges the options of the first packing and the options of append number `part` (1, 2, ...).
 * Afterwards the functions that read options of the manifest return the options of the append. */
void manifest_take_growth_options(struct manifest *m, size_t part);

/* Changes the manifest to its state before the last append. m->class_samples does not change,
 * because the manifest does not state the earlier counts. Returns false, without a change, if the
 * last change of the data set was not an append. */
bool manifest_undo_growth(struct manifest *m);

/* Returns the first shard of part number `part` of the data set. The first packing made part 0, and
 * each append another part. For the number after the last part, returns the number of shards. */
size_t manifest_part_first(const struct manifest *m, size_t part);

#define GROWN_NAME_BYTES 48
/* The first packing made part 0 of a data set, and each append another part. Makes the name of a
 * file that each part has, such as its index. `name` is the file's name in part 0: "dataset.index".
 * The file of part 1 is then "dataset-1.index". After the second edit, the files are
 * "dataset.e2.index" and "dataset-1.e2.index". */
void manifest_part_name(const char *name, size_t part, size_t edit, char text[GROWN_NAME_BYTES]);
/* Returns whether `text` is the file name that a part has, with any number of the part and of the
 * edit, if the first part has the file name `name` (see manifest_part_name). */
bool manifest_part_is(const char *text, const char *name);

/* Looks at the appends that were made after the last edit of the data set, or at all appends if the
 * data set was never edited. Returns whether the data set had the fingerprint `fingerprint` before
 * one of these appends. If so, sets *samples to the number of samples before this append. Only the
 * first `digits` digits are compared, because some callers know only the beginning of a
 * fingerprint. */
bool manifest_grew_from(const struct manifest *m, const char *fingerprint, size_t digits,
                        uint64_t *samples);

#endif
