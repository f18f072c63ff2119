/* SPDX-License-Identifier: MIT
 *
 * The options for order and membership; see order.h. */
#include "tools/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* Sets the rank and world size of the reader from the environment, if a launcher such as torchrun
 * has started the process. Returns -1 on success. On failure, prints an error and returns the exit
 * status. */
static int order_take_environment(const struct sheaf_channel *channel,
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
        say("rank %u of %u, by %s", rank, world_size, source);
    reader->rank = rank;
    reader->world_size = world_size;
    return -1;
}

/* Takes the job's hyperparameters where no option was given. */
static int take_hyperparameters(struct order_options *order, const struct sheaf_channel *channel,
                                struct sheaf_reader_options *reader)
{
    struct sheaf_reader_options job = *reader;
    struct sheaf_error error;

    job.lanes = (uint32_t)order->lanes;
    if (sheaf_channel_order(channel, &job, &error) != SHEAF_OK)
        return refuse(&error);
    if (!order->given.seed)
        reader->seed = job.seed;
    if (!order->given.epoch)
        reader->epoch = job.epoch;
    if (!order->given.buffer)
        reader->shuffle_buffer = job.shuffle_buffer;
    if (!order->given.lanes)
        order->lanes = job.lanes;
    return -1;
}

int order_options_take(struct order_options *order, const struct sheaf_channel *channel,
                       struct sheaf_reader_options *reader)
{
    if (order->workers > UINT32_MAX || order->worker >= order->workers)
        return misuse("--worker is %llu, expected less than --workers %llu",
                      (unsigned long long)order->worker, (unsigned long long)order->workers);
    if (channel != NULL) {
        const int status = take_hyperparameters(order, channel, reader);

        if (status >= 0)
            return status;
    }
    reader->worker = (uint32_t)order->worker;
    reader->workers = (uint32_t)order->workers;
    reader->lanes = (uint32_t)order->lanes;
    reader->remainder = (enum sheaf_remainder)order->remainder;
    if (order->rank == NOT_GIVEN && order->world_size == NOT_GIVEN)
        return order_take_environment(channel, reader);
    if (order->rank == NOT_GIVEN || order->world_size == NOT_GIVEN)
        return misuse("--rank and --world-size must be used together");
    if (order->rank >= order->world_size)
        return misuse("--rank is %llu, expected less than --world-size %llu",
                      (unsigned long long)order->rank, (unsigned long long)order->world_size);
    reader->rank = (uint32_t)order->rank;
    reader->world_size = (uint32_t)order->world_size;
    return -1;
}

/* Finds the word after " NAME=" in a text. For the name "seed", the text " seed=7" has the word
 * "7". Returns the word and sets *size to its length, or to 0 if the text does not contain the
 * name. */
static const char *word_of(const char *text, const char *name, int *size)
{
    char before[32];
    const char *at;

    snprintf(before, sizeof(before), " %s=", name);
    at = strstr(text, before);
    if (at)
        at += strlen(before);
    *size = at ? (int)strcspn(at, " \n") : 0;
    return at;
}

int order_options_agree(const struct order_options *order,
                        const struct sheaf_reader_options *reader, const char *path,
                        const char *text)
{
    const char *remainder = "";
    char number[5][24];

    snprintf(number[0], sizeof(number[0]), "%" PRIu64, reader->seed);
    snprintf(number[1], sizeof(number[1]), "%" PRIu64, reader->epoch);
    snprintf(number[2], sizeof(number[2]), "%" PRIu64, reader->shuffle_buffer);
    snprintf(number[3], sizeof(number[3]), "%d", !reader->no_shuffle);
    snprintf(number[4], sizeof(number[4]), "%" PRIu64, order->lanes);
    for (const struct choice *c = remainder_choices; c->name; c++) {
        if (c->value == order->remainder)
            remainder = c->name;
    }
    {
        const struct { bool given; const char *option, *name, *value; } words[] = {
            { order->given.seed, "seed", "seed", number[0] },
            { order->given.epoch, "epoch", "epoch", number[1] },
            { order->given.buffer, "shuffle-buffer", "buffer", number[2] },
            { order->given.no_shuffle, "no-shuffle", "shuffle", number[3] },
            { order->given.lanes && order->lanes != 0, "lanes", "lanes", number[4] },
            { order->given.remainder, "remainder", "remainder", remainder },
        };

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            int size;
            const char *is = word_of(text, words[i].name, &size);

            if (words[i].given && is &&
                ((size_t)size != strlen(words[i].value) || strncmp(is, words[i].value, size) != 0))
                return misuse("--%s contradicts %s, whose position has %s=%.*s, not %s",
                              words[i].option, path, words[i].name, size, is, words[i].value);
        }
    }
    return -1;
}
