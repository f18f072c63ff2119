/* SPDX-License-Identifier: MIT
 *
 * Reads a list line by line. The list may be local or remote, and may be compressed. Only a part of
 * it is in memory at a time. */
#ifndef PACKER_SOURCE_LINES_H
#define PACKER_SOURCE_LINES_H

#include <stdbool.h>

#include "base/buf.h"
#include "formats/codec.h"
#include "packer/source/list.h"
#include "store/store.h"

struct lines {
    const struct list_parser *parser;   /* whose quotes may contain line ends; NULL: none may */
    struct store_object *object;
    uint64_t offset;            /* number of bytes of the object that were read */
    struct codec_stream *decoder;   /* NULL: not compressed, or not started */
    struct buf stored;          /* input that the decoder has not consumed */
    struct buf text;            /* text that was read and not yet returned */
    size_t taken;               /* of text */
    /* number of bytes of the line that lines_next() returned last, including the end of the line */
    size_t given;
    bool begun;                 /* whether a line was returned */
    bool ended;
    uint64_t number;            /* number of the line read last, counted from 1 */
};

/* lines_close must be called also after an error. */
int lines_open(struct lines *lines, const char *url, const struct list_parser *parser,
               struct sheaf_error *err);
void lines_close(struct lines *lines);

/* Sets *line to the next line of the list, without the end of the line. With CSV, this is the next
 * record, which may consist of several lines. A byte order mark before the first line is removed.
 * *number is set to the number of the record's first line. The text is valid until the next call.
 * Returns SHEAF_END after the last line. */
int lines_next(struct lines *lines, const char **line, size_t *size, uint64_t *number,
               struct sheaf_error *err);

#endif
