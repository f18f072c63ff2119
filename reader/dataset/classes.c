/* SPDX-License-Identifier: MIT
 *
 * Merges classes by name; see classes.h. */
#include "reader/dataset/classes.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/label.h"

#define NO_SLOT UINT32_MAX

/* The merged class names in order, and a hash table to find a name. An element of `slots` is the
 * index of a name, or NO_SLOT if the slot is free. At most half of the slots are in use, so that a
 * search is short. If two classes have the same name, a search finds the first of them. */
struct merged_names {
    char **list;
    size_t count, capacity;
    uint32_t *slots;
    size_t slot_count;          /* number of slots, a power of two */
    /* a name that occurs twice in the merged list; NULL if all names differ */
    const char *repeated;
};

static uint32_t *classes_slot_of(const struct merged_names *n, const char *name)
{
    size_t at = XXH3_64bits(name, strlen(name)) & (n->slot_count - 1);

    while (n->slots[at] != NO_SLOT && strcmp(n->list[n->slots[at]], name) != 0)
        at = (at + 1) & (n->slot_count - 1);
    return &n->slots[at];
}

static int classes_grow(struct merged_names *n, struct sheaf_error *err)
{
    const size_t capacity = MAX(2 * n->capacity, (size_t)64);
    char **list = reallocarray(n->list, capacity, sizeof(list[0]));
    uint32_t *slots = NULL;

    if (list != NULL) {
        n->list = list;
        slots = reallocarray(n->slots, 2 * capacity, sizeof(slots[0]));
    }
    if (slots == NULL)
        return err_memory(err, 2 * capacity * sizeof(list[0]));
    n->slots = slots;
    n->capacity = capacity;
    n->slot_count = 2 * capacity;
    memset(slots, 0xff, n->slot_count * sizeof(slots[0]));
    for (size_t i = 0; i < n->count; i++) {
        uint32_t *slot = classes_slot_of(n, n->list[i]);

        if (*slot == NO_SLOT)
            *slot = (uint32_t)i;
    }
    return SHEAF_OK;
}

static int classes_add(struct merged_names *n, const char *name, struct sheaf_error *err)
{
    uint32_t *slot;

    if (n->count == n->capacity) {
        const int code = classes_grow(n, err);

        if (code != SHEAF_OK)
            return code;
    }
    n->list[n->count] = strdup(name);
    if (n->list[n->count] == NULL)
        return err_memory(err, strlen(name));
    slot = classes_slot_of(n, name);
    if (*slot == NO_SLOT)
        *slot = (uint32_t)n->count;
    else
        n->repeated = n->list[n->count];
    n->count++;
    return SHEAF_OK;
}

/* Returns true if the merged names and the names of `list` are equal, up to the end of the shorter
 * of the two lists. */
static bool classes_is_same(const struct merged_names *n, const struct named_classes *list)
{
    for (size_t i = 0; i < list->count && i < n->count; i++) {
        if (strcmp(list->names[i], n->list[i]) != 0)
            return false;
    }
    return true;
}

/* Appends to the merged list the names of `list` from index n->count on. The caller must have
 * checked that both lists are equal up to the end of the shorter list. So each class of `list`
 * keeps its label. If `list` is not longer than the merged list, does nothing. */
static int classes_extend(struct merged_names *n, const struct named_classes *list,
                          struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = n->count; i < list->count && code == SHEAF_OK; i++)
        code = classes_add(n, list->names[i], err);
    return code;
}

static int refuse_repeated(const struct named_classes *list, const char *name,
                           struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its classes differ from those of the data sets "
                   "before it, and cannot be merged with them by name: two are named \"%.200s\"",
                   list->url, name);
}

static int map_list(struct merged_names *n, const struct named_classes *list, uint32_t *map,
                    struct sheaf_error *err)
{
    const size_t most = n->count + list->count;
    bool *seen = calloc(most + 1, sizeof(seen[0]));
    int code = seen == NULL ? err_memory(err, most) : SHEAF_OK;

    for (size_t i = 0; i < list->count && code == SHEAF_OK; i++) {
        if (n->count == 0 || *classes_slot_of(n, list->names[i]) == NO_SLOT)
            code = classes_add(n, list->names[i], err);
        if (code != SHEAF_OK)
            break;
        map[i] = *classes_slot_of(n, list->names[i]);
        if (seen[map[i]])
            code = refuse_repeated(list, list->names[i], err);
        seen[map[i]] = true;
    }
    free(seen);
    return code;
}

/* Adds the class names of list number `i` to the merged list. If a class of this list gets another
 * label in the merged list, sets *map to a table from old to new labels. Otherwise leaves *map
 * NULL. */
static int classes_take(struct merged_names *n, const struct named_classes *lists, size_t i,
                        uint32_t **map, struct sheaf_error *err)
{
    const struct named_classes *list = &lists[i];

    if ((list->count == 0) != (lists[0].count == 0)) {
        const struct named_classes *with = list->count != 0 ? list : &lists[0];
        const struct named_classes *without = list->count != 0 ? &lists[0] : list;

        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its classes have no names, but those of "
                       "%s have: it is unknown which numbers mean the same class", without->url,
                       with->url);
    }
    if (list->count == 0 || (list->label_base == lists[0].label_base && classes_is_same(n, list)))
        return classes_extend(n, list, err);
    *map = calloc(list->count + 1, sizeof(**map));
    if (*map == NULL)
        return err_memory(err, list->count * sizeof(**map));
    if (n->repeated != NULL)
        return refuse_repeated(list, n->repeated, err);
    return map_list(n, list, *map, err);
}

int classes_merge(const struct named_classes *lists, size_t count, char ***names,
                  size_t *name_count, uint32_t **maps, struct sheaf_error *err)
{
    struct merged_names n = { 0 };
    int code = SHEAF_OK;

    memset(maps, 0, count * sizeof(maps[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = classes_take(&n, lists, i, &maps[i], err);
    free(n.slots);
    *names = n.list;
    *name_count = n.count;
    return code;
}

static int rename_list(struct merged_names *n, const struct named_classes *list,
                       class_name_fn *other,
                       const void *context, uint32_t **map, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (list->count == 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its classes have no names, of which other "
                       "names could be made", list->url);
    *map = calloc(list->count, sizeof(**map));
    if (*map == NULL)
        return err_memory(err, list->count * sizeof(**map));
    for (size_t i = 0; i < list->count && code == SHEAF_OK; i++) {
        const char *name = other(context, list->names[i]);

        if (n->count == 0 || *classes_slot_of(n, name) == NO_SLOT)
            code = classes_add(n, name, err);
        if (code == SHEAF_OK)
            (*map)[i] = *classes_slot_of(n, name);
    }
    return code;
}

int classes_rename(const struct named_classes *lists, size_t count, class_name_fn *other,
                   const void *context, char ***names, size_t *name_count, uint32_t **maps,
                   struct sheaf_error *err)
{
    struct merged_names n = { 0 };
    int code = SHEAF_OK;

    memset(maps, 0, count * sizeof(maps[0]));
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = rename_list(&n, &lists[i], other, context, &maps[i], err);
    free(n.slots);
    *names = n.list;
    *name_count = n.count;
    return code;
}

int classes_renumber(const struct class_numbers *numbers, struct decode_scratch *scratch,
                     const struct sheaf_sample *sample, struct sheaf_error *err)
{
    double *label = (double *)(void *)scratch->labels.data;
    double own;

    if (sample->label_count == 0)
        return SHEAF_OK;
    if (sample->label_count != 1 || !label_is_integer(*label))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "its labels (%zu, the first %.9g) are not one "
                       "class, so they cannot be mapped to the merged classes of the open data "
                       "sets", sample->label_count, *label);
    own = *label - numbers->first;
    if ((own < 0 || own >= (double)numbers->count) && numbers->rest_stays)
        return SHEAF_OK;
    if (own < 0 || own >= (double)numbers->count)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "its label %.17g is not one of the %zu classes "
                       "of its data set, so it cannot be mapped to the merged classes of the open "
                       "data sets", *label, numbers->count);
    own = numbers->map[(size_t)own] + (double)numbers->merged_base;
    for (size_t i = 0; i < sample->field_count && own != *label; i++) {
        if (strcmp(sample->fields[i].name, "cls") == 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "its field cls has the label %.17g, but its "
                           "number in the merged classes of the open data sets is %.17g", *label,
                           own);
    }
    *label = own;
    return SHEAF_OK;
}
