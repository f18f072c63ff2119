/* SPDX-License-Identifier: MIT
 *
 * The reader's inside: an epoch under way.  reader.c has the public calls, epoch.c begins epochs
 * and says what they need, position.c turns places in them into text and back. */
#ifndef READER_READER_H
#define READER_READER_H

#include "reader/lane.h"

/* From `first` samples on, the turns of the lanes are `turns` more than the samples: lanes that
 * had ended were passed over, and bad records.  Ascending in both. */
struct gap {
    uint64_t first, turns;
};

/* What became of the turns since the epoch began or was resumed, besides samples handed out:
 *   turns == start_turns + handed + corrupt + empty, but while one is under way. */
struct sum {
    uint64_t promised;              /* samples, bad ones too; of no meaning for a stream */
    uint64_t corrupt;               /* bad records that were counted */
    uint64_t empty;                 /* turns of lanes that had ended */
    uint64_t read_past;             /* of a stream: what was read to get to where it was resumed */
};

struct sheaf_reader {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    struct order_member member;
    struct feed feed;
    uint64_t turns;                 /* lanes asked in turn since the epoch began, ended ones too */
    uint64_t start_turns;           /* where the epoch was begun or resumed; a stream that is
                                       not there yet is read forward by next() */
    uint64_t handed;                /* samples handed out since */
    struct sum sum;
    struct gap *gaps;               /* as far back as a position may be asked for */
    size_t gap_count, gap_capacity;
    uint64_t epoch_samples;
    uint64_t table_bytes;           /* taken from the budget for the slots' table */
    uint64_t alone_bytes;           /* what reading any record alone takes; 0: not known exactly */
    struct item pending;            /* deferred: it is not read yet, but its turn has come */
    volatile int interrupt;
    bool dead;                      /* after a final error */
    struct sheaf_error error;
    /* What the caller has: valid until the next call. */
    struct item *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    struct decode_context context;  /* for the shard of the sample that is being decoded */
    size_t out_count, out_capacity;
    int kept_code;                  /* an error found behind samples, for the next call */
    struct sheaf_error kept;
    uint64_t opened_ns;
    struct sheaf_reader_stats stats;
};

/* ---- reader/reader.c ------------------------------------------------------------------------ */

/* The caller's options over the defaults, as far as the caller's header knew them. */
void reader_options_take(struct sheaf_reader_options *taken,
                         const struct sheaf_reader_options *given);

/* What they say of order and member, checked. */
int order_of_options(const struct sheaf_dataset *dataset,
                     const struct sheaf_reader_options *options, struct order *order,
                     struct order_member *member, struct sheaf_error *err);

/* Opens the heap of samples: in the memory that the options give, unless something that was lent is
 * in it still. */
int reader_open_heap(struct sheaf_reader *r, bool memory_is_free, struct sheaf_error *err);

/* Takes back what the caller had of the last call. */
void reader_release(struct sheaf_reader *r);

/* ---- reader/sum.c --------------------------------------------------------------------------- */

/* Begins the sum of an epoch whose lanes were begun. */
void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);

/* A turn was taken whose sample is neither handed out nor counted: what fails now is final. */
bool sum_is_open(const struct sheaf_reader *r);

/* A stream ended before the place where it was to be resumed.  That is an error, unless others have
 * longer lanes: SHEAF_OK. */
int sum_check_start(struct sheaf_reader *r);

/* At the end of the epoch: SHEAF_END, or SHEAF_ERR_MISMATCH. */
int sum_check(struct sheaf_reader *r);

/* ---- reader/position.c ---------------------------------------------------------------------- */

/* One more sample is being handed out. */
int position_count(struct sheaf_reader *r);

/* ---- reader/fit.c --------------------------------------------------------------------------- */

/* Whether what is read as it is drawn leaves enough of the budget. */
bool fit_draws(const struct sheaf_reader *r);

/* Shares the budget out for the epoch whose lanes have begun.  SHEAF_ERR_LIMIT, with what would be
 * enough, if it is too small. */
int fit_memory(struct sheaf_reader *r);

/* ---- reader/epoch.c ------------------------------------------------------------------------- */

/* Makes the table of this member's lanes, of `lanes` in all, which its members divide. */
int epoch_set_lanes(struct sheaf_reader *r, uint32_t lanes);

/* Begins the epoch that r->feed.order says, `rounds` rounds and `extra` lanes into it. */
int epoch_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra);
/* Stops all jobs and drops all that is in flight. */
void epoch_end(struct sheaf_reader *r);

/* Reads a stream on to where it was resumed. */
int epoch_read_forward(struct sheaf_reader *r);

/* The next item of the epoch, bad ones passed over or not as the options say. */
int epoch_next(struct sheaf_reader *r, struct item *item);

/* Notes a bad record: SHEAF_OK if it may be skipped, else its code, with r->error set. */
int epoch_bad(struct sheaf_reader *r, uint32_t shard, const struct sheaf_error *bad);

#endif
