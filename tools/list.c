/* SPDX-License-Identifier: MIT
 *
 * The lines of `sheaf cat --list`. */
#include "tools/list.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

static int put_text(struct output *out, const char *text)
{
    char safe[1024];
    const size_t size = sheaf_show(text, safe, sizeof(safe));

    return output_put(out, size < sizeof(safe) ? safe : shown(text), size);
}

/* The shortest decimal text that gives the label back: integers, or 32-bit floats. */
static int put_label(struct output *out, double label, const char *before)
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
        failed = put_text(out, field->name);
    return failed ? failed : output_put(out, size, (size_t)n);
}

int list_sample(struct output *out, const struct sheaf_sample *sample)
{
    int failed = put_text(out, sample->key);

    if (!failed)
        failed = output_put(out, "\t", 1);
    for (size_t i = 0; i < sample->label_count && !failed; i++)
        failed = put_label(out, sample->labels[i], i ? " " : "");
    for (size_t i = 0; i < sample->field_count && !failed; i++)
        failed = put_field(out, &sample->fields[i]);
    return failed ? failed : output_put(out, "\n", 1);
}
