/* SPDX-License-Identifier: MIT
 *
 * Tests the order of a view. Compares it with tests/corpus/view_vectors.txt, which an independent
 * implementation (tests/system/view_reference.py) has made from reader/ORDER.md, from the start of
 * the epoch and resumed. Tests the bounds that ORDER.md promises with random weights, and
 * selections of samples against plain lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "reader/order/mix_steps.h"
#include "reader/order/shuffle.h"
#include "tests/common_order.h"
#include "tests/common_random.h"

#define VECTORS      "tests/corpus/view_vectors.txt"
#define SOURCES_MOST 8
#define LANES_MOST   8

struct vector {
    struct order order;
    struct order_member member;
    struct mix mix;
    struct order_chosen chosen[SOURCES_MOST];
    uint64_t first_numbers[SOURCES_MOST + 1];
    uint64_t expected_count, expected_hash, expected[8];
};

static void make_stage(struct vector *v, size_t stage, uint64_t samples, const uint64_t *weights)
{
    struct mix_stage *s = &v->mix.stages[stage];

    s->samples = samples;
    s->weights = calloc(v->mix.source_count, sizeof(s->weights[0]));
    assert_non_null(s->weights);
    memcpy(s->weights, weights, v->mix.source_count * sizeof(weights[0]));
    s->period = mix_apportion(s->weights, v->mix.source_count);
    s->table = calloc(s->period, sizeof(s->table[0]));
    assert_non_null(s->table);
    assert_int_equal(mix_make_table(s->weights, v->mix.source_count, s->period, s->table, NULL),
                     SHEAF_OK);
    v->mix.stage_count = stage + 1;
}

static void parse_stages(struct vector *v, char **text, const uint64_t *shares)
{
    const bool has_weights = order_number(text) != 0;
    const uint64_t count = order_number(text);
    uint64_t weights[SOURCES_MOST];

    if (!has_weights)
        return;
    v->mix.stages = calloc(count + 1, sizeof(v->mix.stages[0]));
    assert_non_null(v->mix.stages);
    make_stage(v, 0, 0, shares);
    for (size_t i = 1; i <= count; i++) {
        const uint64_t before = order_number(text);

        for (size_t s = 0; s < v->mix.source_count; s++)
            weights[s] = order_number(text);
        make_stage(v, i, before, weights);
    }
}

static void vector_parse(char *text, struct vector *v)
{
    uint64_t shares[SOURCES_MOST];

    memset(v, 0, sizeof(*v));
    order_head(&text, &v->order, &v->member);
    v->mix.samples = order_number(&text);
    v->mix.source_count = order_number(&text);
    assert_true(v->mix.source_count <= SOURCES_MOST);
    v->mix.sources = calloc(v->mix.source_count, sizeof(v->mix.sources[0]));
    assert_non_null(v->mix.sources);
    for (size_t i = 0; i < v->mix.source_count; i++) {
        struct mix_source *s = &v->mix.sources[i];

        s->samples = order_number(&text);
        s->id = order_number(&text);
        s->count = shares[i] = order_number(&text);
        v->first_numbers[i + 1] = v->first_numbers[i] + s->samples;
        v->chosen[i] = (struct order_chosen){
            .first_number = v->first_numbers[i], .first_numbers = v->first_numbers,
            .first_shard = (uint32_t)i, .end_shard = (uint32_t)i + 1 };
        assert_int_equal(selection_all(&v->chosen[i].chosen, s->samples, NULL), SHEAF_OK);
    }
    parse_stages(v, &text, shares);
    v->expected_count = order_number(&text);
    v->expected_hash = order_number(&text);
    for (size_t i = 0; i < 2 * MIN(v->expected_count, 4); i++)
        v->expected[i] = order_number(&text);
    assert_string_equal(text, "\n");
}

static void vector_free(struct vector *v)
{
    for (size_t i = 0; i < v->mix.source_count; i++)
        selection_free(&v->chosen[i].chosen);
    mix_free(&v->mix);
}

/* ---- An epoch on numbers --------------------------------------------------------------------- */

/* The samples that a lane draws from one source. */
struct drawing {
    struct mix_stretch stretch;
    struct order_line line;
    struct shuffle shuffle;
    uint64_t *slots;
    uint64_t left;          /* number of samples left in the stretch */
};

struct walk {
    struct mix_turns turns;
    struct drawing drawings[SOURCES_MOST];
    uint64_t drawn[SOURCES_MOST];
    bool padded;
};

static void drawing_end(struct drawing *d)
{
    order_line_free(&d->line);
    free(d->slots);
    *d = (struct drawing){ 0 };
}

static void drawing_begin(const struct vector *v, uint32_t lane, size_t source, uint64_t draw,
                          struct drawing *d)
{
    struct order order = mix_source_order(&v->mix, &v->order, source);

    d->stretch = mix_stretch_of(&v->mix, &v->order, lane, source, draw);
    assert_true(d->stretch.before < d->stretch.count);
    order.epoch = d->stretch.source_epoch;
    assert_int_equal(order_line_of_pieces(&order, &v->chosen[source], &d->line, NULL), SHEAF_OK);
    shuffle_begin(&d->shuffle, &order, lane, d->stretch.count);
    d->slots = calloc(order_buffer_slots(&order) + 1, sizeof(d->slots[0]));
    assert_non_null(d->slots);
    shuffle_replay(&d->shuffle, d->stretch.before, d->slots);
    d->left = d->stretch.count - d->stretch.before;
}

/* Returns the number of the next chosen sample of a source. */
static uint64_t draw(const struct vector *v, struct walk *w, uint32_t lane, size_t source)
{
    struct drawing *d = &w->drawings[source];
    struct order_run run;

    if (d->left == 0) {
        drawing_end(d);
        drawing_begin(v, lane, source, w->drawn[source], d);
    }
    d->left--;
    w->drawn[source]++;
    run = order_line_locate(&d->line,
                            d->stretch.start + shuffle_draw(&d->shuffle, d->slots));
    assert_int_equal(run.shard, source);
    return run.record;
}

static void walk_begin(const struct vector *v, struct walk *w, uint32_t lane, uint64_t step)
{
    memset(w, 0, sizeof(*w));
    assert_int_equal(mix_turns_begin(&w->turns, &v->mix, &v->order, lane, step, w->drawn, NULL),
                     SHEAF_OK);
    (void)mix_lane_steps(&v->mix, &v->order, lane, &w->padded);
}

static void walk_end(struct walk *w)
{
    for (size_t i = 0; i < SOURCES_MOST; i++)
        drawing_end(&w->drawings[i]);
    mix_turns_free(&w->turns);
}

static void walk_step(const struct vector *v, struct walk *w, uint32_t lane, uint64_t pair[2])
{
    size_t source;

    assert_int_equal(mix_turns_next(&w->turns, &source, NULL), SHEAF_OK);
    pair[0] = source;
    pair[1] = draw(v, w, lane, source);
}

/* Finds the source and number of the lane's next sample. Returns false at the end of the lane. */
static bool walk_next(const struct vector *v, struct walk *w, uint32_t lane, uint64_t pair[2])
{
    if (w->turns.step != w->turns.steps) {
        walk_step(v, w, lane, pair);
    } else if (w->padded) {
        const uint32_t from = mix_padding_lane(&v->mix, &v->order, lane);
        struct walk first;

        walk_begin(v, &first, from, 0);
        walk_step(v, &first, from, pair);
        walk_end(&first);
        w->padded = false;
    } else {
        return false;
    }
    return true;
}

/* Plays the epoch of a member from a round on. */
static size_t play(const struct vector *v, uint64_t rounds, uint32_t *pairs, size_t most)
{
    const uint32_t own = v->order.lanes / v->member.world_size;
    struct walk *walks = calloc(own, sizeof(walks[0]));
    size_t count = 0, before;

    assert_non_null(walks);
    for (uint32_t i = 0; i < own; i++)
        walk_begin(v, &walks[i], order_member_lane(&v->member, i), rounds);
    do {
        before = count;
        for (uint32_t i = 0; i < own; i++) {
            uint64_t pair[2];

            if (!walk_next(v, &walks[i], order_member_lane(&v->member, i), pair))
                continue;
            assert_true(count < most);
            pairs[2 * count] = (uint32_t)pair[0];
            pairs[2 * count++ + 1] = (uint32_t)pair[1];
        }
    } while (count != before);
    for (uint32_t i = 0; i < own; i++)
        walk_end(&walks[i]);
    free(walks);
    return count;
}

/* Returns the hash of numbers in the form of the vectors, which are little-endian. */
static uint64_t hash_numbers(const uint32_t *numbers, size_t count)
{
    uint32_t *stored = calloc(count + 1, sizeof(stored[0]));
    uint64_t hash;

    assert_non_null(stored);
    for (size_t i = 0; i < count; i++)
        stored[i] = htole32(numbers[i]);
    hash = XXH3_64bits(stored, count * sizeof(stored[0]));
    free(stored);
    return hash;
}

/* Checks that every draw of every lane is found at its step without playing the earlier steps. */
static void check_steps(const struct vector *v)
{
    struct mix_steps steps;

    assert_int_equal(mix_steps_begin(&steps, &v->mix, &v->order, NULL), SHEAF_OK);
    for (uint32_t lane = 0; lane < v->order.lanes; lane++) {
        uint64_t drawn[SOURCES_MOST], first, end, found;
        struct mix_turns turns;
        size_t source;

        assert_int_equal(mix_turns_begin(&turns, &v->mix, &v->order, lane, 0, drawn, NULL),
                         SHEAF_OK);
        for (uint64_t step = 0; step < turns.steps; step++) {
            assert_int_equal(mix_turns_next(&turns, &source, NULL), SHEAF_OK);
            mix_steps_draws(&steps, lane, source, &first, &end);
            assert_in_range(drawn[source], first, end - 1);
            assert_int_equal(mix_steps_find(&steps, lane, source, drawn[source]++, &found, NULL),
                             SHEAF_OK);
            assert_int_equal(found, step);
        }
        mix_turns_free(&turns);
    }
    mix_steps_free(&steps);
}

static void vector_check(const struct vector *v)
{
    const size_t most = v->expected_count + 1;
    const uint32_t own = v->order.lanes / v->member.world_size;
    uint32_t *pairs = calloc(2 * most, sizeof(pairs[0]));
    uint32_t *rest = calloc(2 * most, sizeof(rest[0]));

    assert_non_null(pairs);
    assert_non_null(rest);
    assert_int_equal(mix_check(&v->mix, &v->order, NULL), SHEAF_OK);
    assert_int_equal(mix_member_samples(&v->mix, &v->order, &v->member), v->expected_count);
    check_steps(v);
    assert_int_equal(play(v, 0, pairs, most), v->expected_count);
    for (size_t i = 0; i < 2 * MIN(v->expected_count, 4); i++)
        assert_int_equal(pairs[i], v->expected[i]);
    assert_int_equal(hash_numbers(pairs, 2 * v->expected_count), v->expected_hash);
    for (uint64_t rounds = 1; rounds * own < v->expected_count; rounds += 1 + rounds / 3) {
        const size_t count = play(v, rounds, rest, most), at = rounds * own;

        assert_true(count + at <= v->expected_count + own);
        for (size_t i = 0; i < count; i++)
            assert_true(pairs[2 * (at + i)] == rest[2 * i]
                        && pairs[2 * (at + i) + 1] == rest[2 * i + 1]);
    }
    free(pairs);
    free(rest);
}

static void test_vectors(void **state)
{
    FILE *file = fopen(VECTORS, "r");
    char *text = NULL;
    size_t capacity = 0, count = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&text, &capacity, file) > 0) {
        struct vector v;

        if (text[0] == '#')
            continue;
        vector_parse(text, &v);
        vector_check(&v);
        vector_free(&v);
        count++;
    }
    assert_int_equal(count, 180);
    free(text);
    assert_int_equal(fclose(file), 0);
}

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* Tests that in every prefix of a table, the number of draws of each source differs by less than
 * one from its share. */
static void test_shares(void **state)
{
    double worst = 0;
    struct rng rng;

    (void)state;
    rng_seed(&rng, RNG_LANE, 9, 0, 0);
    for (int round = 0; round < 300; round++) {
        const size_t count = 1 + rng_below(&rng, round % 30 == 0 ? 1000 : 24);
        uint64_t *weights = calloc(count, sizeof(weights[0]));
        uint64_t *drawn = calloc(count, sizeof(drawn[0]));
        uint16_t *table;
        uint64_t period;

        assert_non_null(weights);
        assert_non_null(drawn);
        for (size_t i = 0; i < count; i++)
            weights[i] = rng_below(&rng, round % 2 == 0 ? 8 : 2000);
        weights[count / 2]++;
        period = mix_apportion(weights, count);
        table = calloc(period, sizeof(table[0]));
        assert_non_null(table);
        assert_int_equal(mix_make_table(weights, count, period, table, NULL), SHEAF_OK);
        for (uint64_t t = 1; t <= period; t++) {
            drawn[table[t - 1]]++;
            for (size_t i = 0; i < count && (count < 30 || t % 97 == 0 || t == period); i++) {
                const int64_t error = (int64_t)(drawn[i] * period) - (int64_t)(weights[i] * t);

                worst = MAX(worst, (double)MAX(error, -error) / (double)period);
                assert_true(error < (int64_t)period && -error < (int64_t)period);
                assert_true(t < period || error == 0);
            }
        }
        free(table);
        free(weights);
        free(drawn);
    }
    print_message("worst error of a prefix: %f samples\n", worst);
}

static void test_apportion(void **state)
{
    uint64_t weights[] = { UINT64_MAX, 0, 1, UINT64_MAX / 3 }, even[] = { 30, 0, 12 };
    uint64_t none[] = { 0, 0 };

    (void)state;
    assert_int_equal(mix_apportion(even, 3), 7);
    assert_int_equal(even[0], 5);
    assert_int_equal(even[1], 0);
    assert_int_equal(mix_apportion(weights, 4), MIX_PERIOD_MOST);
    assert_int_equal(weights[0] + weights[2] + weights[3], MIX_PERIOD_MOST);
    assert_int_equal(weights[1], 0);
    assert_int_equal(weights[2], 1);
    assert_true(weights[0] / weights[3] == 3 || weights[0] / weights[3] == 2);
    assert_int_equal(mix_apportion(none, 2), 0);
}

/* Finds which lane reads each chosen sample of a source with one shard, in one epoch of the
 * source. */
static void find_lanes(const struct order *order, const struct order_chosen *chosen,
                       uint32_t *lanes)
{
    const uint64_t samples = chosen->chosen.count;
    struct order_line line;

    assert_int_equal(order_line_of_pieces(order, chosen, &line, NULL), SHEAF_OK);
    for (uint64_t place = 0; place < samples; place++)
        lanes[order_line_rank(&line, place)] = order_lane_at(order, samples, place);
    order_line_free(&line);
}

/* Tests that a sample of a small source is in a random lane in each epoch. */
static void test_small_sources_change_lanes(void **state)
{
    static const uint64_t sizes[] = { 40, 200, 1000, 3000 };
    struct order order = { .shuffle = true, .buffer = 1000, .lanes = 8,
                           .remainder = SHEAF_KEEP };

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const uint64_t first_numbers[] = { 0, sizes[i] };
        struct order_chosen chosen = { .first_numbers = first_numbers, .end_shard = 1 };
        uint32_t before[3000], lanes[3000];
        uint64_t stayed = 0;

        assert_int_equal(selection_all(&chosen.chosen, sizes[i], NULL), SHEAF_OK);
        order.epoch = 0;
        find_lanes(&order, &chosen, before);
        for (order.epoch = 1; order.epoch <= 20; order.epoch++) {
            find_lanes(&order, &chosen, lanes);
            for (uint64_t n = 0; n < sizes[i]; n++)
                stayed += lanes[n] == before[n];
        }
        assert_in_range(stayed, sizes[i] * 20 / 16, sizes[i] * 20 / 5);    /* an eighth */
        selection_free(&chosen.chosen);
    }
}

/* ---- Selections ------------------------------------------------------------------------------ */

static void check_selection(const struct selection *s, const uint64_t *bits, uint64_t total)
{
    uint64_t rank = 0;

    for (uint64_t n = 0; n < total; n++) {
        const bool is_chosen = (bits[n / 64] >> (n % 64) & 1) != 0;
        uint64_t found, run;

        assert_int_equal(selection_rank(s, n, &found), is_chosen);
        if (!is_chosen)
            continue;
        assert_int_equal(found, rank);
        assert_int_equal(selection_number(s, rank, &run), n);
        assert_true(run >= 1 && n + run <= total);
        for (uint64_t i = 0; i < run; i++)
            assert_true((bits[(n + i) / 64] >> ((n + i) % 64) & 1) != 0);
        rank++;
    }
    assert_int_equal(s->count, rank);
    assert_false(selection_rank(s, total, &rank));
}

static void test_selections(void **state)
{
    struct rng rng;
    size_t of_runs = 0, of_bits = 0;

    (void)state;
    rng_seed(&rng, RNG_LANE, 10, 0, 0);
    for (int round = 0; round < 200; round++) {
        const uint64_t total = rng_below(&rng, 3000), density = 1 + rng_below(&rng, 200);
        uint64_t bits[64] = { 0 };
        struct selection s;
        bool chosen = false;

        for (uint64_t n = 0; n < sizeof(bits) * 8; n++) {
            chosen ^= rng_below(&rng, density) == 0;
            bits[n / 64] |= (uint64_t)chosen << (n % 64);
        }
        assert_int_equal(selection_of_bits(&s, total, bits, NULL), SHEAF_OK);
        check_selection(&s, bits, total);
        of_runs += s.ranks != NULL;
        of_bits += s.bits != NULL;
        selection_free(&s);
    }
    assert_true(of_runs > 10 && of_bits > 10);
}

static void test_selection_limit(void **state)
{
    struct sheaf_error err;
    struct selection s;

    (void)state;
    assert_int_equal(selection_all(&s, (uint64_t)UINT32_MAX + 1, &err), SHEAF_ERR_LIMIT);
    assert_int_equal(selection_all(&s, 0, &err), SHEAF_OK);
    assert_int_equal(s.count, 0);
    selection_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_apportion),
        cmocka_unit_test(test_small_sources_change_lanes),
        cmocka_unit_test(test_selections),
        cmocka_unit_test(test_selection_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
