/* SPDX-License-Identifier: MIT
 *
 * A stream of bytes to a file descriptor in large writes; and whether a file can be written, asked
 * before the work that is to end with it. */
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
    uint8_t *buffer;
};

/* Functions return 0 or an errno value; what was gathered when a write failed is dropped. */
int output_open(struct output *out, int fd);
int output_put(struct output *out, const void *data, size_t size);
int output_flush(struct output *out);
void output_close(struct output *out);      /* does not flush */

/* Whether the file can be written where it is, or made in its directory; with `replaced`, only the
 * latter counts.  -1, also for NULL, or a complaint and the exit status. */
int output_check(const char *path, bool replaced);

#endif
