/* SPDX-License-Identifier: MIT
 *
 * Writes a stream of bytes to a file descriptor in large writes. Another function checks whether
 * a file can be written, before the command begins the work whose result it will write to this
 * file. */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_SIZE ((size_t)1 << 20)   /* bytes gathered before a write */

struct output {
    int fd;
    size_t used;            /* gathered; < OUTPUT_SIZE */
    uint64_t written;       /* bytes that fd has taken */
    /* time in nanoseconds spent in writes; if fd is a pipe, this is mostly time in which the
     * program at its other end was busy */
    uint64_t wait_ns;
    uint8_t *buffer;
};

/* output_open, output_put and output_flush return 0 or an errno value. If a write fails, the bytes
 * in the buffer are discarded. */
int output_open(struct output *out, int fd);
int output_put(struct output *out, const void *data, size_t size);
int output_flush(struct output *out);
void output_close(struct output *out);      /* does not flush */

/* Checks whether the file `path` can be written, or created if it does not exist. If `replaced` is
 * set, a new file will be renamed to `path` later, so the function checks that files can be created
 * in the directory. Returns -1 on success, or if `path` is NULL. Otherwise prints an error message
 * and returns the exit status. */
int output_check(const char *path, bool replaced);

#endif
