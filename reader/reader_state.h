/* SPDX-License-Identifier: MIT
 *
 * The state of a reader. reader.c has the public functions. epoch.c begins epochs and takes samples
 * from the lanes (sequences of samples) in turn. memory.c divides the memory budget. sum.c and
 * position.c count the returned samples. */
#ifndef READER_READER_STATE_H
#define READER_READER_STATE_H

#include "reader/load/lane.h"

struct epoch_order;

/* One or more turns that gave no sample, before a turn that gave one. (In a turn, a lane is asked
 * for one sample. It gives none if it has ended or if the record is bad.) `first` is the number of
 * the sample after the gap, counted from 1. `turns` is the number of all turns without a sample up
 * to this sample, including earlier gaps. */
struct gap {
    uint64_t first, turns;
};

/* Counts since the epoch began or was resumed. In a turn, a lane is asked for one sample. Between
 * two turns, turns == start_turns + handed + corrupt + missing + empty. Three of these counts are
 * fields of struct sheaf_reader: `turns` (since the epoch began), `start_turns` (turns before the
 * position at which the reader began or resumed) and `handed` (samples returned since then). */
struct sum {
    /* Number of samples that the epoch should have, including bad records. Not used for a stream.
     */
    uint64_t promised;
    uint64_t corrupt;               /* number of bad records */
    /* number of samples that were left out because a column has no value for them */
    uint64_t missing;
    uint64_t empty;                 /* number of turns of lanes that had ended */
    /* Number of samples of a stream before the position at which the stream was resumed. They were
     * read, but not returned. 0 if the data set is not a stream. */
    uint64_t read_past;
};

/* A sample that was returned to the caller. */
struct out {
    struct ref ref;
    /* true if the sample's frame (stored record) is lent to the program instead of copied */
    bool lent;
};

struct sheaf_reader {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    struct order_member member;
    struct loader load;
    /* The lanes (sequences of samples) of this reader, in the order in which samples are taken from
     * them. There are load.lane_count lanes. For a view, see mixing.c. */
    struct lane *lanes;
    /* number of the epoch's lanes that this reader reads */
    uint32_t own_lanes;
    const struct epoch_order *epoch_order; /* the functions of the reader's order (epoch_order.h) */
    struct mixing *mixing;          /* state of the mix in a view; otherwise NULL */
    /* For each source of the data set: a number from which the seeds of its samples are computed.
     */
    uint64_t *seed_sources;
    /* Number of turns since the epoch began. In a turn, a lane is asked for a sample. Turns of
     * lanes that had ended are included. */
    uint64_t turns;
    /* Number of turns before the position at which the epoch was begun or resumed. (In a turn, a
     * lane is asked for a sample.) A stream is read forward to this position by the first call of
     * sheaf_reader_next. */
    uint64_t start_turns;
    /* true if the program has requested a sample of the present epoch */
    bool is_reading;
    /* number of samples returned since the epoch began or was resumed */
    uint64_t handed;
    struct sum sum;
    /* Table of the turns that gave no sample (struct gap). Old entries are removed, because a
     * position can be requested only for samples that were returned recently. */
    struct gap *gaps;
    size_t gap_count, gap_capacity;
    uint64_t epoch_samples;
    /* number of bytes that were taken from the budget for tables, such as the slots of the shuffle
     * buffers */
    uint64_t table_bytes;
    /* Limit for each lane (a sequence of samples): how many samples of its shuffle buffer may be in
     * memory. 0 if there is no such limit. */
    uint64_t lane_most;
    /* exact number of bytes that is enough to read any record of the data set alone; 0 if it is not
     * known */
    uint64_t alone_bytes;
    volatile int interrupt;
    bool dead;                      /* true after an error that ends the reader */
    struct sheaf_error error;
    /* The samples that the last call has returned. They are valid until the next call. */
    struct out *out;
    struct sheaf_sample *samples;
    struct decode_scratch *scratch;
    size_t out_count, out_capacity;
    /* the columns that are read; NULL if there are none */
    struct columns *columns;
    struct column_scratch **column_scratch;     /* scratch memory for each sample of a batch */
    size_t column_scratch_count;
    /* list of the names (NAME.EXT) that were made so far for fields of columns */
    struct column_name *column_names;
    bool keeps_features;            /* true if features of records are kept (reader_features.h) */
    /* Code of an error that occurred after some samples of a batch. The next call returns it. */
    int kept_code;
    struct sheaf_error kept;
    uint64_t opened_ns;
    struct sheaf_reader_stats stats;
};

#endif
