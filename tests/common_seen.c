/* SPDX-License-Identifier: MIT
 *
 * Checks what a reader would see of a data set in the memory store; see common_seen.h. */
#include "tests/common_seen.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "formats/column_record.h"
#include "formats/key_table.h"
#include "formats/manifest.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "formats/view.h"
#include "sheaf.h"

#define SET "/set/"
#define VIEW_PATH "/set.view"
#define COLUMN "columns/cap/1/"         /* the only data set of the only column */

char seen_fault[2000], seen_now[SEEN_TEXT], seen_plans[2][33];

static struct sheaf_error error;

void seen_blame(const char *what, const char *name)
{
    if (seen_fault[0] == '\0')
        snprintf(seen_fault, sizeof(seen_fault), "%s: %s: %s", seen_now, name, what);
}

/* prefix of the names that are looked up: COLUMN while a column is checked, otherwise "" */
static const char *looked_at = "";

const struct model_object *seen_find(const char *name)
{
    char path[400];

    snprintf(path, sizeof(path), SET "%s%s", looked_at, name);
    return model_find(path);
}

static void check_shard(const struct manifest_shard *s)
{
    const struct model_object *o = seen_find(s->name);
    XXH128_canonical_t canonical;
    char text[33], side[300];

    if (o == NULL || o->size != s->bytes) {
        seen_blame("is missing, or of another size than the manifest says", s->name);
        return;
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(o->data, o->size));
    for (size_t i = 0; i < sizeof(canonical.digest); i++)
        snprintf(text + 2 * i, 3, "%02x", canonical.digest[i]);
    if (strcmp(text, s->xxh3) != 0)
        seen_blame("is another than the manifest says", s->name);
    if (s->names_bytes == 0)
        return;
    snprintf(side, sizeof(side), "%.*s.lst", (int)(strrchr(s->name, '.') - s->name), s->name);
    o = seen_find(side);
    if (o == NULL || o->size != s->names_bytes)
        seen_blame("is missing, or of another size than the manifest says", side);
}

/* Checks the files of one part, which has the shards from `begin` up to, but not including, `end`.
 * Its table of keys may be missing, but must not belong to another data set. */
static void check_part(const struct manifest *m, size_t part, size_t begin, size_t end)
{
    const char *fingerprint = manifest_edit_fingerprint(m, part);
    const struct model_object *index, *keys;
    uint64_t bytes = 0, samples = 0;
    struct key_table table;
    char name[GROWN_NAME_BYTES];

    for (size_t i = begin; i < end; i++) {
        bytes += m->shards[i].index_bytes;
        samples += m->shards[i].samples;
    }
    manifest_part_name(INDEX_NAME, part, m->edit_count, name);
    index = seen_find(name);
    if (index == NULL || index->size != bytes)
        seen_blame("is missing, or of another size than the manifest says", name);
    manifest_part_name(KEYS_NAME, part, m->edit_count, name);
    keys = seen_find(name);
    if (keys == NULL || key_table_make(&table, fingerprint, samples,
                                       manifest_edit_keyed(m, part, samples), &error) != SHEAF_OK)
        return;
    if (keys->size != table.bytes || key_table_check_header(&table, keys->data, &error) != SHEAF_OK)
        seen_blame("is that of another data set", name);
}

static void check_whole(const struct model_object *manifest)
{
    struct manifest m;
    size_t begin = 0;

    if (manifest_parse((const char *)manifest->data, manifest->size, &m, &error) != SHEAF_OK) {
        seen_blame(error.message, MANIFEST_NAME);
        return;
    }
    for (size_t i = 0; i < m.shard_count; i++)
        check_shard(&m.shards[i]);
    for (size_t part = 0; part <= m.growth_count; part++) {
        const size_t end = part < m.growth_count ? m.growths[part].shards : m.shard_count;

        check_part(&m, part, begin, end);
        begin = end;
    }
    manifest_clear(&m);
}

static bool has_shards(void)
{
    for (const struct model_object *o = model_objects(); o != NULL; o = o->next)
        if (strncmp(o->path, SET "shard-", strlen(SET "shard-")) == 0)
            return true;
    return false;
}

const struct model_object *seen_column(void)
{
    const struct model_object *manifest;
    char run[33];

    looked_at = COLUMN;
    manifest = seen_find(MANIFEST_NAME);
    looked_at = "";
    return manifest == NULL ||
           manifest_is_unfinished((const char *)manifest->data, manifest->size, run) ? NULL
                                                                                     : manifest;
}

/* Checks that a column with a manifest is complete. Without a manifest there is no column, whatever
 * other files exist. */
static void check_column(void)
{
    const struct model_object *manifest = seen_column();

    looked_at = COLUMN;
    if (manifest != NULL)
        check_whole(manifest);
    looked_at = "";
}

const struct model_object *seen_view(void)
{
    return model_find(VIEW_PATH);
}

int seen_view_tree(void)
{
    const struct model_object *o = seen_view();
    struct view view;
    int tree;

    if (o == NULL)
        return -1;
    if (view_parse((const char *)o->data, o->size, &view, &error) != SHEAF_OK) {
        seen_blame(error.message, "the view");
        return -1;
    }
    tree = view.sources[0].where.key_glob != NULL;
    view_free(&view);
    return tree;
}

/* Checks that a view is complete, and that no data set has its name. A reader that opens the name
 * would see only the view. */
static void check_view(void)
{
    const struct model_object *manifest = model_find(VIEW_PATH "/" MANIFEST_NAME);
    char run[33];

    if (seen_view_tree() >= 0 && manifest != NULL &&
        !manifest_is_unfinished((const char *)manifest->data, manifest->size, run))
        seen_blame("is the name of a view and of a data set", VIEW_PATH);
}

void seen_check(void)
{
    const struct model_object *manifest = seen_find(MANIFEST_NAME);
    char run[33];

    check_column();
    check_view();
    if (manifest == NULL) {
        if (has_shards() && seen_find(".sheaf-partial/plan") == NULL)
            seen_blame("shards without a manifest, and nobody is at work", "the place");
    } else if (!manifest_is_unfinished((const char *)manifest->data, manifest->size, run)) {
        check_whole(manifest);
    }
}

int seen_tree(void)
{
    const struct model_object *manifest = seen_find(MANIFEST_NAME);

    for (int i = 0; manifest != NULL && i < 2; i++)
        if (strstr((const char *)manifest->data, seen_plans[i]) != NULL)
            return i;
    return -1;
}

int seen_column_missing(void)
{
    const struct model_object *manifest = seen_column();
    struct column_facts facts = { .missing = 0 };
    struct manifest m;

    if (manifest == NULL ||
        manifest_parse((const char *)manifest->data, manifest->size, &m, &error) != SHEAF_OK)
        return -1;
    if (column_facts_read(&m, &facts, &error) != SHEAF_OK)
        seen_blame(error.message, "the column");
    manifest_clear(&m);
    return (int)facts.missing;
}

static int seen_changes(int *edits)
{
    const struct model_object *manifest = seen_find(MANIFEST_NAME);
    struct manifest m;
    int count;

    if (manifest == NULL ||
        manifest_parse((const char *)manifest->data, manifest->size, &m, &error) != SHEAF_OK)
        return -1;
    count = (int)m.growth_count;
    *edits = (int)m.edit_count;
    manifest_clear(&m);
    return count;
}

int seen_growths(void)
{
    int edits;

    return seen_changes(&edits);
}

int seen_edits(void)
{
    int edits = -1;

    (void)seen_changes(&edits);
    return edits;
}
