/* SPDX-License-Identifier: MIT
 *
 * Computes which sample each step of a lane (a sequence of samples) returns in an epoch of a view.
 * Works with numbers only, and does not read samples. */
#ifndef READER_VIEW_VIEW_REPLAY_H
#define READER_VIEW_VIEW_REPLAY_H

#include "reader/order/order_replay.h"
#include "reader/view/view.h"

/* Begins the epoch of all lanes (sequences of samples). The caller must free *replay, also after an
 * error, unless the function has left *replay unchanged because memory is exhausted. */
int view_replay_begin(const struct sheaf_dataset *dataset, const struct order *order,
                      struct order_replay **replay, struct sheaf_error *err);

#endif
