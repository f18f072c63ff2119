/* SPDX-License-Identifier: MIT
 *
 * sheaf convert: the same samples in another container. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/fields.h"
#include "tools/pack_rows.h"
#include "tools/plan/part.h"
#include "tools/progress.h"
#include "tools/signals.h"

/* Prints the result of the conversion. */
static void cmd_convert_print_result(const char *dest, const struct sheaf_pack_result *result,
                                     const struct sheaf_pack_options *options,
                                     const struct sheaf_reader_stats *stats)
{
    say_uncached(stats);
    say_left_out(stats);
    if (result->skipped > 0)            /* even with --quiet */
        complain("%" PRIu64 " sample%s left out: skipped.tsv in %s lists the keys",
                 result->skipped, plural(result->skipped), shown(dest));
    if (options->duplicate_keys == SHEAF_DUPLICATE_NUMBER)
        say_duplicates(result, SHEAF_DUPLICATE_NUMBER);
    detail_reading(stats);
    detail_packing(result);
    if (is_quiet())
        return;
    printf("converted %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) into %" PRIu64 " shard%s "
           "(%" PRIu64 " byte%s)", result->samples, plural(result->samples), result->payload_bytes,
           plural(result->payload_bytes), result->shards, plural(result->shards),
           result->stored_bytes, plural(result->stored_bytes));
    if (result->shards_kept > 0)
        printf(", %" PRIu64 " of them kept", result->shards_kept);
    print_images(result);
    putchar('\n');
}

/* Converts the data set sources[0..count-1] to the destination sources[count]. */
static int cmd_convert_do(char **sources, size_t count, int join,
                          struct sheaf_pack_options *options,
                          const struct sheaf_reader_options *reading,
                          const struct column_options *columns)
{
    struct sheaf_reader_stats stats = { .samples = 0 };
    struct sheaf_pack_result result;
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    int code = (join ? sheaf_dataset_open_joined : sheaf_dataset_open)(
        (const char *const *)sources, count, &dataset, &error);

    if (code != SHEAF_OK)
        return refuse(&error);
    say_copies(dataset);
    options->sources = (const char *const *)sources;
    options->source_count = count;
    signals_catch();
    code = sheaf_convert(dataset, sources[count], options, reading, &result, &stats, &error);
    progress_clear();
    if (code == SHEAF_OK) {
        cmd_convert_print_result(sources[count], &result, options, &stats);
        say_missing(columns, &stats);
        if (!is_quiet())
            fields_say_packed(sources[count], options->split);
    } else
        code = refuse(&error);
    if (code != STATUS_OK)
        signals_die();
    sheaf_dataset_free(dataset);
    return code;
}

static int convert_part(const char *plan, const char *text,
                        const struct sheaf_pack_options *options,
                        const struct sheaf_reader_options *reading)
{
    struct sheaf_pack_result result;
    struct sheaf_error error;
    uint32_t part, parts;
    int code;
    const int status = part_take(text, &part, &parts);

    if (status >= 0)
        return status;
    signals_catch();
    code = sheaf_convert_part(plan, part, parts, options, reading, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    detail_packing(&result);
    say_duplicates(&result, result.skipped != 0 ? SHEAF_DUPLICATE_DROP : SHEAF_DUPLICATE_NUMBER);
    if (is_quiet())
        return STATUS_OK;
    printf("part %u of %u: %" PRIu64 " sample%s in %" PRIu64 " shard%s, and %" PRIu64 " kept\n",
           part, parts, result.samples, plural(result.samples), result.shards,
           plural(result.shards), result.shards_kept);
    return STATUS_OK;
}

/* Converts with the columns in the options. */
static int convert_columns(char **sources, size_t count, int join,
                           struct sheaf_pack_options *options,
                           struct sheaf_reader_options *reading, struct column_options *columns)
{
    int status = column_options_give(columns, reading);

    if (status < 0)
        status = cmd_convert_do(sources, count, join, options, reading, columns);
    column_options_free(columns);
    return status;
}

/* Checks the arguments of a conversion without a stored plan. Returns -1 if they are valid.
 * Otherwise prints an error and returns the exit status. */
static int cmd_convert_check_whole(const struct command *command, size_t count, bool has_container,
                                   const struct sheaf_pack_options *o)
{
    if (count < 2)
        return misuse("convert: an argument is missing; usage: sheaf convert %s",
                      command->arguments);
    if (!has_container)
        return misuse("convert: --format is required: %s", container_names());
    if (o->split != NULL && o->resume)
        return misuse("convert: --split and --resume exclude each other");
    if (o->split != NULL && o->duplicate_keys != SHEAF_DUPLICATE_FAIL)
        return misuse("convert: --split and --duplicate-keys exclude each other: convert with "
                      "--duplicate-keys first, and divide the result");
    return options_exclude("shard-size", "shard-count");
}

static int cmd_convert(const struct command *command, int argc, char **argv)
{
    struct sheaf_reader_options reading;
    struct sheaf_pack_options o;
    const char *plan = NULL, *part = NULL;
    struct column_options columns = { .list = NULL };
    struct pack_lists lists;
    uint64_t size = 0;
    int join = 0, status;
    size_t count;

    pack_rows_init(&lists, &o, SHEAF_CHECK_NONE);
    sheaf_reader_options_init(&reading, sizeof(reading));
    {
        const struct option table[] = {
            CONTAINER_ROW(&o, &lists.has_container),
            CODEC_ROW(&o),
            { "shard-size", OPTION_SIZE, "SIZE", .number = &size, .least = 1, .standard = "",
              .meaning = "cut new, evenly sized shards of about this payload" },
            { "shard-count", OPTION_NUMBER, "N", .number = &o.shard_count, .standard = "",
              .least = 1, .meaning = "cut exactly N new shards, or one per sample" },
            { "shuffle", OPTION_FLAG, .flag = &o.reshuffle,
              .meaning = "write the samples in a new order" },
            { "split", OPTION_TEXT, "SPEC", .text = &o.split,
              .meaning = "divide the samples among several data sets, in new shards, as pack "
                         "--split divides files; --resume and --duplicate-keys are then refused" },
            { "seed", OPTION_NUMBER, "S", .number = &o.seed, .needs = "--shuffle or --split",
              .meaning = "seed of the new order, and of the splits" },
            { "field-map", OPTION_TEXT, "LIST", .text = &o.field_map,
              .meaning = "rename fields, FROM=TO,...; TO label: its number becomes the label" },
            { "join", OPTION_FLAG, .flag = &join,
              .meaning = "make one sample of all files with one key in a tar, even if they do not "
                         "lie side by side" },
            { "resume", OPTION_FLAG, .flag = &o.resume,
              .meaning = "resume an interrupted conversion" },
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "delete the existing data set in DEST and its splits, then convert" },
            { "index", OPTION_TEXT, "LIST", .text = &o.index,
              .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },
            IMAGE_ROWS(&o, OF_RESIZE, OF_IMAGES),
            DUPLICATE_KEYS_ROW(&o),
            COLUMNS_ROWS(&columns),
            CORRUPT_ROWS(&reading),
            CACHE_ROWS(&reading),
            S3_ROW(&lists.s3),
            JOBS_ROW(&o, "number of reading threads, and of writing threads"),
            MEMORY_ROW(&o, "memory limit for buffers, half of it for reading"),
            { "plan", OPTION_TEXT, "PLAN", .text = &plan,
              .meaning = "instead of DATASET and DEST: pack shards of a stored plan of a data "
                         "set" },
            { "part", OPTION_TEXT, "I/N", .text = &part, .standard = "all of them",
              .needs = "--plan",
              .meaning = PART_MEANING("with --plan: the shards") },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    o.s3 = lists.s3.texts;
    o.progress = progress_show;
    o.interrupt = &signals_caught;
    o.note = report_note;
    reading.report = report_skipped;
    if (plan != NULL)
        status = options_only("plan", "DATASET and DEST", count,
                              "--part, --jobs, --memory, --s3, --cache and --cache-size");
    if (plan != NULL)
        return status >= 0 ? status : convert_part(plan, part, &o, &reading);
    status = cmd_convert_check_whole(command, count, lists.has_container, &o);
    if (status >= 0)
        return status;
    o.reshard = size != 0 || o.shard_count != 0;
    o.shard_bytes = size != 0 ? size : o.shard_bytes;
    return convert_columns(argv, count - 1, join, &o, &reading, &columns);
}

const struct command convert_command = {
    .name = "convert",
    .arguments = "DATASET... DEST --format NAME [OPTION]... | --plan PLAN [--part I/N]",
    .least = 0,
    .most = SIZE_MAX,
    .summary = "convert a data set to another container",
    .text = "Writes the samples of DATASET, in data set order, as a data set of another container "
            "or codec in DEST, a directory or s3://BUCKET/PREFIX/. Keys, fields, labels and class "
            "names are kept, and each shard keeps its samples, in their order, unless "
            "--shard-size, --shard-count, --shuffle or --split is given. Without these, the "
            "shards equal those of packing the files into that container; the fingerprint "
            "differs. Images stay "
            "as they are and are not checked, unless --fix-images, --resize or --check-images is "
            "given. A single "
            "foreign file, standard input (-), or a view is cut into shards of 150MB. With "
            "--resume, an interrupted conversion resumes: DATASET is read from its start, and "
            "shards that are finished are kept. --on-corrupt skip also leaves out samples that do "
            "not fit the container or fail --check-images, and lists them in DEST/skipped.tsv.\n\n"
            "With --plan, packs the shards of one part of a "
            "stored plan of a data set. When all parts are done, sheaf commit publishes the data "
            "set, the same byte for byte as that of one conversion.",
    .example = "  sheaf convert shards/ tfrecords/ --format tfrecord --codec gzip\n",
    .run = cmd_convert,
};
