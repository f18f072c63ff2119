/* SPDX-License-Identifier: MIT
 *
 * The member "grown" of dataset.json: the state of the data set before each append.
 *
 * An append does not rewrite existing files. It adds an index and a table of keys for its own
 * shards. So a reader that has opened the data set before the append finds its files unchanged. */
#ifndef FORMATS_MANIFEST_GROWTH_H
#define FORMATS_MANIFEST_GROWTH_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* Returns the member "grown" as JSON, or NULL if memory is exhausted or the options are not valid
 * JSON. */
json_t *manifest_growth_tree(const struct manifest *m, json_error_t *error);
/* Reads the member "grown" into a manifest. Returns SHEAF_ERR_CORRUPT if it is invalid. */
int manifest_growth_read(const json_t *array, struct manifest *m, struct sheaf_error *err);
void manifest_growth_clear(struct manifest *m);

/* Restores the manifest from before the last append. Returns false if the last change was not an
 * append. */
bool manifest_undo_growth(struct manifest *m);

/* Writes the name of a file that each part of a data set has. (The first packing made the first
 * part, and each append another part.) The name is "dataset.index" for the first part,
 * "dataset-1.index" for the first append, and so on; after the second edit, "dataset.e2.index" and
 * "dataset-1.e2.index". `name` is the name of the first part's file. */
#define GROWN_NAME_BYTES 48
void manifest_part_name(const char *name, size_t part, size_t edit, char text[GROWN_NAME_BYTES]);
/* Returns whether `text` is a name that manifest_part_name makes from `name`, for any part and any
 * edit. */
bool manifest_part_is(const char *text, const char *name);

/* Returns whether the data set had this fingerprint before an append, and sets *samples to the
 * number of samples that it had then. Only the appends after the last edit are considered. `digits`
 * is the number of digits to compare. */
bool manifest_grew_from(const struct manifest *m, const char *fingerprint, size_t digits,
                        uint64_t *samples);

#endif
