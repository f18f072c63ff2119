/* SPDX-License-Identifier: MIT
 *
 * Functions for which a view (a mix of data sets) needs code of its own. They return the stage at a
 * position of an epoch, and the samples that an epoch can draw. A stage is a part of a training run
 * with weights of its own. */
#include "reader/dataset/dataset_view.h"

size_t dataset_stage(const struct sheaf_dataset *d, const struct order *order, uint64_t rounds)
{
    const struct mix *mix = d->view == NULL ? NULL : &d->view->mix;
    uint64_t steps;
    size_t stage = 0;

    if (mix == NULL)
        return 0;
    steps = order->epoch * mix_rounds(mix, order) + rounds;
    while (stage + 1 < mix->stage_count && mix_stage_begin(mix, order, stage + 1) < steps)
        stage++;
    return stage;
}

const char *dataset_stage_fingerprint(const struct sheaf_dataset *d, size_t stage)
{
    return d->view == NULL ? d->manifest.fingerprint : d->view->fingerprints[stage];
}

uint64_t dataset_epoch_samples(const struct sheaf_dataset *d)
{
    return d->view != NULL ? d->view->mix.samples : dataset_samples(d);
}

uint64_t dataset_chosen_count(const struct sheaf_dataset *d)
{
    uint64_t count = 0;

    if (d->view == NULL)
        return dataset_samples(d);
    for (size_t s = 0; s < d->source_count; s++)
        count += d->view->chosen[s].chosen.count;
    return count;
}

uint64_t dataset_chosen_number(const struct sheaf_dataset *d, uint64_t rank, uint64_t *run)
{
    const struct order_chosen *of;

    if (d->view == NULL) {
        *run = dataset_samples(d) - rank;
        return rank;
    }
    for (of = d->view->chosen; rank >= of->chosen.count; of++)
        rank -= of->chosen.count;
    return of->first_number + selection_number(&of->chosen, rank, run);
}
