/* SPDX-License-Identifier: MIT
 *
 * The entries of one directory, collected before they are given out in byte order of names, which
 * neither file systems promise nor directory buckets. */
#ifndef STORE_LISTING_H
#define STORE_LISTING_H

#include "store/store.h"

struct listing {                /* zero-initialised */
    struct store_entry *items;
    size_t count, capacity;
};

/* Copies the name; ETags are not kept. */
int listing_add(struct listing *listing, const struct store_entry *entry, struct sheaf_error *err);
/* Forgets what was added. */
void listing_clear(struct listing *listing);
/* Calls `each` for all of them, unless `code` is an error; and frees. */
int listing_end(struct listing *listing, int code, store_entry_fn *each, void *context);

#endif
