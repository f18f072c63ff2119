/* SPDX-License-Identifier: MIT
 *
 * Selects a few samples that show what a data set contains. They are divided evenly among its
 * classes (sheaf_dataset_draw). */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset/labels.h"
#include "reader/view/dataset_view.h"

/* Largest number of samples for which labels are read. For more samples, the index that contains
 * the labels would be larger than 150 MB. */
#define LABELS_MOST ((uint64_t)1 << 24)

struct class_drawing {
    const struct sheaf_dataset *dataset;
    const uint32_t *labels;     /* label of each sample, plus 1 */
    uint32_t end;               /* one more than the largest element of `labels` */
    /* for each label: number of its samples, and number of its samples that were visited so far */
    uint64_t *samples, *seen;
    /* number of samples to select for each label, and number of them that have been selected so far
     */
    uint64_t *wanted, *drawn;
    /* for each label: index in `numbers` at which the number of its next sample is stored */
    size_t *next;
    uint64_t *numbers;
};

/* ---- By class -------------------------------------------------------------------------------- */

/* Returns the number that the sample with the index `rank` has in the data set. The index counts
 * only the samples that an epoch can draw. */
static uint64_t chosen_number(const struct sheaf_dataset *d, uint64_t rank)
{
    uint64_t run;

    return dataset_chosen_number(d, rank, &run);
}

/* Divides the numbers from 0 to `count` - 1 into `parts` ranges of about equal size. Returns the
 * number in the middle of range `index`. */
static uint64_t middle(uint64_t count, uint64_t index, uint64_t parts)
{
    return (uint64_t)(((unsigned __int128)count * (2 * index + 1)) / (2 * parts));
}

static void draw_count_labels(struct class_drawing *g, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        g->samples[g->labels[chosen_number(g->dataset, i)]]++;
}

/* Decides how many samples of each label are selected, `count` in total. If there are more labels
 * than `count`, selects one sample for each of `count` evenly spaced labels. Otherwise selects the
 * same number of samples for each label, except for labels that have fewer samples. */
static size_t share(struct class_drawing *g, size_t count)
{
    uint64_t labels = 0, at = 0, given = 0;
    size_t drawn = 0;
    bool more = true;

    for (uint32_t i = 0; i < g->end; i++)
        labels += g->samples[i] != 0;
    for (uint32_t i = 0; labels > count && i < g->end; i++) {
        if (g->samples[i] == 0)
            continue;
        if (given < count && middle(labels, given, count) == at++) {
            g->wanted[i] = 1;
            given++;
        }
    }
    for (drawn = (size_t)given; labels <= count && more;) {
        more = false;
        for (uint32_t i = 0; i < g->end && drawn < count; i++) {
            if (g->wanted[i] == g->samples[i])
                continue;
            g->wanted[i]++;
            drawn++;
            more = true;
        }
    }
    return drawn;
}

static void draw_do(struct class_drawing *g, uint64_t count)
{
    size_t at = 0;

    for (uint32_t i = 0; i < g->end; at += g->wanted[i++])
        g->next[i] = at;
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t number = chosen_number(g->dataset, k);
        const uint32_t label = g->labels[number];
        const uint64_t wanted = g->wanted[label], drawn = g->drawn[label];

        if (drawn < wanted && middle(g->samples[label], drawn, wanted) == g->seen[label]) {
            g->numbers[g->next[label]++] = number;
            g->drawn[label]++;
        }
        g->seen[label]++;
    }
}

/* Returns SHEAF_END if the samples have no class labels. */
static int draw_by_label(const struct sheaf_dataset *d, size_t count, uint64_t *numbers,
                         size_t *drawn, struct sheaf_error *err)
{
    const uint64_t all = dataset_samples(d), chosen = dataset_chosen_count(d);
    uint32_t *labels = calloc(all + 1, sizeof(labels[0])), largest = 0;
    struct class_drawing g = { .dataset = d, .labels = labels, .numbers = numbers };
    int code = labels == NULL ? err_memory(err, all * sizeof(labels[0]))
                              : labels_read(d, labels, err);

    for (uint64_t i = 0; code == SHEAF_OK && i < all; i++)
        largest = MAX(largest, labels[i]);
    g.end = largest + 1;
    /* The possible labels are 0 to the largest label. If there are more possible labels than
     * samples, the labels are not classes but other values, such as the targets of a regression. */
    if (code == SHEAF_OK && largest >= all)
        code = SHEAF_END;
    if (code == SHEAF_OK) {
        g.samples = calloc(g.end, sizeof(g.samples[0]));
        g.seen = calloc(g.end, sizeof(g.seen[0]));
        g.wanted = calloc(g.end, sizeof(g.wanted[0]));
        g.drawn = calloc(g.end, sizeof(g.drawn[0]));
        g.next = calloc(g.end, sizeof(g.next[0]));
        if (g.samples == NULL || g.seen == NULL || g.wanted == NULL || g.drawn == NULL ||
            g.next == NULL)
            code = err_memory(err, g.end * sizeof(g.samples[0]));
    }
    if (code == SHEAF_OK) {
        draw_count_labels(&g, chosen);
        *drawn = share(&g, count);
        draw_do(&g, chosen);
    }
    free(labels);
    free(g.samples);
    free(g.seen);
    free(g.wanted);
    free(g.drawn);
    free(g.next);
    return code;
}

int sheaf_dataset_draw(const struct sheaf_dataset *d, size_t count, uint64_t *numbers,
                       size_t *drawn, struct sheaf_error *err)
{
    const uint64_t chosen = dataset_chosen_count(d);
    int code = SHEAF_END;

    *drawn = 0;
    if (d->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a stream can only be read forward", d->url);
    if (d->has_manifest && dataset_samples(d) <= LABELS_MOST && count < chosen && count != 0)
        code = draw_by_label(d, count, numbers, drawn, err);
    if (code != SHEAF_END)
        return code;
    *drawn = (size_t)MIN(chosen, (uint64_t)count);
    for (size_t i = 0; i < *drawn; i++)
        numbers[i] = chosen_number(d, middle(chosen, i, *drawn));
    return SHEAF_OK;
}
