/* SPDX-License-Identifier: MIT
 *
 * sheaf cat: writes the samples of an epoch to standard output.
 *
 * Usually the command has nothing to clean up, so a signal ends it at once. If the output is a
 * pipe, the command also ends when the program at the other end of the pipe ends. With
 * --save-position, the command first saves its position. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/channel.h"
#include "tools/crops/crop_files.h"
#include "tools/details.h"
#include "tools/list.h"
#include "tools/metrics.h"
#include "tools/order.h"
#include "tools/output.h"
#include "tools/peak_memory.h"
#include "tools/position.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/size_text.h"

#define BATCH 64    /* samples asked for at once */

/* The offsets in the output at which samples end. Used only with --save-position. If the output is
 * a pipe, the reading program may close the pipe early. The offsets then show which samples the
 * reading program has received, so that the right position is saved. */
struct ends {
    uint64_t *at;
    size_t count, capacity;
    bool broken;                    /* that reader has gone away */
};

/* The command prints a note if it has read the same data repeatedly. This note is printed only if
 * the command has read at least AGAIN_BYTES bytes, and at least AGAIN_TIMES times the size of the
 * data set. */
#define AGAIN_TIMES 4u
#define AGAIN_BYTES ((uint64_t)64 << 20)

struct cat {
    int list, null;                 /* neither: a stream of `container` */
    int json;                       /* the list is of JSON */
    int offline;                    /* reads only from the cache, sends no request */
    const char *pixels, *directory; /* crops as files instead of a stream; NULL: no */
    struct crop_choice crop;
    struct crop_files *crop_files;
    struct crop_policy crop_policy;
    enum sheaf_container container;
    uint64_t limit;                 /* samples */
    /* number of the first sample to write, counted from 0 in this reader's part of the epoch */
    uint64_t from;
    /* step: number of the training step whose samples are printed, or NOT_GIVEN if the user
     * requested no step; batch: the batch size */
    uint64_t step, batch;
    struct sheaf_reader_options options;
    struct order_options order;
    const char *save_position, *resume_from;    /* files; NULL: no */
    struct channel_options channel;
    struct column_options columns;
    const struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_encoder *encoder;
    struct output out;
    uint64_t samples;               /* put out so far */
    /* number of samples that were not written to a tar, because they repeat the previous sample */
    uint64_t left_out;
    uint64_t last_record;           /* record of the sample written last, in this shard */
    uint32_t last_shard;
    struct ends ends;
    uint64_t payload_bytes;         /* so far, with `null` */
};

static int fail_write(struct cat *cat, int errnum)
{
    cat->ends.broken = errnum == EPIPE && cat->save_position != NULL;
    if (cat->ends.broken)       /* the position comes first */
        return STATUS_FAILURE;
    complain("standard output: %s", strerror(errnum));
    return STATUS_FAILURE;
}

/* Returns whether the encoder refused a sample because it repeats the previous sample. A tar cannot
 * store such a repetition, because two neighbouring samples with one key become one sample. (A
 * reader repeats samples to make the parts of an epoch for all ranks equally long.) */
static bool repeats_last(const struct cat *cat, const struct sheaf_sample *sample, int code)
{
    return code == SHEAF_ERR_EXISTS && sample->shard == cat->last_shard &&
           sample->record == cat->last_record;
}

/* Encodes one sample and writes it. If `sample` is NULL, writes the bytes that end the output, such
 * as the end of a tar. Returns -1 on success. After a failure, prints the error and returns the
 * exit status. */
static int put_encoded(struct cat *cat, const struct sheaf_sample *sample)
{
    struct sheaf_error error;
    const void *data;
    size_t size;
    int errnum;
    const int code = sample ? sheaf_encoder_add(cat->encoder, sample, &data, &size, &error)
                            : sheaf_encoder_end(cat->encoder, &data, &size, &error);

    if (sample != NULL && repeats_last(cat, sample, code)) {
        cat->left_out++;
        return -1;
    }
    if (code != SHEAF_OK) {
        if (sample != NULL)
            place_sample(cat->dataset, sample, &error);
        return fail(&error);
    }
    if (sample != NULL) {
        cat->last_shard = sample->shard;
        cat->last_record = sample->record;
    }
    errnum = output_put(&cat->out, data, size);
    return errnum ? fail_write(cat, errnum) : -1;
}

/* Records where the last written sample ends. */
static int note_end(struct cat *cat)
{
    struct ends *e = &cat->ends;

    if (cat->save_position == NULL)
        return -1;
    if (e->count != 0 && e->at[e->count - 1] <= cat->out.written)
        e->count = 0;
    if (e->count == e->capacity) {
        const size_t capacity = 2 * e->capacity + 64;
        uint64_t *at = realloc(e->at, capacity * sizeof(at[0]));

        if (at == NULL)
            return fail_write(cat, ENOMEM);
        e->at = at;
        e->capacity = capacity;
    }
    e->at[e->count++] = cat->out.written + cat->out.used;
    return -1;
}

static int cmd_cat_put_sample(struct cat *cat, const struct sheaf_sample *sample)
{
    int errnum;

    if (cat->null) {
        for (size_t i = 0; i < sample->field_count; i++)
            cat->payload_bytes += sample->fields[i].size;
        return -1;
    }
    if (!cat->list)
        return put_encoded(cat, sample);
    errnum = cat->json ? list_json(&cat->out, sample) : list_sample(&cat->out, sample);
    return errnum ? fail_write(cat, errnum) : -1;
}

static void cmd_cat_show_progress(const struct cat *cat, uint64_t total)
{
    const struct sheaf_progress progress = {
        .stage = "read",
        .done_bytes = cat->payload_bytes,
        .done_count = cat->samples,
        .total_count = total == UINT64_MAX ? 0 : total,
    };

    progress_show(NULL, &progress);
}

/* Writes samples until the epoch ends or the limit of samples is reached. Returns -1 on success.
 * After a failure, prints the error and returns the exit status. */
static int cmd_cat_copy_samples(struct cat *cat)
{
    uint64_t total = sheaf_reader_epoch_samples(cat->reader);
    int status = -1;

    if (total > cat->limit)
        total = cat->limit;
    while (status < 0 && cat->samples < cat->limit) {
        const uint64_t left = cat->limit - cat->samples;
        const struct sheaf_sample *samples;
        size_t count;
        const int code = sheaf_reader_next_batch(cat->reader, left < BATCH ? left : BATCH,
                                                 &samples, &count);

        if (code == SHEAF_END || (code == SHEAF_ERR_INTERRUPTED && signals_caught))
            break;
        if (code != SHEAF_OK)
            return fail(sheaf_reader_error(cat->reader));
        if (cat->pixels != NULL) {
            status = crop_files_put(cat->crop_files, samples, count, &cat->crop_policy);
            cat->samples += status < 0 ? count : 0;
        }
        for (size_t i = 0; i < count && status < 0 && cat->pixels == NULL; i++) {
            status = cmd_cat_put_sample(cat, &samples[i]);
            if (status < 0)
                status = note_end(cat);
            cat->samples += status < 0;
        }
        if (cat->null)
            cmd_cat_show_progress(cat, total);
        metrics_reader(cat->reader, false);
    }
    return status;
}

/* Prints lines of "name value", for people and scripts. */
static void print_statistics(const struct cat *cat, const struct sheaf_reader_stats *stats,
                             double seconds)
{
    const double per_second = seconds > 0 ? 1 / seconds : 0;

    printf("samples %" PRIu64 "\n", cat->samples);
    printf("payload_bytes %" PRIu64 "\n", cat->payload_bytes);
    printf("read_bytes %" PRIu64 "\n", stats->read_bytes);
    printf("chosen_bytes %" PRIu64 "\n", stats->chosen_bytes);
    printf("amplification %.3f\n", stats->chosen_bytes == 0 ? 1
           : (double)stats->read_bytes / (double)stats->chosen_bytes);
    printf("cached_bytes %" PRIu64 "\n", stats->cached_bytes);
    printf("uncached_objects %" PRIu64 "\n", stats->uncached_objects);
    printf("corrupt %" PRIu64 "\n", stats->corrupt);
    printf("passed_over %" PRIu64 "\n", stats->passed_over);
    printf("repeated_keys %" PRIu64 "\n", stats->repeated_keys);
    printf("lost_bytes %" PRIu64 "\n", stats->lost_bytes);
    printf("repeated %" PRIu64 "\n", stats->repeated);
    printf("seconds %.3f\n", seconds);
    printf("samples_per_second %.0f\n", (double)cat->samples * per_second);
    printf("payload_bytes_per_second %.0f\n", (double)cat->payload_bytes * per_second);
    printf("first_sample_seconds %.6f\n", (double)stats->first_sample_ns * 1e-9);
    printf("stall_seconds %.6f\n", (double)stats->stall_ns * 1e-9);
    printf("memory_peak_bytes %" PRIu64 "\n", stats->memory_peak_bytes);
    printf("resident_peak_bytes %" PRIu64 "\n", peak_memory_bytes());
}

/* Checks that every sample that the reader returned was written. The reader itself checks that it
 * returned all samples of the epoch. */
static int cmd_cat_check_sum(const struct cat *cat)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(cat->reader, &stats, sizeof(stats));
    if (cat->samples == stats.samples && cat->samples <= cat->limit)
        return -1;
    complain("%" PRIu64 " sample%s read, but %" PRIu64 " written", stats.samples,
             plural(stats.samples), cat->samples);
    return STATUS_FAILURE;
}

/* Prints a note if the reader has read the same data repeatedly. This happens if the samples of the
 * shuffle buffer do not fit into memory. The reader may then read each block a hundred times, and
 * the user would not know why the epoch is slow. */
static void say_read_again(const struct cat *cat, const struct sheaf_reader_stats *stats)
{
    struct sheaf_dataset_info info;
    char read[SIZE_TEXT_ROOM], bytes[SIZE_TEXT_ROOM];

    sheaf_dataset_get_info(cat->dataset, &info, sizeof(info));
    if (info.is_stream || stats->read_bytes < AGAIN_BYTES ||
        stats->read_bytes / AGAIN_TIMES < info.bytes ||
        stats->read_bytes / AGAIN_TIMES < stats->chosen_bytes)     /* a view has sources again */
        return;
    say("read %s of shards of %s: samples of the shuffle buffer that did not fit into memory "
        "were read again, each with its neighbours; more --memory, a smaller --shuffle-buffer "
        "or fewer --lanes avoid that", size_text((double)stats->read_bytes, read),
        size_text((double)info.bytes, bytes));
}

/* Returns the number of samples that an epoch leaves out. An epoch is divided into lanes (sequences
 * of samples). In a view with weights and the option "--remainder keep", some lanes may take one
 * step less than the other lanes. Each shorter lane leaves out the sample of the missing step
 * (ORDER.md, section 9). */
static uint64_t left_out_draws(const struct cat *cat)
{
    const struct sheaf_reader_options *o = &cat->options;
    const uint64_t world = o->world_size == 0 ? 1 : o->world_size;
    const uint64_t workers = o->workers == 0 ? 1 : o->workers;
    const uint64_t lanes = o->lanes == 0 ? world * workers : o->lanes;
    const bool keeps = o->remainder == SHEAF_KEEP ||
                       (o->remainder == SHEAF_REMAINDER_AUTO && world == 1);
    struct sheaf_dataset_info info;
    const uint64_t *weights;
    uint64_t samples;

    sheaf_dataset_get_info(cat->dataset, &info, sizeof(info));
    if (!info.is_view || !keeps || info.epoch_samples % lanes == 0 ||
        sheaf_dataset_stage(cat->dataset, 0, &samples, &weights) != SHEAF_OK)
        return 0;
    return lanes - info.epoch_samples % lanes;
}

static void say_left_out_draws(const struct cat *cat)
{
    const uint64_t draws = left_out_draws(cat);

    if (draws != 0)
        say("the epoch leaves out %" PRIu64 " draw%s of lanes that are one step short: --lanes "
            "that divide the epoch, or --remainder pad or drop, avoid that", draws,
            plural(draws));
}

/* Ends the output on standard output. */
static int cat_finish(struct cat *cat, double seconds)
{
    struct sheaf_reader_stats stats;
    int status = -1, errnum;

    progress_clear();
    sheaf_reader_get_stats(cat->reader, &stats, sizeof(stats));
    say_uncached(&stats);
    say_read_again(cat, &stats);
    say_left_out_draws(cat);
    detail_reading(&stats);
    if (cat->null) {
        print_statistics(cat, &stats, seconds);
        say_left_out(&stats);
        say_missing(&cat->columns, &stats);
        return STATUS_OK;
    }
    if (cat->encoder != NULL)
        status = put_encoded(cat, NULL);
    if (status >= 0)
        return status;
    errnum = output_flush(&cat->out);
    if (errnum)
        return fail_write(cat, errnum);
    say_left_out(&stats);
    say_missing(&cat->columns, &stats);
    if (cat->crop_policy.skipped != 0)
        complain("%" PRIu64 " bad image%s left out", cat->crop_policy.skipped,
                 cat->crop_policy.skipped == 1 ? " was" : "s were");
    if (cat->left_out != 0)
        say("%" PRIu64 " repeated sample%s left out: a tar cannot hold a sample twice in a "
            "row", cat->left_out, plural(cat->left_out));
    return STATUS_OK;
}

/* Called when the program at the other end has closed the pipe. Saves the position after the last
 * sample that was written completely. Then ends the command by SIGPIPE, as the failed write
 * normally does. */
static int end_broken(struct cat *cat)
{
    struct sheaf_reader_stats stats;
    uint64_t whole = cat->samples;
    int status;

    for (size_t i = 0; i < cat->ends.count; i++)
        whole -= cat->ends.at[i] > cat->out.written;
    sheaf_reader_get_stats(cat->reader, &stats, sizeof(stats));
    status = position_save(cat->reader, stats.samples - whole, cat->save_position);
    if (status != STATUS_OK)
        return status;
    signals_die_of_pipe();
    complain("standard output: %s", strerror(EPIPE));
    return STATUS_FAILURE;
}

/* Prints a note that no sample was left, because the saved position from which the command resumed
 * is the end of an epoch. */
static void say_nothing_left(const struct cat *cat)
{
    if (cat->resume_from != NULL && cat->samples == 0 && cat->limit != 0 && !signals_caught)
        say("%s: the position is at the end of its epoch: no sample is left",
            cat->resume_from);
}

/* Moves to the first sample of the output. */
static int cmd_cat_seek(struct cat *cat)
{
    const uint64_t samples = sheaf_reader_epoch_samples(cat->reader);

    if (cat->step != NOT_GIVEN && samples != 0 && cat->from >= samples) {
        const uint64_t steps = samples / cat->limit + (samples % cat->limit != 0);

        return misuse("cat: there is no step %" PRIu64 ": the epoch has %" PRIu64 " step%s, "
                      "numbered from 0", cat->step, steps, plural(steps));
    }
    if (cat->from != 0 &&
        sheaf_reader_seek(cat->reader, cat->options.epoch, cat->from) != SHEAF_OK)
        return refuse(sheaf_reader_error(cat->reader));
    return STATUS_OK;
}

static int read_epoch(struct cat *cat, const struct sheaf_dataset *dataset)
{
    const double started = seconds_now();
    struct sheaf_error error;
    int status;

    cat->dataset = dataset;
    say_copies(dataset);
    if (sheaf_reader_open(dataset, &cat->options, &cat->reader, &error) != SHEAF_OK)
        return refuse(&error);
    /* with --save-position, the command catches signals, so that it can save the position before it
     * ends */
    if (cat->save_position != NULL) {
        signals_catch();
        signals_watch(cat->reader);
        signals_hold_pipe();
    }
    if (cat->resume_from != NULL)
        status = position_load(cat->reader, cat->resume_from, &cat->order, &cat->options);
    else
        status = cmd_cat_seek(cat);
    if (status == STATUS_OK)
        status = cmd_cat_copy_samples(cat);
    if (status < 0)
        status = cmd_cat_check_sum(cat);
    if (status < 0)
        status = cat_finish(cat, seconds_now() - started);
    else
        (void)output_flush(&cat->out);      /* the samples before the bad one are good */
    if (cat->ends.broken)
        status = end_broken(cat);
    else if (status == STATUS_OK && cat->save_position != NULL)
        status = position_save(cat->reader, 0, cat->save_position);
    signals_watch(NULL);
    metrics_reader(cat->reader, true);
    metrics_total("output_ns", cat->out.wait_ns);
    metrics_total("decode_ns", crop_files_busy_ns(cat->crop_files));
    sheaf_reader_free(cat->reader);
    if (status == STATUS_OK)
        say_nothing_left(cat);
    if (status == STATUS_OK)
        signals_die();
    return status;
}

/* Checks that the position in this data set can be saved, if the user gave --save-position. Must be
 * called before the data is read, because data from a pipe cannot be read again. */
static int check_positions(const struct cat *cat, const struct sheaf_dataset *dataset)
{
    struct sheaf_dataset_info info;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    if (cat->save_position == NULL)
        return STATUS_OK;
    if (info.fingerprint[0] != '\0')
        return position_prepare(cat->save_position);
    complain("--save-position: standard input, and pipes that the platform shuffles, have no "
             "positions");
    return STATUS_FAILURE;
}

/* Creates the directory for the crops of images, if the user gave --pixels. Returns an exit
 * status. */
static int open_crops(struct cat *cat, const struct sheaf_dataset *dataset)
{
    int status;

    if (cat->pixels == NULL)
        return STATUS_OK;
    status = crop_choice_parse(&cat->crop, cat->pixels);
    if (status < 0)
        status = crop_files_open(cat->directory, &cat->crop, cat->options.threads,
                                 &cat->crop_files);
    cat->crop_policy = (struct crop_policy){
        .dataset = dataset, .skips = cat->options.on_corrupt == SHEAF_SKIP,
        .most = cat->options.max_corrupt,
    };
    return status < 0 ? STATUS_OK : status;
}

static int cmd_cat_open_dataset(const struct cat *cat, char **sources, size_t count,
                                struct sheaf_dataset **dataset, struct sheaf_error *error)
{
    return cat->offline
        ? sheaf_dataset_open_offline((const char *const *)sources, count,
                                     cat->options.cache_directory, dataset, error)
        : channel_dataset(&cat->channel, sources, count, dataset, error);
}

/* Opens what the mode needs, and reads. */
static int cat_dataset(struct cat *cat, char **sources, size_t count)
{
    struct sheaf_dataset *dataset = NULL;
    struct sheaf_error error;
    int status;

    if (output_open(&cat->out, STDOUT_FILENO) != 0)
        return fail_write(cat, ENOMEM);
    if (cmd_cat_open_dataset(cat, sources, count, &dataset, &error) != SHEAF_OK ||
        (!cat->list && !cat->null && cat->pixels == NULL &&
         sheaf_encoder_open(cat->container, &cat->encoder, &error) != SHEAF_OK))
        status = refuse(&error);
    else if ((status = check_positions(cat, dataset)) == STATUS_OK &&
             (status = open_crops(cat, dataset)) == STATUS_OK)
        status = read_epoch(cat, dataset);
    if (crop_files_close(cat->crop_files) != STATUS_OK && status == STATUS_OK)
        status = STATUS_FAILURE;
    crop_choice_free(&cat->crop);
    free(cat->ends.at);
    sheaf_encoder_free(cat->encoder);
    sheaf_dataset_free(dataset);
    output_close(&cat->out);
    return status;
}

/* Finds out which samples of the epoch belong to the training step that the user named. Takes one
 * batch of each rank if `all_ranks` is set, and otherwise only the batch of this rank. One reader
 * can return the batches of all ranks, because the ranks take turns in the order of the epoch.
 * Returns -1 on success, or the exit status after a failure. */
static int take_step(struct cat *cat, bool all_ranks)
{
    struct sheaf_reader_options *o = &cat->options;
    const uint64_t ranks = all_ranks ? o->world_size : 1;

    if (cat->step == NOT_GIVEN)
        return -1;
    if (__builtin_mul_overflow(cat->batch, ranks, &cat->limit) ||
        __builtin_mul_overflow(cat->step, cat->limit, &cat->from))
        return misuse("cat: there is no step %" PRIu64 " of batches of %" PRIu64, cat->step,
                      cat->batch);
    if (!all_ranks)
        return -1;
    if (o->lanes == 0)
        o->lanes = o->world_size * o->workers;
    if (o->remainder == SHEAF_REMAINDER_AUTO)
        o->remainder = o->world_size > 1 ? SHEAF_PAD : SHEAF_KEEP;
    o->rank = o->worker = 0;
    o->world_size = o->workers = 1;
    return -1;
}

/* Checks that the options --from, --step, --batch, --limit, --resume-from and --offline do not
 * contradict each other. Returns -1 if they are valid. Otherwise prints an error and returns the
 * exit status. */
static int cmd_cat_check_range(const struct cat *cat)
{
    const bool is_step = cat->step != NOT_GIVEN;

    if (is_step != (cat->batch != NOT_GIVEN))
        return misuse("cat: --step and --batch must be used together");
    if (is_step && (cat->limit != UINT64_MAX || cat->from != 0))
        return misuse("cat: --step says which samples: --from and --limit exclude it");
    if (is_step && cat->order.workers > 1 && cat->order.rank != NOT_GIVEN)
        return misuse("cat: a step is fed by all workers of a rank: --workers excludes it");
    if (cat->resume_from != NULL && (is_step || cat->from != 0))
        return misuse("cat: --resume-from excludes --from and --step");
    if (cat->offline && (cat->options.cache_directory == NULL || cat->channel.name != NULL))
        return misuse("cat: --offline needs --cache and a DATASET");
    return -1;
}

static int cmd_cat(const struct command *command, int argc, char **argv)
{
    struct cat cat = { .limit = UINT64_MAX, .step = NOT_GIVEN, .batch = NOT_GIVEN };
    struct sheaf_reader_options *o = &cat.options;
    int container = 0, status;
    const char *metrics = NULL;
    bool all_ranks;
    size_t count;

    sheaf_reader_options_init(o, sizeof(*o));
    order_options_init(&cat.order);
    channel_options_init(&cat.channel);
    {
        const struct option table[] = {
            CHANNEL_ROWS(&cat.channel),
            { "to", OPTION_CHOICE, "NAME", .choice = &container, .choices = container_choices(),
              .choice_of = sheaf_container_of,
              .meaning = container_meaning("container of the stream", ""),
              .standard = "webdataset" },
            { "list", OPTION_FLAG, .flag = &cat.list,
              .meaning = "print one line per sample instead: key, tab, labels, then for each "
                         "field a tab and name:bytes" },
            { "json", OPTION_FLAG, .flag = &cat.json,
              .meaning = "with --list: print JSON objects, which also have the sample's number, "
                         "place and seed" },
            { "null", OPTION_FLAG, .flag = &cat.null,
              .meaning = "read everything, write no samples, and print counts and rates" },
            { "pixels", OPTION_TEXT, CROP_CHOICE_TEXT, .text = &cat.pixels, .standard = "none",
              .meaning = "write the crops that a loader with these pixels is fed as PNG files to "
                         "--output: 224, or for example 224,crop=center,resize=256" },
            { "output", OPTION_TEXT, "DIR", .letter = 'o', .text = &cat.directory,
              .standard = "none", .meaning = "with --pixels: a new or empty directory" },
            ORDER_ROWS(&cat.order, o),
            METRICS_ROW(&metrics),
            { "save-position", OPTION_TEXT, "FILE", .text = &cat.save_position,
              .standard = "none",
              .meaning = "write the final position to FILE, also after a signal" },
            { "resume-from", OPTION_TEXT, "FILE", .text = &cat.resume_from, .standard = "none",
              .meaning = "resume at the position in FILE, with the order that it specifies" },
            { "from", OPTION_NUMBER, "T", .number = &cat.from,
              .meaning = "start at sample T, from 0, of this rank's part of the epoch" },
            { "limit", OPTION_NUMBER, "N", .number = &cat.limit, .standard = "all",
              .meaning = "stop after N samples" },
            { "step", OPTION_NUMBER, "N", .number = &cat.step, .standard = "none",
              .meaning = "only what step N, from 0, is fed: the batch of --rank, or without it "
                         "those of all ranks of --world-size, sample by sample in turn" },
            { "batch", OPTION_NUMBER, "B", .number = &cat.batch, .least = 1, .standard = "none",
              .meaning = "with --step: samples of a rank in a step" },
            COLUMNS_ROWS(&cat.columns),
            CORRUPT_ROWS(o),
            MEMORY_ROW(o, "memory limit for read-ahead, shuffle buffer and index"),
            CACHE_ROWS(o),
            { "offline", OPTION_FLAG, .flag = &cat.offline,
              .meaning = "with --cache: open the data set and read it without any request" },
            THREADS_ROW(o, "threads that read ahead"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if ((container != 0) + cat.list + cat.null + (cat.pixels != NULL) > 1)
        return misuse("cat: --to, --list, --null and --pixels exclude each other");
    if ((cat.pixels == NULL) != (cat.directory == NULL))
        return misuse("cat: --pixels and --output must be used together");
    if (cat.json && !cat.list)
        return misuse("cat: --json needs --list");
    if (!cat.list && !cat.null && cat.pixels == NULL && isatty(STDOUT_FILENO))
        return misuse("cat: standard output is a terminal; redirect it, or use --list or --null");
    status = cmd_cat_check_range(&cat);
    if (status < 0)
        status = output_check(cat.save_position, true);
    all_ranks = cat.step != NOT_GIVEN && cat.order.rank == NOT_GIVEN &&
                cat.order.world_size != NOT_GIVEN;
    if (all_ranks)
        cat.order.rank = 0;
    if (status < 0)
        status = channel_open(&cat.channel, command, count);
    if (status < 0)
        status = order_options_take(&cat.order, cat.channel.channel, o);
    if (status < 0)
        status = take_step(&cat, all_ranks);
    if (status >= 0)
        return channel_close(&cat.channel, status);
    cat.container = container ? (enum sheaf_container)container : SHEAF_WEBDATASET;
    status = metrics_begin(metrics, count != 0 ? argv[0] : cat.channel.name);
    if (status >= 0)
        return channel_close(&cat.channel, status);
    o->report = report_skipped;
    status = column_options_give(&cat.columns, o);
    if (status < 0)
        status = cat_dataset(&cat, argv, count);
    column_options_free(&cat.columns);
    return channel_close(&cat.channel, status);
}

const struct command cat_command = {
    .name = "cat",
    .arguments = "DATASET...|--channel NAME [OPTION]...",
    .least = 0,
    .most = SIZE_MAX,
    .summary = "write an epoch of samples to standard output",
    .text = "Writes the samples of one shuffled epoch of DATASET to standard output, as a "
            "WebDataset tar unless --to specifies another container. The same data set, seed, "
            "epoch, lanes and buffer give the same order on every machine; ranks and workers "
            "share its lanes.\n\nDATASET is a directory or s3:// prefix that sheaf pack made, or "
            "foreign shards: a directory of them, a brace pattern such as "
            "train-{000000..000007}.tar, files, @FILE for a list of them, or - for standard "
            "input. In place of it, --channel names what the platform provides: a directory, "
            "named pipes, or a place in S3.",
    .example = "  sheaf cat s3://bucket/train/ --seed 7 --epoch 3 | python train.py\n"
               "  sheaf cat shards/ --list | head\n"
               "  sheaf cat shards/ --list --seed 7 --step 1200 --batch 32 --world-size 8\n"
               "  sheaf cat shards/ --pixels 224 --seed 7 --step 1200 --batch 32 -o step-1200\n",
    .run = cmd_cat,
};
