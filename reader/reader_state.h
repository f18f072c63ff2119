/* SPDX-License-Identifier: MIT
 *
 * The state of a reader. reader.c has the public calls, epoch.c begins epochs and asks the lanes
 * in turn, memory.c divides the memory budget, and sum.c and position.c count the samples handed
 * out. */
#ifndef READER_READER_STATE_H
#define READER_READER_STATE_H

#include "reader/load/lane.h"

/* A point from which the lanes' turns exceed the samples handed out. After `first` samples there
 * were `turns` more turns than samples, because of ended lanes and bad records. Both ascend in the
 * table. */
struct gap {
    uint64_t first, turns;
};

/* Counts of the turns since the epoch began or was resumed. Except during a turn,
 *     turns == start_turns + handed + corrupt + missing + empty. */
struct sum {
    uint64_t promised;              /* number of samples, including bad ones; unused for a stream */
    uint64_t corrupt;               /* number of bad records */
    uint64_t missing;               /* number of samples left out because a column has no value */
    uint64_t empty;                 /* number of turns of lanes that had ended */
    uint64_t read_past;             /* for a stream: number of samples read to reach the position
                                       where it was resumed */
};

/* A sample that the caller holds. */
struct out {
    struct ref ref;
    bool lent;                      /* the piece with the sample's bytes is lent to the program */
};

struct sheaf_reader {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    struct order_member member;
    struct loader load;
    struct lane *lanes;             /* load.lane_count lanes in the order of their turns; for a
                                       view see mixing.h */
    uint32_t own_lanes;             /* number of lanes of the order that this reader has */
    struct mixing *mixing;          /* for a view; else NULL */
    uint64_t *seed_sources;         /* the sources' numbers in the seeds of samples */
    uint64_t turns;                 /* number of turns since the epoch began, including those of
                                       ended lanes */
    uint64_t start_turns;           /* number of turns before the position where the epoch began
                                       or was resumed; next() reads a stream forward to it */
    bool is_reading;                /* a sample of the epoch has been asked for */
    uint64_t handed;                /* samples handed out since the start */
    struct sum sum;
    struct gap *gaps;               /* gaps, kept only as far back as a position may be asked for */
    size_t gap_count, gap_capacity;
    uint64_t epoch_samples;
    uint64_t table_bytes;           /* taken from the budget for the tables of slots */
    uint64_t lane_most;             /* largest number of samples that a lane may have in memory;
                                       0 for all */
    uint64_t alone_bytes;           /* exact memory for reading any single record; 0 if unknown */
    volatile int interrupt;
    bool dead;                      /* after a final error */
    struct sheaf_error error;
    /* The samples that the caller may use until the next call. */
    struct out *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    size_t out_count, out_capacity;
    struct columns *columns;        /* NULL if none (column_fields.h) */
    struct column_scratch **column_scratch;     /* one for each sample of a batch */
    size_t column_scratch_count;
    struct column_name *column_names;           /* names of fields that were made */
    bool keeps_features;            /* of the samples' records (reader_features.h) */
    int kept_code;                  /* an error that followed some samples, kept for the next
                                       call */
    struct sheaf_error kept;
    uint64_t opened_ns;
    struct sheaf_reader_stats stats;
};

#endif
