/* SPDX-License-Identifier: MIT
 *
 * Writes a stream of bytes to a file descriptor in large writes; and checks whether a file can be
 * written, before the work whose result it will hold. */
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
    uint64_t wait_ns;       /* time spent in writes; if fd is a pipe, this is mostly
                               the time of its reader */
    uint8_t *buffer;
};

/* These functions return 0 or an errno value. If a write fails, the gathered bytes are dropped. */
int output_open(struct output *out, int fd);
int output_put(struct output *out, const void *data, size_t size);
int output_flush(struct output *out);
void output_close(struct output *out);      /* does not flush */

/* Checks whether the file can be written in place, or created in its directory. With `replaced`,
 * only creation is possible. Returns -1 (also if the path is NULL), or the exit status after a
 * complaint. */
int output_check(const char *path, bool replaced);

#endif
