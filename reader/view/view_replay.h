/* SPDX-License-Identifier: MIT
 *
 * An epoch of a view on numbers: which sample each step of a lane is, without reading any. */
#ifndef READER_VIEW_VIEW_REPLAY_H
#define READER_VIEW_VIEW_REPLAY_H

#include "reader/view/view.h"

struct view_replay;

/* Begins the epoch of all lanes. */
int view_replay_begin(struct view_replay **replay, const struct sheaf_dataset *dataset,
                      const struct order *order, struct sheaf_error *err);
void view_replay_free(struct view_replay *replay);      /* NULL is fine */

/* The source of the lane's next step, and the sample's rank among its chosen ones.  SHEAF_END: the
 * lane has none left, but perhaps the sample that pads it, which is not replayed. */
int view_replay_next(struct view_replay *replay, uint32_t lane, size_t *source, uint64_t *rank,
                     struct sheaf_error *err);

#endif
