/* SPDX-License-Identifier: MIT
 *
 * The state of a reader. reader.c has the public calls, epoch.c begins epochs and asks the lanes in
 * turn, load/memory.c shares the budget out, sum.c and position.c count what was handed out. */
#ifndef READER_READER_STATE_H
#define READER_READER_STATE_H

#include "reader/load/lane.h"

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

/* A sample that the caller has. */
struct out {
    struct ref ref;
    bool lent;                      /* the piece that has its bytes goes to the program, too */
};

struct sheaf_reader {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    struct order_member member;
    struct loader load;
    struct lane *lanes;             /* load.lane_count: in their turn, or of a view as mixing.h
                                       says */
    uint32_t own_lanes;             /* lanes of the order that are this reader's */
    struct mixing *mixing;          /* of a view; else NULL */
    uint64_t *seed_sources;         /* their identities in the seeds of samples */
    uint64_t turns;                 /* lanes asked in turn since the epoch began, ended ones too */
    uint64_t start_turns;           /* where the epoch was started or resumed; a stream that is
                                       not there yet is read forward by next() */
    bool is_reading;                /* a sample of the epoch has been asked for */
    uint64_t handed;                /* samples handed out since the start */
    struct sum sum;
    struct gap *gaps;               /* as far back as a position may be asked for */
    size_t gap_count, gap_capacity;
    uint64_t epoch_samples;
    uint64_t table_bytes;           /* taken from the budget for the slots' table */
    uint64_t lane_most;             /* samples that a lane may have in memory; 0: all */
    uint64_t alone_bytes;           /* what reading any record alone takes; 0: not known exactly */
    volatile int interrupt;
    bool dead;                      /* after a final error */
    struct sheaf_error error;
    /* What the caller has: valid until the next call. */
    struct out *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    size_t out_count, out_capacity;
    bool keeps_features;            /* of their records (reader_features.h) */
    int kept_code;                  /* an error found behind samples, for the next call */
    struct sheaf_error kept;
    uint64_t opened_ns;
    struct sheaf_reader_stats stats;
};

#endif
