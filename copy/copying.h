/* SPDX-License-Identifier: MIT
 *
 * Reads the samples of a data set in their order for copying, with progress and a flag that ends
 * it.
 *
 * A reader may wait long for its next samples. A thread wakes it about ten times a second, so that
 * the call can report its progress and check the flag. */
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
    bool shuffles; uint64_t seed;   /* shuffles: read in a shuffled order of this seed, not in
                                       the data set's order */
    pthread_t waker;
    bool has_waker;
    pthread_mutex_t lock;
    pthread_cond_t ending;
    struct {
        bool is_ending;
    } locked;
};

/* Initialises the struct, so that copying_close may be called. Must be called first. */
void copying_init(struct copying *c, const struct sheaf_dataset *dataset, const struct watch *watch,
                  const char *stage);
/* Opens a reader of the data set in its order. `options` may be NULL for the defaults; only those
 * about bad records, the cache, memory and threads are used. A view that draws some samples
 * repeatedly is refused, because a copy has each sample once. */
int copying_open(struct copying *c, const struct sheaf_reader_options *options,
                 struct sheaf_error *err);
/* Returns up to `most` samples, valid until the next call. `most` 0 leaves the number to the
 * reader. Returns SHEAF_END after the last sample. */
int copying_next(struct copying *c, size_t most, const struct sheaf_sample **samples,
                 size_t *count, struct sheaf_error *err);
/* Checks that the content of all samples fits under `dest`, in at least `files` files. Does nothing
 * if the size of the samples is unknown, as in a stream or a view. */
int copying_check_space(const struct copying *c, const char *dest, uint64_t files,
                        struct sheaf_error *err);
/* Counts a sample that was copied. */
void copying_done(struct copying *c, const struct sheaf_sample *sample);
/* Puts a sample's position before its error. If its key exists already, adds that another source
 * may have it. SHEAF_ERR_ARGUMENT becomes _UNSUPPORTED, because the content of a sample is not an
 * argument of the caller. Returns the code. */
int copying_place(const struct copying *c, const struct sheaf_sample *sample,
                  struct sheaf_error *err);
/* `stats`: NULL, or the reader's. */
void copying_close(struct copying *c, struct sheaf_reader_stats *stats);

#endif
