/* SPDX-License-Identifier: MIT
 *
 * Returns the samples that an epoch can draw. In a view (a mix of data sets), these are the chosen
 * samples. */
#include "reader/view/dataset_view.h"

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
