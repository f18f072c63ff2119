/* SPDX-License-Identifier: MIT
 *
 * Does several pieces of work at once where the store is remote, because each costs some round
 * trips. On a disk they are done one after another, on the caller's thread. */
#ifndef PUBLISH_SEVERAL_H
#define PUBLISH_SEVERAL_H

#include "base/inflight.h"
#include "store/store.h"

struct store_seen;

/* ---- A few different tasks ------------------------------------------------------------------- */

struct several_task {
    int (*run)(void *context, struct sheaf_error *err);         /* called on any thread */
    void *context;
};

/* Runs the tasks, whose order must not matter, and returns the failure of the first of them that
 * failed. One after another, they end at the first failure. `directory` tells whether the store is
 * remote. */
int several_tasks(const char *directory, const struct several_task tasks[], size_t count,
                  struct sheaf_error *err);

/* ---- Many files ------------------------------------------------------------------------------ */

/* Handles one file. `listed` is its description in a listing, or NULL. The function may be called
 * on any thread, and for several files at the same time. */
typedef int several_fn(void *context, const char *name, const struct store_seen *listed,
                       struct sheaf_error *err);

struct several {
    several_fn *each;
    void *context;
    struct inflight window;
    struct workers *workers;            /* NULL: one after another */
    const volatile int *interrupt;      /* the flag of the caller's thread */
    int code;                           /* of the first file that failed; */
    struct sheaf_error error;           /* and its error */
};

/* Opens the handling of files. `directory` shows whether the store is remote. several_close must be
 * called even if this fails. */
int several_open(struct several *several, const char *directory, several_fn *each, void *context,
                 struct sheaf_error *err);
/* Begins to handle a file. If an earlier file has failed, returns that failure instead. */
int several_add(struct several *several, const char *name, const struct store_seen *listed,
                struct sheaf_error *err);
/* Waits for all files. Returns `code` if it is a failure, and otherwise the first failure of a
 * file. */
int several_close(struct several *several, int code, struct sheaf_error *err);

#endif
