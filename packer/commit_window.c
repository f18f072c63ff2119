/* SPDX-License-Identifier: MIT
 *
 * Commits several shards side by side; see commit_window.h. */
#include "packer/commit_window.h"

#include "base/error.h"

void commit_window_open(struct commit_window *w, unsigned most)
{
    *w = (struct commit_window){ .most = most, .locked = { .width = 1 } };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
}

void commit_window_close(struct commit_window *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

bool commit_window_begin(struct commit_window *w)
{
    bool begins;

    pthread_mutex_lock(&w->lock);
    while (w->locked.error.code == SHEAF_OK && w->locked.running == w->locked.width)
        pthread_cond_wait(&w->changed, &w->lock);
    begins = w->locked.error.code == SHEAF_OK;
    w->locked.running += begins;
    pthread_mutex_unlock(&w->lock);
    return begins;
}

void commit_window_end(struct commit_window *w, const struct sheaf_error *error)
{
    pthread_mutex_lock(&w->lock);
    w->locked.running--;
    if (error == NULL)
        w->locked.width = w->most;
    else if (w->locked.error.code == SHEAF_OK)
        w->locked.error = *error;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void commit_window_shut(struct commit_window *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->locked.error.code == SHEAF_OK)
        err_set(&w->locked.error, SHEAF_ERR_INTERRUPTED, "the run has ended");
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

int commit_window_check(struct commit_window *w, struct sheaf_error *err)
{
    int code;

    pthread_mutex_lock(&w->lock);
    code = w->locked.error.code;
    if (code != SHEAF_OK && err != NULL)
        *err = w->locked.error;
    pthread_mutex_unlock(&w->lock);
    return code;
}
