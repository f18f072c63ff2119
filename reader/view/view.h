/* SPDX-License-Identifier: MIT
 *
 * A view: chosen samples of several data sets, and how they are mixed. In memory it is a union of
 * its sources (dataset.h) with additional facts that determine the order (dataset_view.h). */
#ifndef READER_VIEW_VIEW_H
#define READER_VIEW_VIEW_H

#include "reader/dataset/dataset.h"
#include "reader/dataset/dataset_view.h"

/* Opens the view at `url`. Returns SHEAF_END if there is no view at this place. */
int dataset_open_view(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err);
/* Opens a view from the text of its document, as if the document were stored at `url`. */
int dataset_open_document(const char *text, size_t size, const char *url,
                          struct sheaf_dataset **dataset, struct sheaf_error *err);
void dataset_view_free(struct dataset_view *view);      /* NULL is allowed */

#endif
