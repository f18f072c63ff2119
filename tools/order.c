/* SPDX-License-Identifier: MIT
 *
 * Order and membership options; see order.h. */
#include "tools/order.h"

const struct choice remainder_choices[] = {
    { "keep", SHEAF_KEEP },
    { "drop", SHEAF_DROP },
    { "pad", SHEAF_PAD },
    { .name = NULL },
};

void order_options_init(struct order_options *order)
{
    *order = (struct order_options){
        .rank = NOT_GIVEN,
        .world_size = NOT_GIVEN,
        .workers = 1,
        .remainder = SHEAF_REMAINDER_AUTO,
    };
}

/* The launcher's rank and world size, where there is one. */
static int take_environment(const struct sheaf_channel *channel,
                            struct sheaf_reader_options *reader)
{
    struct sheaf_error error;
    const char *source;
    uint32_t rank, world_size;
    const int code = channel != NULL
        ? sheaf_channel_world(channel, &rank, &world_size, &source, &error)
        : sheaf_world_from_environment(NULL, &rank, &world_size, &source, &error);

    if (code == SHEAF_END)
        return -1;
    if (code != SHEAF_OK)
        return fail(&error);
    if (world_size > 1)
        complain("rank %u of %u, by %s", rank, world_size, source);
    reader->rank = rank;
    reader->world_size = world_size;
    return -1;
}

int order_options_take(const struct order_options *order, const struct sheaf_channel *channel,
                       struct sheaf_reader_options *reader)
{
    if (order->workers > UINT32_MAX || order->worker >= order->workers)
        return misuse("--worker %llu is not below --workers %llu",
                      (unsigned long long)order->worker, (unsigned long long)order->workers);
    reader->worker = (uint32_t)order->worker;
    reader->workers = (uint32_t)order->workers;
    reader->lanes = (uint32_t)order->lanes;
    reader->remainder = (enum sheaf_remainder)order->remainder;
    if (order->rank == NOT_GIVEN && order->world_size == NOT_GIVEN)
        return take_environment(channel, reader);
    if (order->rank == NOT_GIVEN || order->world_size == NOT_GIVEN)
        return misuse("--rank and --world-size go together");
    if (order->rank >= order->world_size)
        return misuse("--rank %llu is not below --world-size %llu",
                      (unsigned long long)order->rank, (unsigned long long)order->world_size);
    reader->rank = (uint32_t)order->rank;
    reader->world_size = (uint32_t)order->world_size;
    return -1;
}
