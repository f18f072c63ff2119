/* SPDX-License-Identifier: MIT
 *
 * A view: chosen samples of several data sets, and how they are mixed.  It is a union of its
 * sources (dataset.h), which has beside their shards what the order needs to know. */
#ifndef READER_VIEW_VIEW_H
#define READER_VIEW_VIEW_H

#include "reader/dataset/dataset.h"
#include "reader/dataset/dataset_view.h"

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
