/* SPDX-License-Identifier: MIT
 *
 * Limits how many finished shards are committed at the same time.
 *
 * For a remote store, a commit is a sequence of round trips that move few bytes, so several commits
 * run at once. The first one runs alone. If it fails because the store is full or refuses
 * everything, no other shard is tried. Each successful commit makes room for one more, so that
 * their number doubles with each round. After a failure no commit begins. */
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
        struct sheaf_error error;       /* error of the first failed commit; code 0 if none has
                                           failed */
    } locked;
};

void commit_window_open(struct commit_window *window, unsigned most);
void commit_window_close(struct commit_window *window);

/* Waits until a commit may begin. Returns false if an earlier commit has failed; commit_window_end
 * must then not be called. */
bool commit_window_begin(struct commit_window *window);
/* Ends a commit. `error` is NULL if it succeeded. */
void commit_window_end(struct commit_window *window, const struct sheaf_error *error);
/* Lets no further commit begin: the run is over. */
void commit_window_shut(struct commit_window *window);
/* Returns the code of the first failure, with its error, or SHEAF_OK. */
int commit_window_check(struct commit_window *window, struct sheaf_error *err);

#endif
