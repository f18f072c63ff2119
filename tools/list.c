/* SPDX-License-Identifier: MIT
 *
 * Prints one line for each sample, for `sheaf cat --list` and `sheaf cat --list --json`. */
#include "tools/list.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"
#include "tools/tool.h"

static int list_put_text(struct output *out, const char *text)
{
    char safe[1024];
    const size_t size = sheaf_show(text, safe, sizeof(safe));

    return output_put(out, size < sizeof(safe) ? safe : shown(text), size);
}

/* Writes a label, which is an integer or a 32-bit float. Uses the shortest decimal text from which
 * the same number is read. Writes the text `before` before the label. */
static int list_put_label(struct output *out, double label, const char *before)
{
    char text[64];
    int n = 0;

    if (label == trunc(label) && fabs(label) <= 0x1p53) {
        n = snprintf(text, sizeof(text), "%s%.0f", before, label);
    } else {
        for (int digits = 1; digits <= 9; digits++) {
            n = snprintf(text, sizeof(text), "%s%.*g", before, digits, label);
            if ((double)strtof(text, NULL) == label)
                break;
        }
    }
    return output_put(out, text, (size_t)n);
}

static int put_field(struct output *out, const struct sheaf_field *field)
{
    char size[32];
    const int n = snprintf(size, sizeof(size), ":%zu", field->size);
    int failed = output_put(out, "\t", 1);

    if (!failed)
        failed = list_put_text(out, field->name);
    return failed ? failed : output_put(out, size, (size_t)n);
}

int list_key_and_labels(struct output *out, const struct sheaf_sample *sample)
{
    int failed = list_put_text(out, sample->key);

    if (!failed)
        failed = output_put(out, "\t", 1);
    for (size_t i = 0; i < sample->label_count && !failed; i++)
        failed = list_put_label(out, sample->labels[i], i ? " " : "");
    return failed;
}

int list_sample(struct output *out, const struct sheaf_sample *sample)
{
    int failed = list_key_and_labels(out, sample);

    for (size_t i = 0; i < sample->field_count && !failed; i++)
        failed = put_field(out, &sample->fields[i]);
    return failed ? failed : output_put(out, "\n", 1);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void print_fields(FILE *file, const struct sheaf_sample *sample)
{
    for (size_t i = 0; i < sample->field_count; i++) {
        fputs(i == 0 ? "" : ", ", file);
        print_json_string(file, sample->fields[i].name);
        fprintf(file, ": %zu", sample->fields[i].size);
    }
}

static void print_sample(FILE *file, const struct sheaf_sample *sample)
{
    fputs("{\"key\": ", file);
    print_json_string(file, sample->key);
    fprintf(file, ", \"number\": %" PRIu64 ", \"shard\": %" PRIu32 ", \"record\": %" PRIu64
            ", \"ordinal\": %" PRIu64 ", \"repeated\": %s, \"seed\": %" PRIu64 ", \"labels\": [",
            sample->number, sample->shard, sample->record, sample->ordinal,
            sample->repeated ? "true" : "false", sample->seed);
    for (size_t i = 0; i < sample->label_count; i++)
        fprintf(file, "%s%.17g", i == 0 ? "" : ", ", sample->labels[i]);
    fputs("], \"class\": ", file);
    print_json_string(file, sample->class_name);
    fputs(", \"fields\": {", file);
    print_fields(file, sample);
    fputs("}}\n", file);
}

int list_json(struct output *out, const struct sheaf_sample *sample)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    int failed = file == NULL ? ENOMEM : 0;

    if (!failed) {
        print_sample(file, sample);
        failed = fclose(file) != 0 ? ENOMEM : output_put(out, text, size);
    }
    free(text);
    return failed;
}
