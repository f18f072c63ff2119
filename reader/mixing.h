/* SPDX-License-Identifier: MIT
 *
 * A running epoch of a view: decides from which source a lane takes its next sample.
 *
 *     lane 0:  turns --> source 2 --> [struct lane of (lane 0, source 2)] --> sample
 *
 * For each lane of the order, there is one struct lane for each source, with its own shuffle buffer
 * and its own reads ahead. Those for the reader's lane i begin at index i * sources. Such a struct
 * lane reads one stretch: a range of the samples in an epoch of the source. When the stretch is
 * used up, it begins the next one. For remote data the table of lanes has two halves. As soon as
 * all reads of a stretch are planned, the next stretch begins in the other half and is read ahead,
 * so that its first sample does not have to be waited for. */
#ifndef READER_VIEW_MIXING_H
#define READER_VIEW_MIXING_H

#include "reader/reader_state.h"

struct mixing;

/* Makes the tables for the reader's lanes, and frees earlier tables. */
int mixing_open(struct sheaf_reader *r);
void mixing_free(struct sheaf_reader *r);

/* Begins the epoch of r->load.order. It begins after `rounds` rounds (one sample of each lane), and
 * after one more sample of each of the first `extra` lanes. */
int mixing_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Must be called after the lanes were cleared. */
void mixing_end(struct sheaf_reader *r);

/* Returns the next sample of lane number i of the reader. Results are those of lane_next. */
int mixing_turn(struct sheaf_reader *r, uint32_t i, struct ref *ref);

/* Returns the epoch of its source from which the last item of mixing_turn was drawn. */
uint64_t mixing_source_epoch(const struct mixing *mixing);

/* Returns whether all lanes are known to have ended. */
bool mixing_has_ended(const struct mixing *mixing);

#endif
