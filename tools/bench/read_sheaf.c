/* SPDX-License-Identifier: MIT
 *
 * read_sheaf PASSES [OPTION]... SOURCE...: measures how fast libsheaf reads. It reads PASSES epochs
 * as a training program does, in batches, and verifies every checksum. The measured time includes
 * opening the data set. Options: --no-shuffle, --shuffle-buffer N, --threads N and --memory BYTES
 * as in `sheaf cat`. --column NAME reads this column with the samples. --limit N ends each epoch
 * after N samples. --skip-passes N does not measure the opening and the first N epochs. --crops
 * SIDE makes a random crop of each image, on a further thread. */
#include <stdlib.h>
#include <string.h>

#include "sheaf.h"
#include "tools/bench/meter.h"

#define BATCH 32

struct work {
    uint64_t passes;
    uint64_t limit;         /* samples of an epoch */
    uint64_t skip_passes;
    uint64_t crops;         /* pixels of a side; 0: no crops */
    struct sheaf_pixels_pool *pool;
    void *pixels;           /* crops of a batch */
    struct sheaf_reader_options options;
    const char *column;
    struct meter meter;
};

/* Parses the option at the beginning of argv. Returns the number of elements of argv that belong to
 * the option, including its name. Returns 0 if argv does not begin with an option. */
static int take_option(struct work *work, char *const *argv)
{
    const char *const name = argv[0];
    uint64_t value;

    if (strcmp(name, "--no-shuffle") == 0) {
        work->options.no_shuffle = 1;
        return 1;
    }
    if (strncmp(name, "--", 2) != 0)
        return 0;
    if (strcmp(name, "--column") == 0 && argv[1] != NULL) {
        work->column = argv[1];
        work->options.columns = &work->column;
        work->options.column_count = 1;
        return 2;
    }
    value = meter_number(argv[1] ? argv[1] : "");
    if (strcmp(name, "--shuffle-buffer") == 0)
        work->options.shuffle_buffer = value;
    else if (strcmp(name, "--threads") == 0)
        work->options.threads = (unsigned)value;
    else if (strcmp(name, "--memory") == 0)
        work->options.memory_bytes = value;
    else if (strcmp(name, "--limit") == 0)
        work->limit = value;
    else if (strcmp(name, "--crops") == 0)
        work->crops = value;
    else if (strcmp(name, "--skip-passes") == 0)
        work->skip_passes = value;
    else
        meter_die(name, "is not known");
    return 2;
}

static void open_pool(struct work *work)
{
    struct sheaf_pixels_options options;
    struct sheaf_error error;

    sheaf_pixels_options_init(&options, sizeof(options));
    options.width = options.height = (uint32_t)work->crops;
    if (sheaf_pixels_pool_open(&options, 1, 256 << 20, &work->pool, &error) != SHEAF_OK)
        meter_die("sheaf_pixels_pool_open", error.message);
    work->pixels = malloc(BATCH * sheaf_pixels_bytes(work->pool, 0));
    if (work->pixels == NULL)
        meter_die("malloc", "out of memory");
}

static void make_crops(struct work *work, const struct sheaf_sample *samples, size_t count)
{
    struct sheaf_pixels_batch *batch;
    struct sheaf_error error;

    if (sheaf_pixels_begin(work->pool, samples, count, NULL, &work->pixels, NULL, &batch,
                           &error) != SHEAF_OK)
        meter_die("sheaf_pixels_begin", error.message);
    if (sheaf_pixels_wait(batch) != 0)
        meter_die("sheaf_pixels_wait", "an image has no crop");
    sheaf_pixels_batch_free(batch);
}

static void read_epoch(struct work *work, struct sheaf_reader *reader)
{
    uint64_t left = work->limit;

    while (left > 0) {
        const struct sheaf_sample *samples;
        size_t count;
        const int code = sheaf_reader_next_batch(reader, left < BATCH ? left : BATCH, &samples,
                                                 &count);

        if (code == SHEAF_END)
            return;
        if (code != SHEAF_OK)
            meter_die("sheaf_reader_next_batch", sheaf_reader_error(reader)->message);
        meter_first(&work->meter);
        for (size_t i = 0; i < count; i++)
            for (size_t f = 0; f < samples[i].field_count; f++)
                work->meter.bytes += samples[i].fields[f].size;
        if (work->pool != NULL)
            make_crops(work, samples, count);
        work->meter.items += count;
        left -= count;
    }
}

static void read_epochs(struct work *work, const char *const *sources, size_t source_count)
{
    struct sheaf_dataset *dataset;
    struct sheaf_reader *reader;
    struct sheaf_error error;

    meter_begin(&work->meter);
    if (sheaf_dataset_open(sources, source_count, &dataset, &error) != SHEAF_OK ||
        sheaf_reader_open(dataset, &work->options, &reader, &error) != SHEAF_OK)
        meter_die("open", error.message);
    for (uint64_t epoch = 0; epoch < work->passes; epoch++) {
        if (epoch == work->skip_passes && epoch != 0) {
            work->meter = (struct meter){ 0 };
            meter_begin(&work->meter);
        }
        if (epoch > 0 && sheaf_reader_begin_epoch(reader, epoch) != SHEAF_OK)
            meter_die("sheaf_reader_begin_epoch", sheaf_reader_error(reader)->message);
        read_epoch(work, reader);
    }
    meter_print(&work->meter);
    sheaf_reader_free(reader);
    sheaf_dataset_free(dataset);
}

int main(int argc, char **argv)
{
    struct work work = { .limit = UINT64_MAX };
    int at = 2, words;

    if (argc < 3)
        meter_die(argv[0], "usage: read_sheaf PASSES [OPTION]... SOURCE...");
    work.passes = meter_number(argv[1]);
    sheaf_reader_options_init(&work.options, sizeof(work.options));
    while (at < argc && (words = take_option(&work, argv + at)) > 0)
        at += words;
    if (work.crops != 0)
        open_pool(&work);
    read_epochs(&work, (const char *const *)argv + at, (size_t)(argc - at));
    sheaf_pixels_pool_free(work.pool);
    free(work.pixels);
    return 0;
}
