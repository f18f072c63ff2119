/* SPDX-License-Identifier: MIT
 *
 * The samples of a data set in its order, read to be copied, with progress and a flag that ends it.
 *
 * A reader may wait long for its next samples.  A thread wakes it some ten times a second, so that
 * the call can show its progress meanwhile, and see whether it is to end. */
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
    bool shuffles; uint64_t seed;   /* read in an order of this seed, not in that of the data set */
    pthread_t waker;
    bool has_waker;
    pthread_mutex_t lock;
    pthread_cond_t ending;
    struct {
        bool is_ending;
    } locked;
};

/* Before anything else; then copying_close may be called. */
void copying_init(struct copying *c, const struct sheaf_dataset *dataset, const struct watch *watch,
                  const char *stage);
/* Opens the reader of the data set in its order; NULL: with the defaults.  Of the options, those
 * about bad records, the cache, memory and threads are used.  A copy has each sample once: a view
 * that draws some again is refused. */
int copying_open(struct copying *c, const struct sheaf_reader_options *options,
                 struct sheaf_error *err);
/* Up to `most` samples, valid until the next call; `most` 0: as many as is good.  SHEAF_END. */
int copying_next(struct copying *c, size_t most, const struct sheaf_sample **samples,
                 size_t *count, struct sheaf_error *err);
/* Counts a sample that was copied. */
void copying_done(struct copying *c, const struct sheaf_sample *sample);
/* Puts a sample's place before the error that it met, and says of a key that exists that another
 * source may have it.  An argument is not to blame for what a
 * sample holds: SHEAF_ERR_ARGUMENT becomes _UNSUPPORTED.  Returns the code. */
int copying_place(const struct copying *c, const struct sheaf_sample *sample,
                  struct sheaf_error *err);
/* `stats`: NULL, or the reader's. */
void copying_close(struct copying *c, struct sheaf_reader_stats *stats);

#endif
