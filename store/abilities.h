/* SPDX-License-Identifier: MIT
 *
 * The abilities of a store that matter if several processes write to one directory. A run (a
 * process that writes a data set) determines the abilities once, when it opens its destination. The
 * abilities decide by which method the run protects the directory from other processes, for example
 * with conditional writes or with a lock. */
#ifndef STORE_ABILITIES_H
#define STORE_ABILITIES_H

#include <stdbool.h>

#include "sheaf.h"

struct store_abilities {
    /* whether the store has conditional writes: in one step, such a write checks that the existing
     * object has not changed, and replaces it */
    bool compares;
    /* whether the store shows that an object was replaced by another object of the same size, for
     * example by an ETag */
    bool identifies;
    bool locks;         /* store_lock keeps other processes out */
};

/* Determines what the store of `directory` can do. The directory must exist and be writable. An S3
 * server is tested once for each bucket, with a temporary object. If the server lacks an ability,
 * the library sends the program a notice (sheaf_on_notice). */
int store_find_abilities(const char *directory, struct store_abilities *abilities,
                         struct sheaf_error *err);

#endif
