/* SPDX-License-Identifier: MIT
 *
 * An augmented manifest of SageMaker as a source. Each line is one sample, whose fields are objects
 * in a store and values in the line itself. */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "formats/attributes.h"
#include "formats/augmented_line.h"
#include "formats/column_names.h"
#include "packer/source/augmented.h"
#include "packer/source/lines.h"
#include "packer/source/sizes.h"
#include "packer/source/source.h"

struct augmented_reading {
    struct scan *scan;
    struct sizes *sizes;
    struct augmented line;
};

static int source_augmented_take_field(struct augmented_reading *r,
                                       const struct augmented_field *field, uint32_t label,
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

static int source_augmented_take_line(struct augmented_reading *r, const char *url,
                                      const char *line, size_t size, uint64_t number,
                                      struct sheaf_error *err)
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
        code = source_augmented_take_field(r, &fields[i], label, err);
    return code;
}

static int scan_augmented(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct augmented_reading r = { .scan = scan };
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
            code = source_augmented_take_line(&r, s->url, line, size, number, err);
    }
    if (code == SHEAF_END)
        code = sizes_drain(r.sizes, err);
    sizes_close(r.sizes);
    augmented_free(&r.line);
    lines_close(&lines);
    return code;
}

/* Returns whether the first line of a file names an object by its URL. Sets *names_paths to whether
 * the line names a file by its path, as a line of a list does. */
static bool names_objects(const char *text, size_t size, bool *names_paths)
{
    struct augmented_line line;
    struct sheaf_error ignored;
    bool found = false;

    *names_paths = false;
    if (augmented_line_parse(text, size, &line, &ignored) != SHEAF_OK)
        /* The first line is longer than `text`, so it cannot be parsed. Instead, `text` is searched
         * for a URL. */
        found = memmem(text, size, "://", 3) != NULL;
    for (size_t i = 0; i < line.count; i++) {
        const struct attribute *a = &line.attributes[i];
        const char *value = json_string_value(a->value);

        if (value == NULL)
            continue;
        if (attribute_ref_size(a->name) != 0 && strstr(value, "://") != NULL)
            found = true;
        else
            *names_paths |= attribute_ref_size(a->name) != 0 ||
                            column_rank(COLUMN_PATH, a->name) != COLUMN_RANK_NONE;
    }
    augmented_line_free(&line);
    return found;
}

/* Returns whether a file is an augmented manifest, judging by its first line. The line must begin
 * with `{`, and must not name a file by its path, as a line of a list does. If the file's name ends
 * with ".jsonl", the line must also have an attribute NAME-ref with the URL of an object. */
static bool source_augmented_detect(const char *url, const char *text, size_t size)
{
    const char *end = size == 0 ? NULL : memchr(text, '\n', size), *dot = strrchr(url, '.');
    bool names_paths, has_objects;

    if (size == 0 || text[0] != '{')
        return false;
    has_objects = names_objects(text, end == NULL ? size : (size_t)(end - text), &names_paths);
    if (names_paths)
        return false;
    return has_objects || dot == NULL || strcasecmp(dot, ".jsonl") != 0;
}

const struct source_ops source_augmented_ops = {
    .name = "augmented", .noun = "manifest", .objects = SOURCE_OBJECTS_OF_LINES,
    .suffixes = (const char *const[]){ ".jsonl", ".manifest", ".json", NULL },
    .detect = source_augmented_detect, .open = source_open_anywhere, .scan = scan_augmented,
};
