/* SPDX-License-Identifier: MIT
 *
 * Gives the labels of a plan their final order, and numbers the classes. The catalog has the labels
 * in the order in which they were found, which is arbitrary. The final order has three parts: "no
 * label", then the names of classes in byte order, then labels that are numbers.
 *
 * The numbers of some classes are fixed: by the data set to which samples are appended, by the
 * user, or by the source. All other classes get the numbers after these, in the final order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan.h"

struct ranked {
    struct catalog_label label;
    uint32_t found;             /* index in the catalog */
    uint32_t class;             /* index of its class in the plan */
    uint32_t slot;              /* index in the plan */
};

static int plan_label_compare_numbers(const struct catalog_label *a, const struct catalog_label *b)
{
    if (a->value_count != b->value_count)
        return a->value_count < b->value_count ? -1 : 1;
    for (size_t i = 0; i < a->value_count; i++)
        if (a->values[i] != b->values[i])
            return a->values[i] < b->values[i] ? -1 : 1;
    /* Equal values with different bits: the two zeros. */
    return memcmp(a->values, b->values, a->value_count * sizeof(double));
}

static int compare_labels(const void *x, const void *y)
{
    const struct catalog_label *a = &((const struct ranked *)x)->label;
    const struct catalog_label *b = &((const struct ranked *)y)->label;

    const int order = a->class_name != NULL && b->class_name != NULL
                          ? strcmp(a->class_name, b->class_name) : 0;

    if (order != 0)
        return order;
    if ((a->class_name != NULL) != (b->class_name != NULL))
        return a->class_name != NULL ? -1 : 1;
    return plan_label_compare_numbers(a, b);
}

/* Returns an array of the labels that samples have, in their final order. "No label", which is
 * labels[0] of the catalog, is not in the array. */
static struct ranked *rank_used(const struct catalog *catalog, const bool *used, uint32_t *count)
{
    struct ranked *ranked = calloc((size_t)catalog->label_count + 1, sizeof(*ranked));

    *count = 0;
    if (ranked == NULL)
        return NULL;
    for (uint32_t i = 1; i < catalog->label_count; i++)
        if (used[i])
            ranked[(*count)++] = (struct ranked){ .label = catalog->labels[i], .found = i };
    if (*count > 1)
        qsort(ranked, *count, sizeof(*ranked), compare_labels);
    return ranked;
}

struct numbered_name {
    const char *name;
    uint32_t index;             /* in the list of classes */
};

static int compare_numbered(const void *x, const void *y)
{
    const struct numbered_name *a = x, *b = y;
    const int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int find_numbered(const void *key, const void *item)
{
    return strcmp(key, ((const struct numbered_name *)item)->name);
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* Makes room for classes up to `count`. */
static int plan_label_reserve(struct plan *plan, size_t count, struct sheaf_error *err)
{
    const size_t had = plan->class_count;
    const char **classes;

    if (count <= had)
        return SHEAF_OK;
    classes = reallocarray(plan->classes, count, sizeof(classes[0]));
    if (classes == NULL)
        return err_memory(err, count * sizeof(classes[0]));
    memset(classes + had, 0, (count - had) * sizeof(classes[0]));
    plan->classes = classes;
    plan->class_count = (uint32_t)count;
    return SHEAF_OK;
}

/* Gives a class the number that the source states for it. Returns an error if the number is invalid
 * or belongs to another class. */
static int place_class(struct plan *plan, const struct catalog_label *l, int label_base,
                       const struct plan_classes *known, struct sheaf_error *err)
{
    const double number = l->values[0] - label_base;
    const size_t index = (size_t)MAX(number, 0);
    int code;

    if (number < 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the class \"%.100s\" has the number %.0f, but "
                       "the first class has %d", l->class_name, l->values[0], label_base);
    if (known != NULL && known->closed && index >= known->count)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the class \"%.100s\" has the number %.0f, but "
                       "%s has %zu class%s", l->class_name, l->values[0], known->from,
                       known->count, known->count == 1 ? "" : "es");
    code = plan_label_reserve(plan, index + 1, err);
    if (code != SHEAF_OK)
        return code;
    if (plan->classes[index] == NULL)
        plan->classes[index] = l->class_name;
    return strcmp(plan->classes[index], l->class_name) == 0 ? SHEAF_OK
         : err_set(err, SHEAF_ERR_UNSUPPORTED, "the number %.0f is that of the class \"%.100s\" "
                   "and of the class \"%.100s\"", l->values[0], plan->classes[index],
                   l->class_name);
}

/* A class may have a number but no name. Gives each such class its number, in decimal digits, as
 * its name. */
static int name_gaps(struct plan *plan, int label_base, struct sheaf_error *err)
{
    const size_t digits = 12;

    for (uint32_t i = 0; i < plan->class_count; i++) {
        if (plan->classes[i] != NULL)
            continue;
        if (plan->class_texts == NULL)
            plan->class_texts = calloc(plan->class_count, digits);
        if (plan->class_texts == NULL)
            return err_memory(err, plan->class_count * digits);
        snprintf(plan->class_texts + i * digits, digits, "%u", i + (unsigned)label_base);
        plan->classes[i] = plan->class_texts + i * digits;
    }
    return SHEAF_OK;
}

/* Sets *sorted to the classes in byte order of their names. If `once` is set, returns an error if
 * two classes have the same name. */
static int sort_classes(const struct plan *plan, int label_base, bool once,
                        struct numbered_name **sorted, struct sheaf_error *err)
{
    const size_t count = plan->class_count;

    *sorted = calloc(count + 1, sizeof(**sorted));
    if (*sorted == NULL)
        return err_memory(err, count * sizeof(**sorted));
    for (size_t i = 0; i < count; i++)
        (*sorted)[i] = (struct numbered_name){ plan->classes[i], (uint32_t)i };
    if (count > 1)
        qsort(*sorted, count, sizeof(**sorted), compare_numbered);
    for (size_t i = 1; i < count && once; i++)
        if (strcmp((*sorted)[i].name, (*sorted)[i - 1].name) == 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "the class \"%.100s\" has two numbers, %u "
                           "and %u", (*sorted)[i].name,
                           (*sorted)[i - 1].index + (unsigned)label_base,
                           (*sorted)[i].index + (unsigned)label_base);
    return SHEAF_OK;
}

/* Adds to the plan all classes that already have a number: the classes in `known`, and the classes
 * to which the source gives a number. All other classes get their numbers later. */
static int take_numbered(struct plan *plan, const struct ranked *ranked, uint32_t count,
                         int label_base, const struct plan_classes *known, struct sheaf_error *err)
{
    int code = known == NULL ? SHEAF_OK : plan_label_reserve(plan, known->count, err);

    for (size_t i = 0; known != NULL && i < known->count && code == SHEAF_OK; i++)
        plan->classes[i] = known->names[i];
    for (uint32_t i = 0; i < count && code == SHEAF_OK; i++)
        if (ranked[i].label.class_name != NULL && ranked[i].label.value_count != 0)
            code = place_class(plan, &ranked[i].label, label_base, known, err);
    return code == SHEAF_OK ? name_gaps(plan, label_base, err) : code;
}

/* Determines the number of each class of the source. A class that is new gets the next free
 * number. */
static int number_classes(struct plan *plan, struct ranked *ranked, uint32_t count, int label_base,
                          const struct plan_classes *known, struct sheaf_error *err)
{
    struct numbered_name *sorted = NULL;
    int code = take_numbered(plan, ranked, count, label_base, known, err);
    const size_t numbered = plan->class_count;

    if (code == SHEAF_OK)
        code = sort_classes(plan, label_base, known == NULL || known->closed, &sorted, err);
    for (uint32_t i = 0; i < count && code == SHEAF_OK; i++) {
        const struct catalog_label *l = &ranked[i].label;
        const struct numbered_name *found;

        if (l->class_name == NULL)
            continue;
        found = numbered == 0 ? NULL : bsearch(l->class_name, sorted, numbered, sizeof(*sorted),
                                               find_numbered);
        if (found == NULL && known != NULL && known->closed) {
            code = err_set(err, SHEAF_ERR_UNSUPPORTED, "the class \"%.100s\" is not one of the %zu "
                           "classes of %s", l->class_name, known->count, known->from);
            continue;
        }
        ranked[i].class = found != NULL ? found->index : plan->class_count;
        if (l->value_count != 0)
            ranked[i].class = (uint32_t)(l->values[0] - label_base);
        code = plan_label_reserve(plan, (size_t)ranked[i].class + 1, err);
        if (code == SHEAF_OK)
            plan->classes[ranked[i].class] = l->class_name;
    }
    free(sorted);
    return code;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

bool plan_label_is_class(const struct catalog_label *l, int label_base, size_t class_count)
{
    const double number = l->value_count != 1 ? -1 : l->values[0] - label_base;

    return number >= 0 && number < (double)class_count && number == (double)(uint32_t)number;
}

/* Checks the labels of samples that are appended to a data set. If the data set has class names,
 * each new label must be a class name, or the number of a class. If the data set has samples but no
 * class names, a new label must not be a class name. */
static int check_grown(const struct plan *plan, const struct plan_grow *grow,
                       struct sheaf_error *err)
{
    for (uint32_t i = 1; grow != NULL && i < plan->label_count; i++) {
        const struct plan_label *l = &plan->labels[i];
        const struct catalog_label label = { .values = l->values, .value_count = l->value_count };

        if (l->class_name != NULL && grow->classes.count == 0 && grow->samples != 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "the samples have classes, such as \"%s\", "
                           "but the data set's labels have no names", l->class_name);
        if (l->class_name == NULL && grow->classes.count != 0 &&
            !plan_label_is_class(&label, grow->label_base, plan->class_count))
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "the label %.17g%s is not the number of a "
                           "class: the data set's labels have names, and the numbers of its "
                           "classes are %d to %lld; the name of a class is a label, too",
                           l->value_count == 0 ? 0.0 : l->values[0],
                           l->value_count > 1 ? ", ..." : "", grow->label_base,
                           (long long)grow->label_base + plan->class_count - 1);
    }
    return SHEAF_OK;
}

/* Returns the index that label `i` of `ranked` gets in the plan. Index 0 always means "no label".
 *
 * In a plan for a new data set, the classes get the next indexes, in the order of their numbers.
 * Labels that are numbers get the last indexes. In a plan that appends to a data set (`grows`),
 * labels keep the order of `ranked`, so label `i` gets the index i + 1. */
static uint32_t plan_label_slot_of(const struct plan *plan, const struct ranked *ranked, uint32_t i,
                                   uint32_t names, bool grows)
{
    if (grows)
        return i + 1;
    return ranked[i].label.class_name != NULL ? ranked[i].class + 1
                                              : plan->class_count + 1 + (i - names);
}

static int plan_label_take_labels(struct plan *plan, struct ranked *ranked, uint32_t count,
                                  int label_base, bool grows, struct sheaf_error *err)
{
    uint32_t names = 0;

    while (names < count && ranked[names].label.class_name != NULL)
        names++;
    plan->label_count = (grows ? count : plan->class_count + (count - names)) + 1;
    plan->labels = calloc(plan->label_count, sizeof(plan->labels[0]));
    plan->class_values = calloc((size_t)plan->class_count + 1, sizeof(plan->class_values[0]));
    if (plan->labels == NULL || plan->class_values == NULL)
        return err_memory(err, plan->label_count * sizeof(plan->labels[0]));
    for (uint32_t i = 0; i < plan->class_count; i++) {
        plan->class_values[i] = (double)label_base + (double)i;
        if (!grows)
            plan->labels[i + 1] = (struct plan_label){ plan->classes[i], &plan->class_values[i],
                                                       1 };
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct catalog_label *from = &ranked[i].label;

        ranked[i].slot = plan_label_slot_of(plan, ranked, i, names, grows);
        plan->labels[ranked[i].slot] = from->class_name != NULL
            ? (struct plan_label){ plan->classes[ranked[i].class],
                                   &plan->class_values[ranked[i].class], 1 }
            : (struct plan_label){ NULL, from->values, from->value_count };
    }
    return SHEAF_OK;
}

int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, const struct plan_classes *known,
                     uint32_t **out, struct sheaf_error *err)
{
    uint32_t count, *renamed = calloc((size_t)catalog->label_count + 1, sizeof(*renamed));
    struct ranked *ranked = rank_used(catalog, used, &count);
    int code = ranked == NULL || renamed == NULL
                   ? err_memory(err, catalog->label_count * sizeof(*ranked)) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = number_classes(plan, ranked, count, label_base,
                              grow != NULL ? &grow->classes : known, err);
    if (code == SHEAF_OK)
        code = plan_label_take_labels(plan, ranked, count, label_base, grow != NULL, err);
    if (code == SHEAF_OK)
        code = check_grown(plan, grow, err);
    for (uint32_t i = 0; code == SHEAF_OK && i < count; i++)
        renamed[ranked[i].found] = ranked[i].slot;
    free(ranked);
    if (code == SHEAF_OK)
        *out = renamed;
    else
        free(renamed);
    return code;
}
