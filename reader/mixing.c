/* SPDX-License-Identifier: MIT
 *
 * Takes the samples of an epoch of a view (a mix of data sets, its sources). An epoch is divided
 * into lanes, which are sequences of samples. order/mix.h decides from which source a lane draws
 * its next sample.
 *
 * For each lane and each source there is a `struct lane` with a shuffle buffer. The structs are in
 * one table, at index i * sources + s for lane number i and source s.
 *
 * A `struct lane` reads one stretch after another. A stretch is a range of samples from one pass
 * through the source.
 *
 * For remote data, the table has a second half with the same number of structs. When all reads of
 * the present stretch are planned, the corresponding struct in the other half begins to read the
 * next stretch. So its first sample is in memory when the present stretch ends. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/epoch_order.h"
#include "reader/locate.h"
#include "reader/reader_options.h"
#include "reader/view/source_line.h"
#include "reader/view/view_replay.h"

/* A lane (a sequence of samples) reads its next range of samples in advance. If the memory budget
 * has no room for this, the lane tries again every PUMP_DRAWS draws. */
#define PUMP_DRAWS 16u

/* The draws of one lane from one source. */
struct source_drawing {
    uint64_t drawn;                 /* number of draws so far, counted as in mix_turns_begin */
    uint64_t end;                   /* value of `drawn` at the end of the epoch */
    double pace;                    /* approximate number of draws for each step */
    /* The lane reads the source in ranges of samples. Number of samples in all ranges that the lane
     * has begun in this epoch. If the epoch was resumed, samples before the saved position are not
     * counted. */
    uint64_t before;
    /* number of draws left in the present stretch (range of samples) */
    uint64_t left;
    uint64_t source_epoch;          /* epoch of the source to which the stretch belongs */
    struct source_line *line;       /* NULL if no stretch has begun */
    /* True if samples are drawn from the `struct lane` in the second half of the table. The
     * corresponding struct in the other half then reads the next range of samples in advance. */
    bool is_second;
    /* If the next range of the source's samples is already read in advance: the line (sequence of
     * samples before shuffling) that contains this range. Otherwise NULL. */
    struct source_line *coming;
    /* number of bytes taken from the memory budget for the shuffle buffer of the next range of
     * samples */
    uint64_t coming_bytes;
};

/* The sample with which a lane (a sequence of samples) is padded at its end, so that all lanes have
 * the same length. run.count is 0 if the lane is not padded. */
struct pad {
    struct order_run run;
    uint64_t source_epoch;
};

struct mixing {
    struct mix_turns *turns;        /* source of each step, for each lane */
    /* for each lane (a sequence of samples): 1 + the source from which it draws next; 0 if this is
     * not computed yet */
    size_t *sources;
    struct pad *pads;               /* padding of each lane */
    struct source_drawing *drawings;       /* state of each lane's draws from each source */
    struct source_line *lines;
    uint32_t lane_count;
    size_t source_count;
    /* number of the source's epoch to which the last drawn sample belongs */
    uint64_t source_epoch;
};

/* ---- Begin and end -------------------------------------------------------------------------- */

static void mixing_free(struct sheaf_reader *r)
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

static int mixing_count(const struct sheaf_reader *r, uint32_t *lanes, size_t *queues,
                        struct sheaf_error *err)
{
    if (__builtin_mul_overflow(r->own_lanes, (uint32_t)r->dataset->source_count, lanes) ||
        *lanes > UINT32_MAX / 2)
        return err_set(err, SHEAF_ERR_LIMIT, "%u lanes of %zu sources are too many", r->own_lanes,
                       r->dataset->source_count);
    *queues = dataset_is_local(r->dataset) ? *lanes : 2 * (size_t)*lanes;
    return SHEAF_OK;
}

static int mixing_open(struct sheaf_reader *r)
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

static void mixing_end(struct sheaf_reader *r)
{
    struct mixing *m = r->mixing;

    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->lane_count; i++)
        mix_turns_free(&m->turns[i]);
    for (size_t i = 0; i < m->lane_count * m->source_count; i++)
        budget_give(&r->load.budget, m->drawings[i].coming_bytes);
    source_line_free(&m->lines);
    memset(m->turns, 0, m->lane_count * sizeof(m->turns[0]));
    memset(m->sources, 0, m->lane_count * sizeof(m->sources[0]));
    memset(m->pads, 0, m->lane_count * sizeof(m->pads[0]));
    memset(m->drawings, 0, m->lane_count * m->source_count * sizeof(m->drawings[0]));
}

/* ---- Stretches ------------------------------------------------------------------------------ */

static struct source_drawing *drawing_of(const struct mixing *m, uint32_t i, size_t source)
{
    return &m->drawings[i * m->source_count + source];
}

/* Returns an index in the array r->lanes. For lane number `i` of the reader (a sequence of samples)
 * and the source `source`, the array has two elements. One of them reads the present range of the
 * source's samples, and the other reads the next range in advance. Returns the index of the element
 * for the next range if `coming` is true, and otherwise of the element for the present range. */
static size_t mixing_place_of(const struct sheaf_reader *r, uint32_t i, size_t source, bool coming)
{
    const bool is_second = drawing_of(r->mixing, i, source)->is_second != coming;

    return i * r->mixing->source_count + source + (is_second ? r->load.lane_count : 0);
}

static struct lane *lane_of(const struct sheaf_reader *r, uint32_t i, size_t source)
{
    return &r->lanes[mixing_place_of(r, i, source, false)];
}

/* Begins to read a stretch of a source, that is, a range of its samples in one epoch of the source.
 * It is the stretch that contains the lane's draw number `draw`. */
static int open_stretch(struct sheaf_reader *r, uint32_t i, size_t source, uint64_t draw,
                        bool is_ahead, struct source_line **line, struct sheaf_error *err)
{
    struct loader *l = &r->load;
    const struct dataset_view *view = r->dataset->view;
    struct source_drawing *d = drawing_of(r->mixing, i, source);
    const size_t place = mixing_place_of(r, i, source, is_ahead);
    const uint32_t number = order_member_lane(&r->member, i);
    const struct mix_stretch stretch = mix_stretch_of(&view->mix, &l->order, number, source,
                                                      draw);
    struct order order = mix_source_order(&view->mix, &l->order, source);
    struct lane_course course = { number, &order, NULL,
                                  { .start = stretch.start, .count = stretch.count }, is_ahead };
    int code;

    order.epoch = stretch.source_epoch;
    *line = source_line_use(&r->mixing->lines, view, source, &order, err);
    if (*line == NULL)
        return SHEAF_ERR_MEMORY;
    course.line = &(*line)->line;
    code = lane_begin(l, &r->lanes[place], &l->queues[place], &course, stretch.before,
                      err);
    l->queues[place].pace = d->pace;
    l->queues[place].before = d->before;
    l->queues[place].is_ahead = is_ahead;
    d->before += code == SHEAF_OK ? stretch.count - stretch.before : 0;
    return code;
}

/* Begins to draw from the next range of the source's samples. A second `struct lane` for this lane
 * (a sequence of samples) and source has already read the range in advance. Now the two structs
 * exchange their roles. */
static void enter_coming(struct sheaf_reader *r, uint32_t i, size_t source)
{
    struct source_drawing *d = drawing_of(r->mixing, i, source);

    budget_give(&r->load.budget, d->coming_bytes);
    d->is_second = !d->is_second;
    d->line = d->coming;
    d->coming = NULL;
    d->coming_bytes = 0;
    r->load.queues[mixing_place_of(r, i, source, false)].is_ahead = false;
}

/* Begins the stretch of the next draw. */
static int mixing_begin_stretch(struct sheaf_reader *r, uint32_t i, size_t source)
{
    struct mixing *m = r->mixing;
    struct source_drawing *d = drawing_of(m, i, source);
    const struct mix_stretch stretch = mix_stretch_of(&r->dataset->view->mix, &r->load.order,
                                                      order_member_lane(&r->member, i), source,
                                                      d->drawn);
    int code = SHEAF_OK;

    if (d->line != NULL) {
        lane_clear(&r->load, lane_of(r, i, source));
        source_line_drop(&m->lines, d->line);
        d->line = NULL;
    }
    if (d->coming != NULL)
        enter_coming(r, i, source);
    else
        code = open_stretch(r, i, source, d->drawn, false, &d->line, &r->error);
    d->left = stretch.count - stretch.before;
    d->source_epoch = stretch.source_epoch;
    if (code == SHEAF_OK && r->lane_most != 0)
        code = lane_foresee(lane_of(r, i, source), r->lane_most, &r->error);
    return code;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Returns an upper bound for the number of slots that the shuffle buffer of a lane (a sequence of
 * samples) has for this source. */
static uint64_t slots_most(const struct sheaf_reader *r, size_t source)
{
    const struct dataset_view *view = r->dataset->view;
    const struct order own = mix_source_order(&view->mix, &r->load.order, source);

    return MIN(order_buffer_slots(&own), view->chosen[source].chosen.count / own.lanes + 1);
}

static uint64_t mixing_table_bytes(const struct sheaf_reader *r)
{
    const struct mixing *m = r->mixing;
    uint64_t bytes = m->lane_count * m->source_count * sizeof(m->drawings[0]);

    for (uint32_t i = 0; i < m->lane_count; i++)
        bytes += sizeof(m->turns[0]) + sizeof(m->sources[0]) + sizeof(m->pads[0])
                 + mix_turns_bytes(&m->turns[i]);
    for (size_t s = 0; s < m->source_count; s++) {
        const uint64_t slots = slots_most(r, s);

        for (uint32_t i = 0; i < m->lane_count; i++)
            bytes += lane_table_bytes(&r->load, lane_of(r, i, s), slots);
    }
    return bytes;
}

/* ---- The next stretches ---------------------------------------------------------------------- */

/* Begins to read the next range of samples of a source in advance. Does nothing if the budget has
 * no room for another shuffle buffer. */
static void begin_coming(struct sheaf_reader *r, uint32_t i, size_t source)
{
    struct loader *l = &r->load;
    struct source_drawing *d = drawing_of(r->mixing, i, source);
    const size_t place = mixing_place_of(r, i, source, true);
    struct sheaf_error ignored;

    d->coming_bytes = lane_table_bytes(l, &r->lanes[place], slots_most(r, source));
    if (!budget_take(&l->budget, d->coming_bytes)) {
        d->coming_bytes = 0;
        return;
    }
    if (open_stretch(r, i, source, d->drawn + d->left, true, &d->coming, &ignored) == SHEAF_OK) {
        (void)queue_pump(l, &ignored);
        return;
    }
    lane_clear(l, &r->lanes[place]);
    source_line_drop(&r->mixing->lines, d->coming);
    budget_give(&l->budget, d->coming_bytes);
    d->coming = NULL;
    d->coming_bytes = 0;
}

/* Called after each draw from a source. When all reads of the present range of samples are planned,
 * begins to read the next range of the source. Later calls fill the shuffle buffer of the next
 * range, so that its samples are in memory when they are needed. */
static void look_ahead(struct sheaf_reader *r, uint32_t i, size_t source)
{
    struct loader *l = &r->load;
    struct source_drawing *d = drawing_of(r->mixing, i, source);
    const struct queue *q = &l->queues[mixing_place_of(r, i, source, false)];
    const struct queue *coming;
    struct sheaf_error ignored;

    if (l->coming_count == 0)
        return;
    if (d->coming == NULL) {
        if (queue_is_planned(q) && d->drawn + d->left < d->end)
            begin_coming(r, i, source);
        return;
    }
    coming = &l->queues[mixing_place_of(r, i, source, true)];
    lane_fill_ahead(l, &r->lanes[mixing_place_of(r, i, source, true)]);
    if (coming->first == NULL && d->left % PUMP_DRAWS == 0)
        (void)queue_pump(l, &ignored);
}

/* Begins the range of samples from which the lane (a sequence of samples) draws next, for each
 * source. Sources from which the lane does not draw in the rest of the epoch are left out. */
static int begin_stretches(struct sheaf_reader *r, uint32_t i, const uint64_t *drawn,
                           const uint64_t *at_end)
{
    struct mixing *m = r->mixing;
    const uint64_t steps = m->turns[i].steps - m->turns[i].step;
    int code = SHEAF_OK;

    for (size_t s = 0; s < m->source_count && code == SHEAF_OK; s++) {
        const uint64_t draws = at_end[s] - drawn[s];

        drawing_of(m, i, s)->drawn = drawn[s];
        drawing_of(m, i, s)->end = at_end[s];
        drawing_of(m, i, s)->pace = (double)draws / (double)MAX(steps, 1);
        if (draws != 0)
            code = mixing_begin_stretch(r, i, s);
    }
    return code;
}

/* Finds the sample with which a lane (a sequence of samples) is padded at its end. It is the first
 * sample that the lane itself draws in the epoch. If the lane draws no samples, it is the first
 * sample of the lane that mix_padding_lane returns. */
static int find_pad(struct sheaf_reader *r, uint32_t lane, uint64_t *drawn,
                    struct pad *pad)
{
    const struct dataset_view *view = r->dataset->view;
    const uint32_t number = mix_padding_lane(&view->mix, &r->load.order, lane);
    struct mix_turns turns;
    struct mix_stretch stretch;
    struct order order;
    struct source_line *line;
    struct shuffle shuffle;
    size_t source;
    int code = mix_turns_begin(&turns, &view->mix, &r->load.order, number, 0, drawn, &r->error);

    if (code == SHEAF_OK)
        code = mix_turns_next(&turns, &source, &r->error);
    mix_turns_free(&turns);
    if (code != SHEAF_OK)
        return code;
    stretch = mix_stretch_of(&view->mix, &r->load.order, number, source, 0);
    order = mix_source_order(&view->mix, &r->load.order, source);
    order.epoch = stretch.source_epoch;
    line = source_line_use(&r->mixing->lines, view, source, &order, &r->error);
    if (line == NULL)
        return r->error.code;
    shuffle_begin(&shuffle, &order, number, stretch.count);
    pad->run = order_line_locate(&line->line, stretch.start + shuffle_next(&shuffle).slot);
    pad->source_epoch = stretch.source_epoch;
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

    if (step < mix_lane_steps(mix, &r->load.order, number, &padded) && padded)
        code = find_pad(r, number, drawn, &r->mixing->pads[i]);
    if (code == SHEAF_OK)
        code = mix_turns_begin(&end, mix, &r->load.order, number, UINT64_MAX, at_end, &r->error);
    if (code != SHEAF_OK)
        return code;
    mix_turns_free(&end);
    code = mix_turns_begin(&r->mixing->turns[i], mix, &r->load.order, number, step, drawn,
                           &r->error);
    return code == SHEAF_OK ? begin_stretches(r, i, drawn, at_end) : code;
}

static int mixing_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    struct mixing *m = r->mixing;
    uint64_t *drawn = calloc(2 * m->source_count, sizeof(drawn[0]));
    int code = drawn == NULL ? err_memory(&r->error, m->source_count * 16)
                             : mix_check(&r->dataset->view->mix, &r->load.order, &r->error);

    for (uint32_t i = 0; i < m->lane_count && code == SHEAF_OK; i++)
        code = begin_lane(r, i, rounds + (i < extra), drawn, drawn + m->source_count);
    free(drawn);
    return code;
}

/* ---- Turns ---------------------------------------------------------------------------------- */

static int mixing_draw(struct sheaf_reader *r, uint32_t i, struct ref *ref)
{
    struct mixing *m = r->mixing;
    struct source_drawing *d;
    size_t source;
    int code = SHEAF_OK;

    if (m->sources[i] == 0) {
        code = mix_turns_next(&m->turns[i], &source, &r->error);
        if (code != SHEAF_OK)
            return code;
        m->sources[i] = source + 1;
    }
    source = m->sources[i] - 1;
    d = drawing_of(m, i, source);
    if (d->left == 0)
        code = mixing_begin_stretch(r, i, source);
    if (code == SHEAF_OK)
        code = lane_next(&r->load, lane_of(r, i, source), ref, &r->error);
    if (code != SHEAF_OK)
        return code;
    d->left--;
    d->drawn++;
    m->source_epoch = d->source_epoch;
    m->sources[i] = 0;
    if (d->left != 0)
        look_ahead(r, i, source);
    return SHEAF_OK;
}

/* Returns true if the lane (a sequence of samples) has made all its draws of the epoch. */
static bool is_drawn(const struct mixing *m, uint32_t i)
{
    return m->sources[i] == 0 && m->turns[i].step == m->turns[i].steps;
}

static int mixing_next(struct sheaf_reader *r, uint32_t i, struct ref *ref)
{
    struct pad *pad = &r->mixing->pads[i];
    int code;

    if (!is_drawn(r->mixing, i))
        return mixing_draw(r, i, ref);
    if (pad->run.count == 0)
        return SHEAF_END;
    code = lane_repeat(&r->load, lane_of(r, i, 0), &pad->run, ref, &r->error);
    if (code != SHEAF_OK)
        return code;
    pad->run.count = 0;
    r->mixing->source_epoch = pad->source_epoch;
    return SHEAF_OK;
}

static bool mixing_has_ended(const struct sheaf_reader *r)
{
    const struct mixing *m = r->mixing;

    for (uint32_t i = 0; i < m->lane_count; i++)
        if (!is_drawn(m, i) || m->pads[i].run.count != 0)
            return false;
    return true;
}

/* ---- Facts ---------------------------------------------------------------------------------- */

static uint64_t mixing_source_epoch(const struct sheaf_reader *r)
{
    return r->mixing->source_epoch;
}

static uint64_t mixing_samples(const struct sheaf_reader *r)
{
    return mix_member_samples(&r->dataset->view->mix, &r->load.order, &r->member);
}

static uint64_t mixing_steps(const struct sheaf_reader *r, uint32_t lane)
{
    bool padded;

    return mix_lane_steps(&r->dataset->view->mix, &r->load.order,
                          order_member_lane(&r->member, lane), &padded);
}

/* Returns an estimate, usually too high, of the number of shards that are open at one time for a
 * source of a view (a mix of data sets).
 *
 * The chosen samples of a source are read in pieces (ranges of up to 1024 samples) in a random
 * order. Each piece may be in another shard. So the estimate is computed from the number of pieces
 * whose samples are in the shuffle buffers at one time. */
static uint64_t shards_of_source(const struct sheaf_dataset *d, const struct order *order,
                                 uint32_t lanes, size_t source)
{
    const struct order own = mix_source_order(&d->view->mix, order, source);
    const struct order_chosen *of = &d->view->chosen[source];
    const uint64_t shards = of->end_shard - of->first_shard;
    const uint64_t in_shard = MAX(of->chosen.count / MAX(shards, 1), 1);
    const uint64_t piece = order_piece(&own, of->chosen.count);
    const uint64_t pieces = order_buffer_slots(&own) * LONGEST_STAY / piece + 3;

    return MIN(shards, lanes * pieces * (1 + piece / in_shard));
}

static uint64_t mixing_open_shards(const struct sheaf_reader *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->dataset->source_count; i++)
        sum += shards_of_source(r->dataset, &r->load.order, r->own_lanes, i);
    return sum;
}

static uint64_t mixing_rounds(const struct sheaf_dataset *d, const struct order *order)
{
    return mix_rounds(&d->view->mix, order);
}

static size_t mixing_stage(const struct sheaf_dataset *d, const struct order *order,
                           uint64_t rounds)
{
    const struct mix *mix = &d->view->mix;
    const uint64_t steps = order->epoch * mix_rounds(mix, order) + rounds;
    size_t stage = 0;

    while (stage + 1 < mix->stage_count && mix_stage_begin(mix, order, stage + 1) < steps)
        stage++;
    return stage;
}

static int mixing_stage_after(const struct sheaf_dataset *d,
                              const struct sheaf_reader_options *options, uint64_t samples,
                              size_t *stage, struct sheaf_error *err)
{
    struct order_member member;
    struct order order;
    int code = reader_options_order(d, options, &order, &member, err);

    if (code == SHEAF_OK)
        code = mix_check(&d->view->mix, &order, err);
    if (code != SHEAF_OK)
        return code;
    *stage = mixing_stage(d, &order,
                          MIN(samples / order.lanes + (samples % order.lanes != 0),
                              mix_rounds(&d->view->mix, &order)));
    return SHEAF_OK;
}

static const char *mixing_fingerprint(const struct sheaf_dataset *d, size_t stage)
{
    return d->view->fingerprints[stage];
}

const struct epoch_order epoch_order_view = {
    .count = mixing_count, .open = mixing_open, .free = mixing_free,
    .begin = mixing_begin, .table_bytes = mixing_table_bytes, .end = mixing_end,
    .next = mixing_next, .has_ended = mixing_has_ended, .source_epoch = mixing_source_epoch,
    .samples = mixing_samples, .steps = mixing_steps, .open_shards = mixing_open_shards,
    .rounds = mixing_rounds, .replay = view_replay_begin, .locate = locate_in_view,
    .stage = mixing_stage, .stage_after = mixing_stage_after, .fingerprint = mixing_fingerprint,
    .names_sources = true,
    .no_plan = "a view has no plan of stretches: each of its samples is drawn by itself",
};
