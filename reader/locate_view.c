/* SPDX-License-Identifier: MIT
 *
 * Finds the steps of an epoch of a view at which given samples are returned; see locate.h. A view
 * draws from several sources. Each source has epochs of its own. In each epoch of a source, its
 * chosen samples form a line, the sequence before shuffling. A lane of the view reads one range of
 * this line, its stretch.
 *
 * The search for a sample takes four steps:
 * - From the number of the sample, find its source, and its rank among the chosen samples of this
 * source.
 * - For each epoch of the source, find the position of this rank in the line. Find the lane whose
 * stretch has this position.
 * - Compute the draws from the lane's shuffle buffer, until a draw takes the sample.
 * - Find the step at which the lane makes this draw (mix_steps.h). */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/locate.h"
#include "reader/order/mix_steps.h"
#include "reader/view/view.h"

/* A sample that the caller has requested by its number. */
struct wanted_number {
    size_t source;
    /* number of the sample among the chosen samples of its source */
    uint64_t rank;
    size_t asked;
};

struct view_locating {
    const struct dataset_view *view;
    struct comings *comings;
    struct mix_steps steps;
    struct targets targets;
};

/* ---- What is asked for ----------------------------------------------------------------------- */

static int by_source(const void *x, const void *y)
{
    const struct wanted_number *a = x, *b = y;

    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Selects the requested samples that the view (a mix of data sets) has chosen. The view never
 * returns other samples. Sorts the selected samples by source, and returns their number. */
static size_t find_wanted(const struct sheaf_dataset *d, const uint64_t *numbers, size_t count,
                          struct wanted_number *wanted)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t source = dataset_source_of(d, dataset_shard_of(d, numbers[i]));
        const struct order_chosen *chosen = &d->view->chosen[source];

        wanted[found] = (struct wanted_number){ .source = source, .asked = i };
        found += selection_rank(&chosen->chosen, numbers[i] - chosen->first_number,
                                &wanted[found].rank);
    }
    if (found != 0)
        qsort(wanted, found, sizeof(wanted[0]), by_source);
    return found;
}

/* ---- One source epoch ------------------------------------------------------------------------ */

/* For one epoch of a source, finds the lanes (sequences of samples) that read the wanted samples,
 * and the positions of the samples in these lanes. The chosen samples of the source are divided
 * into pieces of `piece` consecutive samples. In each epoch, the pieces are in another order, and
 * piece_places[i] is the position of piece i. */
static int find_inputs(struct view_locating *x, const struct wanted_number *wanted, size_t count,
                       uint64_t source_epoch, uint64_t piece, const uint64_t *piece_places,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    x->targets.count = 0;
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const struct wanted_number *w = &wanted[i];
        const uint64_t place = piece_places[w->rank / piece] + w->rank % piece;
        uint64_t input;
        uint32_t lane;

        if (mix_steps_lane_of(&x->steps, w->source, source_epoch, place, &lane, &input))
            code = targets_add(&x->targets, lane, input, w->asked, err);
    }
    targets_sort(&x->targets);
    return code;
}

/* Adds a result: the lane (a sequence of samples) returns the wanted sample at this step.
 *
 * If this is the first step of the lane, the sample may be repeated as padding, and the function
 * also adds the steps of these repetitions. A lane is padded with its own first sample. A lane
 * without samples is padded with the first sample of another lane. */
static int add_step(struct view_locating *x, uint32_t lane, uint64_t step, size_t asked,
                    struct sheaf_error *err)
{
    bool padded;
    const struct mix *mix = &x->view->mix;
    const struct order *order = &x->comings->order;
    const uint64_t steps = mix_lane_steps(mix, order, lane, &padded);
    int code = SHEAF_OK;

    if (step < steps - padded)
        code = comings_add(x->comings, lane, step, asked, err);
    for (uint32_t other = lane; step == 0 && other < order->lanes && code == SHEAF_OK;
         other += (uint32_t)MIN(mix->samples, order->lanes)) {
        const uint64_t end = mix_lane_steps(mix, order, other, &padded);

        if (padded)
            code = comings_add(x->comings, other, end - 1, asked, err);
    }
    return code;
}

/* Finds the steps at which one lane (a sequence of samples) returns the requested samples
 * ("targets"), for one epoch of a source. In this epoch, the lane reads one range of the source's
 * samples. All targets must be in this range. */
static int follow_lane(struct view_locating *x, size_t source, const struct order *order,
                       struct locate_target *targets, size_t count, struct sheaf_error *err)
{
    const uint32_t lane = targets->lane;
    uint64_t begin, first, end, step;
    const struct mix_stretch stretch = mix_steps_lane_stretch(&x->steps, lane, source,
                                                              order->epoch, &begin);
    struct shuffle shuffle;
    int code;

    mix_steps_draws(&x->steps, lane, source, &first, &end);
    if (end <= begin)
        return SHEAF_OK;
    shuffle_begin(&shuffle, order, lane, stretch.count);
    code = locate_replay(&shuffle, targets, count, end - begin, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const uint64_t draw = begin + targets[i].step;

        if (targets[i].step == UINT64_MAX || draw < first || draw >= end)
            continue;                   /* The draw is in another epoch of the view. */
        code = mix_steps_find(&x->steps, lane, source, draw, &step, err);
        if (code == SHEAF_OK)
            code = add_step(x, lane, step, targets[i].asked, err);
    }
    return code;
}

static int follow_lanes(struct view_locating *x, size_t source, const struct order *order,
                        struct sheaf_error *err)
{
    struct locate_target *t = x->targets.list, *end = t + x->targets.count;
    int code = SHEAF_OK;

    while (t < end && code == SHEAF_OK) {
        const size_t count = targets_of_lane(t, end);

        code = follow_lane(x, source, order, t, count, err);
        t += count;
    }
    return code;
}

static size_t locate_view_pieces_of(const struct order *order, const struct order_chosen *chosen)
{
    const uint64_t piece = order_piece(order, chosen->chosen.count);

    return (size_t)((chosen->chosen.count + piece - 1) / piece);
}

/* Finds where each piece begins on a line. */
static void find_pieces(const struct order_line *line, size_t count, uint64_t *places)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t place = i * line->piece;

        places[line->pieces[i]] = place <= line->short_start
                                  ? place : place - (line->piece - line->short_places);
    }
}

/* ---- One source ------------------------------------------------------------------------------ */

/* Finds the steps at which samples of a source are returned, for one epoch of this source. An epoch
 * of a view (a mix of data sets) may draw from several epochs of a source. `order` describes the
 * epoch of the source. */
static int locate_in_epoch(struct view_locating *x, const struct order *order,
                           const struct wanted_number *wanted, size_t count, uint64_t *places,
                           struct sheaf_error *err)
{
    const struct order_chosen *chosen = &x->view->chosen[wanted->source];
    const uint64_t piece = order_piece(order, chosen->chosen.count);
    struct order_line line;
    int code = order_line_of_pieces(order, chosen, &line, err);

    if (code != SHEAF_OK)
        return code;
    find_pieces(&line, locate_view_pieces_of(order, chosen), places);
    order_line_free(&line);
    code = find_inputs(x, wanted, count, order->epoch, piece, places, err);
    return code == SHEAF_OK ? follow_lanes(x, wanted->source, order, err) : code;
}

/* Finds the steps at which samples of a source are returned. An epoch of a view (a mix of data
 * sets) may draw from several epochs of the source, and all of them are searched. */
static int locate_in_source(struct view_locating *x, const struct wanted_number *wanted,
                            size_t count, struct sheaf_error *err)
{
    const size_t source = wanted->source;
    struct order order = mix_source_order(&x->view->mix, &x->comings->order, source);
    const size_t pieces = locate_view_pieces_of(&order, &x->view->chosen[source]);
    uint64_t *places = calloc(pieces + 1, sizeof(places[0]));
    uint64_t first, last;
    int code = places == NULL ? err_memory(err, pieces * sizeof(places[0])) : SHEAF_OK;

    if (code == SHEAF_OK && mix_steps_epochs(&x->steps, source, &first, &last))
        for (order.epoch = first; order.epoch <= last && code == SHEAF_OK; order.epoch++)
            code = locate_in_epoch(x, &order, wanted, count, places, err);
    free(places);
    return code;
}

int locate_in_view(const struct sheaf_dataset *d, const uint64_t *numbers, size_t count,
                   struct comings *comings, struct sheaf_error *err)
{
    struct view_locating x = { .view = d->view, .comings = comings };
    struct wanted_number *wanted = calloc(count + 1, sizeof(wanted[0]));
    int code = wanted == NULL ? err_memory(err, count * sizeof(wanted[0]))
                              : mix_check(&d->view->mix, &comings->order, err);

    if (code == SHEAF_OK)
        code = mix_steps_begin(&x.steps, &d->view->mix, &comings->order, err);
    if (code == SHEAF_OK) {
        const size_t found = find_wanted(d, numbers, count, wanted);

        for (size_t i = 0, end; i < found && code == SHEAF_OK; i = end) {
            for (end = i; end < found && wanted[end].source == wanted[i].source;)
                end++;
            code = locate_in_source(&x, wanted + i, end - i, err);
        }
    }
    mix_steps_free(&x.steps);
    free(x.targets.list);
    free(wanted);
    return code;
}
