/* SPDX-License-Identifier: MIT
 *
 * sheaf locate: prints when samples come in training. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/order.h"
#include "tools/signals.h"

/* number of keys that are looked up in one call; the samples with these keys must fit into memory
 * together */
#define KEYS_ONCE 64

struct locate {
    struct sheaf_reader_options options;
    uint64_t epochs, batch;         /* batch 0: steps are not requested */
    int json;
    struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    uint64_t *numbers;
    char **keys;
    /* for each sample that was found: the name of its source if several sources have the key that
     * the user gave with --key; otherwise NULL */
    const char **sources;
    bool *comes;                    /* whether each sample comes in the replayed epoch */
    size_t count, capacity;
    uint64_t missing;
};

/* Returns the source that has a sample. */
static const char *cmd_locate_source_of(const struct locate *l, uint64_t number)
{
    struct sheaf_source_info source;
    size_t i = 0;

    while (sheaf_dataset_source(l->dataset, i, &source, sizeof(source)) == SHEAF_OK) {
        if (number - source.first_number < source.samples)
            return source.url;
        i++;
    }
    return NULL;
}

/* -1, or the exit status. */
static int cmd_locate_add(struct locate *l, const struct sheaf_sample *sample, bool is_ambiguous)
{
    if (l->count == l->capacity) {
        const size_t capacity = 2 * l->capacity + 64;
        uint64_t *numbers = realloc(l->numbers, capacity * sizeof(*numbers));
        char **keys = realloc(l->keys, capacity * sizeof(*keys));
        bool *comes = realloc(l->comes, capacity * sizeof(*comes));
        const char **sources = realloc(l->sources, capacity * sizeof(*sources));

        l->numbers = numbers != NULL ? numbers : l->numbers;
        l->keys = keys != NULL ? keys : l->keys;
        l->comes = comes != NULL ? comes : l->comes;
        l->sources = sources != NULL ? sources : l->sources;
        if (numbers == NULL || keys == NULL || comes == NULL || sources == NULL)
            return fail(&(struct sheaf_error){ .code = SHEAF_ERR_MEMORY,
                                               .message = "out of memory" });
        l->capacity = capacity;
    }
    l->numbers[l->count] = sample->number;
    l->sources[l->count] = is_ambiguous ? cmd_locate_source_of(l, sample->number) : NULL;
    l->keys[l->count] = strdup(sample->key);
    if (l->keys[l->count++] != NULL)
        return -1;
    return fail(&(struct sheaf_error){ .code = SHEAF_ERR_MEMORY, .message = "out of memory" });
}

static int cmd_locate_find_keys(struct locate *l, const char *const *keys, size_t count)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept = NULL;
    struct sheaf_error error;
    const size_t *firsts;
    int status = -1;

    if (sheaf_dataset_find(l->dataset, keys, count, NULL, &samples, &firsts, &kept, &error) !=
        SHEAF_OK)
        return refuse(&error);
    for (size_t i = 0; i < count && status < 0; i++) {
        if (firsts[i] == firsts[i + 1]) {
            complain("%s: there is no sample with this key", shown(keys[i]));
            l->missing++;
        }
        for (size_t s = firsts[i]; s < firsts[i + 1] && status < 0; s++)
            status = cmd_locate_add(l, &samples[s], firsts[i + 1] - firsts[i] > 1);
    }
    sheaf_kept_free(kept);
    return status;
}

static int find_number(struct locate *l, uint64_t number)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept = NULL;
    struct sheaf_error error;
    int status;

    if (sheaf_dataset_read(l->dataset, &number, 1, NULL, &samples, &kept, &error) != SHEAF_OK)
        return refuse(&error);
    status = cmd_locate_add(l, &samples[0], false);
    sheaf_kept_free(kept);
    return status;
}

static void print_coming(void *context, const struct sheaf_coming *c)
{
    const struct locate *l = context;
    const char *const source = l->sources[c->asked];

    l->comes[c->asked] = true;
    if (l->json) {
        printf("{\"key\": ");
        print_json_string(stdout, l->keys[c->asked]);
        printf(", \"epoch\": %" PRIu64 ", \"sample\": %" PRIu64 ", \"rank\": %u",
               l->options.epoch, c->sample, c->rank);
        if (l->batch != 0)
            printf(", \"step\": %" PRIu64, c->ordinal / l->batch);
        if (source != NULL) {
            printf(", \"source\": ");
            print_json_string(stdout, source);
        }
        printf("}\n");
        return;
    }
    printf("%s\tepoch %" PRIu64 "\tsample %" PRIu64 "\trank %u", shown(l->keys[c->asked]),
           l->options.epoch, c->sample, c->rank);
    if (l->batch != 0)
        printf("\tstep %" PRIu64, c->ordinal / l->batch);
    if (source != NULL)
        printf("\tsource %s", shown(source));
    printf("\n");
}

static int locate_epoch(struct locate *l)
{
    struct sheaf_error error;

    if (l->count != 0)
        memset(l->comes, 0, l->count * sizeof(*l->comes));
    if (sheaf_dataset_locate(l->dataset, &l->options, l->numbers, l->count, print_coming, l,
                             &error) != SHEAF_OK)
        return refuse(&error);
    for (size_t i = 0; i < l->count; i++)
        if (!l->comes[i])
            say("%s%s%s: does not come in epoch %" PRIu64 ": %s", shown(l->keys[i]),
                l->sources[i] == NULL ? "" : " of ",
                l->sources[i] == NULL ? "" : shown(l->sources[i]), l->options.epoch,
                l->info.is_view
                ? "the view does not choose it, or draws others then"
                : "the remainder is dropped");
    return -1;
}

static int cmd_locate_do(struct locate *l, const char *const *sources, size_t source_count,
                         const char *const *keys, size_t count, const uint64_t *number)
{
    struct sheaf_error error;
    int status = -1;

    if (sheaf_dataset_open(sources, source_count, &l->dataset, &error) != SHEAF_OK)
        return refuse(&error);
    sheaf_dataset_get_info(l->dataset, &l->info, sizeof(l->info));
    if (number != NULL)
        status = find_number(l, *number);
    for (size_t i = 0; i < count && status < 0; i += KEYS_ONCE)
        status = cmd_locate_find_keys(l, keys + i, count - i < KEYS_ONCE ? count - i : KEYS_ONCE);
    for (uint64_t e = 0; e < l->epochs && status < 0; e++, l->options.epoch++)
        status = locate_epoch(l);
    return status < 0 ? l->missing == 0 ? STATUS_OK : STATUS_FAILURE : status;
}

/* Interprets the arguments of the command. With --key, all arguments are sources. Without --key,
 * the first argument is a source, and the others are sample numbers. */
static int locate_arguments(struct locate *l, char **argv, size_t count,
                            const struct option_texts *given, const uint64_t *number)
{
    const char *const *arguments = (const char *const *)argv;

    return given->count != 0
           ? cmd_locate_do(l, arguments, count, given->texts, given->count, number)
           : cmd_locate_do(l, arguments, 1, arguments + 1, count - 1, number);
}

static int cmd_locate(const struct command *command, int argc, char **argv)
{
    struct locate l = { .epochs = 1 };
    struct option_texts given = { .count = 0 };
    struct order_options order;
    bool by_number = false;
    uint64_t number = 0;
    size_t count;
    int status;

    sheaf_reader_options_init(&l.options, sizeof(l.options));
    order_options_init(&order);
    {
        const struct option table[] = {
            { "key", OPTION_TEXTS, "KEY", .texts = &given, .standard = "",
              .meaning = "instead of KEY as an argument: all arguments are data sets then, which "
                         "are read together; it may be given several times" },
            { "number", OPTION_NUMBER, "N", .number = &number, .given = &by_number,
              .standard = "none", .meaning = "also the sample with this number, from 0" },
            EPOCH_ROWS(&order, &l.options),
            { "epochs", OPTION_NUMBER, "N", .number = &l.epochs, .least = 1,
              .meaning = "how many epochs to look at, the first being E" },
            WORLD_SIZE_ROW(&order),
            WORKERS_ROW(&order),
            LANES_ROWS(&order),
            { "batch", OPTION_NUMBER, "B", .number = &l.batch, .least = 1, .standard = "none",
              .meaning = "samples of a rank in a step: the step is printed, too" },
            { "json", OPTION_FLAG, .flag = &l.json,
              .meaning = "print a JSON object per line" },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (count == 1 && !by_number && given.count == 0)
        return misuse("locate: a KEY or --number is missing");
    if (order.world_size != NOT_GIVEN)
        order.rank = 0;                 /* all ranks are looked at */
    status = order_options_take(&order, NULL, &l.options);
    if (status < 0)
        status = locate_arguments(&l, argv, count, &given, by_number ? &number : NULL);
    for (size_t i = 0; i < l.count; i++)
        free(l.keys[i]);
    free(l.keys);
    free(l.numbers);
    free(l.comes);
    free(l.sources);
    sheaf_dataset_free(l.dataset);
    return status;
}

const struct command locate_command = {
    .name = "locate",
    .arguments = "DATASET KEY... [OPTION]... | DATASET... --key KEY [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "say when samples come in training",
    .text = "Prints a line for each time that a sample with one of these keys comes: the epoch, "
            "which of the epoch's samples it is, its rank, and with --batch its step. All are "
            "counted from 0. The options of the order must be those of the training. The epoch "
            "is replayed on numbers: nothing is read but the samples themselves.\n\nsheaf cat "
            "--step is the inverse: it writes what a step was fed.",
    .example = "  sheaf locate shards/ 001.ak47/001_0001 --seed 7 --epochs 3 --world-size 8 "
               "--batch 32\n",
    .run = cmd_locate,
};
