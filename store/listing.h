/* SPDX-License-Identifier: MIT
 *
 * Collects the entries of one directory and returns them in byte order of their names. File systems
 * and S3 directory buckets do not guarantee this order. */
#ifndef STORE_LISTING_H
#define STORE_LISTING_H

#include "store/store.h"

struct listing {                /* zero-initialised */
    struct store_entry *items;
    size_t count, capacity;
};

/* Adds an entry to the listing. The name is copied; the ETag is not kept. */
int listing_add(struct listing *listing, const struct store_entry *entry, struct sheaf_error *err);
/* Forgets what was added. */
void listing_clear(struct listing *listing);
/* Calls `each` for all entries, unless `code` is an error. Then frees the listing. */
int listing_end(struct listing *listing, int code, store_entry_fn *each, void *context);

#endif
