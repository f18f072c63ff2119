/* SPDX-License-Identifier: MIT
 *
 * A view: chosen samples of several data sets, and how they are mixed.  It is a union of its
 * sources (dataset.h), which has beside their shards what the order needs to know. */
#ifndef READER_VIEW_VIEW_H
#define READER_VIEW_VIEW_H

#include "formats/view.h"
#include "reader/dataset.h"
#include "reader/view/mix.h"

struct dataset_view {
    struct view document;
    struct mix mix;
    struct order_chosen *chosen;        /* of each source */
    size_t *earlier;                    /* of each source: the last one before it that is the same
                                           data set, + 1; 0: none */
    char (*fingerprints)[33];           /* of the view up to each stage, the first included */
};

/* Opens the view that is at `url`.  SHEAF_END: it is no view. */
int dataset_open_view(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens the view that this document is, as if it were at `url`. */
int dataset_open_document(const char *text, size_t size, const char *url,
                          struct sheaf_dataset **dataset, struct sheaf_error *err);
void dataset_view_free(struct dataset_view *view);      /* NULL is fine */

/* The stage (0, 1, ...) of the last step of so many rounds of an epoch, those of earlier epochs
 * before them; of no step, 0.  A stage that begins behind it has not changed anything yet. */
size_t dataset_view_stage(const struct dataset_view *view, const struct order *order,
                          uint64_t rounds);

#endif
