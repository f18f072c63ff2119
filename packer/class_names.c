/* SPDX-License-Identifier: MIT
 *
 * Collects class names; see class_names.h. */
#include "packer/class_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/sample.h"

static int class_names_grow(struct class_names *n, size_t least, struct sheaf_error *err)
{
    const size_t capacity = MAX(MAX(2 * n->capacity, least), (size_t)64);
    char **names = reallocarray(n->names, capacity, sizeof(names[0]));

    if (names == NULL)
        return err_memory(err, capacity * sizeof(names[0]));
    memset(names + n->capacity, 0, (capacity - n->capacity) * sizeof(names[0]));
    n->names = names;
    n->capacity = capacity;
    return SHEAF_OK;
}

/* Stores the class name of a sample under the sample's label. Does nothing if the sample has no
 * class name. Otherwise the sample must have exactly one label, which must be an integer from 0 to
 * about a million. The name must be valid text and not empty, and the label must not have another
 * name already. If one of these conditions is not met, returns SHEAF_ERR_ARGUMENT. */
static int class_names_take_name(struct class_names *n, const struct sheaf_sample *sample,
                                 struct sheaf_error *err)
{
    const char *name = sample->class_name;
    size_t label;
    int code = SHEAF_OK;

    if (name == NULL)
        return SHEAF_OK;
    if (sample->label_count != 1 || !label_is_integer(sample->labels[0]) || sample->labels[0] < 0
        || sample->labels[0] >= CLASS_LIMIT || name[0] == '\0'
        || !name_is_text(name, strlen(name)))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: its class name \"%.100s\" would be lost: "
                       "a class has one label, from 0 to %zu, and a name that is text",
                       sample->key, name, (size_t)CLASS_LIMIT - 1);
    label = (size_t)sample->labels[0];
    if (label >= n->capacity)
        code = class_names_grow(n, label + 1, err);
    if (code != SHEAF_OK)
        return code;
    if (n->names[label] != NULL)
        return strcmp(n->names[label], name) == 0 ? SHEAF_OK
             : err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: its class name \"%.100s\" would be lost: "
                       "a sample before it with the label %zu has the name \"%.100s\"",
                       sample->key, name, label, n->names[label]);
    n->names[label] = strdup(name);
    if (n->names[label] == NULL)
        return err_memory(err, strlen(name));
    n->count = MAX(n->count, label + 1);
    return SHEAF_OK;
}

int class_names_check(struct class_names *names, const struct encode_context *context,
                      bool in_record, bool may_list, const struct sheaf_sample *s,
                      struct sheaf_error *err)
{
    const struct sheaf_sample unnamed = { .labels = s->labels, .label_count = s->label_count };
    const char *listed = sample_class(&unnamed, context->classes, context->class_count,
                                      context->label_base);
    struct sheaf_error unlistable;

    if (s->class_name == NULL || (listed != NULL && strcmp(listed, s->class_name) == 0))
        return SHEAF_OK;
    if (context->class_count == 0 && may_list && !names->unlistable) {
        const int code = class_names_take_name(names, s, in_record ? &unlistable : err);

        if (code != SHEAF_ERR_ARGUMENT || !in_record) {
            if (code != SHEAF_OK && in_record)
                *err = unlistable;
            return code;
        }
        names->unlistable = true;
    }
    return in_record ? SHEAF_OK
         : err_set(err, SHEAF_ERR_ARGUMENT, "%.400s: its class name \"%.100s\" would be lost: the "
                   "data set %s", s->key, s->class_name,
                   listed == NULL ? "does not name that class" : "gives its label another name");
}

int class_names_give(struct class_names *n, char ***list, size_t *count, int *base,
                     struct sheaf_error *err)
{
    *base = n->count != 0 && n->names[0] == NULL;
    for (size_t i = (size_t)*base; i < n->count; i++) {
        if (n->names[i] == NULL && asprintf(&n->names[i], "%zu", i) < 0) {
            n->names[i] = NULL;
            return err_memory(err, 20);
        }
    }
    *count = n->count - (size_t)*base;
    if (*count != 0)
        memmove(n->names, n->names + *base, *count * sizeof(n->names[0]));
    *list = n->names;
    *n = (struct class_names){ 0 };
    return SHEAF_OK;
}

void class_names_free(struct class_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->names[i]);
    free(n->names);
    *n = (struct class_names){ 0 };
}
