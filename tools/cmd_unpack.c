/* SPDX-License-Identifier: MIT
 *
 * sheaf unpack: writes each field of each sample back as a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/extract.h"
#include "tools/options.h"
#include "tools/progress.h"
#include "tools/signals.h"

#define BATCH      64       /* samples asked for at once */
#define PATH_LIMIT 8192     /* bytes of a key and a suffix */

struct unpack {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct extract *extract;
    uint64_t files;
    struct sheaf_progress progress;
};

static int unpack_sample(struct unpack *u, const struct sheaf_sample *sample,
                         struct sheaf_error *error)
{
    for (size_t i = 0; i < sample->field_count; i++) {
        const struct sheaf_field *field = &sample->fields[i];
        char path[PATH_LIMIT];
        const int n = snprintf(path, sizeof(path), "%s.%s", sample->key, field->suffix);
        int code;

        if (n < 0 || (size_t)n >= sizeof(path)) {
            error->code = SHEAF_ERR_LIMIT;
            error->reason = SHEAF_REASON_NONE;
            snprintf(error->message, sizeof(error->message),
                     "sample %" PRIu64 ": the path has %d bytes; the limit is %d",
                     sample->number, n, PATH_LIMIT - 1);
            return error->code;
        }
        code = extract_file(u->extract, path, field->data, field->size, error);
        if (code != SHEAF_OK)
            return code;
        u->files++;
        u->progress.done_bytes += field->size;
    }
    u->progress.done_count++;
    return SHEAF_OK;
}

static int unpack_all(struct unpack *u, struct sheaf_error *error)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const struct sheaf_sample *samples;
        size_t count = 0;

        code = sheaf_reader_next_batch(u->reader, BATCH, &samples, &count);
        if (code != SHEAF_OK && code != SHEAF_END)
            *error = *sheaf_reader_error(u->reader);
        for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
            code = unpack_sample(u, &samples[i], error);
            if (code != SHEAF_OK)
                place_sample(u->dataset, &samples[i], error);
            if (code == SHEAF_OK && signals_caught) {
                *error = (struct sheaf_error){ .code = SHEAF_ERR_INTERRUPTED };
                code = SHEAF_ERR_INTERRUPTED;
            }
        }
        progress_show(NULL, &u->progress);
    }
    progress_clear();
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* What went in is what came out; the reader keeps its own sum. */
static int check_sum(const struct unpack *u)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(u->reader, &stats, sizeof(stats));
    if (stats.samples == u->progress.done_count && stats.payload_bytes == u->progress.done_bytes)
        return STATUS_OK;
    complain("unpack: %" PRIu64 " sample%s (%" PRIu64 " byte%s) were read, but %" PRIu64 " (%"
             PRIu64 " byte%s) written", stats.samples, plural(stats.samples), stats.payload_bytes,
             plural(stats.payload_bytes), u->progress.done_count, u->progress.done_bytes,
             plural(u->progress.done_bytes));
    return STATUS_FAILURE;
}

/* sources[0..count-1] are the data set, sources[count] is the directory. */
static int unpack(char **sources, size_t count, bool resume,
                  const struct sheaf_reader_options *options)
{
    struct unpack u = { .progress = { .stage = "unpack" } };
    struct sheaf_dataset *dataset = NULL;
    struct sheaf_dataset_info info;
    struct sheaf_error error;
    int status = STATUS_OK;
    int code = sheaf_dataset_open((const char *const *)sources, count, &dataset, &error);

    if (code == SHEAF_OK)
        code = sheaf_reader_open(dataset, options, &u.reader, &error);
    u.dataset = dataset;
    if (code == SHEAF_OK)
        code = extract_open(sources[count], resume, &u.extract, &error);
    if (code == SHEAF_OK) {
        sheaf_dataset_get_info(dataset, &info, sizeof(info));
        u.progress.total_bytes = info.payload_bytes;
        u.progress.total_count = info.samples;
        signals_catch();
        signals_watch(u.reader);
        code = unpack_all(&u, &error);
        signals_watch(NULL);
        if (code == SHEAF_OK)
            code = extract_sync(u.extract, &error);
    }
    if (code == SHEAF_OK) {
        say_left_out(u.reader);
        printf("unpacked %" PRIu64 " sample%s: %" PRIu64 " file%s, %" PRIu64 " byte%s\n",
               u.progress.done_count, plural(u.progress.done_count), u.files, plural(u.files),
               u.progress.done_bytes, plural(u.progress.done_bytes));
    } else {
        status = refuse(&error);
    }
    if (status == STATUS_OK)
        status = check_sum(&u);
    extract_close(u.extract);
    if (status != STATUS_OK)
        signals_die();  /* rather than wait for a reader that is blocked on standard input */
    sheaf_reader_free(u.reader);
    sheaf_dataset_free(dataset);
    return status;
}

static int cmd_unpack(const struct command *command, int argc, char **argv)
{
    struct sheaf_reader_options o;
    uint64_t threads;
    size_t count;
    int resume = 0;
    int on_corrupt, status;

    sheaf_reader_options_init(&o, sizeof(o));
    o.no_shuffle = 1;
    threads = o.threads;
    on_corrupt = (int)o.on_corrupt;
    o.report = report_skipped;
    {
        const struct option table[] = {
            { "resume", OPTION_FLAG, NULL, .flag = &resume,
              .meaning = "keep existing files if they are identical" },
            { "memory", OPTION_SIZE, "SIZE", .number = &o.memory_bytes,
              .meaning = "memory limit for read-ahead and index" },
            CORRUPT_ROWS(&on_corrupt, &o),
            CACHE_ROWS(&o),
            THREADS_ROW(&threads, "threads that read ahead"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    o.threads = (unsigned)threads;
    o.on_corrupt = (enum sheaf_on_error)on_corrupt;
    return unpack(argv, count - 1, resume != 0, &o);
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
