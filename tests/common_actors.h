/* SPDX-License-Identifier: MIT
 *
 * The actors of the model checker (tests/test_fence.c). An actor is a call of the library that
 * changes a destination in the memory store (common_model_store.h). It packs, packs a part of a
 * plan, commits a plan, appends, edits, makes an index or a table of keys, adds or drops a column,
 * or writes a view. Each actor is a run, which has a letter and works on a thread of its own. */
#ifndef TESTS_COMMON_ACTORS_H
#define TESTS_COMMON_ACTORS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sheaf.h"

#define ACTORS_APPENDED 2       /* number of appended samples, which have no value in a column */

enum what {
    PACK, OVERWRITE, RESUME, PART, COMMIT,
    APPEND, APPEND_RESUME, APPEND_OVERWRITE, EDIT, EDIT_RESUME, EDIT_OVERWRITE,
    INDEX, INDEX_OVERWRITE, KEYS,
    /* a column of all samples; for tree 1, one sample has no value */
    COLUMN, COLUMN_RESUME,
    COLUMN_PART, COLUMN_COMMIT,         /* the column of tree 0, by its plan */
    COLUMN_DROP,
    VIEW, VIEW_OVERWRITE,               /* a view of the data set */
    /* these have the name of the view as their destination */
    PACK_AT_VIEW, OVERWRITE_AT_VIEW, INDEX_AT_VIEW
};

struct step {
    enum what what;
    /* which tree: 0 or 1; to append, 2 or 3; for parts and commits, 0; to edit, 0 or 1: each
     * deletes another sample, and 1 purges as well; for views, 0 or 1: view 1 has a condition on
     * keys, and so a file of chosen samples */
    int tree;
};

struct acting {
    struct step step;
    char run;
    bool is_started, has_ended, is_joined;
    int code;
    struct sheaf_error error;
    pthread_t thread;
};

/* Makes and removes the local files that the actors read. */
void actors_make(void);
void actors_remove(void);
/* Hides or shows one file of tree 0. */
void actors_hide_file(bool hide);
/* Make the same plan of a data set or of a column for the runs a and b, except that each run has
 * its own URL for the destination. */
void actors_plan(void);
void actors_plan_column(void);
/* Packs tree 0 like another program, with other names of shards, but with our manifest. */
void actors_pack_foreign(void);
/* Copies the data set, or only its shards, to the directory that has the name of the view. */
void actors_copy(bool only_shards);

/* Returns the URL by which the run calls the destination. */
const char *actor_dest(char run);
/* Returns the URL by which the run calls the view. */
const char *actor_view(char run);
/* Does the step on this thread, and returns the result of the library's function. */
int actor_act(const struct step *step, char run, struct sheaf_error *err);
/* Lets a run continue until it has made `stop_after` calls or has ended. */
void actor_advance(struct acting *a, uint32_t stop_after);
/* Lets a run continue to its end. */
void actor_join(struct acting *a);

#endif
