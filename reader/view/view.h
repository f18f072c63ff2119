/* SPDX-License-Identifier: MIT
 *
 * A view is a data set of chosen samples from several sources, with rules for mixing them. In
 * memory, it is a union of its sources (dataset.h), with facts from which the order of samples
 * follows (dataset_view.h). */
#ifndef READER_VIEW_VIEW_H
#define READER_VIEW_VIEW_H

#include "reader/dataset/dataset.h"
#include "reader/view/dataset_view.h"

/* Opens the view (a mix of data sets) that is stored at `url`. Returns SHEAF_END if `url` is not a
 * view, and SHEAF_ERR_UNSUPPORTED if its document has an invalid value. */
int dataset_open_view(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);
void dataset_view_free(struct dataset_view *view);      /* `view` may be NULL. */

#endif
