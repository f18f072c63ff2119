/* SPDX-License-Identifier: MIT
 *
 * The lines of the source epochs that are read at the moment, each made once for all lanes. */
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

/* The line of the source epoch that `order`, the source's own, says; NULL: no memory.  *lines is
 * the list of those in use. */
struct source_line *source_line_use(struct source_line **lines, const struct dataset_view *view,
                                    size_t source, const struct order *order,
                                    struct sheaf_error *err);
/* One user less; the last one frees it.  NULL is fine. */
void source_line_drop(struct source_line **lines, struct source_line *line);
/* Frees all, whoever uses them. */
void source_line_free(struct source_line **lines);

#endif
