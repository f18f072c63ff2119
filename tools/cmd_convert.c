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
#include <string.h>

#include "tools/options.h"
#include "tools/part.h"
#include "tools/progress.h"
#include "tools/signals.h"

#define BATCH 64    /* samples asked for at once */

struct convert {
    struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    struct sheaf_reader_options options;
    struct sheaf_reader *reader;
    struct sheaf_packer *packer;
    char identity[64];                  /* of the data set, and how it is read; "": unknown */
    char origin[64];                    /* the same, wherever it is */
    bool cut;                           /* where the shards of the source end */
    uint32_t shard;                     /* of the last sample */
    uint64_t at;                        /* of a part: the number of the reader's next sample */
    struct sheaf_progress progress;
    const struct sheaf_error *fault;    /* the reader's or the packer's, or: */
    struct sheaf_error placed;          /* the packer's, with the sample's place */
    const char **sources;               /* for the packer's options */
};

static int copy_class_names(struct convert *c)
{
    static const struct sheaf_error no_memory = { .code = SHEAF_ERR_MEMORY };
    const size_t count = c->info.class_count;
    const char **names;
    int code;

    if (count == 0)
        return SHEAF_OK;
    names = calloc(count, sizeof(*names));
    if (!names) {
        c->fault = &no_memory;
        return SHEAF_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        names[i] = sheaf_dataset_class(c->dataset, i);
    code = sheaf_packer_set_classes(c->packer, names, count);
    free(names);
    return code;
}

static int append(struct convert *c, const struct sheaf_sample *sample)
{
    int code = SHEAF_OK;

    if (c->cut && sample->shard != c->shard)
        code = sheaf_packer_cut(c->packer);
    c->shard = sample->shard;
    if (code == SHEAF_OK)
        code = sheaf_packer_append(c->packer, sample);
    if (code == SHEAF_ERR_ARGUMENT || code == SHEAF_ERR_LIMIT || code == SHEAF_ERR_EXISTS) {
        c->placed = *sheaf_packer_error(c->packer);
        c->fault = &c->placed;
        return place_sample(c->dataset, sample, &c->placed);
    }
    for (size_t i = 0; i < sample->field_count; i++)
        c->progress.done_bytes += sample->fields[i].size;
    c->progress.done_count++;
    return code;
}

/* SHEAF_END when all is copied. */
static int copy_batch(struct convert *c)
{
    const struct sheaf_sample *samples;
    size_t count;
    int code = sheaf_reader_next_batch(c->reader, BATCH, &samples, &count);

    if (code != SHEAF_OK) {
        c->fault = sheaf_reader_error(c->reader);
        return code;
    }
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = append(c, &samples[i]);
    progress_show(NULL, &c->progress);
    return code;
}

static int copy_all(struct convert *c, struct sheaf_pack_result *result)
{
    int code;

    c->fault = sheaf_packer_error(c->packer);
    code = sheaf_packer_is_there(c->packer) ? SHEAF_END : copy_class_names(c);
    signals_watch(c->reader);
    while (code == SHEAF_OK)
        code = copy_batch(c);
    signals_watch(NULL);
    if (code == SHEAF_END) {
        c->fault = sheaf_packer_error(c->packer);
        code = sheaf_packer_finish(c->packer, result);
    }
    progress_clear();
    return code;
}

/* What the packer must not remove: the sources, and what a list or a pattern stands for. */
static int name_sources(struct convert *c, char **sources, size_t count,
                        struct sheaf_pack_options *options, struct sheaf_error *error)
{
    const size_t shards = c->info.has_manifest ? 0 : c->info.shard_count;
    size_t n = 0;

    c->sources = calloc(count + shards, sizeof(c->sources[0]));
    if (c->sources == NULL) {
        snprintf(error->message, sizeof(error->message), "out of memory");
        error->reason = SHEAF_REASON_NONE;
        return error->code = SHEAF_ERR_MEMORY;
    }
    for (; n < count; n++)
        c->sources[n] = sources[n];
    for (size_t i = 0; i < shards; i++) {
        struct sheaf_shard_info shard;

        if (sheaf_dataset_shard(c->dataset, i, &shard, sizeof(shard)) == SHEAF_OK)
            c->sources[n++] = shard.name;
    }
    options->sources = c->sources;
    options->source_count = n;
    return SHEAF_OK;
}

/* What a later run has to find the same, to go on with this one. */
static int identify(struct convert *c, struct sheaf_pack_options *options,
                    struct sheaf_error *error)
{
    char digits[33];
    const int code = sheaf_dataset_identity(c->dataset, digits, error);

    if (code != SHEAF_OK)       /* standard input can be converted, but not again */
        return code == SHEAF_ERR_UNSUPPORTED && !options->resume ? SHEAF_OK : code;
    snprintf(c->identity, sizeof(c->identity), "%s %d", digits, (int)c->options.on_corrupt);
    snprintf(c->origin, sizeof(c->origin), "%s%s", c->info.fingerprint,
             c->options.on_corrupt == SHEAF_SKIP ? " skip" : "");
    options->identity = c->identity;
    options->origin = c->origin;
    return SHEAF_OK;
}

/* sources[0..count-1] are the data set, sources[count] is the destination. */
static int open_all(struct convert *c, char **sources, size_t count,
                    struct sheaf_pack_options *options, struct sheaf_error *error)
{
    int code = sheaf_dataset_open((const char *const *)sources, count, &c->dataset, error);

    if (code != SHEAF_OK)
        return code;
    sheaf_dataset_get_info(c->dataset, &c->info, sizeof(c->info));
    say_copies(c->dataset);
    code = name_sources(c, sources, count, options, error);
    if (code == SHEAF_OK)
        code = identify(c, options, error);
    if (code != SHEAF_OK)
        return code;
    c->progress.total_bytes = c->info.payload_bytes;
    c->progress.total_count = c->info.samples;
    c->options.no_shuffle = 1;
    c->options.threads = options->jobs;
    c->options.memory_bytes = options->memory_bytes / 2;
    c->options.report = report_skipped;
    code = sheaf_reader_open(c->dataset, &c->options, &c->reader, error);
    if (code != SHEAF_OK)
        return code;
    options->memory_bytes -= c->options.memory_bytes;
    options->label_base = c->info.label_base;
    c->cut = c->info.has_manifest || c->info.shard_count > 1;
    if (c->cut)
        options->shard_bytes = INT64_MAX;   /* nothing else ends a shard */
    signals_catch();
    return sheaf_packer_open(sources[count], options, &c->packer, error);
}

/* ---- Parts of a plan ------------------------------------------------------------------------- */

/* Opens the data set that the plan is of, which must be the one that it was. */
static int open_part(struct convert *c, const struct sheaf_plan_info *plan, const char *url,
                     uint32_t parts, struct sheaf_pack_options *options,
                     struct sheaf_error *error)
{
    int code;

    c->options.no_shuffle = 1;
    c->options.threads = options->jobs;
    c->options.memory_bytes = options->memory_bytes / 2;
    options->memory_bytes -= c->options.memory_bytes;
    code = sheaf_packer_open_part(url, parts, options, &c->packer, error);
    if (code == SHEAF_OK)
        code = sheaf_dataset_open(&plan->root, 1, &c->dataset, error);
    if (code != SHEAF_OK)
        return code;
    sheaf_dataset_get_info(c->dataset, &c->info, sizeof(c->info));
    if (strcmp(c->info.fingerprint, plan->fingerprint) != 0) {
        snprintf(error->message, sizeof(error->message), "%s: has changed since the plan was made: "
                 "expected data set %s, found %s", plan->root, plan->fingerprint,
                 c->info.fingerprint);
        error->reason = SHEAF_REASON_NONE;
        return error->code = SHEAF_ERR_CHANGED;
    }
    return sheaf_reader_open(c->dataset, &c->options, &c->reader, error);
}

/* Copies `samples` samples, from number `first` of the data set on. */
static int copy_shard(struct convert *c, uint64_t shard, uint64_t first, uint64_t samples)
{
    int code = sheaf_packer_begin_shard(c->packer, shard);

    c->fault = sheaf_packer_error(c->packer);
    if (code == SHEAF_OK && first != c->at) {
        c->fault = sheaf_reader_error(c->reader);
        code = sheaf_reader_seek(c->reader, 0, first);
    }
    for (c->at = first; c->at < first + samples && code == SHEAF_OK; c->at++) {
        const struct sheaf_sample *sample;

        c->fault = sheaf_reader_error(c->reader);
        code = sheaf_reader_next(c->reader, &sample);
        if (code == SHEAF_OK) {
            c->fault = sheaf_packer_error(c->packer);
            code = append(c, sample);
        }
        progress_show(NULL, &c->progress);
    }
    return code;
}

/* The shards of the part that are not there yet. */
static int copy_part(struct convert *c, const struct sheaf_plan *plan, uint64_t first,
                     uint64_t end, struct sheaf_pack_result *result, struct sheaf_error *error)
{
    uint64_t place = 0, kept = 0;
    int code = SHEAF_OK;

    c->at = UINT64_MAX;
    signals_watch(c->reader);
    for (uint64_t i = 0; i < end && code == SHEAF_OK; i++) {
        struct sheaf_plan_shard shard;
        int done;

        c->fault = error;
        code = sheaf_plan_shard(plan, i, &shard, &done, error);
        kept += i >= first && done;
        if (code == SHEAF_OK && i >= first && !done)
            code = copy_shard(c, i, place, shard.samples);
        place += shard.samples;
    }
    signals_watch(NULL);
    if (code == SHEAF_OK) {
        c->fault = sheaf_packer_error(c->packer);
        code = sheaf_packer_finish(c->packer, result);
        if (sheaf_packer_is_there(c->packer))
            *result = (struct sheaf_pack_result){ .shards = 0 };
    }
    result->shards_kept = kept;
    progress_clear();
    return code;
}

static int convert_part(struct convert *c, const char *url, const char *text,
                        struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result = { .samples = 0 };
    struct sheaf_plan *plan = NULL;
    struct sheaf_plan_info info;
    struct sheaf_error error;
    uint64_t first, end;
    uint32_t part, parts;
    int code, status = part_take(text, &part, &parts);

    if (status >= 0)
        return status;
    signals_catch();
    code = sheaf_plan_open(url, &plan, &error);
    if (code == SHEAF_OK) {
        sheaf_plan_get_info(plan, &info, sizeof(info));
        code = sheaf_plan_part(plan, part, parts, &first, &end, &error);
    }
    if (code == SHEAF_OK)
        code = open_part(c, &info, url, parts, options, &error);
    status = code == SHEAF_OK ? STATUS_OK : refuse(&error);
    if (status == STATUS_OK && copy_part(c, plan, first, end, &result, &error) != SHEAF_OK)
        status = fail(c->fault);
    if (status == STATUS_OK)
        printf("part %u of %u: %" PRIu64 " sample%s in %" PRIu64 " shard%s, and %" PRIu64
               " kept\n", part, parts, result.samples, plural(result.samples), result.shards,
               plural(result.shards), result.shards_kept);
    sheaf_packer_free(c->packer);
    sheaf_reader_free(c->reader);
    sheaf_dataset_free(c->dataset);
    sheaf_plan_free(plan);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Says what became of it all. */
static void print_result(const struct convert *c, const struct sheaf_pack_result *result)
{
    say_uncached(c->reader);
    say_left_out(c->reader);
    printf("converted %" PRIu64 " sample%s (%" PRIu64 " payload byte%s) into %" PRIu64 " shard%s "
           "(%" PRIu64 " byte%s)", result->samples, plural(result->samples), result->payload_bytes,
           plural(result->payload_bytes), result->shards, plural(result->shards),
           result->stored_bytes, plural(result->stored_bytes));
    if (result->shards_kept > 0)
        printf(", %" PRIu64 " of them kept", result->shards_kept);
    putchar('\n');
}

/* What went in is what came out; what the reader skipped it has told, and it keeps its own sum. */
static int check_sum(const struct convert *c, const struct sheaf_pack_result *result)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(c->reader, &stats, sizeof(stats));
    if (stats.samples == result->samples + result->skipped || sheaf_packer_is_there(c->packer))
        return STATUS_OK;
    complain("convert: %" PRIu64 " sample%s read, but %" PRIu64 " packed and %" PRIu64 " "
             "skipped", stats.samples, plural(stats.samples), result->samples, result->skipped);
    return STATUS_FAILURE;
}

static int convert(struct convert *c, char **sources, size_t count,
                   struct sheaf_pack_options *options)
{
    struct sheaf_pack_result result;
    struct sheaf_error error;
    int status = STATUS_OK;

    if (open_all(c, sources, count, options, &error) != SHEAF_OK)
        status = refuse(&error);
    else if (copy_all(c, &result) != SHEAF_OK)
        status = fail(c->fault);
    else
        print_result(c, &result);
    if (status == STATUS_OK)
        status = check_sum(c, &result);
    sheaf_packer_free(c->packer);
    if (status != STATUS_OK)
        signals_die();  /* rather than wait for a reader that is blocked on standard input */
    sheaf_reader_free(c->reader);
    sheaf_dataset_free(c->dataset);
    free(c->sources);
    return status;
}

static int cmd_convert(const struct command *command, int argc, char **argv)
{
    struct convert c = { .progress = { .stage = "convert" } };
    struct sheaf_pack_options o;
    const char *plan = NULL, *part = NULL;
    int container = 0, codec, on_corrupt, status;
    uint64_t jobs;
    size_t count;

    sheaf_pack_options_init(&o, sizeof(o));
    sheaf_reader_options_init(&c.options, sizeof(c.options));
    codec = (int)o.codec;
    on_corrupt = (int)c.options.on_corrupt;
    jobs = o.jobs;
    {
        const struct option table[] = {
            CONTAINER_ROW(&container),
            CODEC_ROW(&codec),
            { "resume", OPTION_FLAG, .flag = &o.resume,
              .meaning = "resume an interrupted conversion" },
            { "overwrite", OPTION_FLAG, .flag = &o.overwrite,
              .meaning = "delete the existing data set in DEST and its splits, then convert" },
            { "index", OPTION_TEXT, "LIST", .text = &o.index,
              .meaning = "also write index files of these readers: dali,mxnet,wids,energon" },
            CORRUPT_ROWS(&on_corrupt, &c.options),
            CACHE_ROWS(&c.options),
            { "jobs", OPTION_NUMBER, "N", .letter = 'j', .number = &jobs, .most = 1024,
              .standard = "one per processor, at most 8",
              .meaning = "number of reading threads, and of writing threads" },
            { "memory", OPTION_SIZE, "SIZE", .number = &o.memory_bytes,
              .meaning = "memory limit for buffers, half of it for reading" },
            { "plan", OPTION_TEXT, "PLAN", .text = &plan,
              .meaning = "instead of DATASET and DEST: pack shards of a stored plan of a data "
                         "set" },
            { "part", OPTION_TEXT, "I/N", .text = &part, .standard = "all of them",
              .meaning = PART_MEANING("with --plan: the shards") },
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    o.jobs = (unsigned)jobs;
    o.interrupt = &signals_caught;
    if (plan != NULL && (count != 0 || container != 0 || codec != SHEAF_CODEC_NONE ||
                         o.resume || o.overwrite || o.index != NULL ||
                         on_corrupt != (int)c.options.on_corrupt ||
                         c.options.max_corrupt != UINT64_MAX))
        return misuse("convert: --plan replaces DATASET and DEST, and allows no options but "
                      "--part, --jobs, --memory, --cache and --cache-size");
    if (plan != NULL)
        return convert_part(&c, plan, part, &o);
    if (part != NULL)
        return misuse("convert: --part requires --plan");
    if (count < 2)
        return misuse("convert: an argument is missing; usage: sheaf convert %s",
                      command->arguments);
    if (container == 0)
        return misuse("convert: --format is required: %s", container_names());
    o.container = (enum sheaf_container)container;
    o.codec = (enum sheaf_codec)codec;
    c.options.on_corrupt = (enum sheaf_on_error)on_corrupt;
    return convert(&c, argv, count - 1, &o);
}

const struct command convert_command = {
    .name = "convert",
    .arguments = "DATASET... DEST --format NAME [OPTION]... | --plan PLAN [--part I/N]",
    .least = 0,
    .most = SIZE_MAX,
    .summary = "convert a data set to another container",
    .text = "Writes the samples of DATASET, in data set order, as a data set of another "
            "container or codec in the directory DEST. Keys, fields, labels and class names are "
            "kept, and each shard keeps its samples. The shards equal those of packing the files "
            "into that container; the fingerprint differs. A single foreign file, or standard "
            "input (-), is cut into shards of 150MB. With --resume, an interrupted conversion "
            "resumes: DATASET is read from its start, and shards that are finished are "
            "kept.\n\nWith --plan, packs the shards of one part of a stored plan of a data set. "
            "When all parts are done, sheaf commit publishes the data set, the same byte for "
            "byte as that of one conversion.",
    .example = "  sheaf convert shards/ tfrecords/ --format tfrecord --codec gzip\n",
    .run = cmd_convert,
};
