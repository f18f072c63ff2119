/* SPDX-License-Identifier: MIT
 *
 * A running epoch of a view: decides from which source each turn of a lane draws.
 *
 *     lane 0:  turns --> source 2 --> [struct lane of (lane 0, source 2)] --> sample
 *
 * Each lane of the order has one struct lane for each source, with its own shuffle buffer and its
 * own reads ahead. Those of the reader's lane i begin at index i * sources. Such a lane reads one
 * stretch of a source epoch's line. When the stretch is used up, it begins the next. For remote
 * data the table has two halves: as soon as all reads of a stretch are planned, the next stretch
 * begins in the other half and is read ahead, so that its first turn does not wait. */
#ifndef READER_VIEW_MIXING_H
#define READER_VIEW_MIXING_H

#include "reader/reader_state.h"

struct mixing;

/* Makes the tables for the reader's lanes. Frees earlier tables. */
int mixing_open(struct sheaf_reader *r);
void mixing_free(struct sheaf_reader *r);

/* Begins the epoch of r->load.order at the position after `rounds` rounds and `extra` lanes. */
int mixing_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Must be called after the lanes were cleared. */
void mixing_end(struct sheaf_reader *r);

/* Returns the next sample of the reader's lane `i`. Results are those of lane_next. */
int mixing_turn(struct sheaf_reader *r, uint32_t i, struct ref *ref);

/* Returns the source epoch of the item that mixing_turn returned last. */
uint64_t mixing_source_epoch(const struct mixing *mixing);

/* Returns whether all lanes are known to have ended. */
bool mixing_has_ended(const struct mixing *mixing);

#endif
