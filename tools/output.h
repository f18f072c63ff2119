/* SPDX-License-Identifier: MIT
 *
 * Writes a stream of bytes to a file descriptor in large writes. Also checks whether a file can be
 * written, before the command does the work whose result the file will hold. */
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
    /* time spent in writes; if fd is a pipe, this is mostly the time for which the program at
     * its other end was busy */
    uint64_t wait_ns;
    uint8_t *buffer;
};

/* output_open, output_put and output_flush return 0 or an errno value. If a write fails, the
 * collected bytes are dropped. */
int output_open(struct output *out, int fd);
int output_put(struct output *out, const void *data, size_t size);
int output_flush(struct output *out);
void output_close(struct output *out);      /* does not flush */

/* Checks whether the file can be overwritten, or created if it does not exist. If `replaced` is
 * set, a new file will take the place of the old one, so the directory must allow the creation of
 * files. Returns -1 on success or if `path` is NULL, or the exit status after an error message. */
int output_check(const char *path, bool replaced);

#endif
