/* SPDX-License-Identifier: MIT
 *
 * Writes a local file sequentially.
 *
 *     writer's thread    copy into a piece | copy into the other | ...
 *     a thread                             | write the piece     | ...
 *
 * A file of more than one piece is written past the page cache, if the file system supports that.
 * Most of the cost of a buffered write is fresh memory for the cache, and the whole file must be on
 * the disk anyhow before it gets its name. The next reader of the file reads it from the disk. A
 * smaller file stays in the cache. A failed write is reported by a later call. */
#ifndef STORE_LOCAL_WRITE_H
#define STORE_LOCAL_WRITE_H

#include "base/workers.h"

struct local_piece {
    struct job job;
    struct local_write *write;
    uint8_t *data;              /* LOCAL_PIECE bytes, aligned; NULL until used */
    size_t size;
    int code;                   /* result of this write or of an earlier one */
};

/* Large enough for a disk to reach its full rate with one piece under way. */
#define LOCAL_PIECE ((size_t)2 << 20)

struct local_write {
    int fd;                     /* borrowed, like the url */
    const char *url;            /* of the errors */
    struct workers *thread;     /* NULL until a piece is full */
    struct local_piece pieces[2];
    unsigned filling;           /* of the pieces */
    /* While a piece is under way, the following fields belong to the thread. */
    bool is_direct;             /* past the page cache */
    uint64_t written;
    int code;                   /* result of the first failed write, after which nothing more is
                                   written */
    struct sheaf_error error;
};

void local_write_open(struct local_write *write, int fd, const char *url);
int local_write_add(struct local_write *write, const void *data, size_t size,
                    struct sheaf_error *err);
/* Waits until the kernel has all bytes. */
int local_write_end(struct local_write *write, struct sheaf_error *err);
/* Waits for the write under way and frees the buffers. The descriptor stays open. */
void local_write_close(struct local_write *write);

#endif
