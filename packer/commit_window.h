/* SPDX-License-Identifier: MIT
 *
 * Limits the number of finished shards that are committed at the same time. (Committing a shard
 * means giving it its final name and writing its journal entry.)
 *
 * In a remote store, committing a shard takes several round trips that move few bytes, so
 * several shards are committed at once. The first shard is committed alone. If this fails
 * because the store is full or refuses everything, no other shard is tried. When it has succeeded,
 * up to `most` shards are committed at once. After a failure, no further shard is begun. */
#ifndef PACKER_COMMIT_WINDOW_H
#define PACKER_COMMIT_WINDOW_H

#include <pthread.h>
#include <stdbool.h>

#include "sheaf.h"

struct commit_window {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned most;
    struct {
        unsigned width, running;
        /* error of the first shard whose commit failed; its code is 0 if no commit has failed */
        struct sheaf_error error;
    } locked;
};

void commit_window_open(struct commit_window *window, unsigned most);
void commit_window_close(struct commit_window *window);

/* Waits until the next shard may be committed. Returns false if an earlier commit has failed;
 * commit_window_end must then not be called. */
bool commit_window_begin(struct commit_window *window);
/* Ends a commit. `error` is NULL if it succeeded. */
void commit_window_end(struct commit_window *window, const struct sheaf_error *error);
/* Lets no further commit begin: the run is over. */
void commit_window_shut(struct commit_window *window);
/* Returns the code of the first failed commit and copies its error. Returns SHEAF_OK if no commit
 * has failed. */
int commit_window_check(struct commit_window *window, struct sheaf_error *err);

#endif
