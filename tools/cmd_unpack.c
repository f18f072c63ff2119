/* SPDX-License-Identifier: MIT
 *
 * sheaf unpack: writes each field of each sample back as a file. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

static void say_duplicates(const struct sheaf_unpack_result *r,
                           const struct sheaf_unpack_options *options)
{
    if (r->duplicates > 0 && options->duplicate_keys == SHEAF_DUPLICATE_DROP)   /* also if quiet */
        complain("%" PRIu64 " sample%s left out: an earlier sample has the key", r->duplicates,
                 plural(r->duplicates));
    else if (r->duplicates > 0)
        say("%" PRIu64 " sample%s had the key of another sample: the files are numbered",
            r->duplicates, plural(r->duplicates));
}

static int unpack_dataset(const struct sheaf_dataset *dataset, const char *directory,
                          struct sheaf_unpack_options *options,
                          const struct sheaf_reader_options *reading,
                          const struct column_options *columns)
{
    struct sheaf_reader_stats stats = { .samples = 0 };
    struct sheaf_unpack_result result;
    struct sheaf_error error;
    int code;

    options->progress = progress_show;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_unpack(dataset, directory, options, reading, &result, &stats, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    say_left_out(&stats);
    say_missing(columns, &stats);
    say_duplicates(&result, options);
    detail_reading(&stats);
    if (is_quiet())
        return STATUS_OK;
    printf("unpacked %" PRIu64 " sample%s: %" PRIu64 " file%s, %" PRIu64 " byte%s\n",
           result.samples, plural(result.samples), result.files, plural(result.files),
           result.bytes, plural(result.bytes));
    return STATUS_OK;
}

/* Unpacks the data set sources[0..count-1] into the directory sources[count]. */
static int cmd_unpack_do(char **sources, size_t count, struct sheaf_unpack_options *options,
                         const struct sheaf_reader_options *reading,
                         const struct column_options *columns)
{
    struct sheaf_dataset *dataset;
    struct sheaf_error error;
    int status;

    if (sheaf_dataset_open((const char *const *)sources, count, &dataset, &error) != SHEAF_OK)
        return refuse(&error);
    status = unpack_dataset(dataset, sources[count], options, reading, columns);
    if (status != STATUS_OK)
        signals_die();
    sheaf_dataset_free(dataset);
    return status;
}

static int cmd_unpack(const struct command *command, int argc, char **argv)
{
    struct sheaf_reader_options o;
    size_t count;
    struct sheaf_unpack_options options;
    struct column_options columns = { .list = NULL };
    int status;

    sheaf_unpack_options_init(&options, sizeof(options));
    sheaf_reader_options_init(&o, sizeof(o));
    o.report = report_skipped;
    {
        const struct option table[] = {
            { "resume", OPTION_FLAG, NULL, .flag = &options.resume,
              .meaning = "keep existing files if they are identical" },
            MEMORY_ROW(&o, "memory limit for read-ahead and index"),
            DUPLICATE_KEYS_ROW(&options),
            COLUMNS_ROWS(&columns),
            CORRUPT_ROWS(&o),
            CACHE_ROWS(&o),
            THREADS_ROW(&o, "threads that read ahead"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    status = column_options_give(&columns, &o);
    if (status < 0)
        status = cmd_unpack_do(argv, count - 1, &options, &o, &columns);
    column_options_free(&columns);
    return status;
}

const struct command unpack_command = {
    .name = "unpack",
    .arguments = "DATASET... DIR [OPTION]...",
    .least = 2,
    .most = SIZE_MAX,
    .summary = "write the files of a data set back into a directory",
    .text = "Writes each field of each sample of DATASET to DIR/KEY.SUFFIX, byte for byte as it "
            "was packed. DIR and the directories in it are made as needed. An existing file is "
            "never overwritten: it is an error, unless it is identical and --resume is used. "
            "Nothing is written outside DIR.",
    .example = "  sheaf unpack shards/ files/\n",
    .run = cmd_unpack,
};
