/* SPDX-License-Identifier: MIT
 *
 * Parses the lines of lists. Plain lists and MXNet's lists are parsed in this file. */
#include "packer/source/list.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/label.h"

void list_parser_init(struct list_parser *p, enum list_kind kind)
{
    *p = (struct list_parser){
        .kind = kind,
        .separator = ',',
        .text = BUF_INIT(4 * LIST_LINE_LIMIT),
        .cells = BUF_INIT(LIST_LINE_LIMIT * 32),
        .labels = BUF_INIT(LABEL_LIMIT * sizeof(double)),
        .fields = BUF_INIT(LIST_LINE_LIMIT * 32),
        .names = BUF_INIT(2 * LIST_LINE_LIMIT),
    };
}

void list_parser_free(struct list_parser *p)
{
    buf_free(&p->text);
    buf_free(&p->cells);
    buf_free(&p->labels);
    buf_free(&p->fields);
    buf_free(&p->names);
}

static int parse_lst(struct list_parser *p, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err)
{
    const char *end = line + size, *labels = memchr(line, '\t', size), *path, *at;
    double index;
    int code;

    path = labels == NULL ? NULL : memrchr(labels, '\t', (size_t)(end - labels));
    if (path == NULL || path == labels)
        return err_set(err, SHEAF_ERR_CORRUPT,
                       "expected index, label and path, separated by tabs, found %s",
                       labels == NULL ? "no tab" : "one tab only");
    if (label_parse(line, (size_t)(labels - line), &index, 1) != 1)
        return err_set(err, SHEAF_ERR_CORRUPT, "expected a number as the index, found \"%.*s\"",
                       (int)MIN(labels - line, 40), line);
    at = labels + 1;
    if (memchr(at, '\t', (size_t)(path - at)) == NULL) {
        code = list_set_label(p, entry, at, (size_t)(path - at), err);
        if (code != SHEAF_OK)
            return code;
    } else {
        code = list_add_numbers(p, at, (size_t)(path - at), err);
        if (code != SHEAF_OK)
            return code == SHEAF_END ? err_set(err, SHEAF_ERR_CORRUPT,
                                               "several labels, not all of them numbers") : code;
        entry->labels = (const double *)(const void *)p->labels.data;
        entry->label_count = p->labels.size / sizeof(double);
    }
    entry->path = path + 1;
    entry->path_size = (size_t)(end - entry->path);
    return SHEAF_OK;
}

bool list_toggles(const struct list_parser *p, const char *text, size_t size)
{
    size_t quotes = 0;

    if (p->kind != LIST_CSV)
        return false;
    for (size_t i = 0; i < size; i++)
        quotes += text[i] == '"';
    return quotes % 2 != 0;
}

static int list_check_path(const struct list_entry *entry, struct sheaf_error *err)
{
    if (entry->path_size == 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "the path is empty");
    if (entry->path_size != strlen(entry->path))
        return err_set(err, SHEAF_ERR_CORRUPT, "the path holds a NUL byte");
    return SHEAF_OK;
}

/* Copies a line to p->text. Reserves room for the line and also for the names and strings of a JSON
 * line, which together are not longer than the line. */
static int keep_line(struct list_parser *p, const char *line, size_t size,
                     struct sheaf_error *err)
{
    const int code = buf_reserve(&p->text, (p->kind == LIST_JSONL ? 3 : 1) * (size + 1), err);

    if (code != SHEAF_OK)
        return code;
    buf_put(&p->text, line, size);
    p->text.data[p->text.size++] = '\0';
    return SHEAF_OK;
}

/* Returns whether the line has a carriage return that is not between quotation marks. */
static bool has_bare_return(const char *line, size_t size)
{
    bool is_quoted = false;

    for (size_t i = 0; i < size; i++) {
        if (line[i] == '\r' && !is_quoted)
            return true;
        is_quoted ^= line[i] == '"';
    }
    return false;
}

/* Examines the first line of a list. */
static int list_begin(struct list_parser *p, const char *line, size_t size, struct sheaf_error *err)
{
    bool is_table = false;
    int code = SHEAF_OK;

    if (p->begun || (p->kind != LIST_CSV && p->kind != LIST_PLAIN))
        return SHEAF_OK;
    if (has_bare_return(line, size))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "a carriage return within the line: expected "
                       "lines that end with LF or CR LF, and not with CR alone");
    code = list_csv_begin(p, line, size, &is_table, err);
    if (code == SHEAF_OK && is_table)
        p->kind = LIST_CSV;
    return code;
}

int list_parse(struct list_parser *p, const char *line, size_t size, struct list_entry *entry,
               struct sheaf_error *err)
{
    char *text;
    int code;

    *entry = (struct list_entry){ 0 };
    p->text.size = p->labels.size = p->cells.size = p->fields.size = 0;
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (list_is_blank(line, size))
        return SHEAF_END;
    code = list_begin(p, line, size, err);
    if (code == SHEAF_OK)
        code = keep_line(p, line, size, err);
    if (code != SHEAF_OK)
        return code;
    text = (char *)p->text.data;
    if (p->kind == LIST_CSV)
        code = list_parse_csv(p, text, size, entry, err);
    else if (p->kind == LIST_JSONL)
        code = list_parse_jsonl(p, text, size, entry, err);
    else if (p->kind == LIST_LST)
        code = parse_lst(p, text, size, entry, err);
    else
        *entry = (struct list_entry){ .path = text, .path_size = size };
    p->begun = true;
    entry->fields = (const struct list_field *)(const void *)p->fields.data;
    entry->field_count = p->fields.size / sizeof(struct list_field);
    return code == SHEAF_OK ? list_check_path(entry, err) : code;
}
