/* SPDX-License-Identifier: MIT
 *
 * Collects the entries of one directory, and then returns them in byte order of their names. This
 * is necessary because file systems and S3 directory buckets may list in any order. */
#ifndef STORE_LISTING_H
#define STORE_LISTING_H

#include "store/store.h"

struct listing {                /* zero-initialised */
    struct store_entry *items;
    size_t count, capacity;
};

/* Adds a copy of an entry to the listing. The ETag of the entry is not copied. */
int listing_add(struct listing *listing, const struct store_entry *entry, struct sheaf_error *err);
/* Removes all entries from the listing. */
void listing_clear(struct listing *listing);
/* Calls `each` for all entries in byte order of their names, and frees the listing. `code` is the
 * caller's result so far. If `code` is an error, the function only frees the listing and returns
 * `code`. */
int listing_end(struct listing *listing, int code, store_entry_fn *each, void *context);

#endif
