/* SPDX-License-Identifier: MIT
 *
 * The label map.  The catalog has labels in the order in which they were found, which may be any;
 * here they get an order of their own: none, classes in byte order, numbers.  Classes are numbered
 * in that order, too, after those of the data set that is to grow. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan.h"

struct ranked {
    struct catalog_label label;
    uint32_t found;             /* its index in the catalog */
};

static int compare_numbers(const struct catalog_label *a, const struct catalog_label *b)
{
    if (a->value_count != b->value_count)
        return a->value_count < b->value_count ? -1 : 1;
    for (size_t i = 0; i < a->value_count; i++)
        if (a->values[i] != b->values[i])
            return a->values[i] < b->values[i] ? -1 : 1;
    /* Values that are equal but differ in their bits: the two zeros. */
    return memcmp(a->values, b->values, a->value_count * sizeof(double));
}

static int compare_labels(const void *x, const void *y)
{
    const struct catalog_label *a = &((const struct ranked *)x)->label;
    const struct catalog_label *b = &((const struct ranked *)y)->label;

    if (a->class_name != NULL && b->class_name != NULL)
        return strcmp(a->class_name, b->class_name);
    if (a->class_name != NULL || b->class_name != NULL)
        return a->class_name != NULL ? -1 : 1;
    return compare_numbers(a, b);
}

/* The labels that are used, in order; labels[0] stays the label of samples that have none. */
static struct ranked *rank_used(const struct catalog *catalog, const bool *used, uint32_t *count)
{
    struct ranked *ranked = calloc((size_t)catalog->label_count + 1, sizeof(*ranked));

    *count = 0;
    if (ranked == NULL)
        return NULL;
    for (uint32_t i = 1; i < catalog->label_count; i++)
        if (used[i])
            ranked[(*count)++] = (struct ranked){ catalog->labels[i], i };
    if (*count > 1)
        qsort(ranked, *count, sizeof(*ranked), compare_labels);
    return ranked;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

struct numbered {
    const char *name;
    uint32_t index;             /* in the list of classes */
};

static int compare_numbered(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    const int order = strcmp(a->name, b->name);

    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static int find_numbered(const void *key, const void *item)
{
    return strcmp(key, ((const struct numbered *)item)->name);
}

/* The classes of the data set that is to grow, by their names. */
static int sort_known(const struct plan_grow *grow, struct numbered **known,
                      struct sheaf_error *err)
{
    const size_t count = grow == NULL ? 0 : grow->class_count;

    *known = calloc(count + 1, sizeof(**known));
    if (*known == NULL)
        return err_memory(err, count * sizeof(**known));
    for (size_t i = 0; i < count; i++)
        (*known)[i] = (struct numbered){ grow->classes[i], (uint32_t)i };
    if (count > 1)
        qsort(*known, count, sizeof(**known), compare_numbered);
    return SHEAF_OK;
}

static void set_class(struct plan *plan, uint32_t index, const char *name, int label_base)
{
    plan->classes[index] = name;
    plan->class_values[index] = (double)label_base + (double)index;
}

/* The number of a class among those of the plan; a new one is added to them. */
static uint32_t number_class(struct plan *plan, const struct numbered *known, size_t known_count,
                             const char *name, int label_base)
{
    const struct numbered *found = known_count == 0 ? NULL
        : bsearch(name, known, known_count, sizeof(*known), find_numbered);

    if (found != NULL)
        return found->index;
    set_class(plan, plan->class_count, name, label_base);
    return plan->class_count++;
}

/* Labels without names are numbers of classes where these have names. */
static int check_grown(const struct plan *plan, const struct plan_grow *grow,
                       struct sheaf_error *err)
{
    for (uint32_t i = 1; grow != NULL && i < plan->label_count; i++) {
        const struct plan_label *l = &plan->labels[i];
        const double number = l->value_count == 0 ? -1 : l->values[0] - grow->label_base;

        if (l->class_name != NULL && grow->class_count == 0 && grow->samples != 0)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "the samples have classes, such as \"%s\", "
                           "but the data set's labels have no names", l->class_name);
        if (l->class_name == NULL && grow->class_count != 0 &&
            (l->value_count != 1 || number < 0 || number >= plan->class_count ||
             number != (double)(uint32_t)number))
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "a sample has a label without a name that "
                           "is not the number of a class, but the data set's labels have names");
    }
    return SHEAF_OK;
}

static int take_labels(struct plan *plan, const struct ranked *ranked, uint32_t count,
                       int label_base, const struct plan_grow *grow, struct sheaf_error *err)
{
    const size_t known_count = grow == NULL ? 0 : grow->class_count;
    const size_t most = known_count + count + 1;
    struct numbered *known;
    int code = sort_known(grow, &known, err);

    plan->label_count = count + 1;
    plan->labels = calloc(plan->label_count, sizeof(plan->labels[0]));
    plan->classes = calloc(most, sizeof(plan->classes[0]));
    plan->class_values = calloc(most, sizeof(plan->class_values[0]));
    if (code == SHEAF_OK && (plan->labels == NULL || plan->classes == NULL ||
                             plan->class_values == NULL))
        code = err_memory(err, plan->label_count * sizeof(plan->labels[0]));
    if (code == SHEAF_OK)
        for (size_t i = 0; i < known_count; i++)
            set_class(plan, plan->class_count++, grow->classes[i], label_base);
    for (uint32_t i = 0; i < count && code == SHEAF_OK; i++) {
        const struct catalog_label *from = &ranked[i].label;
        struct plan_label *to = &plan->labels[i + 1];

        *to = (struct plan_label){ from->class_name, from->values, from->value_count };
        if (from->class_name == NULL)
            continue;
        to->values = &plan->class_values[number_class(plan, known, known_count, from->class_name,
                                                      label_base)];
        to->value_count = 1;
    }
    free(known);
    return code == SHEAF_OK ? check_grown(plan, grow, err) : code;
}

int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, const struct plan_grow *grow, uint32_t **out,
                     struct sheaf_error *err)
{
    uint32_t count, *renamed = calloc((size_t)catalog->label_count + 1, sizeof(*renamed));
    struct ranked *ranked = rank_used(catalog, used, &count);
    int code = ranked == NULL || renamed == NULL
                   ? err_memory(err, catalog->label_count * sizeof(*ranked))
                   : take_labels(plan, ranked, count, label_base, grow, err);

    for (uint32_t i = 0; code == SHEAF_OK && i < count; i++)
        renamed[ranked[i].found] = i + 1;
    free(ranked);
    if (code == SHEAF_OK)
        *out = renamed;
    else
        free(renamed);
    return code;
}
