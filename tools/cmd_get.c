/* SPDX-License-Identifier: MIT
 *
 * sheaf get: writes samples, selected by key or number, to standard output or to files. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/options.h"
#include "tools/output.h"
#include "tools/signals.h"

/* number of keys that are looked up in one call; the samples with these keys must fit into memory
 * together */
#define KEYS_ONCE  64

struct get {
    /* name of the field to write; NULL if the user named no field. In that case, the command writes
     * all fields to files in `directory`. If `directory` is also NULL, a sample must have only one
     * field. */
    const char *field;
    const char *directory;          /* NULL: standard output */
    struct sheaf_read_options options;
    struct column_options columns;
    struct sheaf_dataset *dataset;
    struct output out;
    /* Number of keys for which no sample was written. Either no sample has the key, or several
     * samples have it and would be written to files with the same name. */
    uint64_t missing;
};

static int complain_of(const struct sheaf_sample *sample, const char *what)
{
    complain("%s: %s", shown(sample->key), what);
    return STATUS_FAILURE;
}

static const struct sheaf_field *cmd_get_field_of(const struct sheaf_sample *sample,
                                                  const char *name)
{
    for (size_t i = 0; i < sample->field_count; i++)
        if (strcmp(sample->fields[i].name, name) == 0)
            return &sample->fields[i];
    return NULL;
}

/* Prints an error that lists the samples with the same key. These samples cannot be written to
 * files, because their files would have the same names. */
static void complain_of_several(const struct get *g, const char *key,
                                const struct sheaf_sample *samples, size_t count)
{
    struct sheaf_dataset_info info;
    struct sheaf_source_info source;

    complain("%s: %zu samples have this key: choose one with --number", shown(key), count);
    sheaf_dataset_get_info(g->dataset, &info, sizeof(info));
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < info.source_count; k++)
            if (sheaf_dataset_source(g->dataset, k, &source, sizeof(source)) == SHEAF_OK &&
                samples[i].number - source.first_number < source.samples)
                complain("%s: --number %" PRIu64 " is that of %s", shown(key), samples[i].number,
                         shown(source.url));
}

/* -1, or the exit status. */
static int cmd_get_put_sample(struct get *g, const struct sheaf_sample *sample)
{
    const struct sheaf_field *field = g->field == NULL ? NULL : cmd_get_field_of(sample, g->field);
    struct sheaf_error error;
    int errnum;

    if (g->field != NULL && field == NULL) {
        complain("%s: has no field %s", shown(sample->key), shown(g->field));
        return STATUS_FAILURE;
    }
    if (g->directory != NULL)
        return sheaf_unpack_samples(sample, 1, g->field, g->directory, &error) == SHEAF_OK
               ? -1 : fail(&error);
    if (field == NULL && sample->field_count == 0)
        return complain_of(sample, "has no field");
    if (field == NULL && sample->field_count > 1)
        return complain_of(sample, "has several fields: choose one with --field, or write all as "
                           "files with -o DIR");
    field = field == NULL ? &sample->fields[0] : field;
    errnum = output_put(&g->out, field->data, field->size);
    if (errnum == 0)
        return -1;
    complain("standard output: %s", strerror(errnum));
    return STATUS_FAILURE;
}

/* Writes the samples that were found for one key. If only some of them lack the field that the user
 * named, leaves these out. Returns -1 on success, or the exit status after a failure. */
static int put_samples(struct get *g, const struct sheaf_sample *samples, size_t count)
{
    size_t lack = 0;
    int status = -1;

    for (size_t i = 0; i < count && g->field != NULL; i++)
        lack += cmd_get_field_of(&samples[i], g->field) == NULL;
    for (size_t i = 0; i < count && status < 0; i++)
        if (lack == 0 || lack == count || cmd_get_field_of(&samples[i], g->field) != NULL)
            status = cmd_get_put_sample(g, &samples[i]);
    return status;
}

static int get_keys(struct get *g, const char *const *keys, size_t count)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept = NULL;
    struct sheaf_error error;
    const size_t *firsts;
    int status = -1;

    if (sheaf_dataset_find(g->dataset, keys, count, &g->options, &samples, &firsts, &kept,
                           &error) != SHEAF_OK)
        return refuse(&error);
    for (size_t i = 0; i < count && status < 0; i++) {
        if (firsts[i] == firsts[i + 1]) {
            complain("%s: there is no sample with this key", shown(keys[i]));
            g->missing++;
        }
        if (firsts[i + 1] - firsts[i] > 1)
            complain_of_several(g, keys[i], &samples[firsts[i]], firsts[i + 1] - firsts[i]);
        if (firsts[i + 1] - firsts[i] > 1 && g->directory != NULL)
            g->missing++;
        else
            status = put_samples(g, &samples[firsts[i]], firsts[i + 1] - firsts[i]);
    }
    sheaf_kept_free(kept);
    return status;
}

static int get_number(struct get *g, uint64_t number)
{
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept = NULL;
    struct sheaf_error error;
    int status;

    if (sheaf_dataset_read(g->dataset, &number, 1, &g->options, &samples, &kept, &error) !=
        SHEAF_OK)
        return refuse(&error);
    status = cmd_get_put_sample(g, &samples[0]);
    sheaf_kept_free(kept);
    return status;
}

/* -1, or the exit status. */
static int cmd_get_finish(struct get *g)
{
    const int errnum = output_flush(&g->out);

    if (errnum != 0) {
        complain("standard output: %s", strerror(errnum));
        return STATUS_FAILURE;
    }
    return g->missing == 0 ? STATUS_OK : STATUS_FAILURE;
}

static int cmd_get_do(struct get *g, char **arguments, size_t count, const uint64_t *number)
{
    const char *source = arguments[0];
    const char *const *keys = (const char *const *)arguments + 1;
    struct sheaf_error error;
    int status = -1;

    if (sheaf_dataset_open(&source, 1, &g->dataset, &error) != SHEAF_OK)
        return refuse(&error);
    if (number != NULL)
        status = get_number(g, *number);
    for (size_t i = 0; i < count - 1 && status < 0; i += KEYS_ONCE)
        status = get_keys(g, keys + i, count - 1 - i < KEYS_ONCE ? count - 1 - i : KEYS_ONCE);
    return status < 0 ? cmd_get_finish(g) : status;
}

/* -1, or the exit status. */
static int give_columns(struct get *g)
{
    struct sheaf_reader_options reading;
    int status;

    sheaf_reader_options_init(&reading, sizeof(reading));
    status = column_options_give(&g->columns, &reading);
    g->options.columns = reading.columns;
    g->options.column_count = reading.column_count;
    g->options.missing = reading.missing;
    if (status < 0 && reading.missing == SHEAF_MISSING_SKIP)
        return misuse("get: --missing is fail or none: a sample that was asked for is not skipped");
    return status;
}

static int cmd_get(const struct command *command, int argc, char **argv)
{
    struct get g = { .field = NULL };
    bool by_number = false;
    uint64_t number = 0;
    size_t count;
    int status;

    sheaf_read_options_init(&g.options, sizeof(g.options));
    {
        const struct option table[] = {
            { "number", OPTION_NUMBER, "N", .number = &number, .given = &by_number,
              .standard = "none", .meaning = "also the sample with this number, from 0" },
            { "field", OPTION_TEXT, "NAME", .text = &g.field,
              .standard = "the only one; with -o, all", .meaning = "the field, such as jpg" },
            { "output", OPTION_TEXT, "DIR", .letter = 'o', .text = &g.directory,
              .standard = "standard output",
              .meaning = "write each field as the file DIR/KEY.SUFFIX" },
            COLUMNS_ROWS(&g.columns),
            MEMORY_ROW(&g.options, "memory limit for the samples that are read together"),
            { .name = NULL },
        };

        status = options_parse(command, table, argc, argv, &count);
    }
    if (status >= 0)
        return status;
    if (count == 1 && !by_number)
        return misuse("get: a KEY or --number is missing");
    status = give_columns(&g);
    if (status >= 0)
        return status;
    if (output_open(&g.out, STDOUT_FILENO) != 0) {
        complain("standard output: %s", strerror(ENOMEM));
        return STATUS_FAILURE;
    }
    g.options.interrupt = &signals_caught;
    signals_catch();
    status = cmd_get_do(&g, argv, count, by_number ? &number : NULL);
    sheaf_dataset_free(g.dataset);
    output_close(&g.out);
    column_options_free(&g.columns);
    return status;
}

const struct command get_command = {
    .name = "get",
    .arguments = "DATASET KEY... [OPTION]...",
    .least = 1,
    .most = SIZE_MAX,
    .summary = "read samples by their keys",
    .text = "Finds the samples with these keys and writes a field of each to standard output, or "
            "with -o their fields as files. Two small reads of dataset.keys find a key among any "
            "number of samples, locally and in S3. If several samples have a key, all of them are "
            "written to standard output; with -o, none is, and their numbers are said. With "
            "--columns, --field and -o also know the fields of columns, such as cap-v2.txt.\n\nThe "
            "exit status is 1 if a key is not there; the others are written all the same.",
    .example = "  sheaf get s3://bucket/train/ 001.ak47/001_0001 --field jpg > image.jpg\n"
               "  sheaf get shards/ --number 12345 -o out/\n",
    .run = cmd_get,
};
