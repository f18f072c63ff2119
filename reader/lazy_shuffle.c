/* SPDX-License-Identifier: MIT
 *
 * The shuffle buffer of numbers; see lazy_shuffle.h. */
#include "reader/lazy_shuffle.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/view/view.h"

/* Samples of fewer bytes are cheaper to copy into a buffer than to be read one by one. */
#define DRAW_LEAST_BYTES ((uint64_t)16 << 10)
/* Shards that may be open for the draws of all lanes. */
#define SHARDS_MOST      192u
/* A slot's sample stays for as many draws as there are slots, on average, and seldom for more
 * than so many times that. */
#define LONGEST_STAY     12u
/* What is warmed at once, and how far ahead of the buffer. */
#define WARM_BYTES       ((uint64_t)1 << 20)
#define WARM_AHEAD_BYTES ((uint64_t)16 << 20)

static uint64_t mean_bytes(const struct sheaf_dataset *d)
{
    return d->total_bytes / MAX(dataset_samples(d), 1);
}

/* Of a source of a view: the pieces in its part of the buffer lie anywhere. */
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

uint64_t draws_shards(const struct sheaf_dataset *d, const struct order *order, uint32_t lanes)
{
    const uint64_t samples = MAX(dataset_samples(d), 1), shards = d->manifest.shard_count;
    const uint64_t each = MAX(samples / MAX(shards, 1), 1);
    uint64_t sum = 0;

    if (d->view == NULL)
        return lanes * MIN(shards, order_buffer_slots(order) * LONGEST_STAY / each + 3);
    for (size_t i = 0; i < d->source_count; i++)
        sum += shards_of_source(d, order, lanes, i);
    return sum;
}

uint64_t draws_bytes(const struct sheaf_dataset *d, const struct order *order, uint32_t lanes)
{
    const uint64_t more = d->view == NULL ? 0 : d->source_count;    /* a slot each, at least */

    return lanes * (order_buffer_slots(order) + more) * sizeof(uint64_t);
}

bool draws_are_possible(const struct sheaf_dataset *d, const struct order *order, uint32_t lanes)
{
    return dataset_is_local(d) && d->codec == NULL && order_buffer_slots(order) > 1
           && mean_bytes(d) >= DRAW_LEAST_BYTES && draws_shards(d, order, lanes) <= SHARDS_MOST;
}

int draws_open(struct draws **draws, struct shards *shards, const struct order_line *line,
               const struct order_lane *range, const struct shuffle *shuffle,
               uint64_t steps, struct sheaf_error *err)
{
    struct draws *d = calloc(1, sizeof(*d));

    *draws = d;
    if (d == NULL)
        return err_memory(err, sizeof(*d));
    d->shards = shards;
    d->line = line;
    d->range = range;
    d->shuffle = *shuffle;
    d->held = calloc(shuffle->filled + 1, sizeof(d->held[0]));
    if (d->held == NULL)
        return err_memory(err, shuffle->filled * sizeof(d->held[0]));
    shuffle_replay(&d->shuffle, steps, d->held);
    d->ahead = 1 + WARM_AHEAD_BYTES / mean_bytes(shards->dataset);
    d->warmed = d->shuffle.next - MIN(d->shuffle.next, d->shuffle.filled);
    return SHEAF_OK;
}

static struct order_run locate(const struct draws *d, uint64_t input)
{
    return order_line_locate(d->line, order_lane_place(d->range, input));
}

/* Makes use of the shard that the input is in. */
static int enter(struct draws *d, uint64_t input, struct sheaf_error *err)
{
    struct shard *shard;

    return shards_use(d->shards, locate(d, input).shard, &shard, err);
}

/* Makes room for one more in the queue of those that come once more. */
static int make_room(struct draws *d, struct sheaf_error *err)
{
    const size_t capacity = 2 * d->repeats.capacity + 16;
    uint64_t *list = d->repeats.list;

    if (d->repeats.first != 0 && d->repeats.first >= d->repeats.end / 2) {
        d->repeats.end -= d->repeats.first;
        memmove(list, list + d->repeats.first, d->repeats.end * sizeof(list[0]));
        d->repeats.first = 0;
    }
    if (d->repeats.end < d->repeats.capacity)
        return SHEAF_OK;
    list = reallocarray(list, capacity, sizeof(list[0]));
    if (list == NULL)
        return err_memory(err, capacity * sizeof(list[0]));
    d->repeats.list = list;
    d->repeats.capacity = capacity;
    return SHEAF_OK;
}

/* One step of the shuffle.  What may fail comes first, so that it may be tried again. */
static int draw(struct draws *d, struct sheaf_error *err)
{
    int code = make_room(d, err);
    struct order_run run;
    uint64_t input;

    if (code == SHEAF_OK && d->shuffle.next < d->shuffle.inputs)
        code = enter(d, d->shuffle.next, err);
    if (code != SHEAF_OK)
        return code;
    input = shuffle_draw(&d->shuffle, d->held);
    if (order_lane_repeats(d->range, input))
        d->repeats.list[d->repeats.end++] = d->drawn;
    d->drawn++;
    run = locate(d, input);
    d->due[d->due_count++] = (struct run){ d->shards->open[run.shard], run.record, 1,
                                           false };
    return SHEAF_OK;
}

int draws_fill(struct draws *d, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (; code == SHEAF_OK && d->entered < d->shuffle.filled; d->entered += code == SHEAF_OK)
        code = enter(d, d->held[d->entered], err);
    if (d->due_first < d->due_count)
        return code;
    d->due_first = d->due_count = 0;
    while (code == SHEAF_OK && d->due_count < DRAWS_DUE && d->shuffle.filled != 0)
        code = draw(d, err);
    return d->due_count != 0 ? SHEAF_OK : code;
}

void draws_took(struct draws *d, size_t count)
{
    d->due_first += count;
}

bool draws_repeats(struct draws *d, uint64_t number)
{
    while (d->repeats.first < d->repeats.end && d->repeats.list[d->repeats.first] < number)
        d->repeats.first++;
    return d->repeats.first < d->repeats.end && d->repeats.list[d->repeats.first] == number;
}

/* ---- Warming -------------------------------------------------------------------------------- */

static void warm(struct job *job)
{
    struct warming *w = (struct warming *)(void *)job;

    for (unsigned i = 0; i < w->range_count; i++)
        store_warm(w->shard->object, w->ranges[i].offset, w->ranges[i].bytes);
}

/* One range more, of the inputs from `input` on.  Returns of how many: 0 if they lie in another
 * shard, or there is no room. */
static uint64_t add_range(const struct draws *d, struct warming *w, uint64_t input)
{
    const struct order_run run = locate(d, input);
    const uint64_t most = MIN(run.count, d->range->count - input);
    const uint64_t *offsets = w->shard->section->offsets + run.record;
    uint64_t count = 1;

    if (run.shard != w->shard->number || w->range_count == WARM_RANGES || w->bytes >= WARM_BYTES)
        return 0;
    while (count < most && offsets[count] - offsets[0] < WARM_BYTES - w->bytes)
        count++;
    w->ranges[w->range_count].offset = offsets[0];
    w->ranges[w->range_count++].bytes = offsets[count] - offsets[0];
    w->bytes += offsets[count] - offsets[0];
    return count;
}

/* Makes warm_shard the one that is to be warmed next; false: it is not open yet. */
static bool open_for_warming(struct draws *d, uint32_t number, struct workers *workers)
{
    struct sheaf_error ignored;

    if (d->warm_shard == NULL || d->warm_shard->number != number) {
        shards_drop(d->shards, d->warm_shard);
        d->warm_shard = NULL;
        if (shards_use(d->shards, number, &d->warm_shard, &ignored) != SHEAF_OK)
            d->warm_shard = NULL;
    }
    return d->warm_shard != NULL && workers_is_done(workers, &d->warm_shard->job);
}

/* Begins with what is to be warmed next, unless its shard is not open yet. */
static void begin_warming(struct draws *d, struct warming *w, struct workers *workers)
{
    const struct order_run run = locate(d, d->warmed);
    uint64_t count;

    if (!open_for_warming(d, run.shard, workers))
        return;
    if (d->warm_shard->code != SHEAF_OK) {
        d->warmed += MIN(run.count, d->range->count - d->warmed);   /* who draws will be told */
        return;
    }
    w->shard = d->warm_shard;
    w->shard->users++;
    w->range_count = 0;
    w->bytes = 0;
    while (d->warmed < d->range->count && (count = add_range(d, w, d->warmed)) != 0)
        d->warmed += count;
    w->job.run = warm;
    workers_submit(workers, &w->job);
}

struct job *draws_warm(struct draws *d, struct workers *workers)
{
    const uint64_t last = d->range->count;
    struct job *busy = NULL;

    for (unsigned i = 0; i < DRAWS_WARM; i++) {
        struct warming *w = &d->warming[i];

        if (w->shard != NULL && workers_is_done(workers, &w->job)) {
            shards_drop(d->shards, w->shard);
            w->shard = NULL;
        }
        if (w->shard == NULL && d->warmed < MIN(last, d->shuffle.next + d->ahead))
            begin_warming(d, w, workers);
        if (w->shard != NULL)
            busy = &w->job;
    }
    if (d->warmed >= MIN(last, d->shuffle.next))
        return NULL;
    if (busy == NULL && d->warm_shard != NULL
        && !workers_is_done(workers, &d->warm_shard->job))
        busy = &d->warm_shard->job;
    return busy;
}

/* ---- The end -------------------------------------------------------------------------------- */

void draws_close(struct draws *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; i < DRAWS_WARM; i++) {
        if (d->warming[i].shard == NULL)
            continue;
        workers_wait(d->shards->workers, &d->warming[i].job);
        shards_drop(d->shards, d->warming[i].shard);
    }
    shards_drop(d->shards, d->warm_shard);
    for (size_t i = d->due_first; i < d->due_count; i++)
        shards_drop(d->shards, d->due[i].shard);
    for (uint64_t i = 0; d->held != NULL && i < MIN(d->entered, d->shuffle.filled); i++)
        shards_drop(d->shards, d->shards->open[locate(d, d->held[i]).shard]);
    free(d->held);
    free(d->repeats.list);
    free(d);
}
