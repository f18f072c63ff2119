/* SPDX-License-Identifier: MIT
 *
 * The lines of a local or remote list, with a window of it in memory.  A compressed list is
 * decompressed. */
#ifndef PACKER_SOURCE_LINES_H
#define PACKER_SOURCE_LINES_H

#include <stdbool.h>

#include "base/buf.h"
#include "formats/codec.h"
#include "packer/source/list.h"
#include "store/store.h"

struct lines {
    const struct list_parser *parser;   /* whose quotes may hold line ends; NULL: none may */
    struct store_object *object;
    uint64_t offset;            /* of the object; what was read */
    struct codec_stream *decoder;   /* NULL: it is not compressed, or not started */
    struct buf stored;          /* what the decoder has not taken yet */
    struct buf text;            /* what was read and not yet taken */
    size_t taken;               /* of text */
    size_t given;               /* the bytes that lines_next gave out last, with their end */
    bool begun;                 /* a line was given out */
    bool ended;
    uint64_t number;            /* of the line that ended last; the first is 1 */
};

/* lines_close must be called in any case. */
int lines_open(struct lines *lines, const char *url, const struct list_parser *parser,
               struct sheaf_error *err);
void lines_close(struct lines *lines);

/* The next line, or CSV record of several lines, without its end; it stays until the next call.
 * A byte order mark is not part of the first.
 * *number is that of its first line.  SHEAF_END after the last. */
int lines_next(struct lines *lines, const char **line, size_t *size, uint64_t *number,
               struct sheaf_error *err);

#endif
