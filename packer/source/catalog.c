/* SPDX-License-Identifier: MIT
 *
 * Implements the catalog, which holds the files of a source. The files are in one array, their
 * names in an arena, and each label is found by a hash table. */
#include "packer/source/catalog.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/name.h"

_Static_assert(sizeof(struct catalog_file) == 32, "a file takes 32 bytes");

static int catalog_grow(void **array, size_t capacity, size_t item_bytes, struct sheaf_error *err)
{
    void *grown = reallocarray(*array, capacity, item_bytes);

    if (grown == NULL)
        return err_memory(err, capacity * item_bytes);
    *array = grown;
    return SHEAF_OK;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

static uint64_t label_hash(const struct catalog_label *l)
{
    if (l->class_name != NULL)
        return XXH3_64bits(l->class_name, strlen(l->class_name));
    return XXH3_64bits_withSeed(l->values, l->value_count * sizeof(double), 1);
}

static bool label_same(const struct catalog_label *a, const struct catalog_label *b)
{
    if ((a->class_name != NULL || b->class_name != NULL) &&
        (a->class_name == NULL || b->class_name == NULL ||
         strcmp(a->class_name, b->class_name) != 0))
        return false;
    return a->value_count == b->value_count &&
           (a->value_count == 0 ||
            memcmp(a->values, b->values, a->value_count * sizeof(double)) == 0);
}

/* Searches the hash table of labels. Returns the address of the entry that has the label, or of the
 * empty entry where it must be inserted. */
static uint32_t *find_slot(const struct catalog *c, const struct catalog_label *l)
{
    const uint32_t mask = c->slot_count - 1;
    uint32_t at = (uint32_t)label_hash(l) & mask;

    while (c->slots[at] != 0 && !label_same(&c->labels[c->slots[at]], l))
        at = (at + 1) & mask;
    return &c->slots[at];
}

/* Keeps the table at most half full. */
static int catalog_make_room(struct catalog *c, struct sheaf_error *err)
{
    const uint32_t old = c->slot_count;
    void *labels = c->labels;
    int code;

    if (c->label_count == c->label_capacity) {
        if (c->label_capacity > UINT32_MAX / 8)
            return err_set(err, SHEAF_ERR_LIMIT, "more than %u different labels",
                           c->label_count);
        code = catalog_grow(&labels, MAX(2 * c->label_capacity, 64u), sizeof(c->labels[0]), err);
        if (code != SHEAF_OK)
            return code;
        c->labels = labels;
        c->label_capacity = MAX(2 * c->label_capacity, 64u);
    }
    if (c->label_count == 0)
        c->labels[c->label_count++] = (struct catalog_label){ 0 };
    if (2 * c->label_count < old)
        return SHEAF_OK;
    free(c->slots);
    c->slot_count = MAX(2 * old, 128u);
    c->slots = calloc(c->slot_count, sizeof(c->slots[0]));
    if (c->slots == NULL) {
        c->slot_count = 0;
        return err_memory(err, MAX(2 * (size_t)old, 128) * sizeof(c->slots[0]));
    }
    for (uint32_t i = 1; i < c->label_count; i++)
        *find_slot(c, &c->labels[i]) = i;
    return SHEAF_OK;
}

/* Adds a label that the catalog does not have yet. Copies its numbers, but not its name, which the
 * caller must have copied. */
static int add_label(struct catalog *c, const struct catalog_label *wanted, uint32_t *slot,
                     struct sheaf_error *err)
{
    const size_t bytes = wanted->value_count * sizeof(double);
    struct catalog_label added = *wanted;

    if (bytes != 0) {
        double *copy = arena_take(&c->arena, bytes);

        if (copy == NULL)
            return err_memory(err, bytes);
        memcpy(copy, wanted->values, bytes);
        added.values = copy;
    }
    c->labels[c->label_count] = added;
    *slot = c->label_count++;
    return SHEAF_OK;
}

int catalog_class(struct catalog *c, const char *name, size_t size, const double *number,
                  uint32_t *label, struct sheaf_error *err)
{
    struct catalog_label wanted = { .values = number, .value_count = number != NULL };
    const struct arena before = c->arena;
    uint32_t *slot;
    int code = catalog_make_room(c, err);

    if (code != SHEAF_OK)
        return code;
    wanted.class_name = arena_text(&c->arena, name, size);
    if (wanted.class_name == NULL)
        return err_memory(err, size);
    slot = find_slot(c, &wanted);
    if (*slot == 0)
        code = add_label(c, &wanted, slot, err);
    else if (before.chunks == c->arena.chunks)
        c->arena.used = before.used;        /* the name exists already, so free the copy */
    *label = *slot;
    return code;
}

int catalog_numbers(struct catalog *c, const double *values, size_t count, uint32_t *label,
                    struct sheaf_error *err)
{
    const struct catalog_label wanted = { .values = values, .value_count = count };
    uint32_t *slot;
    int code = catalog_make_room(c, err);

    if (code != SHEAF_OK)
        return code;
    *label = LABEL_NONE;
    if (count == 0)
        return SHEAF_OK;
    slot = find_slot(c, &wanted);
    if (*slot == 0)
        code = add_label(c, &wanted, slot, err);
    *label = *slot;
    return code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Stores in the catalog where the content of a file is. Also stores the time or stamp of the file,
 * which will show whether the file has changed. */
static int set_origin(struct catalog *c, struct catalog_file *f, const struct catalog_stat *stat,
                      struct sheaf_error *err)
{
    const size_t url_size = stat->url == NULL ? 0 : strlen(stat->url) + 1;
    struct catalog_object *object;

    if (stat->text != NULL) {
        f->origin = CATALOG_TEXT;
        f->text = arena_text(&c->texts, stat->text, stat->bytes);
        return f->text == NULL ? err_memory(err, stat->bytes) : SHEAF_OK;
    }
    f->origin = stat->url == NULL ? CATALOG_BELOW : CATALOG_OBJECT;
    if (stat->url == NULL && stat->stamp != 0)
        f->stamp = stat->stamp;
    else if (stat->url == NULL)
        f->mtime_ns = stat->mtime_ns;
    if (stat->url == NULL)
        return SHEAF_OK;
    object = arena_take(&c->texts, sizeof(*object) + url_size);
    if (object == NULL)
        return err_memory(err, url_size);
    object->stamp = stat->stamp;
    memcpy(object->url, stat->url, url_size);
    f->object = object;
    return SHEAF_OK;
}

static int catalog_do_add(struct catalog *c, const char *path, size_t key_size,
                          const struct catalog_stat *stat, uint32_t label, bool bad,
                          struct sheaf_error *err)
{
    const struct catalog_found found = { path, key_size, stat, label, bad };
    void *files = c->files;
    struct catalog_file *f;
    int code = SHEAF_OK;

    if (c->sink != NULL)
        return c->sink(c->sink_context, &found, err);
    if (c->file_count == c->file_capacity) {
        const size_t capacity = MAX(c->file_capacity + c->file_capacity / 2, (size_t)1024);

        if (c->file_count >= UINT32_MAX / 2)
            return err_set(err, SHEAF_ERR_LIMIT, "more than %zu files", c->file_count);
        code = catalog_grow(&files, capacity, sizeof(*f), err);
        if (code != SHEAF_OK)
            return code;
        c->files = files;
        c->file_capacity = capacity;
    }
    f = &c->files[c->file_count];
    f->path = arena_text(&c->texts, path, strlen(path));
    if (f->path == NULL)
        return err_memory(err, strlen(path));
    f->bytes = stat->bytes;
    f->label = label;
    f->key_size = (uint16_t)key_size;
    f->bad = bad;
    code = set_origin(c, f, stat, err);
    if (code == SHEAF_OK)
        c->file_count++;
    return code;
}

int catalog_add(struct catalog *c, struct problems *problems, const char *path,
                const struct catalog_stat *stat, uint32_t label, struct sheaf_error *err)
{
    const char *problem = name_problem(path), *suffix;
    size_t key_size;

    if (problem != NULL)
        return problems_add(problems, err, path, SHEAF_ERR_UNSUPPORTED, "%s", problem);
    if (!name_split(path, &key_size, &suffix) || key_size > KEY_LIMIT)
        return problems_add(problems, err, path, SHEAF_ERR_UNSUPPORTED, "has no key or no suffix");
    return catalog_do_add(c, path, key_size, stat, label, false, err);
}

int catalog_add_bad(struct catalog *c, struct problems *problems, const char *path,
                    const char *named, int code, const char *reason, struct sheaf_error *err)
{
    const struct catalog_stat nothing = { .bytes = 0 };
    const char *suffix;
    size_t key_size;
    int failed = problems_add(problems, err, path, code, "%s", reason);

    if (failed == SHEAF_OK && name_problem(named) == NULL &&
        name_split(named, &key_size, &suffix) && key_size <= KEY_LIMIT)
        failed = catalog_do_add(c, named, key_size, &nothing, LABEL_NONE, true, err);
    return failed;
}

/* Returns the name of a file for messages. If a local file is packed under a name other than its
 * own, messages show its own path, because the user knows this path. All other files are named by
 * the path under which they are packed. This is also true for a member of an archive. Its `url` is
 * a position, which is recognised here because it contains no dot. */
const char *catalog_shown(const struct catalog_file *f)
{
    const char *url = f->origin == CATALOG_OBJECT ? f->object->url : f->path;

    return strchr(url, '.') == NULL || strstr(url, "://") != NULL ? f->path : url;
}

uint64_t catalog_memory(const struct catalog *c)
{
    return c->file_capacity * sizeof(c->files[0]) +
           (uint64_t)c->label_capacity * sizeof(c->labels[0]) +
           (uint64_t)c->slot_count * sizeof(c->slots[0]) + c->arena.bytes + c->texts.bytes;
}

void catalog_free(struct catalog *c)
{
    free(c->files);
    arena_free(&c->texts);
    free(c->labels);
    free(c->slots);
    arena_free(&c->arena);
    *c = (struct catalog){ 0 };
}
