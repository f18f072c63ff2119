/* SPDX-License-Identifier: MIT
 *
 * The abilities of a store that matter if several processes write to one directory. They are
 * determined once, when a run opens its destination. They decide how the run makes sure that no
 * other process changes the directory at the same time. */
#ifndef STORE_ABILITIES_H
#define STORE_ABILITIES_H

#include <stdbool.h>

#include "sheaf.h"

struct store_abilities {
    /* whether the store can check, in one step with a write, that the object has not changed */
    bool compares;
    /* whether the store can tell that an object was replaced by another one of the same size */
    bool identifies;
    bool locks;         /* store_lock keeps other processes out */
};

/* Determines the abilities of the store of `directory`, which must exist and be writable. An S3
 * server is tested once for each bucket, with a temporary object. A notice reports abilities that
 * the server does not have. */
int store_find_abilities(const char *directory, struct store_abilities *abilities,
                         struct sheaf_error *err);

#endif
