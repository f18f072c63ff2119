/* SPDX-License-Identifier: MIT
 *
 * The additional state of a data set that is a view: facts that determine the order, and the view's
 * document. view/view.h opens a view. */
#ifndef READER_DATASET_VIEW_H
#define READER_DATASET_VIEW_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/order/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* of each source */
    /* for each source: 1 + the index of the last earlier source that is the same data set; 0 if
     * there is none */
    size_t *earlier;
    /* for each stage (part of a training run with weights of its own): fingerprint of the view with
     * the stages up to and including this one */
    char (*fingerprints)[33];
};

/* Returns the index of the stage (part of a training run with weights of its own) to which the last
 * step of an epoch's first `rounds` rounds belongs. The stages after it have not affected the order
 * yet. Steps are counted over all epochs. Returns 0 if there are no steps, or if the data set is
 * not a view. */
size_t dataset_stage(const struct sheaf_dataset *dataset, const struct order *order,
                     uint64_t rounds);
/* Returns the fingerprint of a view from its beginning up to and including the stage, or the
 * fingerprint of a data set that is not a view. */
const char *dataset_stage_fingerprint(const struct sheaf_dataset *dataset, size_t stage);

/* Returns the number of samples in an epoch. */
uint64_t dataset_epoch_samples(const struct sheaf_dataset *dataset);
/* Returns the number of different samples that an epoch can draw: those that a view has chosen, or
 * all samples of a data set that is not a view. */
uint64_t dataset_chosen_count(const struct sheaf_dataset *dataset);
/* Returns the number in the data set of one of these samples. `rank` counts them from 0, in
 * ascending order within each source. Sets *run to how many consecutive samples, from the returned
 * one on, can be drawn; it is at least 1, and may be less than the true value. */
uint64_t dataset_chosen_number(const struct sheaf_dataset *dataset, uint64_t rank,
                               uint64_t *run);

#endif
