/* SPDX-License-Identifier: MIT
 *
 * The label map.  The catalog has labels in the order in which they were found, which may be any;
 * here they get an order of their own: none, classes in byte order, numbers. */
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

static int take_labels(struct plan *plan, const struct ranked *ranked, uint32_t count,
                       int label_base, struct sheaf_error *err)
{
    while (plan->class_count < count && ranked[plan->class_count].label.class_name != NULL)
        plan->class_count++;
    plan->label_count = count + 1;
    plan->labels = calloc(plan->label_count, sizeof(plan->labels[0]));
    plan->classes = calloc((size_t)plan->class_count + 1, sizeof(plan->classes[0]));
    plan->class_values = calloc((size_t)plan->class_count + 1, sizeof(plan->class_values[0]));
    if (plan->labels == NULL || plan->classes == NULL || plan->class_values == NULL)
        return err_memory(err, plan->label_count * sizeof(plan->labels[0]));
    for (uint32_t i = 0; i < count; i++) {
        const struct catalog_label *from = &ranked[i].label;
        struct plan_label *to = &plan->labels[i + 1];

        *to = (struct plan_label){ from->class_name, from->values, from->value_count };
        if (i < plan->class_count) {
            plan->classes[i] = from->class_name;
            plan->class_values[i] = (double)label_base + (double)i;
            to->values = &plan->class_values[i];
            to->value_count = 1;
        }
    }
    return SHEAF_OK;
}

int plan_rank_labels(struct plan *plan, const struct catalog *catalog, const bool *used,
                     int label_base, uint32_t **out, struct sheaf_error *err)
{
    uint32_t count, *renamed = calloc((size_t)catalog->label_count + 1, sizeof(*renamed));
    struct ranked *ranked = rank_used(catalog, used, &count);
    int code = ranked == NULL || renamed == NULL
                   ? err_memory(err, catalog->label_count * sizeof(*ranked))
                   : take_labels(plan, ranked, count, label_base, err);

    for (uint32_t i = 0; code == SHEAF_OK && i < count; i++)
        renamed[ranked[i].found] = i + 1;
    free(ranked);
    if (code == SHEAF_OK)
        *out = renamed;
    else
        free(renamed);
    return code;
}
