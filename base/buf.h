/* SPDX-License-Identifier: MIT
 *
 * A growable byte buffer with a hard ceiling.
 *
 *     data                    data+size            data+capacity
 *     |------- content --------|------- spare -------|          size <= capacity <= limit
 *
 * BUF_INIT(limit) makes an empty buffer, and buf_free() makes a used buffer empty again. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

struct buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t limit;       /* bytes; growing past it is SHEAF_ERR_LIMIT */
    bool is_mapped;     /* whether buf_map allocated `data`, as pages outside of malloc */
    /* set once the buffer has refused to grow beyond its limit */
    bool is_full;
};

#define BUF_INIT(most) { .limit = (most) }

void buf_free(struct buf *b);

/* Enlarges the buffer so that `extra` more bytes fit. Called by buf_reserve if the capacity is too
 * small. */
int buf_grow(struct buf *b, size_t extra, struct sheaf_error *err);

/* Makes sure that `extra` more bytes fit into the buffer. The content may move to another
 * address. */
static inline int buf_reserve(struct buf *b, size_t extra, struct sheaf_error *err)
{
    return extra <= b->capacity - b->size ? SHEAF_OK : buf_grow(b, extra, err);
}

/* Empties the buffer, frees its memory, and allocates exactly `size` bytes for it. One thread fills
 * a buffer and another thread frees it. In this case, malloc would keep tens of MiB of freed memory
 * for each thread. Therefore large buffers come from mmap. */
int buf_map(struct buf *b, size_t size, struct sheaf_error *err);

int buf_printf(struct buf *b, struct sheaf_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends `size` bytes. The caller must have reserved room for them with buf_reserve. */
static inline void buf_put(struct buf *b, const void *data, size_t size)
{
    if (size != 0)
        __builtin_memcpy(b->data + b->size, data, size);
    b->size += size;
}

/* Appends `size` bytes. The caller must have reserved room for them with buf_reserve. If the caller
 * has already written the bytes directly after the buffer's content (`data` points there), they are
 * not copied. */
static inline void buf_put_content(struct buf *b, const void *data, size_t size)
{
    if (data == b->data + b->size)
        b->size += size;
    else
        buf_put(b, data, size);
}

static inline int buf_append(struct buf *b, const void *data, size_t size, struct sheaf_error *err)
{
    const int code = buf_reserve(b, size, err);

    if (code == SHEAF_OK)
        buf_put(b, data, size);
    return code;
}

#endif
