/* SPDX-License-Identifier: MIT
 *
 * "grown" of dataset.json: what the data set was before each time that samples were appended.
 *
 * What was there is not written again: each time has an index and a table of keys of its own, for
 * its shards alone.  So those who have an earlier manifest find all that it names as it was. */
#ifndef FORMATS_MANIFEST_GROWTH_H
#define FORMATS_MANIFEST_GROWTH_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* As JSON; NULL: out of memory, or the options are no JSON. */
json_t *manifest_growth_tree(const struct manifest *m, json_error_t *error);
/* Reads them into a manifest.  SHEAF_ERR_CORRUPT. */
int manifest_growth_read(const json_t *array, struct manifest *m, struct sheaf_error *err);
void manifest_growth_clear(struct manifest *m);

/* Makes it the manifest of the data set before it grew last.  False: it never did. */
bool manifest_undo_growth(struct manifest *m);

/* "dataset.index" of the first part, "dataset-1.index" of what was appended first, ... `name` is
 * that of the first part's file. */
#define GROWN_NAME_BYTES 48
void manifest_part_name(const char *name, size_t part, char text[GROWN_NAME_BYTES]);

/* Whether the manifest is of a data set that had this fingerprint (or one that begins so) before it
 * grew; how many samples it had then. */
bool manifest_grew_from(const struct manifest *m, const char *fingerprint, size_t digits,
                        uint64_t *samples);

#endif
