/* SPDX-License-Identifier: MIT
 *
 * Writes the canonical text of a view; see view.h. Two views with the same meaning must have the
 * same text. So optional members with their default value are left out, names are sorted, and each
 * number has only one form. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/view.h"

/* The functions here return false if memory was exhausted. view_text_set() takes ownership of
 * `value`. */

static bool view_text_set(json_t *object, const char *name, json_t *value)
{
    return value != NULL && json_object_set_new(object, name, value) == 0;
}

static json_t *repeat_of(const struct view_source *s)
{
    return s->repeat % VIEW_REPEAT_ONE == 0
           ? json_integer((json_int_t)(s->repeat / VIEW_REPEAT_ONE))
           : json_real((double)s->repeat / (double)VIEW_REPEAT_ONE);
}

static json_t *where_of(const struct view_where *w)
{
    json_error_t found;
    json_t *where;

    return json_load_text(w->text, strlen(w->text), 0, &where, &found, NULL) == SHEAF_OK
           ? where : NULL;
}

static bool set_name(json_t *where, const char *name, const char *text)
{
    return text == NULL || view_text_set(where, name, json_string(text));
}

/* Appends texts[i] to the i-th condition on a column, and removes the text that an earlier call
 * appended there. If `texts` is NULL, only removes the earlier texts. */
static bool view_text_set_columns(json_t *where, const struct view_where *w, char *const *texts)
{
    json_t *list = json_object_get(where, "columns");

    for (size_t i = 0; i < w->column_count; i++) {
        json_t *condition = json_array_get(list, i);

        while (json_array_size(condition) > 3)
            json_array_remove(condition, 3);
        if (texts != NULL && json_array_append_new(condition, json_string(texts[i])) != 0)
            return false;
    }
    return true;
}

int view_where_text(struct view_where *w, const char *keys, const char *not_keys,
                    char *const *columns, struct sheaf_error *err)
{
    json_t *where = w->text[0] == '\0' ? NULL : where_of(w);
    char *text = where != NULL && set_name(where, "keys", keys)
                 && set_name(where, "not_keys", not_keys) && view_text_set_columns(where, w,
                                                                                   columns)
                 ? json_dump_text(where, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(where);
    if (w->text[0] == '\0')
        return SHEAF_OK;
    if (text == NULL)
        return err_memory(err, strlen(w->text));
    free(w->text);
    w->text = text;
    return SHEAF_OK;
}

int view_where_none(const struct view_where *w, struct sheaf_error *err)
{
    json_t *where = w->text[0] == '\0' ? NULL : where_of(w);
    char *text = where == NULL ? NULL
               : json_dump_text(where, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    const int code = err_set(err, SHEAF_ERR_ARGUMENT, w->text[0] == '\0' ? "it has no sample"
                             : "no sample fulfils \"where\": %s", text == NULL ? w->text : text);

    json_decref(where);
    free(text);
    return code;
}

static json_t *view_text_source_of(const struct view_source *s, const char *name)
{
    json_t *object = json_object();

    if (object != NULL && view_text_set(object, "source", json_string(name))
        && (!s->has_weight || view_text_set(object, "weight", json_integer((json_int_t)s->weight)))
        && (s->repeat == VIEW_REPEAT_ONE || view_text_set(object, "repeat", repeat_of(s)))
        && (s->where.text[0] == '\0' || view_text_set(object, "where", where_of(&s->where)))
        && (s->fields == NULL
            || view_text_set(object, "fields",
                             json_make_array(s->field_count, json_make_string, s->fields, NULL))))
        return object;
    json_decref(object);
    return NULL;
}

static json_t *sources_of(const struct view *v, const char *const *names)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->source_count && list != NULL; i++) {
        const char *name = names != NULL ? names[i] : v->sources[i].source;

        if (json_array_append_new(list, view_text_source_of(&v->sources[i], name)) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *stages_of(const struct view *v, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count && list != NULL; i++) {
        json_t *stage = json_object();

        if (stage == NULL
            || !view_text_set(stage, "samples", json_integer((json_int_t)v->stages[i].samples))
            || !view_text_set(stage, "weights",
                              json_make_array(v->source_count, json_make_number,
                                              v->stages[i].weights, NULL))) {
            json_decref(stage);
            stage = NULL;
        }
        if (json_array_append_new(list, stage) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *classes_of(const struct view *v)
{
    json_t *map = v->classes == NULL ? json_string("by-number") : json_object();

    for (size_t i = 0; i < v->class_count && map != NULL; i++) {
        const struct view_class *c = &v->classes[i];
        char number[24];

        snprintf(number, sizeof(number), "%" PRIu64, c->from_number);
        if (!view_text_set(map, c->from != NULL ? c->from : number,
                           c->from != NULL ? json_string(c->to)
                                 : json_integer((json_int_t)c->to_number))) {
            json_decref(map);
            map = NULL;
        }
    }
    return map;
}

static json_t *document_of(const struct view *v, const char *const *names, size_t stages)
{
    json_t *object = json_object();

    if (object != NULL && view_text_set(object, "sheaf_view", json_integer(1))
        && (v->samples == 0
            || view_text_set(object, "samples", json_integer((json_int_t)v->samples)))
        && (v->until == VIEW_SAMPLES
            || view_text_set(object, "until",
                             json_string(v->until == VIEW_FIRST ? "first" : "all")))
        && ((!v->by_number && v->classes == NULL)
            || view_text_set(object, "classes", classes_of(v)))
        && view_text_set(object, "sources", sources_of(v, names))
        && (stages == 0 || view_text_set(object, "stages", stages_of(v, stages))))
        return object;
    json_decref(object);
    return NULL;
}

int view_text(const struct view *view, const char *const *sources, size_t stages, char **text,
              struct sheaf_error *err)
{
    json_t *document = document_of(view, sources, MIN(stages, view->stage_count));
    char *dumped = document == NULL ? NULL
                 : json_dump_text(document, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    const size_t size = dumped == NULL ? 0 : strlen(dumped);

    json_decref(document);
    *text = dumped == NULL ? NULL : realloc(dumped, size + 2);
    if (*text == NULL) {
        free(dumped);
        return err_memory(err, size);
    }
    memcpy(*text + size, "\n", 2);
    return SHEAF_OK;
}
