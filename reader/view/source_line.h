/* SPDX-License-Identifier: MIT
 *
 * A list of the lines that the lanes (sequences of samples) of a view are reading. A line is the
 * sequence of a source's samples in one epoch of the source, before shuffling. All lanes that read
 * a line share it. */
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

/* Returns the line of an epoch of a source. (A line is the sequence of the source's samples in this
 * epoch, before shuffling.) If the list *lines does not contain the line, makes the line and adds
 * it to the list. `order` must be the order of the source in this epoch. Returns NULL if memory is
 * exhausted. */
struct source_line *source_line_use(struct source_line **lines, const struct dataset_view *view,
                                    size_t source, const struct order *order,
                                    struct sheaf_error *err);
/* Gives back a reference to a line (the sequence of a source's samples before shuffling). Frees the
 * line if it was the last reference. `line` may be NULL. */
void source_line_drop(struct source_line **lines, struct source_line *line);
/* Frees all lines, even if they have users. */
void source_line_free(struct source_line **lines);

#endif
