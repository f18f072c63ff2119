/* SPDX-License-Identifier: MIT
 *
 * A list of buffers that are not in use. They are kept for later use, because new pages of memory
 * take much time. */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include "base/buf.h"

struct spares {
    struct spare *first;
    uint64_t bytes;             /* total size of the buffers */
};

/* Adds a buffer to the list, and leaves *buf empty. */
void spares_give(struct spares *spares, struct buf *buf);
/* Sets *buf to the largest buffer of the list that has at most `most` bytes, and removes this
 * buffer from the list. If there is no such buffer, makes *buf empty. */
void spares_take(struct spares *spares, uint64_t most, struct buf *buf);
/* Frees buffers until those that are left have at most `bytes` bytes in total. */
void spares_trim(struct spares *spares, uint64_t bytes);

#endif
