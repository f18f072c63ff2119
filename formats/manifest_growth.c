/* SPDX-License-Identifier: MIT
 *
 * Reads and writes "grown"; see manifest_growth.h. */
#include "formats/manifest_growth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "formats/manifest_check.h"
#include "formats/manifest_edit.h"

static json_t *tree_of_growth(const void *growths, size_t i, json_error_t *error)
{
    const struct manifest_growth *g = (const struct manifest_growth *)growths + i;
    json_t *options;

    if (json_load_text(g->options_json, strlen(g->options_json), JSON_REJECT_DUPLICATES, &options,
                       error, NULL) == SHEAF_ERR_MEMORY)
        errno = ENOMEM;
    return options == NULL ? NULL
         : json_pack_ex(error, 0, "{s:s, s:I, s:I, s:o}", "fingerprint", g->fingerprint,
                        "shards", (json_int_t)g->shards, "classes", (json_int_t)g->classes,
                        "options", options);
}

json_t *manifest_growth_tree(const struct manifest *m, json_error_t *error)
{
    return json_make_array(m->growth_count, tree_of_growth, m->growths, error);
}

static int read_growth(json_t *json, struct manifest_growth *g, struct sheaf_error *err)
{
    json_int_t shards, classes;
    json_error_t error;
    const char *fingerprint;
    json_t *options;

    if (json_unpack_ex(json, &error, JSON_STRICT, "{s:s, s:I, s:I, s:o}", "fingerprint",
                       &fingerprint, "shards", &shards, "classes", &classes, "options",
                       &options) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s", error.text);
    if (!hex_is(fingerprint, 32) || shards < 0 || classes < 0 || !json_is_object(options))
        return err_set(err, SHEAF_ERR_CORRUPT, "not a fingerprint, counts and options");
    snprintf(g->fingerprint, sizeof(g->fingerprint), "%s", fingerprint);
    g->shards = (uint64_t)shards;
    g->classes = (uint64_t)classes;
    g->options_json = json_dump_text(options, JSON_COMPACT);
    if (g->options_json == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "%s", sheaf_strerror(SHEAF_ERR_MEMORY));
    return manifest_check_options(options, err);
}

int manifest_growth_read(const json_t *array, struct manifest *m, struct sheaf_error *err)
{
    const size_t count = json_array_size(array);
    int code = SHEAF_OK;

    if (count == 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "\"grown\" is not an array with entries");
    m->growths = calloc(count, sizeof(m->growths[0]));
    if (m->growths == NULL)
        return err_memory(err, count * sizeof(m->growths[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        m->growth_count = i + 1;
        code = read_growth(json_array_get(array, i), &m->growths[i], err);
        if (code != SHEAF_OK)
            err_prefix(err, "\"grown\", entry %zu: ", i);
    }
    return code;
}

void manifest_growth_clear(struct manifest *m)
{
    for (size_t i = 0; i < m->growth_count; i++)
        free(m->growths[i].options_json);
    free(m->growths);
    m->growths = NULL;
    m->growth_count = 0;
}

void manifest_take_growth_options(struct manifest *m, size_t part)
{
    char *options = m->growths[part - 1].options_json;

    m->growths[part - 1].options_json = m->options_json;
    m->options_json = options;
}

bool manifest_undo_growth(struct manifest *m)
{
    struct manifest_growth *last;

    if (m->growth_count == 0 || manifest_edit_is_last(m))
        return false;
    last = &m->growths[--m->growth_count];
    while (m->shard_count > last->shards) {
        m->index_bytes -= m->shards[--m->shard_count].index_bytes;
        free(m->shards[m->shard_count].name);
    }
    while (m->class_count > last->classes)
        free(m->classes[--m->class_count]);
    memcpy(m->fingerprint, last->fingerprint, sizeof(m->fingerprint));
    free(last->options_json);
    return true;
}

size_t manifest_part_first(const struct manifest *m, size_t part)
{
    return part == 0 ? 0
         : part > m->growth_count ? m->shard_count : (size_t)m->growths[part - 1].shards;
}

void manifest_part_name(const char *name, size_t part, size_t edit, char text[GROWN_NAME_BYTES])
{
    const int stem = (int)strcspn(name, ".");
    char number[24] = "", mark[24] = "";

    if (part != 0)
        snprintf(number, sizeof(number), "-%zu", part);
    if (edit != 0)
        snprintf(mark, sizeof(mark), ".e%zu", edit);
    snprintf(text, GROWN_NAME_BYTES, "%.*s%s%s%s", stem, name, number, mark, name + stem);
}

/* Skips a mark and the number after it, such as ".e2". Returns the position after the number.
 * Returns `text` if it does not begin with `mark` and a digit. */
static const char *skip_number(const char *text, const char *mark)
{
    const size_t size = strlen(mark);
    const size_t digits = strncmp(text, mark, size) != 0 ? 0 : strspn(text + size, "0123456789");

    return digits == 0 ? text : text + size + digits;
}

bool manifest_part_is(const char *text, const char *name)
{
    const size_t stem = strcspn(name, ".");

    return strncmp(text, name, stem) == 0 &&
           strcmp(skip_number(skip_number(text + stem, "-"), ".e"), name + stem) == 0;
}

bool manifest_grew_from(const struct manifest *m, const char *fingerprint, size_t digits,
                        uint64_t *samples)
{
    for (size_t i = m->growth_count; i-- > manifest_edit_growths(m);) {
        const struct manifest_growth *g = &m->growths[i];

        if (strncmp(g->fingerprint, fingerprint, digits) != 0)
            continue;
        *samples = 0;
        for (uint64_t s = 0; s < g->shards; s++)
            *samples += m->shards[s].samples;
        return true;
    }
    return false;
}
