/* SPDX-License-Identifier: MIT
 *
 * sheaf verify: reads a whole data set and reports all errors in it. Each error is printed when it
 * is found, so that errors need not be kept in memory. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/advice.h"
#include "tools/fields.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/plan/part.h"
#include "tools/progress.h"
#include "tools/signals.h"

struct report {
    bool json;
    size_t count;       /* problems printed */
    int fields;         /* and fields after them */
};

static void cmd_verify_print_problem(void *context, const char *where,
                                     const struct sheaf_error *error)
{
    struct report *report = context;

    report->count++;
    if (!report->json) {
        const char *advice = advice_of("verify", error);

        complain("%s%s%s", error->message, advice == NULL ? "" : ": ",
                 advice == NULL ? "" : advice);
        return;
    }
    progress_clear();
    printf("%s\n    {\"where\": ", report->count > 1 ? "," : "");
    print_json_string(stdout, where);
    printf(", \"code\": %d, \"message\": ", error->code);
    print_json_string(stdout, error->message);
    putchar('}');
}

static void print_field(void *context, const struct sheaf_field_info *field, uint64_t samples)
{
    struct report *report = context;

    progress_clear();
    if (report->fields == 0)
        printf(report->json ? "],\n  \"fields\": [" : "fields\n");
    if (report->json)
        fields_json_one(&report->fields, field, samples);
    else
        fields_print_one(NULL, field, samples);
    report->fields += !report->json;
}

/* Prints two counts from the manifest, which cannot be found by reading the shards:
 * - how many values of lists (such as a CSV file with samples) could not become fields
 * - how many samples had a file .cls that does not consist of numbers */
static void say_left_out_values(const struct sheaf_dataset *dataset)
{
    struct sheaf_dataset_info info;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    if (info.left_out_values != 0)
        say("when it was packed, %" PRIu64 " value%s of lists could not become fields",
            info.left_out_values, plural(info.left_out_values));
    if (info.cls_words != 0)
        say("when it was packed or indexed, %" PRIu64 " sample%s had a file .cls that is not "
            "numbers", info.cls_words, plural(info.cls_words));
}

/* Verifies the columns whose names are in the list `names`. The function overwrites `names`. The
 * columns are verified before the data set itself, because the output ends with the fields of the
 * data set. */
static int verify_columns(const struct sheaf_dataset *dataset, char *names,
                          const struct sheaf_verify_options *options,
                          struct sheaf_verify_result *result, struct sheaf_error *error)
{
    int code = SHEAF_OK;

    for (char *rest = NULL, *name = strtok_r(names, ",", &rest); name != NULL && code == SHEAF_OK;
         name = strtok_r(NULL, ",", &rest))
        code = sheaf_column_verify(dataset, name, options, result, error);
    return code;
}

static int verify(char **sources, size_t count, char *columns,
                  const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
                  struct sheaf_error *error)
{
    struct sheaf_verify_result own = { .problems = 0 };
    struct sheaf_dataset *dataset;
    int code = sheaf_dataset_open((const char *const *)sources, count, &dataset, error);

    if (code != SHEAF_OK)
        return code;
    say_left_out_values(dataset);
    if (columns != NULL)
        code = verify_columns(dataset, columns, options, &own, error);
    if (code == SHEAF_OK)
        code = sheaf_verify(dataset, options, result, error);
    result->problems += own.problems;
    result->bytes += own.bytes;
    result->shards += own.shards;
    sheaf_dataset_free(dataset);
    return code;
}

/* Prints the end of the JSON object. `error` is NULL if the check was completed. */
static void finish_json(const struct sheaf_verify_result *result, const struct sheaf_error *error)
{
    printf("],\n  \"shards\": %" PRIu64 ",\n  \"samples\": %" PRIu64 ",\n  \"bytes\": %" PRIu64
           ",\n  \"passed_over\": %" PRIu64 ",\n  \"unused_classes\": %" PRIu64
           ",\n  \"labelled\": %" PRIu64 ",\n  \"unread_labels\": %" PRIu64
           ",\n  \"repeated_keys\": %" PRIu64 ",\n  \"sound\": %s", result->shards,
           result->samples, result->bytes,
           result->passed_over, result->unused_classes, result->labelled, result->unread_labels,
           result->repeated_keys, !error && result->problems == 0 ? "true" : "false");
    if (error) {
        printf(",\n  \"error\": ");
        print_json_string(stdout, error->message);
    }
    printf("\n}\n");
}

static int finish_text(const struct sheaf_verify_result *result)
{
    say_passed_over(result->passed_over, result->samples);
    say_labels(result);
    say_repeated_keys(result->repeated_keys, result->repeated_key, true);
    if (result->unused_classes > 0)
        say("%" PRIu64 " class%s of the manifest, but no sample with %s label",
            result->unused_classes, result->unused_classes == 1 ? "" : "es",
            result->unused_classes == 1 ? "its" : "their");
    if (result->problems > 0) {
        complain("%" PRIu64 " problem%s in %" PRIu64 " shard%s", result->problems,
                 plural(result->problems), result->shards, plural(result->shards));
        return STATUS_FAILURE;
    }
    printf("sound: %" PRIu64 " sample%s in %" PRIu64 " shard%s, %" PRIu64 " byte%s read\n",
           result->samples, plural(result->samples), result->shards, plural(result->shards),
           result->bytes, plural(result->bytes));
    return STATUS_OK;
}

static int cmd_verify(const struct command *command, int argc, char **argv)
{
    struct sheaf_verify_result result = { .problems = 0 };
    struct report report = { .json = false };
    struct sheaf_verify_options o;
    struct sheaf_error error;
    const char *part = NULL, *names = NULL;
    char *columns = NULL;
    int json = 0, code, status;
    size_t count;

    sheaf_verify_options_init(&o, sizeof(o));
    {
        const struct option table[] = {
            { "json", OPTION_FLAG, .flag = &json,
              .meaning = "print one JSON object, with the problems in it" },
            MEMORY_ROW(&o, "memory limit for buffers"),
            { "part", OPTION_TEXT, "I/N", .text = &part, .standard = "all of them",
              .meaning = "only the shards of part I of N, counted from 0" },
            { "columns", OPTION_TEXT, "NAMES", .text = &names, .standard = "none",
              .meaning = "also read these columns, separated by commas, and check that each record "
                         "belongs to its sample" },
            THREADS_ROW(&o, "threads"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (part != NULL) {
        status = part_take(part, &o.part, &o.parts);
        if (status >= 0)
            return status;
    }
    report.json = json;
    o.progress = progress_show;
    o.report = cmd_verify_print_problem;
    o.field = print_field;
    o.context = &report;
    o.interrupt = &signals_caught;
    signals_catch();
    if (json)
        printf("{\n  \"problems\": [");
    columns = names == NULL ? NULL : strdup(names);
    code = verify(argv, count, columns, &o, &result, &error);
    free(columns);
    progress_clear();
    if (json)
        finish_json(&result, code == SHEAF_OK ? NULL : &error);
    if (code != SHEAF_OK)
        return json ? STATUS_FAILURE : refuse(&error);
    return json ? result.problems > 0 : finish_text(&result);
}

const struct command verify_command = {
    .name = "verify",
    .arguments = "DATASET... [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "check every shard, hash, checksum, count and index",
    .text = "Reads all of DATASET and checks each shard's size and hash, each record's framing "
            "and checksums, the counts, and the index against the shards. Each problem is a line "
            "on standard error; the exit status is 1 if there is any.\n\nWith --part, many "
            "machines can share the work: each checks its part of the shards and of the index.",
    .example = "  sheaf verify s3://bucket/train/\n",
    .run = cmd_verify,
};
