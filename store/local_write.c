/* SPDX-License-Identifier: MIT
 *
 * Writes local files, one piece after the other. */
#include "store/local_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"

static void set_direct(struct local_write *w, bool direct)
{
    const int flags = fcntl(w->fd, F_GETFL);

    if (flags >= 0 && fcntl(w->fd, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0)
        w->is_direct = direct;
}

/* Writes bytes at the end of the file. A direct write (past the kernel's page cache) fails if
 * the file system does not support it, or if a short write has left an unaligned position. After
 * such a failure, these bytes and all later bytes are written through the page cache. */
static int local_write_put_bytes(struct local_write *w, const uint8_t *at, size_t size)
{
    const uint64_t start = w->written;

    while (size != 0) {
        const ssize_t put = write(w->fd, at, size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EINVAL && w->is_direct) {
            set_direct(w, false);
            if (!w->is_direct)
                continue;
        }
        if (put < 0)
            return err_errno(&w->error, errno, "%s: cannot write %zu bytes at offset %llu",
                             w->url, size, (unsigned long long)w->written);
        at += put;
        size -= (size_t)put;
        w->written += (uint64_t)put;
    }
    /* Ask the kernel to start writing to the disk now. Otherwise the caller would have to wait for
     * all bytes at the end of the file. The result is ignored, because this is only a hint. */
    if (!w->is_direct && w->thread != NULL)
        sync_file_range(w->fd, (off_t)start, (off_t)(w->written - start),
                        SYNC_FILE_RANGE_WRITE);
    return SHEAF_OK;
}

static void local_write_run_piece(struct job *job)
{
    struct local_piece *p = (struct local_piece *)((char *)job - offsetof(struct local_piece, job));
    struct local_write *w = p->write;

    if (w->code == SHEAF_OK)
        w->code = local_write_put_bytes(w, p->data, p->size);
    p->code = w->code;
}

/* Waits until the piece is written, and empties it. */
static int take_back(struct local_write *w, struct local_piece *p, struct sheaf_error *err)
{
    if (w->thread != NULL && p->job.run != NULL)
        workers_wait(w->thread, &p->job);
    p->job.run = NULL;
    p->size = 0;
    if (p->code != SHEAF_OK && err != NULL)
        *err = w->error;
    return p->code;
}

static int send(struct local_write *w, struct local_piece *p, struct sheaf_error *err)
{
    if (w->thread == NULL) {
        const int code = workers_open(&w->thread, 1, err);

        if (code != SHEAF_OK)
            return code;
        set_direct(w, true);
    }
    p->job = (struct job){ .run = local_write_run_piece };
    workers_submit(w->thread, &p->job);
    w->filling = !w->filling;
    return take_back(w, &w->pieces[w->filling], err);
}

void local_write_open(struct local_write *w, int fd, const char *url)
{
    *w = (struct local_write){ .fd = fd, .url = url };
    w->pieces[0].write = w->pieces[1].write = w;
}

/* Allocates a buffer of LOCAL_PIECE bytes with mmap, which aligns it to a page. A direct write
 * needs this alignment. mmap also avoids holes: malloc would place the buffer between allocations
 * that live longer, and leave a hole when the buffer is freed. */
static bool map(struct local_piece *p)
{
    void *data = mmap(NULL, LOCAL_PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0);

    if (data == MAP_FAILED)
        return false;
    p->data = data;
    return true;
}

int local_write_add(struct local_write *w, const void *data, size_t size,
                    struct sheaf_error *err)
{
    const uint8_t *at = data;
    int code = SHEAF_OK;

    while (size != 0 && code == SHEAF_OK) {
        struct local_piece *p = &w->pieces[w->filling];
        const size_t taken = MIN(size, LOCAL_PIECE - p->size);

        if (p->data == NULL && !map(p))
            return err_memory(err, LOCAL_PIECE);
        memcpy(p->data + p->size, at, taken);
        p->size += taken;
        at += taken;
        size -= taken;
        if (p->size == LOCAL_PIECE)
            code = send(w, p, err);
    }
    return code;
}

/* Write the last piece through the kernel's page cache, because it is too short for a direct
 * write. */
int local_write_end(struct local_write *w, struct sheaf_error *err)
{
    struct local_piece *last = &w->pieces[w->filling];
    int code = take_back(w, &w->pieces[!w->filling], err);

    if (code != SHEAF_OK || last->size == 0)
        return code;
    if (w->is_direct)
        set_direct(w, false);
    local_write_run_piece(&last->job);
    return take_back(w, last, err);
}

void local_write_close(struct local_write *w)
{
    workers_close(w->thread);
    for (size_t i = 0; i < COUNT_OF(w->pieces); i++)
        if (w->pieces[i].data != NULL)
            munmap(w->pieces[i].data, LOCAL_PIECE);
    *w = (struct local_write){ .fd = -1 };
}
