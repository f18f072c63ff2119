/* SPDX-License-Identifier: MIT
 *
 * The additional state of a data set that is a view: facts that determine the order, and the view's
 * document. view/view.h opens a view. */
#ifndef READER_DATASET_VIEW_H
#define READER_DATASET_VIEW_H

#include "formats/view.h"
#include "reader/order/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* of each source */
    /* for each source: 1 + the index of the last earlier source that is the same data set; 0 if
     * there is none */
    size_t *earlier;
    /* for each stage: fingerprint of the view from its beginning up to and including the stage */
    char (*fingerprints)[33];
};

#endif
