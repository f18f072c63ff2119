/* SPDX-License-Identifier: MIT
 *
 * The state of a reader. reader.c has the public calls. epoch.c begins epochs and takes samples
 * from the lanes in turn. memory.c divides the memory budget. sum.c and position.c count the
 * samples that were returned. */
#ifndef READER_READER_STATE_H
#define READER_READER_STATE_H

#include "reader/load/lane.h"

struct epoch_order;

/* A turn is a request to a lane for one sample. A turn gives no sample if the lane has ended or the
 * record is bad. An entry says that, before the sample number `first` (counted from 1) was
 * returned, `turns` turns in total had given no sample. The table has an entry for each sample
 * before which this total has grown. */
struct gap {
    uint64_t first, turns;
};

/* Counts of the turns (requests to a lane for one sample) since the epoch began or was resumed.
 * Except during a turn, turns == start_turns + handed + corrupt + missing + empty. */
struct sum {
    /* number of samples that the epoch should have, including bad ones; not used for a stream */
    uint64_t promised;
    uint64_t corrupt;               /* number of bad records */
    /* number of samples that were left out of the epoch because a column has no value for them */
    uint64_t missing;
    uint64_t empty;                 /* number of turns of lanes that had ended */
    /* for a stream: number of samples that were read only to reach the position at which it was
     * resumed */
    uint64_t read_past;
};

/* A sample that the caller holds. */
struct out {
    struct ref ref;
    /* whether the piece of memory with the sample's bytes is lent to the program */
    bool lent;
};

struct sheaf_reader {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    struct order_member member;
    struct loader load;
    /* load.lane_count lanes, in the order in which samples are taken from them; for a view, see
     * mixing.c */
    struct lane *lanes;
    /* number of the epoch's lanes that this reader reads */
    uint32_t own_lanes;
    const struct epoch_order *epoch_order; /* the functions of the reader's order (epoch_order.h) */
    struct mixing *mixing;          /* for a view; else NULL */
    uint64_t *seed_sources;         /* the sources' numbers in the seeds of samples */
    /* number of requests to lanes for a sample since the epoch began, including requests to lanes
     * that had ended */
    uint64_t turns;
    /* number of turns (requests to a lane for one sample) before the position at which the epoch
     * began or was resumed; sheaf_reader_next reads a stream forward to this position */
    uint64_t start_turns;
    bool is_reading;                /* a sample of the epoch has been asked for */
    uint64_t handed;                /* samples handed out since the start */
    struct sum sum;
    /* table of the gaps (turns without a sample), kept only as far back as a position may be
     * requested */
    struct gap *gaps;
    size_t gap_count, gap_capacity;
    uint64_t epoch_samples;
    uint64_t table_bytes;           /* taken from the budget for the tables of slots */
    /* largest number of samples that a lane may have in memory; 0 if there is no limit */
    uint64_t lane_most;
    /* exact memory that is enough to read any single record; 0 if it is unknown */
    uint64_t alone_bytes;
    volatile int interrupt;
    bool dead;                      /* after a final error */
    struct sheaf_error error;
    /* The samples that were returned to the caller and are valid until the next call. */
    struct out *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    size_t out_count, out_capacity;
    struct columns *columns;        /* NULL if none (column_fields.h) */
    struct column_scratch **column_scratch;     /* one for each sample of a batch */
    size_t column_scratch_count;
    struct column_name *column_names;           /* names of fields that were made */
    bool keeps_features;            /* of the samples' records (reader_features.h) */
    /* code of an error that occurred after some samples of a batch; it is kept for the next call */
    int kept_code;
    struct sheaf_error kept;
    uint64_t opened_ns;
    struct sheaf_reader_stats stats;
};

#endif
