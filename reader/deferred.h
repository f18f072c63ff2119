/* SPDX-License-Identifier: MIT
 *
 * Records that are read one by one, because the memory has no room for them among others.
 *
 *     slots:   [item][deferred][item][item][deferred] ...
 *                        |  drawn soon
 *                        v
 *     recalls: [shard opened] --> [chunk of one record] --> the item that is emitted
 *
 * A lane takes a sample in as DEFERRED, a number without bytes, where the heap has no room for it,
 * or if it is so large that it would push out many others.  The order is known by numbers, so what
 * is drawn soon is recalled ahead, as far as the budget allows; what was not is read when it is
 * drawn, with memory that is reserved for that.  So whatever fits into the reserve can be read, if
 * slowly.
 *
 * Each recall is a read of its own, and with a codec unpacks its block again, from the start to the
 * sample's end (unpack.h).
 *
 * Of the planning thread. */
#ifndef READER_DEFERRED_H
#define READER_DEFERRED_H

#include "reader/feed.h"

#define RECALLS 32u             /* under way at once, for all lanes of a reader */

struct recall;

/* A lane's deferred samples that are drawn soon. */
struct recalls {
    struct recall *first;
};

/* A chunk of one record, whose read is begun; the use of the shard, which is open, goes to it.
 * `reserved`: with memory that is reserved.  SHEAF_END: the budget has no room for it. */
int alone_begin(struct feed *feed, struct shard *shard, uint64_t record, bool reserved,
                struct chunk **chunk, struct sheaf_error *err);

/* One step further with reading a deferred item that is drawn soon. */
void recalls_ahead(struct feed *feed, struct recalls *recalls, const struct item *item);

/* Replaces a deferred item by what it stands for.  It may be called again after
 * SHEAF_ERR_INTERRUPTED, and after SHEAF_ERR_LIMIT once the caller has given up what it had. */
int recalls_take(struct feed *feed, struct recalls *recalls, struct item *item,
                 struct sheaf_error *err);

void recalls_cancel(struct recalls *recalls);
/* Waits for all reads, and frees all. */
void recalls_clear(struct feed *feed, struct recalls *recalls);

#endif
