/* SPDX-License-Identifier: MIT
 *
 * The additional state of a data set that is a view: the facts that the order
 * needs, and the view's document. view/view.h opens one. */
#ifndef READER_DATASET_VIEW_H
#define READER_DATASET_VIEW_H

#include "formats/view.h"
#include "reader/order/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* of each source */
    size_t *earlier;                    /* for each source: 1 + the last earlier source that is
                                           the same data set; 0 if none */
    char (*fingerprints)[33];           /* fingerprint of the view up to each stage, including
                                           the first */
};

#endif
