/* SPDX-License-Identifier: MIT
 *
 * Keeps the lines that lanes are reading; see source_line.h. */
#include "reader/view/source_line.h"

#include <stdlib.h>

#include "base/error.h"

struct source_line *source_line_use(struct source_line **lines, const struct dataset_view *view,
                                    size_t source, const struct order *order,
                                    struct sheaf_error *err)
{
    struct source_line *line = *lines;

    while (line != NULL && (line->source != source || line->source_epoch != order->epoch))
        line = line->next;
    if (line == NULL) {
        line = calloc(1, sizeof(*line));
        if (line == NULL) {
            err_memory(err, sizeof(*line));
            return NULL;
        }
        if (order_line_of_pieces(order, &view->chosen[source], &line->line, err) != SHEAF_OK) {
            free(line);
            return NULL;
        }
        line->source = source;
        line->source_epoch = order->epoch;
        line->next = *lines;
        *lines = line;
    }
    line->users++;
    return line;
}

void source_line_drop(struct source_line **lines, struct source_line *line)
{
    struct source_line **at = lines;

    if (line == NULL || --line->users != 0)
        return;
    while (*at != line)
        at = &(*at)->next;
    *at = line->next;
    order_line_free(&line->line);
    free(line);
}

void source_line_free(struct source_line **lines)
{
    while (*lines != NULL) {
        struct source_line *line = *lines;

        *lines = line->next;
        order_line_free(&line->line);
        free(line);
    }
}
