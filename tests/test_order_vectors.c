/* SPDX-License-Identifier: MIT
 *
 * Tests the order of an epoch against tests/corpus/order_vectors.txt, which an independent
 * implementation (tests/system/order_reference.py) has made from reader/ORDER.md. Each case is
 * played from its start, and resumed at every step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "reader/order/shuffle.h"
#include "tests/common_order.h"

#define VECTORS "tests/corpus/order_vectors.txt"
#define SHARDS_MOST 64

struct vector {
    struct order order;
    struct order_member member;
    uint64_t counts[SHARDS_MOST];
    uint64_t firsts[SHARDS_MOST];   /* manifest number of each shard's first sample */
    size_t shard_count;
    uint64_t samples;
    uint64_t *expected;
    uint64_t expected_count;
};

static void vector_parse(char *text, struct vector *v)
{
    memset(v, 0, sizeof(*v));
    order_head(&text, &v->order, &v->member);
    v->member.worker = (uint32_t)order_number(&text);
    v->member.workers = (uint32_t)order_number(&text);
    v->shard_count = order_number(&text);
    assert_true(v->shard_count <= SHARDS_MOST);
    for (size_t i = 0; i < v->shard_count; i++) {
        v->firsts[i] = v->samples;
        v->counts[i] = order_number(&text);
        v->samples += v->counts[i];
    }
    v->expected_count = order_number(&text);
    v->expected = calloc(v->expected_count + 1, sizeof(v->expected[0]));
    assert_non_null(v->expected);
    for (uint64_t i = 0; i < v->expected_count; i++)
        v->expected[i] = order_number(&text);
    assert_string_equal(text, "\n");
}

/* State of one lane. Its slots contain numbers of inputs. */
struct walk {
    struct order_lane lane;
    struct shuffle shuffle;
    uint64_t slots[256];
};

static void walk_begin(struct walk *w, const struct vector *v, uint32_t i, uint64_t steps)
{
    const uint32_t lane = order_member_lane(&v->member, i);

    w->lane = order_lane_of(&v->order, v->samples, lane);
    shuffle_begin(&w->shuffle, &v->order, lane, order_lane_inputs(&w->lane));
    assert_true(w->shuffle.filled <= COUNT_OF(w->slots));
    shuffle_replay(&w->shuffle, steps, w->slots);
}

/* Returns the manifest number of the next sample of a lane. */
static uint64_t walk_next(struct walk *w, const struct vector *v, const struct order_line *line)
{
    const uint64_t input = shuffle_draw(&w->shuffle, w->slots);
    const struct order_run run = order_line_locate(line, order_lane_place(&w->lane, input));

    assert_true(run.record < v->counts[run.shard]);
    assert_int_equal(run.count, v->counts[run.shard] - run.record);
    return v->firsts[run.shard] + run.record;
}

/* Plays the epoch from round `rounds` on, and compares the numbers. */
static void check_from(const struct vector *v, const struct order_line *line, uint64_t rounds)
{
    const uint32_t own = v->order.lanes / (v->member.world_size * v->member.workers);
    struct walk *walks = calloc(own, sizeof(*walks));
    uint64_t at = MIN(rounds * own, v->expected_count), before;

    assert_non_null(walks);
    for (uint32_t i = 0; i < own; i++)
        walk_begin(&walks[i], v, i, rounds);
    do {
        before = at;
        for (uint32_t i = 0; i < own; i++) {
            if (walks[i].shuffle.filled == 0)
                continue;
            assert_true(at < v->expected_count);
            assert_int_equal(walk_next(&walks[i], v, line), v->expected[at]);
            at++;
        }
    } while (at != before);
    assert_int_equal(at, v->expected_count);
    free(walks);
}

static void vector_check(const struct vector *v)
{
    const uint32_t members = v->member.world_size * v->member.workers;
    struct order_line line;
    uint32_t lanes = v->order.lanes;
    uint64_t rounds;

    assert_int_equal(order_check(&v->member, &lanes, NULL), SHEAF_OK);
    assert_int_equal(lanes, v->order.lanes);
    assert_int_equal(order_member_samples(&v->order, &v->member, v->samples), v->expected_count);
    assert_int_equal(order_line_make(&v->order, v->counts, v->shard_count, &line, NULL), SHEAF_OK);
    rounds = v->expected_count / (v->order.lanes / members) + 2;
    for (uint64_t i = 0; i <= rounds; i++)
        check_from(v, &line, i);
    order_line_free(&line);
}

static void draws_check(char *text)
{
    uint64_t words[5];
    struct rng rng;

    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = order_number(&text);
    rng_seed(&rng, (enum rng_purpose)words[0], words[1], words[2], words[3]);
    for (int i = 0; i < 8; i++)
        assert_int_equal(rng_below(&rng, words[4]), order_number(&text));
}

static void test_vectors(void **state)
{
    FILE *file = fopen(VECTORS, "r");
    char *text = NULL;
    size_t capacity = 0, orders = 0, draws = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&text, &capacity, file) > 0) {
        struct vector v;

        if (text[0] == '#')
            continue;
        if (strncmp(text, "draw ", 5) == 0) {
            draws_check(text + 5);
            draws++;
            continue;
        }
        vector_parse(text, &v);
        vector_check(&v);
        free(v.expected);
        orders++;
    }
    assert_true(orders > 200 && draws > 10);
    free(text);
    assert_int_equal(fclose(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
