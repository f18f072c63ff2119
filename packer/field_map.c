/* SPDX-License-Identifier: MIT
 *
 * Renames the fields of samples that are converted; see field_map.h.
 *
 * Names are compared in lower case. The features of a TFRecord Example (its named parts) may have
 * slashes in their names; a slash counts as a dot. All fields of a sample are renamed at once, so
 * two fields can exchange their names. If two fields get the same name, the packer reports an error
 * for the sample. */
#include "packer/field_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/label.h"
#include "formats/name.h"
#include "packer/source/naming.h"

struct pair {
    char *from;                 /* as the name of a field */
    char *to, *name;            /* as given, and in lower case */
    bool is_label, is_met;
};

struct field_map {
    struct pair *pairs;
    size_t count;
    char met[256];              /* the first existing names, for messages */
    /* true if field_map_meet() was called for any field */
    bool has_met;
    struct sheaf_field fields[FIELD_LIMIT];     /* fields of the sample that was mapped last */
    double label;
};

/* ---- Reading the list ------------------------------------------------------------------------ */

static char *copy_lower(const char *text, size_t size)
{
    char *copy = strndup(text, size);

    if (copy != NULL)
        name_lower(copy);
    return copy;
}

static int field_map_check_pair(const struct field_map *map, const struct pair *added,
                                struct sheaf_error *err)
{
    const char *problem = naming_problem(added->to);

    if (problem != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid field map: \"%.200s\": %s", added->to,
                       problem);
    for (const struct pair *p = map->pairs; p < added; p++) {
        if (strcmp(p->from, added->from) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "invalid field map: the field \"%.200s\" is "
                           "named twice", p->from);
        if (strcmp(p->name, added->name) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "invalid field map: \"%.200s\" and \"%.200s\" "
                           "both become \"%.200s\"", p->from, added->from, p->name);
    }
    return SHEAF_OK;
}

static int add_pair(struct field_map *map, const char *text, size_t size, struct sheaf_error *err)
{
    const char *equals = memchr(text, '=', size);
    struct pair *p = &map->pairs[map->count];

    if (equals == NULL || equals == text || equals + 1 == text + size ||
        memchr(equals + 1, '=', (size_t)(text + size - equals - 1)) != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid field map \"%.*s\": expected FROM=TO, as "
                       "in image=jpg", (int)MIN(size, (size_t)400), text);
    map->count++;
    p->from = copy_lower(text, (size_t)(equals - text));
    p->to = strndup(equals + 1, (size_t)(text + size - equals - 1));
    p->name = p->to == NULL ? NULL : copy_lower(p->to, strlen(p->to));
    if (p->from == NULL || p->name == NULL)
        return err_memory(err, size);
    for (char *slash = p->from; (slash = strchr(slash, '/')) != NULL; )
        *slash = '.';
    p->is_label = strcmp(p->to, "label") == 0;
    return field_map_check_pair(map, p, err);
}

int field_map_open(const char *text, struct field_map **map, struct sheaf_error *err)
{
    struct field_map *m = calloc(1, sizeof(*m));
    size_t most = 1;
    int code = SHEAF_OK;

    for (const char *p = text; *p != '\0'; p++)
        most += *p == ',';
    if (m != NULL)
        m->pairs = calloc(most, sizeof(m->pairs[0]));
    if (m == NULL || m->pairs == NULL) {
        free(m);
        return err_memory(err, sizeof(*m) + most * sizeof(m->pairs[0]));
    }
    for (const char *p = text; code == SHEAF_OK && p != NULL; ) {
        const size_t size = strcspn(p, ",");

        code = add_pair(m, p, size, err);
        p = p[size] == ',' ? p + size + 1 : NULL;
    }
    if (code != SHEAF_OK)
        field_map_free(m);
    else
        *map = m;
    return code;
}

void field_map_free(struct field_map *map)
{
    if (map == NULL)
        return;
    for (size_t i = 0; i < map->count; i++) {
        free(map->pairs[i].from);
        free(map->pairs[i].to);
        free(map->pairs[i].name);
    }
    free(map->pairs);
    free(map);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static struct pair *find_pair(struct field_map *map, const char *name)
{
    for (size_t i = 0; i < map->count; i++) {
        if (strcmp(map->pairs[i].from, name) == 0) {
            map->pairs[i].is_met = true;
            return &map->pairs[i];
        }
    }
    return NULL;
}

void field_map_meet(struct field_map *map, const char *name)
{
    const size_t size = strlen(map->met);

    if (size + strlen(name) + 3 < sizeof(map->met))
        snprintf(map->met + size, sizeof(map->met) - size, "%s%s", size == 0 ? "" : ", ", name);
    map->has_met = true;
    (void)find_pair(map, name);
}

static int field_map_take_label(struct field_map *map, const struct sheaf_field *field,
                                struct sheaf_sample *s, struct sheaf_error *err)
{
    if (s->label_count != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.400s: the field \"%.100s\" cannot become the "
                       "label: the sample has one", s->key, field->name);
    if (label_parse(field->data, field->size, &map->label, 1) != 1 ||
        !label_is_integer(map->label))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%.400s: the field \"%.100s\" cannot become the "
                       "label: expected an integer, found \"%.*s\"%s", s->key, field->name,
                       (int)MIN(field->size, (size_t)40), (const char *)field->data,
                       field->size > 40 ? "..." : "");
    s->labels = &map->label;
    s->label_count = 1;
    return SHEAF_OK;
}

static void rename_kept(struct kept_features *kept, const char *suffix, const char *to)
{
    for (size_t i = 0; i < kept->count; i++) {
        struct kept_feature *f = &kept->features[i];

        if (f->suffix == suffix) {
            f->suffix = to;
            f->is_renamed = true;
            return;
        }
    }
}

int field_map_apply(struct field_map *map, struct sheaf_sample *s, struct kept_features *kept,
                    struct sheaf_error *err)
{
    const bool is_first = map != NULL && !map->has_met;
    size_t count = 0;
    int code = SHEAF_OK;

    if (map == NULL)
        return SHEAF_OK;
    for (size_t i = 0; i < s->field_count && code == SHEAF_OK; i++) {
        struct sheaf_field field = s->fields[i];
        const struct pair *pair = find_pair(map, field.name);

        if (is_first)
            field_map_meet(map, field.name);
        if (pair != NULL && pair->is_label) {
            code = field_map_take_label(map, &field, s, err);
            continue;
        }
        if (pair != NULL) {
            rename_kept(kept, field.suffix, pair->to);
            field.name = pair->name;
            field.suffix = pair->to;
        }
        map->fields[count++] = field;
    }
    s->fields = map->fields;
    s->field_count = count;
    return code;
}

int field_map_check(const struct field_map *map, struct sheaf_error *err)
{
    for (size_t i = 0; map != NULL && i < map->count; i++)
        if (!map->pairs[i].is_met)
            return err_set(err, SHEAF_ERR_ARGUMENT, "field map: no sample has the field "
                           "\"%.200s\"%s%s", map->pairs[i].from,
                           map->met[0] == '\0' ? "" : "; the first fields that there are: ",
                           map->met);
    return SHEAF_OK;
}
