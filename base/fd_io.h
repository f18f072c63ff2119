/* SPDX-License-Identifier: MIT
 *
 * Reads and writes of a whole range of a file. If one system call handles only part of the range,
 * or a signal interrupts it, the next call continues. Each function returns the number of bytes
 * done. If that is less than asked for, errno tells why; errno is 0 at the end of the file. */
#ifndef BASE_FD_IO_H
#define BASE_FD_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Returns whether to call again after a call that returned `n`. */
static inline bool fd_io_goes_on(ssize_t n, size_t *done)
{
    if (n < 0)
        return errno == EINTR;
    if (n == 0)
        errno = 0;
    *done += (size_t)n;
    return n != 0;
}

static inline size_t fd_read(int fd, void *data, size_t size)
{
    size_t done = 0;

    while (done < size && fd_io_goes_on(read(fd, (char *)data + done, size - done), &done))
        ;
    return done;
}

static inline size_t fd_read_at(int fd, void *data, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size && fd_io_goes_on(pread(fd, (char *)data + done, size - done,
                                              (off_t)(offset + done)), &done))
        ;
    return done;
}

static inline size_t fd_write(int fd, const void *data, size_t size)
{
    size_t done = 0;

    while (done < size && fd_io_goes_on(write(fd, (const char *)data + done, size - done), &done))
        ;
    return done;
}

static inline size_t fd_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
    size_t done = 0;

    while (done < size && fd_io_goes_on(pwrite(fd, (const char *)data + done, size - done,
                                               (off_t)(offset + done)), &done))
        ;
    return done;
}

#endif
