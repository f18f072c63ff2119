/* SPDX-License-Identifier: MIT
 *
 * Prints the state of a plan. */
#include "tools/plan/plan_status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/json.h"
#include "tools/tool.h"

struct status {
    const struct sheaf_plan *plan;
    struct sheaf_plan_info info;
    bool json;
    /* whether the plan states the bytes of each shard; false for the plan of a column, because the
     * sizes of its values are not known yet */
    bool has_payload;
    struct sheaf_error error;
};

static int plan_status_shard_at(struct status *s, uint64_t index, struct sheaf_plan_shard *shard,
                                int *done)
{
    return sheaf_plan_shard(s->plan, index, shard, done, &s->error);
}

/* Prints each shard of the plan that is not finished, as a line of text or as an element of a JSON
 * array. */
static int print_missing(struct status *s)
{
    const char *between = "";

    for (uint64_t i = 0; i < s->info.shards; i++) {
        struct sheaf_plan_shard shard;
        char path[600];
        int done, code = plan_status_shard_at(s, i, &shard, &done);

        if (code != SHEAF_OK)
            return code;
        if (done)
            continue;
        snprintf(path, sizeof(path), "%s%s%s", shard.split, shard.split[0] == '\0' ? "" : "/",
                 shard.name);
        printf(s->json ? "%s\n    " : "%s  ", between);
        if (s->json)
            print_json_string(stdout, path);
        else if (!s->has_payload)
            printf("%s  %" PRIu64 " sample%s\n", shown(path), shard.samples,
                   plural(shard.samples));
        else
            printf("%s  %" PRIu64 " sample%s  %" PRIu64 " payload byte%s\n", shown(path),
                   shard.samples, plural(shard.samples), shard.payload_bytes,
                   plural(shard.payload_bytes));
        between = s->json ? "," : "";
    }
    return SHEAF_OK;
}

/* Finds whether a shard of a part is missing. */
static int is_missing(struct status *s, uint32_t part, bool *missing)
{
    uint64_t first, end;
    int code = sheaf_plan_part(s->plan, part, s->info.parts, &first, &end, &s->error);

    *missing = false;
    for (uint64_t i = first; code == SHEAF_OK && i < end && !*missing; i++) {
        struct sheaf_plan_shard shard;
        int done;

        code = plan_status_shard_at(s, i, &shard, &done);
        *missing = !done;
    }
    return code;
}

/* Prints the numbers of the unfinished parts. */
static int print_parts(struct status *s)
{
    const char *between = "";
    int code = SHEAF_OK;

    for (uint32_t p = 0; p < s->info.parts && code == SHEAF_OK; p++) {
        bool missing;

        code = is_missing(s, p, &missing);
        if (code != SHEAF_OK || !missing)
            continue;
        printf("%s%u", between, p);
        between = ", ";
    }
    return code;
}

static void plan_status_print_classes(const struct status *s)
{
    if (s->info.class_count != 0)
        printf("classes       %zu\n", s->info.class_count);
    for (size_t i = 0; i < s->info.class_count; i++)
        printf("  %zu  %s\n", i + (size_t)s->info.label_base,
               shown(sheaf_plan_class(s->plan, i)));
}

/* Prints the number of samples whose field `cls` does not consist of numbers. Also prints the
 * number of samples with a repeated key. Prints nothing for a number that is 0. */
static void print_found(const struct sheaf_plan_info *i)
{
    if (i->cls_words != 0)
        printf("cls words     %" PRIu64 " of %" PRIu64 " field%s cls that planning has examined %s "
               "not numbers\n", i->cls_words, i->cls_looked, plural(i->cls_looked),
               i->cls_words == 1 ? "is" : "are");
    if (i->duplicates != 0)
        printf("repeated keys %" PRIu64 " sample%s %s\n", i->duplicates, plural(i->duplicates),
               i->dropped != 0 ? "left out" : "with new, numbered keys");
}

static int plan_status_print_text(struct status *s)
{
    const struct sheaf_plan_info *i = &s->info;
    int code = SHEAF_OK;

    printf("plan of       %s\n", shown(i->dest));
    printf("source        %s %s\n", shown(i->source), shown(i->root));
    printf("container     %s\n", sheaf_container_name(i->container));
    printf("codec         %s\n", sheaf_codec_name(i->codec));
    printf("hash          %s\n", i->hash);
    printf("plan_bytes    %" PRIu64 "\n", i->plan_bytes);
    if (s->has_payload)
        printf("files         %" PRIu64 "\n", i->files);
    printf("samples       %" PRIu64 " of %" PRIu64 "\n", i->done_samples, i->samples);
    if (s->has_payload)
        printf("payload_bytes %" PRIu64 " of %" PRIu64 "\n", i->done_payload_bytes,
               i->payload_bytes);
    printf("shards        %" PRIu64 " of %" PRIu64 "\n", i->done_shards, i->shards);
    printf("committed     %s\n", !i->committed ? "no" : i->done_shards == i->shards ? "yes"
           : "yes, but shards are missing or altered since");
    plan_status_print_classes(s);
    print_found(i);
    if (i->done_shards == i->shards)
        return SHEAF_OK;
    if (i->parts != 0) {
        printf("parts         %u; not finished: ", i->parts);
        code = print_parts(s);
        putchar('\n');
    }
    printf("missing       %" PRIu64 "\n", i->shards - i->done_shards);
    return code == SHEAF_OK ? print_missing(s) : code;
}

static int plan_status_print_json(struct status *s)
{
    const struct sheaf_plan_info *i = &s->info;
    int code = SHEAF_OK;

    printf("{\n  \"dest\": ");
    print_json_string(stdout, i->dest);
    printf(",\n  \"source\": ");
    print_json_string(stdout, i->source);
    printf(",\n  \"root\": ");
    print_json_string(stdout, i->root);
    printf(",\n  \"container\": \"%s\",\n  \"codec\": \"%s\",\n  \"hash\": \"%s\",\n"
           "  \"plan_bytes\": %" PRIu64 ",\n  \"files\": %" PRIu64 ",\n  \"samples\": %" PRIu64
           ",\n  \"payload_bytes\": %" PRIu64 ",\n  \"shards\": %" PRIu64
           ",\n  \"done_shards\": %" PRIu64 ",\n  \"done_samples\": %" PRIu64
           ",\n  \"done_payload_bytes\": %" PRIu64 ",\n  \"committed\": %s,\n  \"parts\": %u",
           sheaf_container_name(i->container), sheaf_codec_name(i->codec), i->hash,
           i->plan_bytes, i->files, i->samples, i->payload_bytes, i->shards, i->done_shards,
           i->done_samples, i->done_payload_bytes, i->committed ? "true" : "false", i->parts);
    printf(",\n  \"cls_looked\": %" PRIu64 ",\n  \"cls_words\": %" PRIu64
           ",\n  \"duplicates\": %" PRIu64 ",\n  \"dropped\": %" PRIu64, i->cls_looked,
           i->cls_words, i->duplicates, i->dropped);
    printf(",\n  \"label_base\": %d,\n  \"classes\": [", i->label_base);
    for (size_t k = 0; k < i->class_count; k++) {
        printf(k == 0 ? "" : ", ");
        print_json_string(stdout, sheaf_plan_class(s->plan, k));
    }
    printf("],\n  \"missing_parts\": [");
    code = print_parts(s);
    printf("],\n  \"missing\": [");
    if (code == SHEAF_OK)
        code = print_missing(s);
    printf("]\n}\n");
    return code;
}

int plan_status_print(const char *url, int json)
{
    struct status status = { .json = json != 0 };
    struct sheaf_plan *plan;
    int code = sheaf_plan_open(url, &plan, &status.error);

    if (code != SHEAF_OK)
        return refuse(&status.error);
    status.plan = plan;
    sheaf_plan_get_info(plan, &status.info, sizeof(status.info));
    status.has_payload = strcmp(status.info.source, "column") != 0;
    code = json ? plan_status_print_json(&status) : plan_status_print_text(&status);
    sheaf_plan_free(plan);
    return code == SHEAF_OK ? STATUS_OK : fail(&status.error);
}
