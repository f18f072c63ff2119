/* SPDX-License-Identifier: MIT
 *
 * See fields.h. */
#include "tools/fields.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/few_lack.h"
#include "tools/json.h"
#include "tools/size_text.h"
#include "tools/tool.h"

static struct sheaf_dataset_info info_of(const struct sheaf_dataset *dataset)
{
    struct sheaf_dataset_info info;

    sheaf_dataset_get_info(dataset, &info, sizeof(info));
    return info;
}

static struct sheaf_field_info field_at(const struct sheaf_dataset *dataset, size_t index)
{
    struct sheaf_field_info field = { .name = "" };

    if (sheaf_dataset_field(dataset, index, &field, sizeof(field)) != SHEAF_OK)
        complain("field %zu is missing", index);
    return field;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

void fields_print_one(void *context, const struct sheaf_field_info *f, uint64_t samples)
{
    const uint64_t lacking = samples - f->samples;
    char count[SIZE_TEXT_ROOM], least[SIZE_TEXT_ROOM], median[SIZE_TEXT_ROOM],
         most[SIZE_TEXT_ROOM];

    (void)context;
    printf("  %s  %s sample%s  %s to %s, median about %s", shown(f->name),
           count_text(f->samples, count), plural(f->samples),
           size_text((double)f->least_bytes, least), size_text((double)f->most_bytes, most),
           size_text((double)f->median_bytes, median));
    if (few_lack(f->samples, samples))
        printf("; missing in %s", count_text(lacking, count));
    if (few_lack(f->samples, samples) && f->lacking != NULL)
        printf(", first in %s", shown(f->lacking));
    putchar('\n');
}

void fields_json_one(void *context, const struct sheaf_field_info *f, uint64_t samples)
{
    int *before = context;

    (void)samples;
    printf("%s\n    {\"name\": ", (*before)++ != 0 ? "," : "");
    print_json_string(stdout, f->name);
    printf(", \"samples\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"least\": %" PRIu64
           ", \"median\": %" PRIu64 ", \"most\": %" PRIu64, f->samples, f->bytes, f->least_bytes,
           f->median_bytes, f->most_bytes);
    if (f->lacking != NULL) {
        printf(", \"lacking\": ");
        print_json_string(stdout, f->lacking);
    }
    putchar('}');
}

void fields_print(const struct sheaf_dataset *dataset)
{
    const struct sheaf_dataset_info info = info_of(dataset);

    if (!info.counts_fields)
        return;
    if (info.field_count == 0 && info.samples != 0)
        printf("fields        more than 256 names\n");
    else
        printf("fields        %zu\n", info.field_count);
    for (size_t i = 0; i < info.field_count; i++) {
        const struct sheaf_field_info field = field_at(dataset, i);

        fields_print_one(NULL, &field, info.samples);
    }
}

void fields_json(const struct sheaf_dataset *dataset)
{
    const struct sheaf_dataset_info info = info_of(dataset);
    int before = 0;

    if (!info.counts_fields)
        return;
    printf(",\n  \"fields\": [");
    for (size_t i = 0; i < info.field_count; i++) {
        const struct sheaf_field_info field = field_at(dataset, i);

        fields_json_one(&before, &field, info.samples);
    }
    putchar(']');
}

/* ---- Classes --------------------------------------------------------------------------------- */

/* Returns an allocated array with the number of samples of each class. Returns NULL if these
 * numbers are unknown, because samples were not counted when the data set was packed. */
static uint64_t *class_samples(const struct sheaf_dataset *dataset,
                               const struct sheaf_dataset_info *info)
{
    uint64_t *samples = info->counts_classes ? calloc(info->class_count, sizeof(samples[0])) : NULL;

    if (samples != NULL && sheaf_dataset_class_samples(dataset, samples, NULL) != SHEAF_OK) {
        free(samples);
        return NULL;
    }
    return samples;
}

static void print_range(const struct sheaf_dataset *dataset, const uint64_t *samples, size_t count)
{
    char text[SIZE_TEXT_ROOM];
    size_t least = 0, most = 0;

    for (size_t i = 1; i < count; i++) {
        least = samples[i] < samples[least] ? i : least;
        most = samples[i] > samples[most] ? i : most;
    }
    if (samples[least] == samples[most]) {
        printf("%s sample%s each\n", count_text(samples[least], text), plural(samples[least]));
        return;
    }
    printf("%s sample%s (%s)", count_text(samples[least], text), plural(samples[least]),
           shown(sheaf_dataset_class(dataset, least)));
    printf(" to %s (%s)\n", count_text(samples[most], text),
           shown(sheaf_dataset_class(dataset, most)));
}

void classes_print(const struct sheaf_dataset *dataset)
{
    const struct sheaf_dataset_info info = info_of(dataset);
    uint64_t *samples = class_samples(dataset, &info);

    if (samples != NULL) {
        printf("class sizes   ");
        print_range(dataset, samples, info.class_count);
    }
    free(samples);
}

void classes_json(const struct sheaf_dataset *dataset)
{
    const struct sheaf_dataset_info info = info_of(dataset);
    uint64_t *samples = class_samples(dataset, &info);

    if (samples == NULL)
        return;
    printf(",\n  \"class_samples\": [");
    for (size_t i = 0; i < info.class_count; i++)
        printf("%s%" PRIu64, i != 0 ? ", " : "", samples[i]);
    putchar(']');
    free(samples);
}

/* ---- After packing --------------------------------------------------------------------------- */

/* Returns the key of the sample to which a record of a column belongs. The caller frees this key.
 * `directory` is a data set of the column, such as "set/columns/cap/1". `record` is the key of the
 * record. It begins with the number of the sample in the data set "set". Returns NULL if the sample
 * cannot be read. */
static char *key_in_base(const char *directory, const char *record)
{
    const uint64_t number = strtoull(record, NULL, 10);
    const struct sheaf_sample *samples;
    struct sheaf_dataset *base;
    struct sheaf_kept *kept;
    struct sheaf_error ignored;
    char *url = strdup(directory), *key = NULL;
    const char *opened = url;

    for (int i = 0; i < 3 && url != NULL; i++) {
        char *slash = strrchr(url, '/');

        if (slash != NULL)
            *slash = '\0';
    }
    if (url != NULL && sheaf_dataset_open(&opened, 1, &base, &ignored) == SHEAF_OK) {
        if (sheaf_dataset_read(base, &number, 1, NULL, &samples, &kept, &ignored) == SHEAF_OK) {
            key = strdup(samples[0].key);
            sheaf_kept_free(kept);
        }
        sheaf_dataset_free(base);
    }
    free(url);
    return key;
}

/* Prints how many samples of a data set have each field. Also prints a note about each field that
 * only a few samples lack. `column` is the directory of the data set if it belongs to a column, and
 * otherwise NULL. */
static void fields_say(const struct sheaf_dataset *dataset, const struct sheaf_dataset_info *info,
                       const char *column)
{
    char text[SIZE_TEXT_ROOM];

    printf("fields:");
    if (info->field_count == 0)
        printf(" more than 256 names");
    for (size_t i = 0; i < info->field_count; i++) {
        const struct sheaf_field_info field = field_at(dataset, i);

        printf("  %s %s", shown(field.name), count_text(field.samples, text));
    }
    putchar('\n');
    for (size_t i = 0; i < info->field_count; i++) {
        const struct sheaf_field_info field = field_at(dataset, i);
        const uint64_t lacking = info->samples - field.samples;
        char *key = NULL;

        if (!few_lack(field.samples, info->samples))
            continue;
        if (column != NULL && field.lacking != NULL)
            key = key_in_base(column, field.lacking);
        say(FEW_LACK_TEXT, lacking, plural(lacking), field.name,
            key != NULL ? key : field.lacking == NULL ? "?" : field.lacking);
        free(key);
    }
}

/* Prints the summary of one data set that was just packed. If the data set cannot be opened, only
 * prints a note, because packing has succeeded anyway. */
static void say_one(const char *directory, const char *name, bool is_column)
{
    struct sheaf_dataset *dataset;
    struct sheaf_dataset_info info;
    struct sheaf_error error;
    uint64_t *samples;

    if (sheaf_dataset_open(&directory, 1, &dataset, &error) != SHEAF_OK) {
        say("packed, but it cannot be read back to tell of its fields: %s", error.message);
        return;
    }
    info = info_of(dataset);
    if (info.counts_fields && info.samples != 0) {
        if (name[0] != '\0')
            printf("%s: ", shown(name));
        fields_say(dataset, &info, is_column ? directory : NULL);
    }
    samples = class_samples(dataset, &info);
    if (samples != NULL) {
        if (name[0] != '\0')
            printf("%s: ", shown(name));
        printf("classes: %zu, of ", info.class_count);
        print_range(dataset, samples, info.class_count);
    }
    free(samples);
    sheaf_dataset_free(dataset);
}

void fields_say_packed(const char *dest, const char *split)
{
    char *names = split == NULL ? NULL : strdup(split), *rest = names, *name, *directory;
    const size_t size = strlen(dest);

    if (split == NULL)
        say_one(dest, "", false);
    while (rest != NULL && (name = strsep(&rest, ",")) != NULL) {
        name[strcspn(name, "=")] = '\0';
        if (asprintf(&directory, "%s%s%s", dest, size != 0 && dest[size - 1] == '/' ? "" : "/",
                     name) < 0)
            break;
        say_one(directory, name, false);
        free(directory);
    }
    free(names);
}

void fields_say_column(const char *directory)
{
    say_one(directory, "", true);
}
