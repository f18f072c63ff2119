/* SPDX-License-Identifier: MIT
 *
 * Evaluates the conditions of a view. */
#ifndef READER_VIEW_VIEW_SELECT_H
#define READER_VIEW_VIEW_SELECT_H

#include "formats/view.h"
#include "reader/dataset/dataset.h"
#include "reader/order/selection.h"
#include "reader/view/view_keys.h"

/* Finds the samples of a data set that satisfy the conditions in `where`, and sets *selection to
 * them. If there are conditions on keys, sets where->text to a text that identifies the content of
 * the key files. Returns SHEAF_ERR_ARGUMENT if no sample satisfies the conditions. */
int view_select(const struct sheaf_dataset *dataset, struct view_where *where,
                const struct view_keys_how *how, struct selection *selection,
                struct sheaf_error *err);

#endif
