/* SPDX-License-Identifier: MIT
 *
 * read_numbers LIST DATASET: measures how fast sheaf_dataset_read reads samples by their numbers.
 * Each line of the file LIST has the sample numbers for one call. The call for the first line is
 * not timed, because it opens shards and connections. */
#include <stdio.h>
#include <stdlib.h>

#include "sheaf.h"
#include "tools/bench/meter.h"

#define NUMBERS_MOST 65536

struct work {
    struct sheaf_dataset *dataset;
    uint64_t *numbers;
    struct meter meter;
};

static void read_line(struct work *work, size_t count)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    struct sheaf_error error;

    if (sheaf_dataset_read(work->dataset, work->numbers, count, NULL, &samples, &kept, &error) !=
        SHEAF_OK)
        meter_die("sheaf_dataset_read", error.message);
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < samples[i].field_count; f++)
            work->meter.bytes += samples[i].fields[f].size;
    work->meter.items += count;
    sheaf_kept_free(kept);
}

/* Reads the sample numbers in the next line of the file into `numbers`. Returns the count of these
 * numbers, or 0 at the end of the file. */
static size_t take_line(FILE *file, uint64_t *numbers)
{
    size_t count = 0;
    int after = 0;

    while (count < NUMBERS_MOST && after != '\n' && fscanf(file, "%lu", &numbers[count]) == 1) {
        count++;
        after = fgetc(file);
    }
    return count;
}

int main(int argc, char **argv)
{
    struct work work = { .numbers = calloc(NUMBERS_MOST, sizeof(work.numbers[0])) };
    FILE *list = argc == 3 ? fopen(argv[1], "r") : NULL;
    const char *const sources[] = { argc == 3 ? argv[2] : "" };
    struct sheaf_error error;
    size_t count;

    if (list == NULL || work.numbers == NULL)
        meter_die(argv[0], "usage: read_numbers LIST DATASET");
    if (sheaf_dataset_open(sources, 1, &work.dataset, &error) != SHEAF_OK)
        meter_die("sheaf_dataset_open", error.message);
    read_line(&work, take_line(list, work.numbers));
    meter_begin(&work.meter);
    while ((count = take_line(list, work.numbers)) != 0)
        read_line(&work, count);
    meter_print(&work.meter);
    fclose(list);
    sheaf_dataset_free(work.dataset);
    free(work.numbers);
    return 0;
}
