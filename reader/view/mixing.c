/* SPDX-License-Identifier: MIT
 *
 * The turns of a view's lanes; see mixing.h. */
#include "reader/view/mixing.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/view/source_line.h"

/* What one lane draws from one source. */
struct drawing {
    uint64_t drawn;                 /* as mix_turns_begin counts; */
    uint64_t left;                  /* in the stretch */
    struct source_line *line;       /* NULL: no stretch was begun */
};

struct mixing {
    struct mix_turns *turns;        /* of each lane */
    size_t *sources;                /* that its next step draws from, + 1; 0: not known yet */
    struct order_run *pads;         /* what comes once more at its end, if count is not 0 */
    struct drawing *drawings;       /* of each lane's sources */
    struct source_line *lines;
    uint32_t lane_count;
    size_t source_count;
};

/* ---- Begin and end -------------------------------------------------------------------------- */

void mixing_free(struct sheaf_reader *r)
{
    struct mixing *m = r->mixing;

    if (m == NULL)
        return;
    free(m->turns);
    free(m->sources);
    free(m->pads);
    free(m->drawings);
    free(m);
    r->mixing = NULL;
}

int mixing_open(struct sheaf_reader *r)
{
    const size_t sources = r->dataset->source_count;
    struct mixing *m = calloc(1, sizeof(*m));

    mixing_free(r);
    if (m == NULL)
        return err_memory(&r->error, sizeof(*m));
    r->mixing = m;
    m->lane_count = r->own_lanes;
    m->source_count = sources;
    m->turns = calloc(m->lane_count, sizeof(m->turns[0]));
    m->sources = calloc(m->lane_count, sizeof(m->sources[0]));
    m->pads = calloc(m->lane_count, sizeof(m->pads[0]));
    m->drawings = calloc(m->lane_count * sources, sizeof(m->drawings[0]));
    if (m->turns == NULL || m->sources == NULL || m->pads == NULL || m->drawings == NULL)
        return err_memory(&r->error, m->lane_count * sources * sizeof(m->drawings[0]));
    return SHEAF_OK;
}

void mixing_end(struct sheaf_reader *r)
{
    struct mixing *m = r->mixing;

    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->lane_count; i++)
        mix_turns_free(&m->turns[i]);
    source_line_free(&m->lines);
    memset(m->turns, 0, m->lane_count * sizeof(m->turns[0]));
    memset(m->sources, 0, m->lane_count * sizeof(m->sources[0]));
    memset(m->pads, 0, m->lane_count * sizeof(m->pads[0]));
    memset(m->drawings, 0, m->lane_count * m->source_count * sizeof(m->drawings[0]));
}

/* ---- Stretches ------------------------------------------------------------------------------ */

/* The reader's lane `i`, of a source. */
static struct lane *lane_of(struct sheaf_reader *r, uint32_t i, size_t source)
{
    return &r->lanes[i * r->mixing->source_count + source];
}

/* Begins the stretch of the next draw. */
static int begin_stretch(struct sheaf_reader *r, uint32_t i, size_t source)
{
    struct mixing *m = r->mixing;
    struct feed *feed = &r->feed;
    struct drawing *d = &m->drawings[i * m->source_count + source];
    struct prefetch *prefetch = &feed->prefetches[i * m->source_count + source];
    struct lane *lane = lane_of(r, i, source);
    const uint32_t number = order_member_lane(&r->member, i);
    const struct mix_stretch stretch = mix_stretch_of(&r->dataset->view->mix, &feed->order, number,
                                                      source, d->drawn);
    struct order order = mix_source_order(&r->dataset->view->mix, &feed->order, source);
    struct lane_course course = { number, &order, NULL,
                                  { .start = stretch.start, .count = stretch.count } };
    const double pace = prefetch->pace;
    int code;

    if (d->line != NULL) {
        prefetch_end(feed, prefetch);
        lane_clear(feed, lane);
        source_line_drop(&m->lines, d->line);
    }
    order.epoch = stretch.source_epoch;
    d->line = source_line_use(&m->lines, r->dataset->view, source, &order, &r->error);
    if (d->line == NULL)
        return r->error.code;
    d->left = stretch.count - stretch.before;
    course.line = &d->line->line;
    code = lane_begin(feed, lane, prefetch, &course, stretch.before, &r->error);
    prefetch->pace = pace;
    if (code == SHEAF_OK && r->foresees)
        code = lane_foresee(lane, &r->error);
    return code;
}

/* Begins the stretches that a lane draws from in the rest of the epoch. */
static int begin_stretches(struct sheaf_reader *r, uint32_t i, const uint64_t *drawn,
                           const uint64_t *at_end)
{
    struct mixing *m = r->mixing;
    const uint64_t steps = m->turns[i].steps - m->turns[i].step;
    int code = SHEAF_OK;

    for (size_t s = 0; s < m->source_count && code == SHEAF_OK; s++) {
        const uint64_t draws = at_end[s] - drawn[s];

        m->drawings[i * m->source_count + s].drawn = drawn[s];
        r->feed.prefetches[i * m->source_count + s].pace = (double)draws / (double)MAX(steps, 1);
        if (draws != 0)
            code = begin_stretch(r, i, s);
    }
    return code;
}

/* The sample that a lane draws first in the epoch. */
static int find_pad(struct sheaf_reader *r, uint32_t number, uint64_t *drawn,
                    struct order_run *pad)
{
    const struct dataset_view *view = r->dataset->view;
    struct mix_turns turns;
    struct mix_stretch stretch;
    struct order order;
    struct source_line *line;
    struct shuffle shuffle;
    size_t source;
    int code = mix_turns_begin(&turns, &view->mix, &r->feed.order, number, 0, drawn, &r->error);

    if (code == SHEAF_OK)
        code = mix_turns_next(&turns, &source, &r->error);
    mix_turns_free(&turns);
    if (code != SHEAF_OK)
        return code;
    stretch = mix_stretch_of(&view->mix, &r->feed.order, number, source, 0);
    order = mix_source_order(&view->mix, &r->feed.order, source);
    order.epoch = stretch.source_epoch;
    line = source_line_use(&r->mixing->lines, view, source, &order, &r->error);
    if (line == NULL)
        return r->error.code;
    shuffle_begin(&shuffle, &order, number, stretch.count);
    *pad = order_line_locate(&line->line, stretch.start + shuffle_next(&shuffle).slot);
    source_line_drop(&r->mixing->lines, line);
    return SHEAF_OK;
}

static int begin_lane(struct sheaf_reader *r, uint32_t i, uint64_t step, uint64_t *drawn,
                      uint64_t *at_end)
{
    const struct mix *mix = &r->dataset->view->mix;
    const uint32_t number = order_member_lane(&r->member, i);
    struct mix_turns end;
    bool padded;
    int code = SHEAF_OK;

    if (step < mix_lane_steps(mix, &r->feed.order, number, &padded) && padded)
        code = find_pad(r, number, drawn, &r->mixing->pads[i]);
    if (code == SHEAF_OK)
        code = mix_turns_begin(&end, mix, &r->feed.order, number, UINT64_MAX, at_end, &r->error);
    if (code != SHEAF_OK)
        return code;
    mix_turns_free(&end);
    code = mix_turns_begin(&r->mixing->turns[i], mix, &r->feed.order, number, step, drawn,
                           &r->error);
    return code == SHEAF_OK ? begin_stretches(r, i, drawn, at_end) : code;
}

int mixing_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    struct mixing *m = r->mixing;
    uint64_t *drawn = calloc(2 * m->source_count, sizeof(drawn[0]));
    int code = drawn == NULL ? err_memory(&r->error, m->source_count * 16)
                             : mix_check(&r->dataset->view->mix, &r->feed.order, &r->error);

    for (uint32_t i = 0; i < m->lane_count && code == SHEAF_OK; i++)
        code = begin_lane(r, i, rounds + (i < extra), drawn, drawn + m->source_count);
    free(drawn);
    return code;
}

/* ---- Turns ---------------------------------------------------------------------------------- */

static int draw(struct sheaf_reader *r, uint32_t i, struct item *item)
{
    struct mixing *m = r->mixing;
    struct drawing *d;
    size_t source;
    int code = SHEAF_OK;

    if (m->sources[i] == 0) {
        code = mix_turns_next(&m->turns[i], &source, &r->error);
        if (code != SHEAF_OK)
            return code;
        m->sources[i] = source + 1;
    }
    source = m->sources[i] - 1;
    d = &m->drawings[i * m->source_count + source];
    if (d->left == 0)
        code = begin_stretch(r, i, source);
    if (code == SHEAF_OK)
        code = lane_next(&r->feed, lane_of(r, i, source), item, &r->error);
    if (code != SHEAF_OK)
        return code;
    d->left--;
    d->drawn++;
    m->sources[i] = 0;
    return SHEAF_OK;
}

/* Whether the lane has drawn all that it draws in the epoch. */
static bool is_drawn(const struct mixing *m, uint32_t i)
{
    return m->sources[i] == 0 && m->turns[i].step == m->turns[i].steps;
}

int mixing_turn(struct sheaf_reader *r, uint32_t i, struct item *item)
{
    struct order_run *pad = &r->mixing->pads[i];
    int code;

    if (!is_drawn(r->mixing, i))
        return draw(r, i, item);
    if (pad->count == 0)
        return SHEAF_END;
    code = lane_repeat(&r->feed, lane_of(r, i, 0), pad, item, &r->error);
    if (code == SHEAF_OK)
        pad->count = 0;
    return code;
}

bool mixing_has_ended(const struct mixing *m)
{
    for (uint32_t i = 0; i < m->lane_count; i++)
        if (!is_drawn(m, i) || m->pads[i].count != 0)
            return false;
    return true;
}
