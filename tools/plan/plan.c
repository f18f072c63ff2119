/* SPDX-License-Identifier: MIT
 *
 * Prints which ranges of samples each worker reads in an epoch. The library passes the ranges one
 * by one, grouped by worker. The line for a worker begins with its number of samples, which is the
 * sum over all its ranges. So the ranges of a worker are collected, and printed when the ranges of
 * the next worker begin. */
#include "tools/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/json.h"
#include "tools/tool.h"

struct plan {
    const struct sheaf_dataset *dataset;
    int json;
    struct sheaf_stretch *list;     /* of one worker */
    size_t count, capacity;
    size_t workers;                 /* printed */
    int failed;                     /* out of memory */
};

static const char *shard_name(const struct plan *p, uint32_t shard)
{
    struct sheaf_shard_info info = { .name = "?" };

    if (sheaf_dataset_shard(p->dataset, shard, &info, sizeof(info)) != SHEAF_OK)
        complain("shard %u is not there", shard);
    return info.name;
}

static void print_stretch(const struct plan *p, const struct sheaf_stretch *s, size_t i)
{
    const char *name = shard_name(p, s->shard);

    if (!p->json) {
        printf("  lane %u: %s records %" PRIu64 " to %" PRIu64 "\n", s->lane,
               shown(name), s->first_record, s->first_record + s->samples - 1);
        return;
    }
    printf("%s{\"lane\": %u, \"shard\": ", i == 0 ? "" : ", ", s->lane);
    print_json_string(stdout, name);
    printf(", \"first_record\": %" PRIu64 ", \"samples\": %" PRIu64 "}", s->first_record,
           s->samples);
}

/* Prints the worker whose ranges are gathered. */
static void plan_flush(struct plan *p)
{
    uint64_t samples = 0;

    if (p->count == 0)
        return;
    for (size_t i = 0; i < p->count; i++)
        samples += p->list[i].samples;
    if (p->json)
        printf("%s\n    {\"rank\": %u, \"worker\": %u, \"samples\": %" PRIu64 ", \"stretches\": [",
               p->workers == 0 ? "" : ",", p->list[0].rank, p->list[0].worker, samples);
    else
        printf("rank %u worker %u: %" PRIu64 " sample%s\n", p->list[0].rank, p->list[0].worker,
               samples, plural(samples));
    for (size_t i = 0; i < p->count; i++)
        print_stretch(p, &p->list[i], i);
    if (p->json)
        printf("]}");
    p->workers++;
    p->count = 0;
}

static void add_stretch(void *context, const struct sheaf_stretch *stretch)
{
    struct plan *p = context;

    if (p->count != 0 && (p->list[0].rank != stretch->rank
                          || p->list[0].worker != stretch->worker))
        plan_flush(p);
    if (p->count == p->capacity) {
        const size_t capacity = p->capacity == 0 ? 64 : p->capacity * 2;
        struct sheaf_stretch *grown = realloc(p->list, capacity * sizeof(*grown));

        if (grown == NULL) {
            p->failed = 1;
            return;
        }
        p->list = grown;
        p->capacity = capacity;
    }
    p->list[p->count++] = *stretch;
}

int plan_print(const struct sheaf_dataset *dataset, const struct sheaf_reader_options *options,
               int json)
{
    struct plan plan = { .dataset = dataset, .json = json };
    struct sheaf_error error;
    int code;

    if (json)
        printf("[");
    code = sheaf_dataset_plan(dataset, options, add_stretch, &plan, &error);
    plan_flush(&plan);
    if (json)
        printf("]");
    free(plan.list);
    if (code != SHEAF_OK)
        return refuse(&error);
    if (plan.failed) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    return STATUS_OK;
}
