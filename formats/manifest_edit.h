/* SPDX-License-Identifier: MIT
 *
 * Reads and writes the member "edited" of dataset.json. This member records the state of the data
 * set before each edit, and the files that the edit replaced.
 *
 * An edit does not change existing files. It writes the changed shards, all indexes and all tables
 * of keys under new names. So a reader that has opened the data set before the edit finds its files
 * unchanged, unless they were purged. */
#ifndef FORMATS_MANIFEST_EDIT_H
#define FORMATS_MANIFEST_EDIT_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* Returns the list of the manifest's edits as JSON (the member "edited"), or NULL if memory is
 * exhausted. */
json_t *manifest_edit_tree(const struct manifest *m, json_error_t *error);
/* Reads the list of edits (the member "edited" of a manifest) into m->edits. Returns
 * SHEAF_ERR_CORRUPT if the list is invalid. */
int manifest_edit_read(const json_t *array, struct manifest *m, struct sheaf_error *err);
void manifest_edit_clear(struct manifest *m);

/* Returns the number of appends that were made before the last edit, or 0 if there was no edit. */
static inline size_t manifest_edit_growths(const struct manifest *m)
{
    return m->edit_count == 0 ? 0 : (size_t)m->edits[m->edit_count - 1].grown;
}

/* Returns whether the last change of the data set was an edit and not an append. */
static inline bool manifest_edit_is_last(const struct manifest *m)
{
    return m->edit_count != 0 && manifest_edit_growths(m) == m->growth_count;
}

/* Returns whether the data set had the fingerprint `fingerprint` before its last edit. Only the
 * first `digits` digits are compared, because some callers know only the beginning of a
 * fingerprint. */
bool manifest_edited_from(const struct manifest *m, const char *fingerprint, size_t digits);

/* The first packing made part 0 of the data set, and each append another part. Returns the number
 * of samples that a part had when its table of keys was first made. `samples` is the number of
 * samples that the part has now. */
uint64_t manifest_edit_keyed(const struct manifest *m, size_t part, uint64_t samples);
/* The first packing made part 0 of the data set, and each append another part. Each part has a
 * table of keys, which contains the fingerprint that the data set had when the table was written.
 * Returns this fingerprint for a part. The table was written by the packing or append that made the
 * part, or by a later edit. */
const char *manifest_edit_fingerprint(const struct manifest *m, size_t part);

/* Makes the name of an edited shard, such as "shard-000003.e2.tar.gz" after the second edit. If
 * shards are sorted by name (in byte order), the new name has the place of the old name. `stem` is
 * the length of the name without the suffixes of container and codec. Returns SHEAF_ERR_LIMIT if
 * the name is too long. */
int manifest_edit_name(const char *name, size_t stem, size_t edit, char *text, size_t size,
                       struct sheaf_error *err);

#endif
