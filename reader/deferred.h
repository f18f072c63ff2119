/* SPDX-License-Identifier: MIT
 *
 * Reads records when they are drawn, because the memory has no room for them before.
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
 * A recall of one record is a read of its own, and with a codec unpacks its block, from the start
 * to the sample's end (unpack.h).  So there a recall is SHARED, if it can be, by many records of
 * one block that are drawn soon (resident.h): the block is unpacked once for them, each into a
 * piece of the heap that was found for it before.
 *
 * Of the planning thread. */
#ifndef READER_DEFERRED_H
#define READER_DEFERRED_H

#include "reader/feed.h"

#define RECALLS 32u             /* of one record, under way at once, for all lanes of a reader */

struct recall;

/* A lane's deferred samples that are drawn soon. */
struct recalls {
    struct recall *first;       /* of one record; */
    struct recall *shared;      /* of several, those that are drawn first before the others */
};

/* A chunk of one record, whose read is begun; the use of the shard, which is open, goes to it.
 * `reserved`: with memory that is reserved.  SHEAF_END: the budget has no room for it. */
int alone_begin(struct feed *feed, struct shard *shard, uint64_t record, bool reserved,
                struct chunk **chunk, struct sheaf_error *err);

/* One step further with reading a deferred item that is drawn soon. */
void recalls_ahead(struct feed *feed, struct recalls *recalls, const struct item *item);

/* Whether a record can share its recall with others of its block. */
bool recall_can_be_shared(const struct shard *shard, uint64_t record);

/* A recall of these deferred items, ascending records of one block of a shard that is open; the
 * first of them is drawn at step `when`.  Each has a piece, which goes to the recall, and the items
 * refer to it from then on.  SHEAF_END: the budget has no room for it. */
int recalls_share(struct feed *feed, struct recalls *recalls, struct shard *shard,
                  struct item *const *items, size_t count, uint32_t when,
                  struct sheaf_error *err);
/* Begins shared recalls, as many as may be under way, those of soon drawn items first. */
void recalls_begin_shared(struct feed *feed, struct recalls *recalls);

/* What the deferred item stands for goes to *item.  It may be called again after
 * SHEAF_ERR_INTERRUPTED, and after SHEAF_ERR_LIMIT once the caller has given up what it had. */
int recalls_take(struct feed *feed, struct recalls *recalls, struct item *deferred,
                 struct item *item, struct sheaf_error *err);

void recalls_cancel(struct recalls *recalls);
/* Waits for all reads, and frees all. */
void recalls_clear(struct feed *feed, struct recalls *recalls);

#endif
