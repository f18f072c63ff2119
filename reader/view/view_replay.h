/* SPDX-License-Identifier: MIT
 *
 * Computes which sample each step of a lane (a sequence of samples) returns in an epoch of a view.
 * Works with numbers only, and does not read samples. */
#ifndef READER_VIEW_VIEW_REPLAY_H
#define READER_VIEW_VIEW_REPLAY_H

#include "reader/view/view.h"

struct view_replay;

/* Begins the epoch of all lanes. */
int view_replay_begin(struct view_replay **replay, const struct sheaf_dataset *dataset,
                      const struct order *order, struct sheaf_error *err);
void view_replay_free(struct view_replay *replay);      /* `replay` may be NULL. */

/* Sets *source to the source from which the next step of the lane (a sequence of samples) draws.
 * Sets *rank to the rank of the drawn sample, that is, its number among the chosen samples of this
 * source. Returns SHEAF_END at the end of the lane. A sample that pads the lane is not included. */
int view_replay_next(struct view_replay *replay, uint32_t lane, size_t *source, uint64_t *rank,
                     struct sheaf_error *err);

#endif
