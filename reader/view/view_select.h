/* SPDX-License-Identifier: MIT
 *
 * The conditions of a view, evaluated. */
#ifndef READER_VIEW_VIEW_SELECT_H
#define READER_VIEW_VIEW_SELECT_H

#include "formats/view.h"
#include "reader/dataset.h"
#include "reader/view/selection.h"

/* Which samples of a data set fulfil the conditions.  Keys are compared by reading all of the
 * data set; `where` is then given the text that says what was in the files of keys.  An
 * empty selection is SHEAF_ERR_ARGUMENT.  `directory`: of the document. */
int view_select(const struct sheaf_dataset *dataset, struct view_where *where,
                const char *directory, struct selection *selection, struct sheaf_error *err);

/* A path of the document, to be freed: relative to its directory, unless it is a URL or
 * absolute. */
char *view_path(const char *directory, const char *path);

#endif
