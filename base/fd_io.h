/* SPDX-License-Identifier: MIT
 *
 * Reads and writes whole ranges of bytes of a file. If a system call reads or writes only a part of
 * the range, or is interrupted by a signal, these functions call it again for the rest. The
 * functions return the number of bytes that were read or written. If this number is less than
 * requested, errno has the reason, or is 0 at the end of the file. */
#ifndef BASE_FD_IO_H
#define BASE_FD_IO_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Handles the result `n` of a system call that reads or writes a part of a range. If the call has
 * succeeded, adds `n`, the number of bytes that it has read or written, to *done. Returns whether
 * the call must be repeated for the rest of the range. */
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
