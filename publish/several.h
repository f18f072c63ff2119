/* SPDX-License-Identifier: MIT
 *
 * Handles several files or tasks at the same time if the store is remote, because each file or task
 * waits for several requests. In a local store, they are handled one after another on the caller's
 * thread. */
#ifndef PUBLISH_SEVERAL_H
#define PUBLISH_SEVERAL_H

#include "base/inflight.h"
#include "store/store.h"

struct store_seen;

/* number of files or tasks that are handled at the same time in a remote store */
#define SEVERAL_AT_ONCE 16u

/* ---- A few different tasks ------------------------------------------------------------------- */

struct several_task {
    int (*run)(void *context, struct sheaf_error *err);         /* called on any thread */
    void *context;
};

/* Runs all tasks. The order of the tasks must not matter. If the store of `directory` is remote,
 * the tasks run at the same time. Otherwise the tasks run one after another, and no task runs after
 * the first failure. If several tasks fail, returns the error of the task that comes first in the
 * array. */
int several_tasks(const char *directory, const struct several_task tasks[], size_t count,
                  struct sheaf_error *err);

/* ---- Many files ------------------------------------------------------------------------------ */

/* A function that handles one file. `listed` describes the file as a listing has shown it, or is
 * NULL if the caller of several_add has passed NULL. The function may be called on any thread, and
 * for several files at the same time. */
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

/* Prepares to handle files. The caller then passes each file to several_add. If the store of
 * `directory` is remote, several files are handled at the same time. The caller must call
 * several_close even after a failure. */
int several_open(struct several *several, const char *directory, several_fn *each, void *context,
                 struct sheaf_error *err);
/* Begins to handle one file. If an earlier file has failed, returns its failure instead. */
int several_add(struct several *several, const char *name, const struct store_seen *listed,
                struct sheaf_error *err);
/* Waits until all files are handled. Returns `code` if it is an error. Otherwise returns the first
 * error of a file, or SHEAF_OK. */
int several_close(struct several *several, int code, struct sheaf_error *err);

#endif
