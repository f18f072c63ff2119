/* SPDX-License-Identifier: MIT
 *
 * An augmented manifest: one sample per line, made of objects and of values in the line itself. */
#include <string.h>

#include "base/error.h"
#include "packer/source/augmented.h"
#include "packer/source/lines.h"
#include "packer/source/sizes.h"
#include "packer/source/source.h"

struct reading {
    struct scan *scan;
    struct sizes *sizes;
    struct augmented line;
};

static int take_field(struct reading *r, const struct augmented_field *field, uint32_t label,
                      struct sheaf_error *err)
{
    const char *path = augmented_text(&r->line, field->path);
    const struct catalog_stat text = { .bytes = field->size, .text = field->text };
    bool out;
    const int code = scan_filter(r->scan, path, false, &out, err);

    if (code != SHEAF_OK || out)
        return code;
    if (field->url == SIZE_MAX)
        return scan_add_object(r->scan, path, &text, label, err);
    return sizes_add(r->sizes, path, augmented_text(&r->line, field->url), false, label, err);
}

static int take_line(struct reading *r, const char *url, const char *line, size_t size,
                     uint64_t number, struct sheaf_error *err)
{
    const struct augmented_field *fields;
    struct sheaf_error found;
    uint32_t label;
    int code = augmented_parse(&r->line, line, size, number, &found);

    code = scan_line(r->scan, url, number, code, &found, &r->line.label, &label, err);
    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_OK : code;
    fields = (const void *)r->line.fields.data;
    for (size_t i = 0; code == SHEAF_OK && i < r->line.fields.size / sizeof(*fields); i++)
        code = take_field(r, &fields[i], label, err);
    return code;
}

static int scan_augmented(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct reading r = { .scan = scan };
    struct lines lines;
    const char *line;
    size_t size;
    uint64_t number;
    int code;

    augmented_init(&r.line);
    code = lines_open(&lines, s->url, NULL, err);
    if (code == SHEAF_OK)
        code = sizes_open(&r.sizes, scan, err);
    while (code == SHEAF_OK) {
        code = lines_next(&lines, &line, &size, &number, err);
        if (code == SHEAF_OK)
            code = take_line(&r, s->url, line, size, number, err);
    }
    if (code == SHEAF_END)
        code = sizes_drain(r.sizes, err);
    sizes_close(r.sizes);
    augmented_free(&r.line);
    lines_close(&lines);
    return code;
}

/* Among JSON Lines it is known by its first line, which names no "path" but an object. */
static bool detect(const char *url, const char *text, size_t size)
{
    const char *end = size == 0 ? NULL : memchr(text, '\n', size), *dot = strrchr(url, '.');
    const size_t line = end == NULL ? size : (size_t)(end - text);

    if (size == 0 || text[0] != '{')
        return false;
    return dot == NULL || strcmp(dot, ".jsonl") != 0 ||
           (memmem(text, line, "\"path\"", 6) == NULL && memmem(text, line, "-ref\"", 5) != NULL);
}

const struct source_ops source_augmented_ops = {
    .name = "augmented", .noun = "manifest", .objects = SOURCE_OBJECTS_OF_LINES,
    .suffixes = (const char *const[]){ ".jsonl", ".manifest", ".json", NULL },
    .detect = detect, .open = source_open_anywhere, .scan = scan_augmented,
};
