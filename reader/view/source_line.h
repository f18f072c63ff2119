/* SPDX-License-Identifier: MIT
 *
 * A list of the lines that lanes of a view read at present. A line is the sequence of a source's
 * samples in one epoch of the source, before shuffling. Each line is made once, and all lanes share
 * it. */
#ifndef READER_VIEW_SOURCE_LINE_H
#define READER_VIEW_SOURCE_LINE_H

#include "reader/view/view.h"

struct source_line {
    struct source_line *next;
    struct order_line line;
    size_t source;
    uint64_t source_epoch;
    unsigned users;
};

/* Returns the line (the sequence of samples before shuffling) of the epoch of a source that `order`
 * specifies. Returns NULL if memory is exhausted. `order` must be the source's own order. *lines is
 * the list of all lines in use. */
struct source_line *source_line_use(struct source_line **lines, const struct dataset_view *view,
                                    size_t source, const struct order *order,
                                    struct sheaf_error *err);
/* Gives up a reference to a line (a source's samples in their order before shuffling). The line is
 * freed when its last reference is given up. NULL is allowed. */
void source_line_drop(struct source_line **lines, struct source_line *line);
/* Frees all lines, even if they have users. */
void source_line_free(struct source_line **lines);

#endif
