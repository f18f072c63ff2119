/* SPDX-License-Identifier: MIT
 *
 * sheaf append: adds the samples of a source to a data set. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/details.h"
#include "tools/pack_rows.h"
#include "tools/progress.h"
#include "tools/signals.h"

/* Reports a file that is left out. If the reason is that the data set already has the sample, only
 * counts the file, and prints it with --verbose. Otherwise there would be a line for nearly every
 * file if the same source is appended again. */
static void report_left_out(void *context, const char *where, const struct sheaf_error *error)
{
    uint64_t *known = context;

    if (error->reason != SHEAF_REASON_DATASET) {
        report_skipped(NULL, where, error);
        return;
    }
    ++*known;
    if (verbosity.verbose)
        report_skipped(NULL, where, error);
}

static void cmd_append_print_shard(void *context, const struct sheaf_plan_shard *shard)
{
    (void)context;
    if (shard->split[0] != '\0')
        printf("%s/", shown(shard->split));
    printf("%s\t%" PRIu64 "\t%" PRIu64 "\n", shown(shard->name), shard->samples,
           shard->payload_bytes);
}

static void cmd_append_print_result(const struct sheaf_pack_result *result, uint64_t known)
{
    printf("appended %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) in %" PRIu64 " shard%s (%"
           PRIu64 " byte%s)", result->samples, plural(result->samples), result->payload_bytes,
           plural(result->payload_bytes), result->shards, plural(result->shards),
           result->stored_bytes, plural(result->stored_bytes));
    if (result->shards_kept > 0)
        printf(", %" PRIu64 " of them kept", result->shards_kept);
    print_files(result, "packed");
    if (known != 0)
        printf("; the data set has %" PRIu64 " of the skipped already", known);
    putchar('\n');
}

static void say_nothing_new(const struct sheaf_pack_result *result, uint64_t known)
{
    const uint64_t others = result->skipped - known;

    if (others == 0)
        say("nothing to append: the data set has all of these keys already (%" PRIu64 " file%s)",
            known, plural(known));
    else
        say("nothing was appended: the data set has %" PRIu64 " file%s already, and %" PRIu64
            " bad file%s skipped", known, plural(known), others,
            others == 1 ? " was" : "s were");
}

static int cmd_append_do(char **sources, size_t count, struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result;
    struct sheaf_error error;
    uint64_t known = 0;
    int code, status = STATUS_OK;

    options->context = &known;
    options->progress = progress_show;
    options->report = options->on_error == SHEAF_SKIP || options->dry_run ? report_left_out : NULL;
    options->plan = cmd_append_print_shard;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_append((const char *const *)sources, count, sources[count], options, &result,
                        &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    if (options->dry_run && error.code != SHEAF_OK)
        status = refuse(&error);    /* with this error, a run without --dry-run would end */
    if (!options->dry_run)
        say_skipped_if_quiet(result.skipped - known, result.files);
    if (result.shards == 0)
        say_nothing_new(&result, known);
    else if (!options->dry_run && !is_quiet())
        cmd_append_print_result(&result, known);
    say_source(&result);
    if (result.shards != 0)
        say_few_shards(options, &result);
    detail_packing(&result);
    return status;
}

static int cmd_append(const struct command *command, int argc, char **argv)
{
    struct pack_lists lists;
    struct sheaf_pack_options o;
    int status;
    size_t count;

    pack_rows_init(&lists, &o, SHEAF_CHECK_MARKERS);
    o.shard_bytes = 0;
    {
        const struct option table[] = {
            { "shard-size", OPTION_SIZE, "SIZE", .number = &o.shard_bytes, .least = 1,
              .standard = "that of the data set", .meaning = "target payload of a shard" },
            { "shard-count", OPTION_NUMBER, "N", .number = &o.shard_count, .standard = "",
              .least = 1, .meaning = "add exactly N shards, or one per sample if there are fewer "
                                     "samples" },
            SOURCE_ROWS(&lists, &o, NULL, NULL),
            { "split", OPTION_TEXT, "SPEC", .text = &o.split, .standard = "as the splits were made",
              .meaning = "divide the samples among the splits in DATASET: train=0.8,val=0.2 or "
                         "train=60/class,val=rest" },
            SKIP_ROWS(&o, "at a bad file, or a key that the data set has: fail, or skip it and "
                          "list it in DATASET/skipped-N.tsv"),
            { "resume", OPTION_FLAG, .flag = &o.resume,
              .meaning = "resume an interrupted run" },
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "remove what an interrupted run has left, then append; the data set's "
                         "own samples stay" },
            { "dry-run", OPTION_FLAG, .flag = &o.dry_run,
              .meaning = "print the plan, one line per new shard, and write nothing" },
            S3_ROW(&lists.s3),
            MEMORY_ROW(&o, "memory limit for buffers"),
            JOBS_ROW(&o, "threads"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    status = pack_rows_take(&lists, &o);
    if (status >= 0)
        return status;
    return cmd_append_do(argv, count - 1, &o);
}

const struct command append_command = {
    .name = "append",
    .arguments = "SRC... DATASET [OPTION]...",
    .least = 2,
    .most = SIZE_MAX,
    .summary = "add samples to a data set",
    .text = "Packs the files of SRC, as sheaf pack does, into new shards of the data set in "
            "DATASET, a directory or s3://BUCKET/PREFIX/, with its container, codec, shard names "
            "and other readers' index files. Classes that it has keep their numbers, and new ones "
            "get the numbers that follow. A file whose key the data set has already is a bad "
            "file. What is done with files is taken from the data set, too, unless it is given: "
            "--fix-images, --resize, --resize-mode, --quality, --field-alias, --key-end and "
            "--class-depth.\n\nIf DATASET is a directory of splits, such as train and val, the new "
            "samples of each class are divided among all of them, in the proportions and by the "
            "hash of the key with which pack --split divided the data. A sample that one of the "
            "splits has is not added to another one.\n\nThe existing shards, their index and "
            "their table of keys are not touched, and the manifest is replaced last: programs "
            "that have the data set open continue with the earlier samples, and those that open "
            "it see it as it was or with all new samples. Positions that were taken before are "
            "refused, as an epoch has more samples now.\n\nAn interrupted run leaves the data set "
            "as it was; --resume continues it.",
    .example = "  sheaf append new-photos/ shards/\n",
    .run = cmd_append,
};
