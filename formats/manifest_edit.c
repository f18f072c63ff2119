/* SPDX-License-Identifier: MIT
 *
 * Reads and writes "edited"; see manifest_edit.h. */
#include "formats/manifest_edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "formats/tally.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static json_t *tree_of_edit(const void *edits, size_t i, json_error_t *error)
{
    const struct manifest_edit *e = (const struct manifest_edit *)edits + i;
    json_t *names = json_make_array(e->shard_count, json_make_string, e->shards, error);
    json_t *keyed = names == NULL ? NULL
                  : json_make_array((size_t)e->grown + 1, json_make_number, e->keyed, error);

    if (keyed == NULL) {
        json_decref(names);
        return NULL;
    }
    return json_pack_ex(error, 0, "{s:s, s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:o}",
                        "fingerprint", e->fingerprint, "plan", e->plan,
                        "grown", (json_int_t)e->grown, "samples", (json_int_t)e->samples,
                        "keyed", keyed, "deleted", (json_int_t)e->deleted,
                        "relabelled", (json_int_t)e->relabelled,
                        "replaced", (json_int_t)e->replaced, "shards", names);
}

json_t *manifest_edit_tree(const struct manifest *m, json_error_t *error)
{
    return json_make_array(m->edit_count, tree_of_edit, m->edits, error);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_names(const json_t *names, struct manifest_edit *e, struct sheaf_error *err)
{
    const size_t count = json_array_size(names);

    e->shards = calloc(count + 1, sizeof(e->shards[0]));
    if (e->shards == NULL)
        return err_memory(err, count * sizeof(e->shards[0]));
    for (; e->shard_count < count; e->shard_count++) {
        const json_t *name = json_array_get(names, e->shard_count);

        if (!json_is_string(name))
            return err_set(err, SHEAF_ERR_CORRUPT, "shard %zu is not a string", e->shard_count);
        e->shards[e->shard_count] = strdup(json_string_value(name));
        if (e->shards[e->shard_count] == NULL)
            return err_memory(err, json_string_length(name));
    }
    return SHEAF_OK;
}

static int read_keyed(const json_t *keyed, struct manifest_edit *e, struct sheaf_error *err)
{
    const size_t count = json_array_size(keyed);

    if (count != e->grown + 1)
        return err_set(err, SHEAF_ERR_CORRUPT, "%zu numbers in \"keyed\", expected %llu", count,
                       (unsigned long long)e->grown + 1);
    e->keyed = calloc(count, sizeof(e->keyed[0]));
    return e->keyed == NULL ? err_memory(err, count * sizeof(e->keyed[0]))
                            : tally_numbers_of_tree(keyed, e->keyed, err);
}

static int read_edit(json_t *json, struct manifest_edit *e, struct sheaf_error *err)
{
    json_int_t grown, samples, deleted, relabelled, replaced;
    const char *fingerprint, *plan;
    json_t *keyed, *names;
    json_error_t error;
    int code;

    if (json_unpack_ex(json, &error, JSON_STRICT, "{s:s, s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:o}",
                       "fingerprint", &fingerprint, "plan", &plan, "grown", &grown, "samples",
                       &samples, "keyed", &keyed, "deleted", &deleted, "relabelled", &relabelled,
                       "replaced", &replaced, "shards", &names) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s", error.text);
    if (!hex_is(fingerprint, 32) || !hex_is(plan, 32) || grown < 0
        || samples < 0 || deleted < 0 || relabelled < 0 || replaced < 0 || !json_is_array(names)
        || !json_is_array(keyed))
        return err_set(err, SHEAF_ERR_CORRUPT, "not two hashes, counts and names");
    memcpy(e->fingerprint, fingerprint, sizeof(e->fingerprint));
    memcpy(e->plan, plan, sizeof(e->plan));
    e->grown = (uint64_t)grown;
    e->samples = (uint64_t)samples;
    e->deleted = (uint64_t)deleted;
    e->relabelled = (uint64_t)relabelled;
    e->replaced = (uint64_t)replaced;
    code = read_keyed(keyed, e, err);
    return code == SHEAF_OK ? read_names(names, e, err) : code;
}

int manifest_edit_read(const json_t *array, struct manifest *m, struct sheaf_error *err)
{
    const size_t count = json_array_size(array);
    int code = SHEAF_OK;

    if (count == 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "\"edited\" is not an array with entries");
    m->edits = calloc(count, sizeof(m->edits[0]));
    if (m->edits == NULL)
        return err_memory(err, count * sizeof(m->edits[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        m->edit_count = i + 1;
        code = read_edit(json_array_get(array, i), &m->edits[i], err);
        if (code != SHEAF_OK)
            err_prefix(err, "\"edited\", entry %zu: ", i);
    }
    return code;
}

void manifest_edit_clear(struct manifest *m)
{
    for (size_t i = 0; i < m->edit_count; i++) {
        for (size_t k = 0; k < m->edits[i].shard_count; k++)
            free(m->edits[i].shards[k]);
        free(m->edits[i].shards);
        free(m->edits[i].keyed);
    }
    free(m->edits);
    m->edits = NULL;
    m->edit_count = 0;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

bool manifest_edited_from(const struct manifest *m, const char *fingerprint, size_t digits)
{
    for (size_t i = 0; i < m->edit_count; i++)
        if (strncmp(m->edits[i].fingerprint, fingerprint, digits) == 0)
            return true;
    for (size_t i = 0; i < manifest_edit_growths(m); i++)
        if (strncmp(m->growths[i].fingerprint, fingerprint, digits) == 0)
            return true;
    return false;
}

uint64_t manifest_edit_keyed(const struct manifest *m, size_t part, uint64_t samples)
{
    return m->edit_count == 0 || part > manifest_edit_growths(m)
               ? samples : m->edits[m->edit_count - 1].keyed[part];
}

const char *manifest_edit_fingerprint(const struct manifest *m, size_t part)
{
    const size_t state = MAX(part, manifest_edit_growths(m));

    return state == m->growth_count ? m->fingerprint : m->growths[state].fingerprint;
}

/* Returns the length of a file name's stem without the mark of an earlier edit: 5 for "shard.e2",
 * whose mark is ".e2". `stem` is the length of the stem with the mark. */
static size_t unmarked(const char *name, size_t stem)
{
    size_t at = stem;

    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
        at--;
    return at < stem && at >= 3 && name[at - 1] == 'e' && name[at - 2] == '.' ? at - 2 : stem;
}

int manifest_edit_name(const char *name, size_t stem, size_t edit, char *text, size_t size,
                       struct sheaf_error *err)
{
    const int length = snprintf(text, size, "%.*s.e%zu%s", (int)unmarked(name, stem), name, edit,
                                name + stem);

    return length >= 0 && (size_t)length + 32 < size ? SHEAF_OK
         : err_set(err, SHEAF_ERR_LIMIT, "the name \"%.40s...\" is too long", name);
}
