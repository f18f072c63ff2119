/* SPDX-License-Identifier: MIT
 *
 * The abilities of a store for several processes that write to one directory. They are found out
 * once, when a run opens its destination, and determine the protocol by which the run publishes. */
#ifndef STORE_ABILITIES_H
#define STORE_ABILITIES_H

#include <stdbool.h>

#include "sheaf.h"

struct store_abilities {
    bool compares;      /* the store can compare and write in one step (store/over.h) */
    bool identifies;    /* the store can tell whether an object was replaced by another one of
                           the same size */
    bool locks;         /* store_lock keeps other processes out */
};

/* Finds the abilities of the store of `directory`, which must exist and be writable. An S3 server
 * is tested once for each bucket, with an object under a name of its own. A notice names the
 * abilities that it lacks. */
int store_find_abilities(const char *directory, struct store_abilities *abilities,
                         struct sheaf_error *err);

#endif
