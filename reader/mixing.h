/* SPDX-License-Identifier: MIT
 *
 * A running epoch of a view: which source each turn of a lane draws from.
 *
 *     lane 0:  turns --> source 2 --> [struct lane of (lane 0, source 2)] --> sample
 *
 * Each lane of the order has for each source a struct lane, with a shuffle buffer and a prefetch of
 * its own: those of the reader's lane i are i * sources on.  It takes in one stretch of the line of
 * a source epoch, and when that is used up, it begins the next.  Where data are far away, there are
 * twice as many: once all of a stretch is under way, the next one is begun in the other half, and
 * read ahead, so that nobody waits for it at its first turn. */
#ifndef READER_VIEW_MIXING_H
#define READER_VIEW_MIXING_H

#include "reader/reader_state.h"

struct mixing;

/* For the lanes that the reader has.  Frees what was there. */
int mixing_open(struct sheaf_reader *r);
void mixing_free(struct sheaf_reader *r);

/* Begins the epoch that r->load.order says, `rounds` rounds and `extra` lanes into it. */
int mixing_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* After the lanes were cleared. */
void mixing_end(struct sheaf_reader *r);

/* The next sample of the reader's lane `i`.  As lane_next. */
int mixing_turn(struct sheaf_reader *r, uint32_t i, struct ref *ref);

/* The source epoch of the item that mixing_turn gave last. */
uint64_t mixing_source_epoch(const struct mixing *mixing);

/* Whether all lanes are known to have ended. */
bool mixing_has_ended(const struct mixing *mixing);

#endif
