/* SPDX-License-Identifier: MIT
 *
 * Tests properties of the order. For all shards, lanes, ranks and remainders, each sample must come
 * once, the interleaved sequences of all ranks must form one order, and resuming must change
 * nothing. The shuffle must be uniform. (test_order_vectors.c tests the exact order.) */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/common_order.h"
#include "tests/common_random.h"

#define MOST_SHARDS  40
#define MOST_SAMPLES 2000
#define MOST_LANES   48

struct setting {
    uint64_t counts[MOST_SHARDS];
    size_t shards;
    uint64_t samples;
    struct order order;
    struct order_member member;
};

struct sequence {
    uint64_t numbers[MOST_SAMPLES + MOST_LANES];    /* numbers of samples, in manifest order */
    size_t count;
};

/* Plays the epoch of one member, beginning after `rounds` rounds. */
static void sequence_of(const struct setting *s, const struct order_member *m, uint64_t rounds,
                        struct sequence *out)
{
    const struct order_set set = { s->counts, s->shards, s->samples };

    out->count = order_play(&s->order, m, &set, rounds, out->numbers, COUNT_OF(out->numbers));
}

static void random_setting(struct rng *rng, struct setting *s)
{
    memset(s, 0, sizeof(*s));
    s->shards = 1 + rng_below(rng, MOST_SHARDS);
    for (size_t i = 0; i < s->shards; i++) {
        s->counts[i] = rng_below(rng, 4) == 0 ? rng_below(rng, 3) : rng_below(rng, 50);
        s->samples += s->counts[i];
    }
    s->member.world_size = 1 + (uint32_t)rng_below(rng, 6);
    s->member.workers = 1 + (uint32_t)rng_below(rng, 4);
    s->order.lanes = s->member.world_size * s->member.workers * (1 + (uint32_t)rng_below(rng, 2));
    s->order.seed = rng_next(rng);
    s->order.epoch = rng_below(rng, 5);
    s->order.shuffle = rng_below(rng, 5) != 0;
    s->order.buffer = rng_below(rng, 400);
    s->order.remainder = SHEAF_KEEP + (int)rng_below(rng, 3);
}

static void each_member_together_has_each_sample(void **state)
{
    static struct sequence one;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 400; round++) {
        struct setting s;
        unsigned seen[MOST_SAMPLES] = { 0 };
        uint64_t total = 0, missing = 0, repeats = 0;
        size_t first = SIZE_MAX;

        random_setting(&rng, &s);
        for (s.member.rank = 0; s.member.rank < s.member.world_size; s.member.rank++) {
            for (s.member.worker = 0; s.member.worker < s.member.workers; s.member.worker++) {
                sequence_of(&s, &s.member, 0, &one);
                assert_int_equal(one.count, order_member_samples(&s.order, &s.member, s.samples));
                for (size_t i = 0; i < one.count; i++)
                    seen[one.numbers[i]]++;
                total += one.count;
                first = first == SIZE_MAX ? one.count : first;
                if (s.order.remainder != SHEAF_KEEP && s.samples != 0)
                    assert_int_equal(one.count, first);
            }
        }
        for (uint64_t i = 0; i < s.samples; i++) {
            missing += seen[i] == 0;
            repeats += seen[i] > 1 ? seen[i] - 1 : 0;
        }
        assert_int_equal(missing, s.order.remainder == SHEAF_DROP ? s.samples % s.order.lanes : 0);
        assert_true(repeats <= (s.order.remainder == SHEAF_PAD ? s.order.lanes : 0));
        if (s.order.remainder == SHEAF_KEEP)
            assert_int_equal(total, s.samples);
    }
}

static void ranks_interleaved_are_one_order(void **state)
{
    static struct sequence whole, ranks[8];
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 300; round++) {
        struct setting s;
        struct order_member alone = { .world_size = 1, .workers = 1 };
        size_t used[8] = { 0 };

        random_setting(&rng, &s);
        s.member.workers = 1;
        sequence_of(&s, &alone, 0, &whole);
        for (s.member.rank = 0; s.member.rank < s.member.world_size; s.member.rank++)
            sequence_of(&s, &s.member, 0, &ranks[s.member.rank]);
        for (size_t t = 0; t < whole.count; t++) {
            const size_t rank = t % s.order.lanes % s.member.world_size;

            assert_int_equal(ranks[rank].numbers[used[rank]++], whole.numbers[t]);
        }
    }
}

/* Tests that after R rounds, the rest of the epoch is the rest of the whole order at any other
 * world size that fits. */
static void resuming_in_another_world_goes_on_with_the_order(void **state)
{
    static struct sequence whole, rest;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (int round = 0; round < 200; round++) {
        struct setting s;
        struct order_member alone = { .world_size = 1, .workers = 1 };
        uint64_t rounds;

        random_setting(&rng, &s);
        if (s.samples < s.order.lanes)
            continue;
        sequence_of(&s, &alone, 0, &whole);
        rounds = rng_below(&rng, s.samples / s.order.lanes + 1);
        for (uint32_t world = 1; world <= s.order.lanes; world++) {
            struct order_member m = { .world_size = world, .workers = 1 };
            size_t used = 0;

            if (s.order.lanes % world != 0)
                continue;
            m.rank = (uint32_t)rng_below(&rng, world);
            sequence_of(&s, &m, rounds, &rest);
            for (size_t t = rounds * s.order.lanes; t < whole.count; t++)
                if (t % s.order.lanes % world == m.rank)
                    assert_int_equal(rest.numbers[used++], whole.numbers[t]);
            assert_int_equal(used, rest.count);
        }
    }
}

/* Returns the number of places in which two sequences agree. On average, unrelated sequences agree
 * in one place. */
static size_t agreements(const struct sequence *a, const struct sequence *b)
{
    size_t same = 0;

    for (size_t i = 0; i < MIN(a->count, b->count); i++)
        same += a->numbers[i] == b->numbers[i];
    return same;
}

static void epochs_seeds_and_ranks_are_unrelated(void **state)
{
    static struct sequence base, other, second;
    struct setting s = { .shards = 10, .samples = 1000,
                         .member = { .world_size = 1, .workers = 1 },
                         .order = { .shuffle = true, .buffer = 1000, .lanes = 1,
                                    .remainder = SHEAF_KEEP } };
    struct order_member zero = { .rank = 0, .world_size = 2, .workers = 1 };
    struct order_member one = { .rank = 1, .world_size = 2, .workers = 1 };
    /* limit for a Poisson distribution with mean 1; it is exceeded with a probability of less than
     * 10^-9 */
    const size_t most = 12;

    (void)state;
    for (size_t i = 0; i < s.shards; i++)
        s.counts[i] = 100;
    sequence_of(&s, &s.member, 0, &base);
    for (uint64_t i = 1; i <= 20; i++) {
        s.order.epoch = i;
        sequence_of(&s, &s.member, 0, &other);
        assert_true(agreements(&base, &other) <= most);
        s.order.epoch = 0;
        s.order.seed = i;
        sequence_of(&s, &s.member, 0, &other);
        assert_true(agreements(&base, &other) <= most);
        s.order.seed = 0;
    }
    /* If rank 1 of seed 0 and rank 0 of seed 1 drew the same slots, this would show in the places
     * relative to the start of the lane. */
    s.order.lanes = 2;
    for (s.order.seed = 0; s.order.seed < 20; s.order.seed++) {
        struct setting next = s;

        next.order.seed++;
        sequence_of(&s, &one, 0, &other);
        sequence_of(&next, &zero, 0, &second);
        assert_true(agreements(&other, &second) <= most);
    }
}

/* Computes the chi-square of the places of 50 samples over 20,000 epochs, with a buffer that holds
 * all samples. There are 50 x 50 cells with 400 expected each, and 49 x 49 degrees of freedom. */
static void a_full_buffer_shuffles_uniformly(void **state)
{
    enum { N = 50, EPOCHS = 20000 };
    static uint32_t cells[N][N];
    static struct sequence got;
    struct setting s = { .shards = 5, .samples = N,
                         .counts = { 10, 10, 10, 10, 10 },
                         .order = { .shuffle = true, .buffer = N, .lanes = 1,
                                    .remainder = SHEAF_KEEP } };
    const struct order_member alone = { .world_size = 1, .workers = 1 };
    const double expected = (double)EPOCHS / N, freedom = (N - 1) * (N - 1);
    double chi = 0, limit;

    (void)state;
    for (s.order.epoch = 0; s.order.epoch < EPOCHS; s.order.epoch++) {
        sequence_of(&s, &alone, 0, &got);
        for (size_t i = 0; i < got.count; i++)
            cells[i][got.numbers[i]]++;
    }
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            chi += (cells[i][j] - expected) * (cells[i][j] - expected) / expected;
    limit = 6 * sqrt(2 * freedom);      /* six standard deviations */
    assert_true(fabs(chi - freedom) < limit);
}

static void below_is_uniform_and_never_reaches_its_bound(void **state)
{
    uint32_t counts[7] = { 0 };
    struct rng rng;
    double chi = 0;

    (void)state;
    rng_seed(&rng, RNG_LANE, 1, 2, 3);
    for (int i = 0; i < 700000; i++) {
        const uint64_t x = rng_below(&rng, 7);

        assert_true(x < 7);
        counts[x]++;
    }
    for (size_t i = 0; i < 7; i++)
        chi += (counts[i] - 100000.0) * (counts[i] - 100000.0) / 100000.0;
    assert_true(chi < 40);
    for (int i = 0; i < 1000; i++)
        assert_true(rng_below(&rng, ((uint64_t)1 << 63) + 1) <= (uint64_t)1 << 63);
}

static void members_that_do_not_fit_are_refused(void **state)
{
    static const struct { struct order_member m; uint32_t lanes; int code; } cases[] = {
        { { 0, 1, 0, 1 }, 0, SHEAF_OK }, { { 1, 2, 3, 4 }, 16, SHEAF_OK },
        { { 1, 1, 0, 1 }, 0, SHEAF_ERR_ARGUMENT }, { { 0, 0, 0, 1 }, 0, SHEAF_ERR_ARGUMENT },
        { { 0, 1, 1, 1 }, 0, SHEAF_ERR_ARGUMENT }, { { 0, 1, 0, 0 }, 0, SHEAF_ERR_ARGUMENT },
        { { 0, 2, 0, 2 }, 6, SHEAF_ERR_ARGUMENT },
        { { 0, 1u << 31, 0, 1u << 31 }, 0, SHEAF_ERR_ARGUMENT },
        { { 0, 1, 0, 1 }, UINT32_MAX, SHEAF_ERR_ARGUMENT },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t lanes = cases[i].lanes;

        assert_int_equal(order_check(&cases[i].m, &lanes, NULL), cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_together_has_each_sample),
        cmocka_unit_test(ranks_interleaved_are_one_order),
        cmocka_unit_test(resuming_in_another_world_goes_on_with_the_order),
        cmocka_unit_test(epochs_seeds_and_ranks_are_unrelated),
        cmocka_unit_test(a_full_buffer_shuffles_uniformly),
        cmocka_unit_test(below_is_uniform_and_never_reaches_its_bound),
        cmocka_unit_test(members_that_do_not_fit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
