/* SPDX-License-Identifier: MIT
 *
 * A view is a data set of chosen samples from several sources, with rules for mixing them. In
 * memory, it is a union of its sources (dataset.h), with facts from which the order of samples
 * follows (dataset_view.h). */
#ifndef READER_VIEW_VIEW_H
#define READER_VIEW_VIEW_H

#include "reader/dataset/dataset.h"
#include "reader/view/dataset_view.h"

/* Reads the text of the view (a mix of data sets) at `url`. The caller must free *text. Returns
 * SHEAF_END if there is no view at `url`. */
int view_read_text(const char *url, char **text, size_t *size, struct sheaf_error *err);
/* Computes from the document how the view mixes its opened sources. */
int view_make_mix(struct dataset_view *view, struct sheaf_dataset *const *sources,
                  struct sheaf_error *err);
/* For each stage, computes the fingerprint of the view (a mix of data sets) without the later
 * stages. (A stage is a part of a training run with weights of its own.) The fingerprint is a hash
 * of the view's document, in which the names of the sources are replaced by the fingerprints of the
 * sources. */
int view_name_stages(struct dataset_view *view, struct sheaf_dataset *const *sources,
                     struct sheaf_error *err);
/* Sets the numbers of samples of a view (a mix of data sets) and its sources. Called after the
 * sources were united to one data set. */
void view_take_numbers(struct sheaf_dataset *dataset, struct dataset_view *view);
void dataset_view_free(struct dataset_view *view);      /* `view` may be NULL. */

#endif
