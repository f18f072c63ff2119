/* SPDX-License-Identifier: MIT
 *
 * What a data set that is a view has beside its sources' shards: what the order needs to know, and
 * the document that says so.  view/view.h opens one. */
#ifndef READER_DATASET_VIEW_H
#define READER_DATASET_VIEW_H

#include "formats/view.h"
#include "reader/order/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* of each source */
    size_t *earlier;                    /* of each source: the last one before it that is the same
                                           data set, + 1; 0: none */
    char (*fingerprints)[33];           /* of the view up to each stage, the first included */
};

#endif
