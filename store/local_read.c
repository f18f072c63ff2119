/* SPDX-License-Identifier: MIT
 *
 * Reads local files, named pipes and standard input. See local_read.h. */
#include "store/local_read.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/notice.h"
#include "base/workers.h"
#include "store/file_system.h"

/* Time in milliseconds between two checks for an interrupt while a read of a pipe waits. */
#define INTERRUPT_MS 100

/* Capacity in bytes that is set for a pipe, because a larger pipe needs fewer system calls. This is
 * the largest capacity that an unprivileged process may set. */
#define PIPE_BYTES (1 << 20)

/* Size in bytes of a buffer for data that is read only to bring it into the kernel's cache. One
 * buffer is enough for any range, because nobody uses the data in the buffer. */
#define WARM_BYTES  ((size_t)32 << 10)
#define WARM_PIECES 32u

/* Number of attempts if a system call fails temporarily. The wait before the next attempt is 50 ms
 * at first, and doubles each time. */
#define TRIES         7u
#define FIRST_WAIT_MS 50u

struct file_object {
    struct store_object base;
    int fd;                     /* -1: it is parked */
    bool is_counted;            /* in open_files */
    bool can_block;             /* standard input: a read may block, whatever poll returned */
    bool is_ready;              /* a pipe: its writer has been seen */
    bool has_told;              /* the long wait for it has been reported */
    struct stat opened;
};

static atomic_uint open_files;      /* files opened for reading and not parked */

/* ---- Opening -------------------------------------------------------------------------------- */

/* Waits before the next attempt, and adds 1 to *tries, the number of failed attempts. If the number
 * of attempts is used up, returns false without waiting. */
static bool wait_to_retry(unsigned *tries)
{
    const unsigned wait_ms = FIRST_WAIT_MS << *tries;
    struct timespec wait = { .tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L };

    if (++*tries >= TRIES)
        return false;
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        ;
    return true;
}

bool local_may_pass(const char *path, int failed, unsigned *tries)
{
    return (failed == ESTALE || failed == EIO) &&
           file_system_of_path(path) != FILE_SYSTEM_LOCAL && wait_to_retry(tries);
}

static int open_path(const char *url)
{
    unsigned tries = 0;

    if (strcmp(url, "-") == 0)
        return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    for (;;) {
        /* Opens a pipe with O_NONBLOCK, so that open() does not wait for a program at its other
         * end. local_read_next waits for this program and can be interrupted. For regular files,
         * O_NONBLOCK has no effect. */
        const int fd = open(local_path(url), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        const int failed = errno;

        if (fd >= 0 || (failed != EINTR && failed != EIO && failed != ESTALE))
            return fd;
        if (failed != EINTR && !wait_to_retry(&tries)) {
            errno = failed;
            return -1;
        }
    }
}

/* Locks a pipe, because two processes that read the same pipe would each get only pieces of its
 * content. */
static int prepare_pipe(struct file_object *o, struct sheaf_error *err)
{
    if (flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: another process reads this pipe, and only one "
                       "can", o->base.url);
    (void)fcntl(o->fd, F_SETPIPE_SZ, PIPE_BYTES);   /* on failure the pipe keeps its size */
    return SHEAF_OK;
}

static int local_read_examine(struct file_object *o, struct sheaf_error *err)
{
    const char *url = o->base.url;

    if (fstat(o->fd, &o->opened) != 0)
        return err_errno(err, errno, "%s: cannot stat", url);
    if (S_ISDIR(o->opened.st_mode))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a directory, not a file", url);
    o->can_block = strcmp(url, "-") == 0;
    o->base.is_stream = !S_ISREG(o->opened.st_mode) || o->can_block;
    o->base.bytes = o->base.is_stream ? UINT64_MAX : (uint64_t)o->opened.st_size;
    o->base.block_bytes = o->base.is_stream ? 0 : (size_t)o->opened.st_blksize;
    if (S_ISFIFO(o->opened.st_mode) && !o->can_block)
        return prepare_pipe(o, err);
    /* On a network file system, ask the kernel for more read-ahead, because a shard is usually read
     * from start to end. */
    if (S_ISREG(o->opened.st_mode) && file_system_of_fd(o->fd) != FILE_SYSTEM_LOCAL)
        (void)posix_fadvise(o->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return SHEAF_OK;
}

/* Closes the file for now ("parks" it) if the open objects already use half of the descriptors that
 * the process may have. The other half stays free for the program. A parked file is opened again
 * for each read. */
static void keep_or_park(struct file_object *o)
{
    struct rlimit limit;

    if (o->base.is_stream)
        return;
    o->is_counted = getrlimit(RLIMIT_NOFILE, &limit) != 0
                    || atomic_fetch_add(&open_files, 1) < limit.rlim_cur / 2;
    if (o->is_counted)
        return;
    atomic_fetch_sub(&open_files, 1);
    close(o->fd);
    o->fd = -1;
}

bool local_is_dangling(const char *path, char *target, size_t size)
{
    struct stat st;
    ssize_t shown;

    if (stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR && errno != ELOOP))
        return false;
    shown = readlink(path, target, size - 1);
    if (shown >= 0)
        target[shown] = '\0';
    return shown >= 0;
}

int local_failed(const char *url, int failed, const char *what, struct sheaf_error *err)
{
    char target[1024];

    if (!local_is_dangling(local_path(url), target, sizeof(target)))
        return err_errno(err, failed, "%s: cannot %s", url, what);
    return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: is a symbolic link to %s, where there is no "
                   "file: fetch the file that it stands for", url, target);
}

int local_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    struct file_object *o = calloc(1, sizeof(*o));
    int code;

    if (o == NULL)
        return err_memory(err, sizeof(*o));
    o->base.ops = &store_file_ops;
    o->base.url = strdup(url);
    o->fd = -1;
    if (o->base.url == NULL)
        code = err_memory(err, strlen(url));
    else if ((o->fd = open_path(url)) < 0)
        code = local_failed(url, errno, "open", err);
    else
        code = local_read_examine(o, err);
    if (code == SHEAF_OK) {
        keep_or_park(o);
        *object = &o->base;
    } else {
        local_close(&o->base);
    }
    return code;
}

void local_close(struct store_object *object)
{
    struct file_object *o = (struct file_object *)object;

    if (o->fd >= 0)
        close(o->fd);
    if (o->is_counted)
        atomic_fetch_sub(&open_files, 1);
    free(o->base.url);
    free(o);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static bool local_read_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec
           && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Sets the error for a read that reached the end of the file too early. The code is
 * SHEAF_ERR_CHANGED if the file was changed after it was opened, otherwise SHEAF_ERR_TRUNCATED. */
static int ended_early(struct file_object *o, uint64_t offset, uint64_t wanted,
                       struct sheaf_error *err)
{
    struct stat now;

    if (fstat(o->fd, &now) == 0 && !local_read_is_same(&now, &o->opened))
        return err_set(err, SHEAF_ERR_CHANGED, "%s: was %lld byte%s when it was opened, is %lld "
                       "byte%s now", o->base.url, (long long)o->opened.st_size,
                       plural((long long)o->opened.st_size), (long long)now.st_size,
                       plural((long long)now.st_size));
    return err_set(err, SHEAF_ERR_TRUNCATED, "%s: ends at offset %llu, %llu more byte%s "
                   "expected there", o->base.url, (unsigned long long)offset,
                   (unsigned long long)wanted, plural(wanted));
}

/* Opens a file again after its descriptor has become stale. The file gets the same descriptor
 * number, so that other threads can continue to use it. If the size or the time of the file
 * differs, returns an error, because the file has changed. The inode is not compared, because a
 * replaced file server gives the same file another inode. */
static int reopen(struct file_object *o, struct sheaf_error *err)
{
    const int fd = open_path(o->base.url);
    struct stat now;
    int code = SHEAF_OK;

    if (fd < 0)
        return err_errno(err, errno, "%s: the file went stale, and cannot be opened again",
                         o->base.url);
    if (fstat(fd, &now) != 0)
        code = err_errno(err, errno, "%s: cannot stat", o->base.url);
    else if (!local_read_is_same(&now, &o->opened))
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: the file went stale and is another one now: "
                       "%lld byte%s of time %lld, not %lld of %lld", o->base.url,
                       (long long)now.st_size, plural((long long)now.st_size),
                       (long long)now.st_mtim.tv_sec, (long long)o->opened.st_size,
                       (long long)o->opened.st_mtim.tv_sec);
    else if (dup3(fd, o->fd, O_CLOEXEC) < 0)
        code = err_errno(err, errno, "%s: cannot be opened again", o->base.url);
    close(fd);
    return code;
}

/* Handles a failed read. If the read may be tried again, waits, opens the file again if its
 * descriptor has become stale (ESTALE), and returns SHEAF_OK. Otherwise returns the error. An
 * interrupted read (EINTR) may be tried again at once. */
static int recover(struct file_object *o, int failed, uint64_t offset, size_t size,
                   unsigned *tries, struct sheaf_error *err)
{
    const bool may_pass = failed == ESTALE
                       || (failed == EIO && file_system_of_fd(o->fd) != FILE_SYSTEM_LOCAL);

    if (failed == EINTR)
        return SHEAF_OK;
    if (!may_pass || !wait_to_retry(tries))
        return err_errno(err, failed, "%s: cannot read %zu bytes at offset %llu", o->base.url,
                         size, (unsigned long long)offset);
    return failed == ESTALE ? reopen(o, err) : SHEAF_OK;
}

/* Copies the struct `o` to *use, with an open descriptor. If the file is parked (closed to save
 * descriptors), opens the file again for this copy. */
static int take_up(const struct file_object *o, struct file_object *use, struct sheaf_error *err)
{
    struct stat now;

    *use = *o;
    if (o->fd >= 0)
        return SHEAF_OK;
    use->fd = open_path(o->base.url);
    if (use->fd < 0)
        return err_errno(err, errno, "%s: cannot be opened again", o->base.url);
    if (fstat(use->fd, &now) == 0 && local_read_is_same(&now, &o->opened))
        return SHEAF_OK;
    close(use->fd);
    return err_set(err, SHEAF_ERR_CHANGED, "%s: was %lld byte%s when it was opened, and is another "
                   "one now", o->base.url, (long long)o->opened.st_size,
                   plural((long long)o->opened.st_size));
}

static void local_read_put_back(const struct file_object *o, const struct file_object *use)
{
    if (o->fd < 0)
        close(use->fd);
}

static int read_open(struct file_object *o, uint64_t offset, void *data, size_t size,
                     struct sheaf_error *err)
{
    uint8_t *at = data;
    unsigned tries = 0;

    while (size != 0) {
        const ssize_t got = pread(o->fd, at, MIN(size, IO_MOST), (off_t)offset);

        if (got < 0) {
            const int code = recover(o, errno, offset, size, &tries, err);

            if (code != SHEAF_OK)
                return code;
            continue;
        }
        if (got == 0)
            return ended_early(o, offset, size, err);
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return SHEAF_OK;
}

int local_read(struct store_object *object, uint64_t offset, void *data, size_t size,
              struct sheaf_error *err)
{
    const struct file_object *o = (const struct file_object *)object;
    struct file_object use;
    int code = take_up(o, &use, err);

    if (code != SHEAF_OK)
        return code;
    code = read_open(&use, offset, data, size, err);
    local_read_put_back(o, &use);
    return code;
}

/* Returns whether a range of a file is probably in the kernel's cache. To be fast, it tests only a
 * few pages of the range. */
static bool is_cached(int fd, uint64_t offset, uint64_t size)
{
    const uint64_t step = MAX(size / 4, 1);
    char byte;

    for (uint64_t at = step; at <= size; at += step) {
        struct iovec one = { &byte, 1 };

        if (preadv2(fd, &one, 1, (off_t)(offset + at - 1), RWF_NOWAIT) != 1)
            return false;
    }
    return true;
}

/* Reads a range of a file to bring it into the kernel's cache, and drops the data. Reading makes
 * the kernel read ahead and cache large pieces. POSIX_FADV_WILLNEED would not do this. */
static void warm_open(int fd, uint64_t offset, uint64_t size)
{
    char scrap[WARM_BYTES];
    struct iovec pieces[WARM_PIECES];
    const uint64_t end = offset + size;

    if (is_cached(fd, offset, size))
        return;
    for (size_t i = 0; i < WARM_PIECES; i++)
        pieces[i] = (struct iovec){ scrap, sizeof(scrap) };
    while (offset < end) {
        const ssize_t got = preadv(fd, pieces, WARM_PIECES, (off_t)offset);

        if (got == 0 || (got < 0 && errno != EINTR))
            return;
        offset += (uint64_t)MAX(got, 0);
    }
}

void local_warm(struct store_object *object, uint64_t offset, uint64_t size)
{
    const struct file_object *o = (const struct file_object *)object;
    struct file_object use;

    if (take_up(o, &use, NULL) != SHEAF_OK)
        return;             /* a reader will get the error */
    warm_open(use.fd, offset, size);
    local_read_put_back(o, &use);
}

/* ---- Pipes ---------------------------------------------------------------------------------- */

int local_wait(struct store_object *object, unsigned wait_ms, struct sheaf_error *err)
{
    struct file_object *o = (struct file_object *)object;
    struct pollfd poll_fd = { .fd = o->fd, .events = POLLIN };
    const int ready = poll(&poll_fd, 1, (int)MIN(wait_ms, (unsigned)INTERRUPT_MS));

    if (ready < 0 && errno != EINTR)
        return err_errno(err, errno, "%s: cannot wait for it", object->url);
    if (ready > 0) {
        o->is_ready = true;
        return SHEAF_OK;
    }
    if (flag_is_raised(object->interrupt))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "%s: interrupted", object->url);
    return SHEAF_END;
}

/* Waits until the pipe has data or has ended. */
static int wait_readable(struct file_object *o, struct sheaf_error *err)
{
    const uint64_t start = clock_ns();
    int code;

    do {
        code = local_wait(&o->base, INTERRUPT_MS, err);
        if (code == SHEAF_END && !o->is_ready && !o->has_told &&
            clock_ns() - start >= NOTICE_WAIT_NS) {
            o->has_told = true;
            notice_say(o->base.url, "waiting for a writer: nothing has been written to it yet");
        }
    } while (code == SHEAF_END);
    return code;
}

/* Reads the next bytes of a pipe. First waits until a program has opened the pipe for writing,
 * because reading from a pipe without a writer returns the end of the pipe. */
int local_read_next(struct store_object *object, void *data, size_t size, size_t *got,
                   struct sheaf_error *err)
{
    struct file_object *o = (struct file_object *)object;
    bool wait = !o->is_ready || o->can_block;

    *got = 0;
    for (;;) {
        int code = wait ? wait_readable(o, err) : SHEAF_OK;
        ssize_t n;

        if (code != SHEAF_OK)
            return code;
        n = read(o->fd, data, MIN(size, IO_MOST));
        if (n >= 0) {
            *got = (size_t)n;
            return SHEAF_OK;
        }
        if (errno != EINTR && errno != EAGAIN)
            return err_errno(err, errno, "%s: cannot read", object->url);
        wait = true;
    }
}
