/* SPDX-License-Identifier: MIT
 *
 * Collects small pieces of output in a buffer, and writes them together. A piece that does not fit
 * into the buffer is not copied, but written together with the content of the buffer by one
 * writev(). */
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tools/tool.h"

int output_open(struct output *out, int fd)
{
    *out = (struct output){ .fd = fd, .buffer = malloc(OUTPUT_SIZE) };
    /* If `fd` is a pipe, makes the pipe's buffer as large as one write of this program. The writing
     * and the reading process then wait for each other less often. The call has no effect if `fd`
     * is not a pipe, or if the system does not allow this size. */
    (void)fcntl(fd, F_SETPIPE_SZ, (int)OUTPUT_SIZE);
    return out->buffer ? 0 : ENOMEM;
}

static uint64_t output_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Writes the gathered bytes, then `data`. */
static int write_all(struct output *out, const void *data, size_t size)
{
    size_t done = 0;
    const size_t total = out->used + size;
    const uint64_t begun = output_now_ns();

    while (done < total) {
        struct iovec parts[2];
        int count = 0;
        ssize_t n;

        if (done < out->used)
            parts[count++] = (struct iovec){ out->buffer + done, out->used - done };
        if (size > 0) {
            const size_t skip = done > out->used ? done - out->used : 0;

            /* writev() does not write through iov_base */
            parts[count++] = (struct iovec){ (uint8_t *)(uintptr_t)data + skip, size - skip };
        }
        n = writev(out->fd, parts, count);
        if (n < 0 && errno != EINTR) {
            out->used = 0;
            return errno;
        }
        done += n > 0 ? (size_t)n : 0;
        out->written += n > 0 ? (uint64_t)n : 0;
    }
    out->used = 0;
    out->wait_ns += output_now_ns() - begun;
    return 0;
}

int output_put(struct output *out, const void *data, size_t size)
{
    if (size >= OUTPUT_SIZE - out->used)
        return write_all(out, data, size);
    if (size > 0)
        memcpy(out->buffer + out->used, data, size);
    out->used += size;
    return 0;
}

int output_flush(struct output *out)
{
    return write_all(out, NULL, 0);
}

void output_close(struct output *out)
{
    free(out->buffer);
    out->buffer = NULL;
}

int output_check(const char *path, bool replaced)
{
    struct stat st;
    char *copy = path ? strdup(path) : NULL;
    const bool exists = path && stat(path, &st) == 0;
    int errnum = path && !copy ? ENOMEM : 0;

    if (exists && S_ISDIR(st.st_mode))
        errnum = EISDIR;
    else if (copy && access(exists && !replaced ? path : dirname(copy), W_OK) != 0)
        errnum = errno;
    free(copy);
    if (!errnum)
        return -1;
    errno = errnum;
    return fail_file(path);
}
