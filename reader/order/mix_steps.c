/* SPDX-License-Identifier: MIT
 *
 * Computes the step at which a lane (a sequence of samples) draws a certain sample of a source; see
 * mix_steps.h and ORDER.md, sections 9 and 10. */
#include "reader/order/mix_steps.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* ---- The entries of a table ------------------------------------------------------------------ */

static int places_make(struct mix_places *p, const uint16_t *table, uint64_t period,
                       size_t source_count, struct sheaf_error *err)
{
    p->period = period;
    p->firsts = calloc(source_count + 2, sizeof(p->firsts[0]));
    p->places = calloc(period + 1, sizeof(p->places[0]));
    if (p->firsts == NULL || p->places == NULL)
        return err_memory(err, period * sizeof(p->places[0]));
    for (uint64_t t = 0; t < period; t++)
        p->firsts[table[t] + 2]++;
    for (size_t i = 2; i < source_count + 2; i++)
        p->firsts[i] += p->firsts[i - 1];
    /* Before this loop, firsts[i + 1] is the index in `places` at which the positions of source i
     * begin. Each stored position increases it by 1. So after the loop, firsts[i + 1] is the index
     * at which the positions of source i + 1 begin. */
    for (uint64_t t = 0; t < period; t++)
        p->places[p->firsts[table[t] + 1]++] = (uint32_t)t;
    return SHEAF_OK;
}

static void places_free(struct mix_places *p)
{
    free(p->firsts);
    free(p->places);
    *p = (struct mix_places){ 0 };
}

static uint64_t weight_of(const struct mix_places *p, size_t source)
{
    return p->firsts[source + 1] - p->firsts[source];
}

/* Returns how often the source occurs in the table before entry `at`. (The table has the source of
 * each step.) `at` must be at most the number of entries. */
static uint64_t mix_steps_rank_of(const struct mix_places *p, size_t source, uint64_t at)
{
    uint64_t low = p->firsts[source], high = p->firsts[source + 1];

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (p->places[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low - p->firsts[source];
}

/* Returns how often the source occurs in the table's next `steps` entries, from entry `at` on. (The
 * table has the source of each step. After its last entry, it begins again.) */
static uint64_t count_entries(const struct mix_places *p, size_t source, uint64_t at,
                              uint64_t steps)
{
    const uint64_t end = at + steps;

    return end / p->period * weight_of(p, source) + mix_steps_rank_of(p, source, end % p->period)
           - mix_steps_rank_of(p, source, at);
}

/* The table of sources has an entry for each step, with the source of that step. After its last
 * entry, the table begins again. This function looks for a source from entry `at` on, and skips the
 * first `count` entries with this source. Returns the number of entries from `at` to the next entry
 * with the source. The source must occur in the table. */
static uint64_t mix_steps_find_entry(const struct mix_places *p, size_t source, uint64_t at,
                                     uint64_t count)
{
    const uint64_t number = mix_steps_rank_of(p, source, at) + count, weight = weight_of(p, source);

    return p->places[p->firsts[source] + number % weight] + number / weight * p->period - at;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static int mix_steps_begin_weighted(struct mix_steps *s, struct sheaf_error *err)
{
    const struct mix *mix = s->mix;
    int code = SHEAF_OK;

    s->places = calloc(mix->stage_count, sizeof(s->places[0]));
    if (s->places == NULL)
        return err_memory(err, mix->stage_count * sizeof(s->places[0]));
    for (size_t i = 0; i < mix->stage_count && code == SHEAF_OK; i++)
        code = places_make(&s->places[i], mix->stages[i].table, mix->stages[i].period,
                           mix->source_count, err);
    return code;
}

static int mix_steps_begin_counted(struct mix_steps *s, struct sheaf_error *err)
{
    const size_t count = s->mix->source_count;
    uint64_t lane = 0;

    s->places = calloc(1, sizeof(s->places[0]));
    s->drawn = calloc(count + 1, sizeof(s->drawn[0]));
    s->first_lanes = calloc(count + 1, sizeof(s->first_lanes[0]));
    if (s->places == NULL || s->drawn == NULL || s->first_lanes == NULL)
        return err_memory(err, count * 2 * sizeof(s->drawn[0]));
    for (size_t i = 0; i < count; i++) {
        s->first_lanes[i] = lane;
        lane = (lane + s->mix->sources[i].count) % s->order.lanes;
    }
    return SHEAF_OK;
}

int mix_steps_begin(struct mix_steps *s, const struct mix *mix, const struct order *order,
                    struct sheaf_error *err)
{
    int code;

    *s = (struct mix_steps){ .mix = mix, .order = *order, .rounds = mix_rounds(mix, order) };
    code = mix->stages != NULL ? mix_steps_begin_weighted(s, err) : mix_steps_begin_counted(s, err);
    if (code != SHEAF_OK)
        mix_steps_free(s);
    return code;
}

void mix_steps_free(struct mix_steps *s)
{
    const size_t tables = s->mix == NULL ? 0 : MAX(s->mix->stage_count, (size_t)1);

    for (size_t i = 0; i < tables && s->places != NULL; i++)
        places_free(&s->places[i]);
    mix_turns_free(&s->turns);
    free(s->places);
    free(s->drawn);
    free(s->first_lanes);
    *s = (struct mix_steps){ 0 };
}

/* ---- Draws ----------------------------------------------------------------------------------- */

static uint64_t mix_steps_stage_begin(const struct mix_steps *s, size_t stage)
{
    return mix_stage_begin(s->mix, &s->order, stage);
}

/* Counts the draws of a lane (a sequence of samples) from a source in one stage. (A stage is a part
 * of a training run with weights of its own.) The stage begins at step `from`, and the draws before
 * step `to` are counted. Both steps are counted over all epochs. The source of each step is in the
 * table of the stage. If there is only one lane, each epoch begins with the first entry of the
 * table. */
static uint64_t mix_steps_count_stage(const struct mix_steps *s, size_t stage, uint32_t lane,
                                      size_t source, uint64_t from, uint64_t to)
{
    const struct mix_places *p = &s->places[stage];
    uint64_t first;

    if (s->order.lanes > 1)
        return count_entries(p, source, mix_phase(&s->mix->stages[stage], &s->order, lane),
                             to - from);
    first = MIN((from + s->rounds - 1) / s->rounds * s->rounds, to);
    return count_entries(p, source, 0, first - from)
           + count_entries(p, source, 0, s->rounds) * ((to - first) / s->rounds)
           + count_entries(p, source, 0, (to - first) % s->rounds);
}

/* Counts the draws of a lane (a sequence of samples) from a source before step `g`, which is
 * counted over all epochs. Sets *stage to the stage of this step. (A stage is a part of a training
 * run with weights of its own.) */
static uint64_t count_before(const struct mix_steps *s, uint32_t lane, size_t source, uint64_t g,
                             size_t *stage)
{
    uint64_t count = 0;

    for (*stage = 0; mix_steps_stage_begin(s, *stage + 1) <= g; ++*stage)
        count += mix_steps_count_stage(s, *stage, lane, source, mix_steps_stage_begin(s, *stage),
                                       mix_steps_stage_begin(s, *stage + 1));
    return count + mix_steps_count_stage(s, *stage, lane, source, mix_steps_stage_begin(s, *stage),
                                         g);
}

void mix_steps_draws(const struct mix_steps *s, uint32_t lane, size_t source, uint64_t *first,
                     uint64_t *end)
{
    const uint64_t begin = s->order.epoch * s->rounds;
    const uint64_t count = s->mix->sources[source].count;
    bool padded;
    size_t stage;

    if (s->mix->stages != NULL) {
        *first = count_before(s, lane, source, begin, &stage);
        *end = count_before(s, lane, source,
                            begin + mix_lane_steps(s->mix, &s->order, lane, &padded), &stage);
        return;
    }
    *first = 0;
    *end = mix_lane_share(s->first_lanes[source] + count, s->order.lanes, lane)
           - mix_lane_share(s->first_lanes[source], s->order.lanes, lane);
}

bool mix_steps_epochs(const struct mix_steps *s, size_t source, uint64_t *first, uint64_t *last)
{
    const uint64_t samples = s->mix->sources[source].samples;
    const uint64_t count = s->mix->sources[source].count, lanes = s->order.lanes;

    *first = UINT64_MAX;
    *last = 0;
    if (s->mix->stages == NULL) {
        *first = s->order.epoch * count / samples;
        *last = ((s->order.epoch + 1) * count - 1) / samples;
        return count != 0;
    }
    for (uint32_t l = 0; l < lanes; l++) {
        uint64_t draw, end;

        mix_steps_draws(s, l, source, &draw, &end);
        if (draw == end)
            continue;
        *first = MIN(*first, (draw * lanes + l) / samples);
        *last = MAX(*last, ((end - 1) * lanes + l) / samples);
    }
    return *first <= *last;
}

/* ---- Places ---------------------------------------------------------------------------------- */

struct mix_stretch mix_steps_lane_stretch(const struct mix_steps *s, uint32_t lane, size_t source,
                                          uint64_t source_epoch, uint64_t *draw)
{
    const uint64_t first_lane = s->first_lanes == NULL ? 0 : s->first_lanes[source];

    return mix_stretch_in(s->mix, &s->order, lane, source, source_epoch, first_lane, draw);
}

bool mix_steps_lane_of(const struct mix_steps *s, size_t source, uint64_t source_epoch,
                       uint64_t place, uint32_t *lane, uint64_t *input)
{
    uint32_t low = 0, high = s->order.lanes;
    struct mix_stretch stretch;
    uint64_t draw;

    /* Each lane reads one range of the source's samples. Find the last lane whose range begins at
     * `place` or before it. */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (mix_steps_lane_stretch(s, middle, source, source_epoch, &draw).start <= place)
            low = middle;
        else
            high = middle;
    }
    stretch = mix_steps_lane_stretch(s, low, source, source_epoch, &draw);
    *lane = low;
    *input = place - stretch.start;
    return stretch.start <= place && *input < stretch.count;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static uint64_t find_weighted(const struct mix_steps *s, uint32_t lane, size_t source,
                              uint64_t draw)
{
    const uint64_t epoch_begin = s->order.epoch * s->rounds;
    size_t stage;
    uint64_t before = count_before(s, lane, source, epoch_begin, &stage);

    for (uint64_t from = epoch_begin;; from = mix_steps_stage_begin(s, ++stage)) {
        const struct mix_places *p = &s->places[stage];
        const uint64_t end = mix_steps_stage_begin(s, stage + 1);
        const uint64_t begin = s->order.lanes > 1 ? mix_steps_stage_begin(s, stage) : from;
        const uint64_t at = (mix_phase(&s->mix->stages[stage], &s->order, lane) + from - begin)
                            % p->period;
        const uint64_t count = end == UINT64_MAX ? UINT64_MAX - before
                             : count_entries(p, source, at, end - from);

        if (draw < before + count)
            return from - epoch_begin + mix_steps_find_entry(p, source, at, draw - before);
        before += count;
    }
}

static int find_counted(struct mix_steps *s, uint32_t lane, size_t source, uint64_t draw,
                        uint64_t *step, struct sheaf_error *err)
{
    struct mix_places *p = s->places;
    int code = SHEAF_OK;

    if (p->places == NULL || s->turns.lane != lane || draw < s->drawn[source]
        || draw - s->drawn[source] >= weight_of(p, source)) {
        mix_turns_free(&s->turns);
        places_free(p);
        code = mix_turns_begin_block(&s->turns, s->mix, &s->order, lane, source, draw, s->drawn,
                                     err);
        if (code == SHEAF_OK)
            code = places_make(p, s->turns.table, s->turns.period, s->mix->source_count, err);
    }
    if (code == SHEAF_OK)
        *step = s->turns.step + mix_steps_find_entry(p, source, s->turns.at,
                                                     draw - s->drawn[source]);
    else
        places_free(p);
    return code;
}

int mix_steps_find(struct mix_steps *s, uint32_t lane, size_t source, uint64_t draw,
                   uint64_t *step, struct sheaf_error *err)
{
    if (s->mix->stages == NULL)
        return find_counted(s, lane, source, draw, step, err);
    *step = find_weighted(s, lane, source, draw);
    return SHEAF_OK;
}
