/* SPDX-License-Identifier: MIT
 *
 * sheaf convert: the same samples in another container.
 *
 * Shards keep their samples, so that the result is what packing the files into that container
 * would have given.  Only a source that is one foreign file, or standard input, says nothing
 * about shards: it is cut by size, as the packer does. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

#define BATCH 64    /* samples asked for at once */

static int copy_class_names(const struct sheaf_dataset *dataset, size_t count,
                            struct sheaf_packer *packer)
{
    const char **names = calloc(count, sizeof(*names));
    int code = SHEAF_ERR_MEMORY;

    if (names) {
        for (size_t i = 0; i < count; i++)
            names[i] = sheaf_dataset_class(dataset, i);
        code = sheaf_packer_set_classes(packer, names, count);
    }
    free(names);
    return code;
}

/* Appends the samples of one batch, each shard's to a shard of its own if `cut`. */
static int append(struct sheaf_packer *packer, const struct sheaf_sample *samples, size_t count,
                  bool cut, uint32_t *shard, struct sheaf_progress *progress)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        if (cut && samples[i].shard != *shard)
            code = sheaf_packer_cut(packer);
        *shard = samples[i].shard;
        if (code == SHEAF_OK)
            code = sheaf_packer_append(packer, &samples[i]);
        for (size_t f = 0; f < samples[i].field_count; f++)
            progress->done_bytes += samples[i].fields[f].size;
        progress->done_count++;
    }
    progress_show(NULL, progress);
    return code;
}

static int copy_samples(struct sheaf_reader *reader, const struct sheaf_dataset_info *info,
                        struct sheaf_packer *packer, struct sheaf_error *error)
{
    const bool cut = info->has_manifest || info->shard_count > 1;
    struct sheaf_progress progress = {
        .stage = "convert",
        .total_bytes = info->payload_bytes,
        .total_count = info->samples,
    };
    uint32_t shard = 0;

    for (;;) {
        const struct sheaf_sample *samples;
        size_t count;
        int code = sheaf_reader_next_batch(reader, BATCH, &samples, &count);

        if (code == SHEAF_END)
            return SHEAF_OK;
        if (code != SHEAF_OK) {
            *error = *sheaf_reader_error(reader);
            return code;
        }
        code = append(packer, samples, count, cut, &shard, &progress);
        if (code != SHEAF_OK) {
            *error = *sheaf_packer_error(packer);
            return code;
        }
    }
}

static int convert(const struct sheaf_dataset *dataset, struct sheaf_reader *reader,
                   const char *dest, struct sheaf_pack_options *options,
                   struct sheaf_pack_result *result, struct sheaf_error *error)
{
    struct sheaf_packer *packer;
    struct sheaf_dataset_info info;
    int code;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    options->label_base = info.label_base;
    if (info.has_manifest || info.shard_count > 1)
        options->shard_bytes = INT64_MAX;      /* only cuts end a shard */
    code = sheaf_packer_open(dest, options, &packer, error);
    if (code != SHEAF_OK)
        return code;
    if (info.class_count > 0)
        code = copy_class_names(dataset, info.class_count, packer);
    if (code != SHEAF_OK)
        *error = *sheaf_packer_error(packer);
    signals_watch(reader);
    if (code == SHEAF_OK)
        code = copy_samples(reader, &info, packer, error);
    signals_watch(NULL);
    if (code == SHEAF_OK) {
        code = sheaf_packer_finish(packer, result);
        if (code != SHEAF_OK)
            *error = *sheaf_packer_error(packer);
    }
    progress_clear();
    sheaf_packer_free(packer);
    return code;
}

/* sources[0..count-1] are the data set, sources[count] is the destination. */
static int open_and_convert(char **sources, size_t count, struct sheaf_pack_options *options)
{
    struct sheaf_reader_options reader_options;
    struct sheaf_reader *reader = NULL;
    struct sheaf_dataset *dataset = NULL;
    struct sheaf_pack_result result;
    struct sheaf_error error;
    int code = sheaf_dataset_open((const char *const *)sources, count, &dataset, &error);

    sheaf_reader_options_init(&reader_options, sizeof(reader_options));
    reader_options.no_shuffle = 1;
    reader_options.threads = options->jobs;
    reader_options.memory_bytes = options->memory_bytes / 2;
    options->memory_bytes -= reader_options.memory_bytes;
    if (code == SHEAF_OK)
        code = sheaf_reader_open(dataset, &reader_options, &reader, &error);
    if (code == SHEAF_OK)
        code = convert(dataset, reader, sources[count], options, &result, &error);
    if (code == SHEAF_OK)
        printf("converted %" PRIu64 " sample%s (%" PRIu64 " payload bytes) into %" PRIu64
               " shard%s (%" PRIu64 " bytes)\n", result.samples, plural(result.samples),
               result.payload_bytes, result.shards, plural(result.shards), result.stored_bytes);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
    return code == SHEAF_OK ? STATUS_OK : fail(&error);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct sheaf_pack_options o;
    int container = 0, codec, status;
    uint64_t jobs;
    size_t count;

    sheaf_pack_options_init(&o, sizeof(o));
    codec = (int)o.codec;
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
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "replace the data set in DEST" },
            { "index", OPTION_TEXT, "LIST", .text = &o.index,
              .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },
            { "jobs", OPTION_NUMBER, "N", .number = &jobs, .most = 1024,
              .standard = "the processors, 8 at most",
              .meaning = "threads that read, and as many that write" },
            { "memory", OPTION_SIZE, "SIZE", .number = &o.memory_bytes,
              .meaning = "ceiling of the memory for buffers, half of it for reading" },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (container == 0)
        return misuse("convert: --format must be given: tfrecord, recordio or webdataset");
    o.container = (enum sheaf_container)container;
    o.codec = (enum sheaf_codec)codec;
    o.jobs = (unsigned)jobs;
    o.interrupt = &signals_caught;
    signals_catch();
    return open_and_convert(argv, count - 1, &o);
}

const struct command convert_command = {
    .name = "convert",
    .arguments = "DATASET... DEST --format NAME [OPTION]...",
    .least = 2,
    .most = SIZE_MAX,
    .summary = "put a data set into another container",
    .text = "Writes the samples of DATASET, in its own order, as a data set of another container "
            "or codec in the directory DEST. Keys, fields, labels and class names stay, and each "
            "shard keeps its samples: the result is what packing the files into that container "
            "gives. A single foreign file, or standard input (-), is cut into shards of 150MB.",
    .run = run,
};
