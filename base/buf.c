/* SPDX-License-Identifier: MIT
 *
 * Implements the growable buffer of buf.h. If the buffer is full, its capacity is doubled, but
 * never beyond its limit. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"

#define PAGE_BYTES ((size_t)4096)
/* Smallest size in bytes of a buffer that buf_map maps with mmap; smaller buffers come from malloc.
 * A reader allocates and frees many buffers of different sizes. With malloc, each freed buffer
 * would leave a hole in the heap, which only a smaller buffer could use again. */
#define MAP_LEAST  ((size_t)16 << 10)

void buf_free(struct buf *b)
{
    if (b->is_mapped)
        munmap(b->data, b->capacity);
    else
        free(b->data);
    b->data = NULL;
    b->size = b->capacity = 0;
    b->is_mapped = false;
}

int buf_map(struct buf *b, size_t size, struct sheaf_error *err)
{
    const size_t capacity = (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *data;

    buf_free(b);
    b->limit = MAX(size, (size_t)64);
    if (size < MAP_LEAST)
        return buf_reserve(b, b->limit, err);
    data = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return err_memory(err, capacity);
    b->data = data;
    b->capacity = b->limit = capacity;
    b->is_mapped = true;
    return SHEAF_OK;
}

int buf_grow(struct buf *b, size_t extra, struct sheaf_error *err)
{
    size_t wanted, capacity;
    uint8_t *grown;

    if (extra > b->limit - MIN(b->size, b->limit)) {
        b->is_full = true;
        return err_set(err, SHEAF_ERR_LIMIT, "%zu bytes and %zu more exceed the limit of %zu "
                                             "bytes", b->size, extra, b->limit);
    }
    wanted = b->size + extra;
    capacity = MAX(b->capacity, 64);
    while (capacity < wanted)
        capacity = capacity <= b->limit / 2 ? capacity * 2 : b->limit;
    grown = realloc(b->data, capacity);
    if (grown == NULL)
        return err_memory(err, capacity);
    b->data = grown;
    b->capacity = capacity;
    return SHEAF_OK;
}

int buf_printf(struct buf *b, struct sheaf_error *err, const char *format, ...)
{
    va_list args;
    int size, code;

    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "text that cannot be formatted");
    code = buf_reserve(b, (size_t)size + 1, err);
    if (code != SHEAF_OK)
        return code;
    va_start(args, format);
    vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, args);
    va_end(args);
    b->size += (size_t)size;
    return SHEAF_OK;
}
