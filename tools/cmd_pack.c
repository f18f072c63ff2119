/* SPDX-License-Identifier: MIT
 *
 * sheaf pack: packs a source into a data set, or packs one part of a stored plan. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tools/details.h"
#include "tools/fields.h"
#include "tools/metrics.h"
#include "tools/pack_rows.h"
#include "tools/plan/part.h"
#include "tools/progress.h"
#include "tools/signals.h"

static void cmd_pack_print_shard(void *context, const struct sheaf_plan_shard *shard)
{
    (void)context;
    printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", shown(shard->split), shown(shard->name),
           shard->samples, shard->payload_bytes);
}

/* The classes come after the shards. */
static void cmd_pack_print_class(void *context, const struct sheaf_class_count *count)
{
    (void)context;
    printf("class\t%" PRId64 "\t%s\t%" PRIu64 "\n", count->number, shown(count->name),
           count->samples);
}

static void print_plan_total(const struct sheaf_pack_result *result)
{
    printf("total\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", result->shards, result->samples,
           result->payload_bytes);
}

static void say_skipped(const struct sheaf_pack_result *result)
{
    if (result->skipped > 0)
        say("%" PRIu64 " file%s would be skipped", result->skipped,
            plural(result->skipped));
}

static void cmd_pack_print_result(const char *dest, const struct sheaf_pack_result *result)
{
    const size_t size = strlen(dest);

    printf("packed %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) into %" PRIu64 " shard%s (%"
           PRIu64 " byte%s)", result->samples, plural(result->samples), result->payload_bytes,
           plural(result->payload_bytes), result->shards, plural(result->shards),
           result->stored_bytes, plural(result->stored_bytes));
    if (result->shards_kept > 0)
        printf(", %" PRIu64 " of them kept", result->shards_kept);
    print_files(result, "packed");
    if (result->skipped > 0)
        printf("; the skipped are listed in %s%sskipped.tsv", shown(dest),
               size && dest[size - 1] == '/' ? "" : "/");
    putchar('\n');
}

/* Prints a problem that a dry run has found, with advice about the problem. Without --dry-run, the
 * problem would end the run. A function of the type sheaf_report_fn. */
static void report_problem(void *context, const char *where, const struct sheaf_error *error)
{
    (void)context;
    if (strncmp(error->message, where, strlen(where)) == 0)     /* the place is there already */
        (void)fail(error);
    else
        complain("%s: %s", where, error->message);
}

static void cmd_pack_count_result(const struct sheaf_pack_result *result)
{
    metrics_total("samples", result->samples);
    metrics_total("payload_bytes", result->payload_bytes);
    metrics_total("stored_bytes", result->stored_bytes);
    metrics_total("files_packed", result->files_packed);
    metrics_total("skipped", result->skipped);
    metrics_total("shards_kept", result->shards_kept);
}

static int cmd_pack_do(char **sources, size_t count, struct sheaf_pack_options *options)
{
    const char *dest = sources[count];
    struct sheaf_pack_result result;
    struct sheaf_error error;
    int code, status = STATUS_OK;

    options->progress = progress_show;
    /* Bad files are reported one by one only if they are skipped, or in a dry run. Otherwise the
     * first bad file ends the run, and its error is printed as the result of the command. */
    options->report = options->on_error == SHEAF_SKIP ? report_skipped
                    : options->dry_run ? report_problem : NULL;
    options->plan = cmd_pack_print_shard;
    options->class_count = cmd_pack_print_class;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_pack_sources((const char *const *)sources, count, dest, options, &result, &error);
    progress_clear();
    if (options->dry_run && result.shards != 0)     /* there is a result even with bad files */
        print_plan_total(&result);
    if (code != SHEAF_OK)
        return refuse(&error);
    if (options->dry_run)
        say_skipped(&result);
    if (options->dry_run && error.code != SHEAF_OK)
        status = refuse(&error);    /* with this error, a run without --dry-run would end */
    cmd_pack_count_result(&result);
    if (!options->dry_run)
        say_skipped_if_quiet(result.skipped, result.files);
    if (!options->dry_run && !is_quiet()) {
        cmd_pack_print_result(dest, &result);
        fields_say_packed(dest, options->split);
    }
    say_source(&result);
    say_few_shards(options, &result);
    detail_packing(&result);
    return status;
}

/* ---- Parts of a stored plan ------------------------------------------------------------------ */

/* Begins the metrics of a part. They are labelled with the data set that the plan describes. If the
 * plan cannot be opened, they are labelled with the plan, and packing prints the error. */
static int cmd_pack_part_metrics(const char *path, const char *name)
{
    struct sheaf_plan *plan = NULL;
    struct sheaf_plan_info info = { .dest = name };
    struct sheaf_error ignored;
    int status;

    if (path != NULL && sheaf_plan_open(name, &plan, &ignored) == SHEAF_OK)
        sheaf_plan_get_info(plan, &info, sizeof(info));
    status = metrics_begin(path, info.dest);
    sheaf_plan_free(plan);
    return status;
}

static int cmd_pack_part(const char *plan, const char *text, struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result;
    struct sheaf_error error = { .code = SHEAF_OK };
    uint32_t part, parts;
    int code, status = part_take(text, &part, &parts);

    if (status >= 0)
        return status;
    options->progress = progress_show;
    options->note = report_note;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_pack_part(plan, part, parts, options, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)       /* the options that help are usually those of sheaf plan */
        return refuse_as("pack-plan", &error);
    cmd_pack_count_result(&result);
    detail_packing(&result);
    say_skipped_if_quiet(result.skipped, result.files);
    if (is_quiet())
        return STATUS_OK;
    if (result.shards == 0 && result.shards_kept > 0) {
        printf("part %u of %u: the data set is complete already\n", part, parts);
        return STATUS_OK;
    }
    printf("part %u of %u: %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) in %" PRIu64 " "
           "shard%s, %" PRIu64 " of them kept", part, parts, result.samples,
           plural(result.samples), result.payload_bytes, plural(result.payload_bytes),
           result.shards, plural(result.shards), result.shards_kept);
    print_files(&result, "packed");
    putchar('\n');
    return STATUS_OK;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int cmd_pack(const struct command *command, int argc, char **argv)
{
    struct pack_lists lists;
    struct sheaf_pack_options o;
    const char *plan = NULL, *part = NULL, *metrics = NULL;
    int status;
    size_t count;

    pack_rows_init(&lists, &o, SHEAF_CHECK_MARKERS);
    {
        const struct option table[] = {
            PACK_ROWS(&lists, &o),
            { "dry-run", OPTION_FLAG, .flag = &o.dry_run,
              .meaning = "print the plan, a line per shard and per class, and write nothing" },
            JOBS_ROW(&o, "threads"),
            { "plan", OPTION_TEXT, "PLAN", .text = &plan,
              .meaning = "instead of SRC and DEST: pack shards of a stored plan" },
            { "part", OPTION_TEXT, "I/N", .text = &part, .standard = "all of them",
              .needs = "--plan",
              .meaning = PART_MEANING("with --plan: the shards") },
            METRICS_ROW(&metrics),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (plan != NULL)
        status = options_only("plan", "SRC and DEST", count,
                              "--part, --jobs, --memory, --s3 and --metrics");
    if (status >= 0)
        return status;
    if (plan == NULL && count < 2)
        return misuse("pack: an argument is missing; usage: sheaf pack %s", command->arguments);
    status = plan != NULL ? -1 : pack_rows_take_all(&lists, &o);
    if (status < 0 && plan == NULL)
        status = metrics_refuse_in(metrics, argv, count - 1);
    if (status < 0)
        status = plan != NULL ? cmd_pack_part_metrics(metrics, plan)
                              : metrics_begin(metrics, argv[count - 1]);
    if (status >= 0)
        return status;
    if (plan != NULL) {
        o.s3 = lists.s3.texts;
        return cmd_pack_part(plan, part, &o);
    }
    return cmd_pack_do(argv, count - 1, &o);
}

const struct command pack_command = {
    .name = "pack",
    .arguments = "SRC... DEST --format NAME [OPTION]... | --plan PLAN [--part I/N]",
    .least = 0,
    .most = SIZE_MAX,
    .summary = "pack files into shards",
    .text = "Packs the files of SRC into shards of about the same size in DEST, a directory or "
            "s3://BUCKET/PREFIX/, with an index and a manifest (dataset.json) that is written "
            "last. Files whose paths agree up to the first dot of the file name become fields of "
            "one sample.\n\nSRC is a directory tree or s3://BUCKET/PREFIX/, where a file's "
            "directory is its class, or a list, recognised by its name: *.lst (MXNet), *.csv, "
            "*.jsonl, or any other file with one path a line; or an archive, *.tar, *.zip or "
            "*.tar.gz, as the directory that it would unpack to. Several directories and lists "
            "can be packed together; a class of the same name is one class.\n\nWith --plan, packs "
            "the shards of one part of a stored plan, on any machine, in any order, any number of "
            "times. When all parts are done, sheaf commit publishes the data set.",
    .example = "  sheaf pack photos/ shards/ --format webdataset --split train=0.9,val=0.1\n"
               "  sheaf pack s3://bucket/photos/ s3://bucket/shards/ --format tfrecord\n",
    .run = cmd_pack,
};
