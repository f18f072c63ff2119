/* SPDX-License-Identifier: MIT
 *
 * The prefetch: the chunks that are read ahead for each lane.
 *
 *     line:  ... taken | [chunk][chunk] planned | not planned yet ...
 *
 * Chunks are planned in the order in which their first intake will be needed (the least intake
 * number over all lanes first), so whatever the budget holds is always what is needed soonest, and
 * no lane can starve another.
 *
 * Where samples are read as they are drawn (see lazy_shuffle.h), the intakes of a lane are its
 * draws.  Where single samples do not fit into the memory, they are deferred: taken in as numbers,
 * and read when they are drawn (see deferred.h).
 *
 * All of this runs on the caller's thread, which only runs queued jobs itself where they are not
 * waited for long; workers run the jobs. */
#ifndef READER_PREFETCH_H
#define READER_PREFETCH_H

#include "reader/feed.h"
#include "reader/intakes.h"

struct draws;
struct stream;

/* What one lane takes in, in its order. */
struct prefetch {
    const struct intakes *intakes;  /* the lane's, */
    const struct order_line *line;  /* and the line that they are places of */
    double pace;                /* intakes a round, about: 1 but for the lanes of a view */
    uint64_t before;            /* intakes of the lane's earlier stretches in the epoch */
    bool is_ahead;              /* the lane's first turn is later: another stretch is not used up */
    uint64_t planned;           /* intakes that are in chunks, or were; >= taken */
    uint64_t taken;             /* intakes that were taken */
    struct chunk *first, *last;
    unsigned waiting;           /* of a stream: chunks planned and not yet taken away */
    struct stream *stream;      /* the data set is one: the lane's shards; else NULL */
    struct draws *draws;        /* samples are read as they are drawn; else NULL */
    struct shard *shard;        /* the planned place is in it */
    struct shard *next;         /* the one after it on the line; NULL: none, or not yet */
    struct shard *alone;        /* of the record that is to be read alone next; NULL: none */
};

/* Begins a lane's.  `line` and `intakes` are borrowed; the intakes must be known by the first call
 * of prefetch_pump.  `shuffle` is at its start, and is what draws begin with, `steps` steps
 * further. */
int prefetch_begin(struct feed *feed, struct prefetch *prefetch, uint32_t lane,
                   const struct order_line *line, const struct intakes *intakes,
                   const struct shuffle *shuffle, uint64_t steps, struct sheaf_error *err);
/* Makes remote reads end soon. */
void prefetch_cancel(struct prefetch *prefetch);
/* Waits for all jobs of its chunks. */
void prefetch_wait(struct prefetch *prefetch);
/* Frees the chunks; no job may be running. */
void prefetch_clear(struct feed *feed, struct prefetch *prefetch);

/* Ends what was taken to its end: what of it is with the caller stays until feed_release. */
void prefetch_end(struct feed *feed, struct prefetch *prefetch);

/* Submits as much as window and budget permit, for all lanes.  SHEAF_ERR_INTERRUPTED: a shard was
 * not opened in time, and it may be called again. */
int prefetch_pump(struct feed *feed, struct sheaf_error *err);

/* Whether the next item can be taken without waiting. */
bool prefetch_is_here(const struct prefetch *prefetch);

/* The next item of a lane goes to *item.  Waits for it.  SHEAF_OK; SHEAF_END if there are no more
 * (known only now for a stream); SHEAF_ERR_INTERRUPTED if *feed->interrupt became nonzero
 * while it waited: it may be called again.  The chunk that a sequential item lies in stays until
 * feed_release; that of one which is in no piece of the heap, where items have pieces, until the
 * next call. */
int prefetch_take(struct feed *feed, struct prefetch *prefetch, struct item *item,
                  struct sheaf_error *err);

#endif
