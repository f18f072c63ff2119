/* SPDX-License-Identifier: MIT
 *
 * Options of the commands `cat` and `info` that set the order of an epoch, and the part of the
 * epoch that one worker reads. */
#ifndef TOOLS_ORDER_H
#define TOOLS_ORDER_H

#include "tools/options.h"

#define NOT_GIVEN UINT64_MAX

struct order_options {
    uint64_t rank, world_size;      /* NOT_GIVEN: the environment's */
    uint64_t worker, workers;
    uint64_t lanes;
    int remainder;
    struct {
        bool seed, epoch, buffer, no_shuffle, lanes, remainder;
    } given;
};

extern const struct choice remainder_choices[];

void order_options_init(struct order_options *order);

/* Rows of a command's table of options: the options about the order of an epoch. The values are
 * stored in `order`, a struct order_options, and through `reader`, a pointer to a struct
 * sheaf_reader_options. */
#define ORDER_ROWS(order, reader)                                                               \
    EPOCH_ROWS(order, reader),                                                                  \
    { "rank", OPTION_NUMBER, "R", .number = &(order)->rank, .standard = "the environment's, or 0", \
      .meaning = "rank of this process, from 0; requires --world-size" },                       \
    WORLD_SIZE_ROW(order),                                                                      \
    { "worker", OPTION_NUMBER, "K", .number = &(order)->worker,                                 \
      .meaning = "worker in this rank, from 0" },                                               \
    WORKERS_ROW(order),                                                                         \
    LANES_ROWS(order)

/* The rows for commands that handle the whole epoch. */
#define EPOCH_ROWS(order, reader)                                                               \
    { "seed", OPTION_NUMBER, "S", .number = &(reader)->seed, .given = &(order)->given.seed,     \
      .meaning = "seed of the order" },                                                         \
    { "epoch", OPTION_NUMBER, "E", .number = &(reader)->epoch,                                  \
      .given = &(order)->given.epoch,                                                           \
      .meaning = "epoch number" },                                                              \
    { "shuffle-buffer", OPTION_NUMBER, "N", .number = &(reader)->shuffle_buffer,                \
      .unit = "samples", .given = &(order)->given.buffer,                                       \
      .meaning = "size of the shuffle buffer, over all lanes; 0: shuffle the shards only" },       \
    { "no-shuffle", OPTION_FLAG, .flag = &(reader)->no_shuffle,                                 \
      .given = &(order)->given.no_shuffle,                                                      \
      .meaning = "read the samples in data set order" }
#define WORLD_SIZE_ROW(order)                                                                   \
    { "world-size", OPTION_NUMBER, "W", .number = &(order)->world_size, .least = 1,             \
      .most = 1 << 20, .standard = "the environment's, or 1", .meaning = "world size" }
#define WORKERS_ROW(order)                                                                      \
    { "workers", OPTION_NUMBER, "N", .number = &(order)->workers, .least = 1, .most = 1 << 20,  \
      .meaning = "number of workers per rank" }
#define LANES_ROWS(order)                                                                       \
    { "lanes", OPTION_NUMBER, "L", .number = &(order)->lanes, .most = 1 << 20,                  \
      .standard = "world size x workers", .given = &(order)->given.lanes,                       \
      .meaning = "number of equal parts of the epoch, a multiple of world size x workers; "      \
                 "the order is the same for every product that divides it" },                   \
    { "remainder", OPTION_CHOICE, "HOW", .choice = &(order)->remainder,                         \
      .choices = remainder_choices, .standard = "keep alone, pad in a world",                   \
      .given = &(order)->given.remainder,                                                       \
      .meaning = "if lanes do not divide the samples: keep (lanes differ by one), drop, "        \
                 "or pad (shorter lanes repeat a sample)" }

/* Completes the reader's options `reader` with the options that the user gave. If the user gave no
 * rank and world size, takes them from the environment. If there is more than one process, prints
 * the rank and world size on standard error.
 *
 * If `channel` is not NULL, takes other missing options, such as the seed, from the hyperparameters
 * of the SageMaker job. Also stores these options in `order`.
 *
 * Returns -1 on success. On failure, prints an error and returns the exit status. */
int order_options_take(struct order_options *order, const struct sheaf_channel *channel,
                       struct sheaf_reader_options *reader);

/* Checks that the user's options about the order do not contradict a saved position, which states
 * its own order. `text` is the position, which was read from the file `path`. Returns -1 if the
 * options agree with the position. Otherwise prints an error and returns the exit status. */
int order_options_agree(const struct order_options *order,
                        const struct sheaf_reader_options *reader, const char *path,
                        const char *text);

#endif
