/* SPDX-License-Identifier: MIT
 *
 * The conditions of a view, evaluated. */
#ifndef READER_VIEW_VIEW_SELECT_H
#define READER_VIEW_VIEW_SELECT_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/order/selection.h"
#include "reader/view/view_keys.h"

/* Which samples of a data set fulfil the conditions.  Where there are some on keys, `where` is
 * given the text that says what was in the files of keys.  An empty selection is
 * SHEAF_ERR_ARGUMENT. */
int view_select(const struct sheaf_dataset *dataset, struct view_where *where,
                const struct view_keys_how *how, struct selection *selection,
                struct sheaf_error *err);

#endif
