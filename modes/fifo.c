/* SPDX-License-Identifier: MIT
 *
 * Writes into a named pipe about one MiB at a time. The pipe's buffer is made as large as the
 * system allows. The caller must block SIGPIPE.
 *
 * vmsplice would save one copy of the bytes, but is not used. The writer cannot know when the
 * reader has read a page, so it could never use the page again. */
#include "modes/fifo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"

#define HOLD_BYTES   ((size_t)1 << 20)
/* data of at least this size is written to the pipe directly, without a copy to the buffer */
#define DIRECT_BYTES ((size_t)256 << 10)
#define PIPE_BYTES   (1 << 20)              /* the most that an unprivileged process may have */
#define LOOK_MS      50                     /* interval at which an interruption is looked for */

int fifo_make(const char *path, struct sheaf_error *err)
{
    struct stat st;

    if (mkfifo(path, 0666) == 0)
        return SHEAF_OK;
    if (errno != EEXIST || lstat(path, &st) != 0)
        return err_errno(err, errno, "%s: cannot make the named pipe", path);
    if (S_ISFIFO(st.st_mode))
        return SHEAF_OK;        /* left by a feeder that was killed */
    return err_set(err, SHEAF_ERR_EXISTS, "%s: exists and is not a named pipe", path);
}

int fifo_open(struct fifo *f, const char *path, struct watch *watch,
              const struct sheaf_progress *progress, struct sheaf_error *err)
{
    int size;

    *f = (struct fifo){ .fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC),
                        .watch = watch, .progress = progress,
                        .held = BUF_INIT(HOLD_BYTES + DIRECT_BYTES) };
    if (f->fd < 0)
        return errno == ENXIO || errno == EINTR
             ? SHEAF_END : err_errno(err, errno, "%s: cannot open the named pipe", path);
    (void)fcntl(f->fd, F_SETPIPE_SZ, PIPE_BYTES);       /* a smaller one will do */
    size = fcntl(f->fd, F_GETPIPE_SZ);
    f->pipe_bytes = size < 0 ? 0 : (size_t)size;
    return SHEAF_OK;
}

void fifo_close(struct fifo *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    buf_free(&f->held);
}

static void put_zero(int fd)
{
    ssize_t n;

    do
        n = write(fd, "", 1);
    while (n < 0 && errno == EINTR);
}

void fifo_tear(struct fifo *f)
{
    if (f->fd >= 0 && f->written == 0)
        put_zero(f->fd);
}

/* Writes a zero byte into the pipe at `path`, and removes the pipe. A program that waits for the
 * pipe's writer then reads this byte and the end of the stream. If no program reads, the byte is
 * lost. The pipe is opened for reading and writing, because on Linux this succeeds even if no other
 * process has opened the pipe. */
void fifo_abandon(const char *path)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
        return;
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        put_zero(fd);
    (void)unlink(path);
    if (fd >= 0)
        close(fd);
}

static int wait_for_room(const struct fifo *f, struct sheaf_error *err)
{
    struct pollfd p = { .fd = f->fd, .events = POLLOUT };

    for (;;) {
        const int n = poll(&p, 1, LOOK_MS);

        watch_show(f->watch, f->progress);
        if (watch_check(f->watch, err) != SHEAF_OK)
            return SHEAF_ERR_INTERRUPTED;
        if (n > 0)
            /* The pipe has room, or the program at its other end has closed it. If the pipe is
             * closed, the next write fails with EPIPE. */
            return SHEAF_OK;
        if (n < 0 && errno != EINTR)
            return err_errno(err, errno, "waiting for the named pipe's reader");
    }
}

/* Writes the bytes of v[0] and then the bytes of v[1], with as few system calls as the pipe
 * allows. */
static int write_both(struct fifo *f, struct iovec v[2], struct sheaf_error *err)
{
    while (v[0].iov_len + v[1].iov_len != 0) {
        ssize_t n = writev(f->fd, v, 2);

        if (n < 0 && errno == EPIPE)
            return SHEAF_END;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_errno(err, errno, "writing to the named pipe");
        if (n < 0) {
            int code = wait_for_room(f, err);

            if (code != SHEAF_OK)
                return code;
            continue;
        }
        f->written += (size_t)n;
        for (size_t i = 0; i < 2; i++) {
            const size_t part = (size_t)n < v[i].iov_len ? (size_t)n : v[i].iov_len;

            v[i].iov_base = (uint8_t *)v[i].iov_base + part;
            v[i].iov_len -= part;
            n -= (ssize_t)part;
        }
    }
    return SHEAF_OK;
}

/* Writes the bytes in the buffer, and then all bytes of `data` except the last one. The last byte
 * stays in the buffer, so that the reading program notices if this process dies (see fifo.h). */
static int write_out(struct fifo *f, const void *data, size_t size, struct sheaf_error *err)
{
    struct iovec v[2] = { { f->held.data, f->held.size },
                          { (void *)(uintptr_t)data, size - (size != 0) } };
    uint8_t last;
    int code;

    if (size == 0 && f->held.size != 0)
        v[0].iov_len--;
    if (size == 0 && f->held.size < 2)
        return SHEAF_OK;
    last = size != 0 ? ((const uint8_t *)data)[size - 1] : f->held.data[f->held.size - 1];
    code = write_both(f, v, err);
    f->held.size = 0;
    return code == SHEAF_OK ? buf_append(&f->held, &last, 1, err) : code;
}

int fifo_put(struct fifo *f, const void *data, size_t size, struct sheaf_error *err)
{
    if (size >= DIRECT_BYTES)
        return write_out(f, data, size, err);
    if (f->held.size + size > HOLD_BYTES) {
        int code = write_out(f, NULL, 0, err);

        if (code != SHEAF_OK)
            return code;
    }
    return buf_append(&f->held, data, size, err);
}

int fifo_flush(struct fifo *f, struct sheaf_error *err)
{
    return write_out(f, NULL, 0, err);
}

int fifo_end(struct fifo *f, struct sheaf_error *err)
{
    struct iovec v[2] = { { f->held.data, f->held.size }, { NULL, 0 } };
    int code = write_both(f, v, err);

    f->held.size = 0;
    return code;
}
