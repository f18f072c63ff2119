/* SPDX-License-Identifier: MIT
 *
 * Reads the samples of a data set for a copy. Reports the progress, and ends the copy if the caller
 * has set its interrupt flag.
 *
 * A reader may wait long for its next samples. Therefore a thread interrupts this wait about ten
 * times a second. copying_next then reports the progress, checks the caller's interrupt flag, and
 * waits again. */
#ifndef COPY_COPYING_H
#define COPY_COPYING_H

#include <pthread.h>
#include <stdbool.h>

#include "base/watch.h"

struct copying {
    const struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    struct sheaf_reader *reader;
    struct watch watch;
    struct sheaf_progress progress;
    /* `shuffles` is true if the samples are read in a shuffled order, and not in the order of the
     * data set. `seed` determines the shuffled order. */
    bool shuffles; uint64_t seed;
    pthread_t waker;
    bool has_waker;
    pthread_mutex_t lock;
    pthread_cond_t ending;
    struct {
        bool is_ending;
    } locked;
};

/* Initialises the struct, so that copying_close may be called. Must be called before any other
 * function of this file. */
void copying_init(struct copying *c, const struct sheaf_dataset *dataset, const struct watch *watch,
                  const char *stage);
/* Opens a reader that returns the samples in the order of the data set, or in a shuffled order if
 * c->shuffles is set. `options` may be NULL for the defaults. Its members `memory` and
 * `memory_needed` are ignored, and so are the options about the order. A view that returns some
 * samples several times in an epoch is refused, because a copy contains each sample once. */
int copying_open(struct copying *c, const struct sheaf_reader_options *options,
                 struct sheaf_error *err);
/* Returns the next samples, at most `most`, which are valid until the next call. If `most` is 0,
 * the reader chooses their number. Returns SHEAF_END after the last sample. */
int copying_next(struct copying *c, size_t most, const struct sheaf_sample **samples,
                 size_t *count, struct sheaf_error *err);
/* Checks that the disk of `dest` has enough free space for the content of all samples in `files`
 * files. Does nothing if the size of the samples is unknown, as in a stream or a view. */
int copying_check_space(const struct copying *c, const char *dest, uint64_t files,
                        struct sheaf_error *err);
/* Counts a sample that was copied. */
void copying_done(struct copying *c, const struct sheaf_sample *sample);
/* Puts the location of a sample before an error message about the sample. If the key is repeated,
 * and the data set has several sources, adds the advice to use a view that leaves the sample out of
 * one source. Changes SHEAF_ERR_ARGUMENT to SHEAF_ERR_UNSUPPORTED, because the content of a sample
 * is not an argument of the caller. Returns the error code. */
int copying_place(const struct copying *c, const struct sheaf_sample *sample,
                  struct sheaf_error *err);
/* `stats`: NULL, or the reader's. */
void copying_close(struct copying *c, struct sheaf_reader_stats *stats);

#endif
