/* SPDX-License-Identifier: MIT
 *
 * "edited" in dataset.json: the state of the data set before each edit, and the files that the edit
 * replaced.
 *
 * An edit does not change existing files. It writes the shards that change, all indexes and all
 * tables of keys under new names. So a reader with an earlier manifest finds everything that this
 * manifest names unchanged, unless the files were purged. */
#ifndef FORMATS_MANIFEST_EDIT_H
#define FORMATS_MANIFEST_EDIT_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* Returns the member as JSON, or NULL if memory is exhausted. */
json_t *manifest_edit_tree(const struct manifest *m, json_error_t *error);
/* Reads the member into a manifest. Returns SHEAF_ERR_CORRUPT if it is invalid. */
int manifest_edit_read(const json_t *array, struct manifest *m, struct sheaf_error *err);
void manifest_edit_clear(struct manifest *m);

/* Returns the number of appends before the last edit, 0 if there was no edit. */
static inline size_t manifest_edit_growths(const struct manifest *m)
{
    return m->edit_count == 0 ? 0 : (size_t)m->edits[m->edit_count - 1].grown;
}

/* Returns whether the last change of the data set was an edit. */
static inline bool manifest_edit_is_last(const struct manifest *m)
{
    return m->edit_count != 0 && manifest_edit_growths(m) == m->growth_count;
}

/* Returns whether the data set had this fingerprint, or one with these first digits, before its
 * last edit. */
bool manifest_edited_from(const struct manifest *m, const char *fingerprint, size_t digits);

/* The facts of a part's table of keys: the number `keyed` (key_table.h), where the part has
 * `samples` samples now, and the fingerprint that the table contains: that of the data set when
 * this was the last part, or directly after an edit that came later. */
uint64_t manifest_edit_keyed(const struct manifest *m, size_t part, uint64_t samples);
const char *manifest_edit_fingerprint(const struct manifest *m, size_t part);

/* Makes the name that an edit gives to a shard: "shard-000003.e2.tar.gz" for the second edit. The
 * name sorts where the old one does. `stem` is the length of the name without the suffixes of
 * container and codec. Returns SHEAF_ERR_LIMIT if the name does not fit. */
int manifest_edit_name(const char *name, size_t stem, size_t edit, char *text, size_t size,
                       struct sheaf_error *err);

#endif
