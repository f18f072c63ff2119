/* SPDX-License-Identifier: MIT
 *
 * Plays an epoch on numbers; see common_order.h. */
#include "tests/common_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reader/order/shuffle.h"

#define LANES_MOST 64

uint64_t order_number(char **text)
{
    char *end;
    uint64_t value;

    *text += strspn(*text, " |");
    value = strtoull(*text, &end, 10);
    assert_ptr_not_equal(*text, end);
    *text = end;
    return value;
}

void order_head(char **text, struct order *order, struct order_member *member)
{
    *order = (struct order){ .seed = order_number(text) };
    order->epoch = order_number(text);
    order->shuffle = order_number(text) != 0;
    order->buffer = order_number(text);
    order->lanes = (uint32_t)order_number(text);
    order->remainder = (enum sheaf_remainder)order_number(text);
    *member = (struct order_member){ .rank = (uint32_t)order_number(text), .workers = 1 };
    member->world_size = (uint32_t)order_number(text);
}

struct lane {
    struct order_lane lane;
    struct shuffle shuffle;
    uint64_t *slots;
};

static uint64_t number_of(const struct order_set *set, const struct order_run *run)
{
    uint64_t number = run->record;

    for (size_t i = 0; i < run->shard; i++)
        number += set->counts[i];
    return number;
}

static void begin_lane(struct lane *l, const struct order *order, const struct order_set *set,
                       uint32_t lane, uint64_t rounds)
{
    l->lane = order_lane_of(order, set->samples, lane);
    l->slots = malloc((order_buffer_slots(order) + 1) * sizeof(l->slots[0]));
    assert_non_null(l->slots);
    shuffle_begin(&l->shuffle, order, lane, order_lane_inputs(&l->lane));
    shuffle_replay(&l->shuffle, rounds, l->slots);
}

static uint64_t next_number(struct lane *l, const struct order_line *line,
                            const struct order_set *set)
{
    const uint64_t input = shuffle_draw(&l->shuffle, l->slots);
    const struct order_run run = order_line_locate(line, order_lane_place(&l->lane, input));

    return number_of(set, &run);
}

size_t order_play(const struct order *order, const struct order_member *member,
                  const struct order_set *set, uint64_t rounds, uint64_t *numbers, size_t most)
{
    const uint32_t own = order->lanes / (member->world_size * member->workers);
    struct lane lanes[LANES_MOST];
    struct order_line line;
    size_t count = 0;
    bool any = true;

    assert_true(own <= LANES_MOST);
    assert_int_equal(order_line_make(order, set->counts, set->shards, &line, NULL), SHEAF_OK);
    for (uint32_t i = 0; i < own; i++)
        begin_lane(&lanes[i], order, set, order_member_lane(member, i), rounds);
    while (any) {
        any = false;
        for (uint32_t i = 0; i < own; i++) {
            if (lanes[i].shuffle.filled == 0)
                continue;
            any = true;
            assert_true(count < most);
            numbers[count++] = next_number(&lanes[i], &line, set);
        }
    }
    for (uint32_t i = 0; i < own; i++)
        free(lanes[i].slots);
    order_line_free(&line);
    return count;
}
