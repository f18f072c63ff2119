/* SPDX-License-Identifier: MIT
 *
 * sheaf pack: a tree or list of files becomes a data set. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

static void print_shard(void *context, const struct sheaf_plan_shard *shard)
{
    (void)context;
    printf("%s\t%s\t%" PRIu64 "\t%" PRIu64 "\n", shard->split, shard->name, shard->samples,
           shard->payload_bytes);
}

static void print_plan_total(const struct sheaf_pack_result *result)
{
    printf("total\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", result->shards, result->samples,
           result->payload_bytes);
    if (result->skipped > 0)
        complain("%" PRIu64 " file%s would be skipped", result->skipped,
                 plural(result->skipped));
}

static void print_result(const char *dest, const struct sheaf_pack_result *result)
{
    const size_t size = strlen(dest);

    printf("packed %" PRIu64 " sample%s (%" PRIu64 " payload bytes) into %" PRIu64 " shard%s (%"
           PRIu64 " bytes)", result->samples, plural(result->samples), result->payload_bytes,
           result->shards, plural(result->shards), result->stored_bytes);
    if (result->shards_kept > 0)
        printf(", %" PRIu64 " of them kept", result->shards_kept);
    printf("; %" PRIu64 " file%s skipped", result->skipped, plural(result->skipped));
    if (result->skipped > 0)
        printf(", listed in %s%sskipped.tsv", dest, size && dest[size - 1] == '/' ? "" : "/");
    putchar('\n');
}

static int pack(const char *source, const char *dest, struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result;
    struct sheaf_error error;
    int code;

    options->progress = progress_show;
    /* where it fails, the error is the first bad file */
    options->report = options->on_error == SHEAF_SKIP ? report_skipped : NULL;
    options->plan = print_shard;
    options->interrupt = &signals_caught;
    signals_catch();
    code = sheaf_pack(source, dest, options, &result, &error);
    progress_clear();
    if (code != SHEAF_OK)
        return refuse(&error);
    if (options->dry_run)
        print_plan_total(&result);
    else
        print_result(dest, &result);
    return STATUS_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    static const struct choice bases[] = { { "0", 0 }, { "1", 1 }, { NULL, 0 } };
    struct sheaf_pack_options o;
    int container = 0, codec, on_error, status;
    uint64_t jobs;
    size_t count;

    sheaf_pack_options_init(&o, sizeof(o));
    codec = (int)o.codec;
    on_error = (int)o.on_error;
    jobs = o.jobs;
    {
        const struct option table[] = {
            { "format", OPTION_CHOICE, "NAME", .choice = &container,
              .choices = container_choices,
              .meaning = "container: tfrecord, recordio or webdataset (must be given)" },
            { "codec", OPTION_CHOICE, "NAME", .choice = &codec, .choices = codec_choices,
              .meaning = "compression of the shards: none, gzip or lz4" },
            { "single-member", OPTION_FLAG, .flag = &o.single_member,
              .meaning = "one gzip member or LZ4 frame a shard, for readers that stop after the "
                         "first" },
            { "shard-size", OPTION_SIZE, "SIZE", .number = &o.shard_bytes, .least = 1,
              .meaning = "content of a shard, about: shards are made equal, near this size" },
            { "shard-count", OPTION_NUMBER, "N", .number = &o.shard_count, .standard = "",
              .least = 1, .meaning = "make just N shards (of each split), whatever their size" },
            { "prefix", OPTION_TEXT, "WORD", .text = &o.prefix,
              .meaning = "first word of the shards' names" },
            { "root", OPTION_TEXT, "DIR", .text = &o.root,
              .meaning = "what the paths in a list are relative to",
              .standard = "the list's directory" },
            { "no-shuffle", OPTION_FLAG, .flag = &o.no_shuffle,
              .meaning = "keep the samples in byte order of their keys" },
            { "seed", OPTION_NUMBER, "S", .number = &o.seed,
              .meaning = "of the shuffle and of the splits" },
            { "label-base", OPTION_CHOICE, "0|1", .choice = &o.label_base, .choices = bases,
              .meaning = "number of the first class" },
            { "split", OPTION_TEXT, "SPEC", .text = &o.split,
              .meaning = "several data sets, stratified by class: train=0.8,val=0.2 or "
                         "train=60/class,val=rest" },
            { "on-error", OPTION_CHOICE, "WHAT", .choice = &on_error,
              .choices = on_error_choices,
              .meaning = "at a bad file: fail, or skip it and list it in DEST/skipped.tsv" },
            { "resume", OPTION_FLAG, .flag = &o.resume,
              .meaning = "go on with a run that was interrupted" },
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "replace the data set in DEST" },
            { "dry-run", OPTION_FLAG, .flag = &o.dry_run,
              .meaning = "print the plan, a line a shard, and write nothing" },
            { "index", OPTION_TEXT, "LIST", .text = &o.index,
              .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },
            { "jobs", OPTION_NUMBER, "N", .number = &jobs, .most = 1024,
              .standard = "the processors, 8 at most", .meaning = "threads" },
            { "memory", OPTION_SIZE, "SIZE", .number = &o.memory_bytes,
              .meaning = "ceiling of the memory for buffers" },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (container == 0)
        return misuse("pack: --format must be given: tfrecord, recordio or webdataset");
    o.container = (enum sheaf_container)container;
    o.codec = (enum sheaf_codec)codec;
    o.on_error = (enum sheaf_on_error)on_error;
    o.jobs = (unsigned)jobs;
    return pack(argv[0], argv[1], &o);
}

const struct command pack_command = {
    .name = "pack",
    .arguments = "SRC DEST --format NAME [OPTION]...",
    .least = 2,
    .most = 2,
    .summary = "bind files into shards",
    .text = "Packs the files of SRC into shards of about the same size in the directory DEST, "
            "with an index and a manifest (dataset.json) that is written last. Files that agree "
            "up to the first dot of their names become fields of one sample.\n\n"
            "SRC is a directory tree, where the class of a file is the directory it is in, or a "
            "list, known by its name: *.lst (MXNet), *.csv, *.jsonl, or any other file with one "
            "path a line.",
    .run = run,
};
