/* SPDX-License-Identifier: MIT
 *
 * Computes the order of samples in an epoch of a view (a mix of data sets); see view_replay.h. It
 * makes the same draws as mixing.c, but computes only the numbers of samples and reads none. */
#include "reader/view/view_replay.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/order/shuffle.h"
#include "reader/view/source_line.h"

/* State of the draws of one lane (a sequence of samples) from one source of the view. */
struct replay_drawing {
    uint64_t drawn;                 /* number of draws so far, counted as in mix_turns_begin */
    /* The line (sequence of samples before shuffling) that contains the range from which the lane
     * draws at present. NULL if the lane has not begun a range of this source. */
    struct source_line *line;
    /* `start` is the position in the line at which the lane's present range of samples begins.
     * `left` is the number of draws that the lane (a sequence of samples) still makes from this
     * range. */
    uint64_t start, left;
    struct shuffle shuffle;
    uint64_t *slots;                /* the input in each slot of the shuffle buffer */
};

struct view_replay {
    struct order_replay base;
    const struct sheaf_dataset *dataset;
    struct order order;
    /* For each lane (a sequence of samples): the state from which the source of its next step is
     * computed. */
    struct mix_turns *turns;
    struct replay_drawing *drawings;       /* state of each lane and source */
    struct source_line *lines;
};

static void view_replay_free(struct order_replay *base)
{
    struct view_replay *r = (struct view_replay *)(void *)base;

    for (uint32_t l = 0; r->turns != NULL && l < r->order.lanes; l++)
        mix_turns_free(&r->turns[l]);
    for (size_t i = 0; r->drawings != NULL && i < r->order.lanes * r->base.source_count; i++)
        free(r->drawings[i].slots);
    source_line_free(&r->lines);
    free(r->turns);
    free(r->drawings);
    free(r);
}

static int view_replay_begin_lanes(struct view_replay *r, struct sheaf_error *err)
{
    uint64_t *drawn = calloc(r->base.source_count + 1, sizeof(drawn[0]));
    int code = drawn == NULL ? err_memory(err, r->base.source_count * sizeof(drawn[0])) : SHEAF_OK;

    for (uint32_t l = 0; l < r->order.lanes && code == SHEAF_OK; l++) {
        code = mix_turns_begin(&r->turns[l], &r->dataset->view->mix, &r->order, l, 0, drawn, err);
        for (size_t s = 0; s < r->base.source_count && code == SHEAF_OK; s++)
            r->drawings[l * r->base.source_count + s].drawn = drawn[s];
    }
    free(drawn);
    return code;
}

/* Begins the stretch (range of samples in one epoch of a source) that contains the next draw from
 * the source. If the draw is not the first of the stretch, computes the draws before it, because
 * the state of the shuffle buffer depends on them. */
static int view_replay_begin_stretch(struct view_replay *r, uint32_t lane, size_t source,
                                     struct sheaf_error *err)
{
    const struct dataset_view *view = r->dataset->view;
    struct replay_drawing *d = &r->drawings[lane * r->base.source_count + source];
    const struct mix_stretch stretch = mix_stretch_of(&view->mix, &r->order, lane, source,
                                                      d->drawn);
    struct order order = mix_source_order(&view->mix, &r->order, source);

    order.epoch = stretch.source_epoch;
    source_line_drop(&r->lines, d->line);
    d->line = source_line_use(&r->lines, view, source, &order, err);
    if (d->line == NULL)
        return err == NULL ? SHEAF_ERR_MEMORY : err->code;
    if (d->slots == NULL)
        d->slots = calloc(order_buffer_slots(&order), sizeof(d->slots[0]));
    if (d->slots == NULL)
        return err_memory(err, order_buffer_slots(&order) * sizeof(d->slots[0]));
    d->start = stretch.start;
    d->left = stretch.count - stretch.before;
    shuffle_begin(&d->shuffle, &order, lane, stretch.count);
    shuffle_replay(&d->shuffle, stretch.before, d->slots);
    return SHEAF_OK;
}

static int view_replay_next(struct order_replay *base, uint32_t lane, struct replayed *sample,
                            struct sheaf_error *err)
{
    struct view_replay *r = (struct view_replay *)(void *)base;
    struct mix_turns *turns = &r->turns[lane];
    const struct order_chosen *chosen;
    struct replay_drawing *d;
    uint64_t run;
    int code;

    if (turns->step == turns->steps)
        return SHEAF_END;
    code = mix_turns_next(turns, &sample->source, err);
    if (code != SHEAF_OK)
        return code;
    d = &r->drawings[lane * r->base.source_count + sample->source];
    if (d->left == 0)
        code = view_replay_begin_stretch(r, lane, sample->source, err);
    if (code != SHEAF_OK)
        return code;
    d->left--;
    d->drawn++;
    chosen = &r->dataset->view->chosen[sample->source];
    sample->rank = order_line_rank(&d->line->line, d->start + shuffle_draw(&d->shuffle, d->slots));
    sample->number = chosen->first_number + selection_number(&chosen->chosen, sample->rank, &run);
    sample->comes_again = false;
    return SHEAF_OK;
}

static uint64_t view_replay_chosen(const struct order_replay *base, size_t source)
{
    const struct view_replay *r = (const struct view_replay *)(const void *)base;

    return r->dataset->view->chosen[source].chosen.count;
}

int view_replay_begin(const struct sheaf_dataset *d, const struct order *order,
                      struct order_replay **replay, struct sheaf_error *err)
{
    struct view_replay *r = calloc(1, sizeof(*r));
    int code = mix_check(&d->view->mix, order, err);

    if (r == NULL)
        return err_memory(err, sizeof(*r));
    *replay = &r->base;
    r->base = (struct order_replay){ d->view->mix.samples, d->source_count, view_replay_chosen,
                                     view_replay_next, view_replay_free };
    r->dataset = d;
    r->order = *order;
    r->turns = calloc(order->lanes, sizeof(r->turns[0]));
    r->drawings = calloc(order->lanes * d->source_count, sizeof(r->drawings[0]));
    if (r->turns == NULL || r->drawings == NULL)
        return err_memory(err, order->lanes * d->source_count * sizeof(r->drawings[0]));
    return code == SHEAF_OK ? view_replay_begin_lanes(r, err) : code;
}
