/* SPDX-License-Identifier: MIT
 *
 * Connects an asynchronous read with an item of base/inflight.h (the window of outstanding work).
 * The thread that has begun the read can then collect the item when the read is done. */
#ifndef STORE_READ_ITEM_H
#define STORE_READ_ITEM_H

#include <stddef.h>

#include "base/inflight.h"
#include "store/store.h"

struct read_item {
    struct inflight_item item;  /* the first member */
    struct store_read read;     /* the caller sets object, offset, data and size */
};

/* Is called on a thread of the store when a read has ended (store_read.done). */
static inline void read_item_done(struct store_read *read)
{
    inflight_done((struct inflight_item *)(void *)((char *)read -
                                                   offsetof(struct read_item, read)));
}

static inline void read_item_start(struct inflight *window, struct read_item *item)
{
    item->read.done = read_item_done;
    inflight_begin(window, &item->item);
    store_read_start(&item->read);
}

/* The function for cancelling that inflight_open needs. */
static inline void read_item_cancel(struct inflight_item *item)
{
    store_read_cancel(&((struct read_item *)item)->read);
}

#endif
