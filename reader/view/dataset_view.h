/* SPDX-License-Identifier: MIT
 *
 * State of a data set that is a view (a mix of data sets): the document that describes the view,
 * and values from which the order of samples is computed. */
#ifndef READER_VIEW_DATASET_VIEW_H
#define READER_VIEW_DATASET_VIEW_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/order/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* the chosen samples of each source */
    /* For each source: 1 + the index of the last source before it that is the same data set, or 0
     * if there is no such source. */
    size_t *earlier;
    /* For each stage (a part of a training run with weights of its own): the fingerprint of the
     * view (a mix of data sets), computed without the later stages. */
    char (*fingerprints)[33];
};

/* Returns the number of different samples in an epoch. In a view (a mix of data sets), these are
 * the chosen samples, and otherwise all samples of the data set. */
uint64_t dataset_chosen_count(const struct sheaf_dataset *dataset);
/* The samples that an epoch can draw (in a view, the chosen samples) are sorted by source, and then
 * by number. Returns the number of the sample at index `rank` in this order.
 *
 * Sets *run to a number, at least 1. The samples at the indexes `rank` to `rank` + *run - 1 have
 * consecutive numbers, so the caller need not ask for each of them. *run may be smaller than the
 * longest possible value. */
uint64_t dataset_chosen_number(const struct sheaf_dataset *dataset, uint64_t rank,
                               uint64_t *run);

/* Opens the view (a mix of data sets) with the document `text`. If `keep` is true, the samples that
 * were chosen by its conditions on keys or columns are stored in a file in the view's directory.
 * (dataset_open.c) */
int dataset_open_view_text(const char *text, size_t size, const char *url,
                           const struct sheaf_read_options *reading, bool keep,
                           struct sheaf_dataset **dataset, struct sheaf_error *err);

#endif
