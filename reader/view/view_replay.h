/* SPDX-License-Identifier: MIT
 *
 * Replays an epoch of a view as numbers: finds the sample of each step of a lane without reading
 * samples. */
#ifndef READER_VIEW_VIEW_REPLAY_H
#define READER_VIEW_VIEW_REPLAY_H

#include "reader/view/view.h"

struct view_replay;

/* Begins the epoch of all lanes. */
int view_replay_begin(struct view_replay **replay, const struct sheaf_dataset *dataset,
                      const struct order *order, struct sheaf_error *err);
void view_replay_free(struct view_replay *replay);      /* NULL is allowed */

/* Finds the source from which the lane's next step draws, and the sample's rank, which counts the
 * chosen samples of this source from 0. Returns SHEAF_END at the end of the lane. A sample that
 * pads the lane is not returned. */
int view_replay_next(struct view_replay *replay, uint32_t lane, size_t *source, uint64_t *rank,
                     struct sheaf_error *err);

#endif
