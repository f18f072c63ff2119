/* SPDX-License-Identifier: MIT
 *
 * The abilities of a store for several processes that write to one directory. They are found out
 * once, when a run opens its destination, and determine the protocol by which the run publishes. */
#ifndef STORE_ABILITIES_H
#define STORE_ABILITIES_H

#include <stdbool.h>

#include "sheaf.h"

struct store_abilities {
    bool compares;      /* a conditional write (store/over.h) is decided by the store, at once */
    bool identifies;    /* an object that is looked at is told from another one of its size */
    bool locks;         /* store_lock keeps other processes out */
};

/* Finds out what the store of `directory` can do there, which must exist and be the caller's to
 * write to: an S3 server is tried with an object of a name of its own, once for each bucket, and a
 * notice names what it lacks. */
int store_find_abilities(const char *directory, struct store_abilities *abilities,
                         struct sheaf_error *err);

#endif
