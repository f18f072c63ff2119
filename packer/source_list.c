/* SPDX-License-Identifier: MIT
 *
 * A list of files: reads its lines through the store, and looks for each file below the root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "packer/source.h"
#include "store/store.h"

#define READ_BYTES ((size_t)1 << 20)

struct reading {
    const struct source *source;
    struct scan *scan;
    struct list_parser parser;
    struct store_object *object;
    uint64_t offset;            /* of the object; what was read */
    struct buf text;            /* what was read and not yet taken */
    size_t taken;               /* of text */
    bool ended;
    uint64_t line;              /* number of the line that was taken last; the first is 1 */
    uint64_t numbers_line, class_line;  /* where the first of each was met; 0: not yet */
};

static int read_more(struct reading *r, struct sheaf_error *err)
{
    size_t got = 0;
    int code;

    if (r->taken != 0) {
        memmove(r->text.data, r->text.data + r->taken, r->text.size - r->taken);
        r->text.size -= r->taken;
        r->taken = 0;
    }
    code = buf_reserve(&r->text, READ_BYTES, err);
    if (code != SHEAF_OK)
        return code;
    if (r->object->is_stream) {
        code = store_read_next(r->object, r->text.data + r->text.size, READ_BYTES, &got, err);
    } else {
        got = (size_t)MIN(r->object->bytes - r->offset, READ_BYTES);
        code = store_read(r->object, r->offset, r->text.data + r->text.size, got, err);
    }
    if (code != SHEAF_OK)
        return code;
    r->text.size += got;
    r->offset += got;
    r->ended = got == 0;
    return SHEAF_OK;
}

/* The next line, or CSV record of several lines: its extent in r->text from r->taken on.
 * SHEAF_END after the last. */
static int next_line(struct reading *r, size_t *size, struct sheaf_error *err)
{
    size_t from = 0;            /* what was searched already */
    bool open = false;          /* inside a quoted cell there */

    for (;;) {
        const char *text = (const char *)r->text.data + r->taken;
        const size_t shown = r->text.size - r->taken;
        const char *end = shown > from ? memchr(text + from, '\n', shown - from) : NULL;
        int code;

        if (end != NULL && list_toggles(&r->parser, text + from, (size_t)(end - text) - from))
            open = !open;
        if (end != NULL && open) {
            from = (size_t)(end - text) + 1;
            r->line++;
        } else if (end != NULL || (r->ended && shown != 0)) {
            *size = end != NULL ? (size_t)(end - text) : shown;
            r->line++;
            return SHEAF_OK;
        } else if (r->ended) {
            return SHEAF_END;
        } else if (shown > LIST_LINE_LIMIT) {
            return err_set(err, SHEAF_ERR_LIMIT,
                           "%s: line %llu is longer than the limit of %zu bytes",
                           r->source->url, (unsigned long long)r->line + 1, LIST_LINE_LIMIT);
        } else {
            code = read_more(r, err);
            if (code != SHEAF_OK)
                return code;
        }
    }
}

static int bad_line(struct reading *r, uint64_t line, const char *reason,
                    struct sheaf_error *err)
{
    char *where;
    int code;

    if (asprintf(&where, "%s:%llu", r->source->url, (unsigned long long)line) < 0)
        return err_memory(err, strlen(r->source->url));
    r->scan->found++;
    code = problems_add(r->scan->problems, err, where, SHEAF_ERR_CORRUPT, "%s", reason);
    free(where);
    return code;
}

/* Takes off the root, if the path is absolute and below it, and leading "./". */
static const char *relative(const struct source *s, const char *path)
{
    size_t size = strlen(s->root);

    while (size > 0 && s->root[size - 1] == '/')
        size--;
    if (s->root[0] == '/' && strncmp(path, s->root, size) == 0 && path[size] == '/')
        path += size + 1;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    return path;
}

/* Names and numbers of classes do not mix: a class would get a number that is used already. */
static int label_of(struct reading *r, const struct list_entry *entry, uint64_t line,
                    uint32_t *label, char reason[200], struct sheaf_error *err)
{
    const uint64_t other = entry->class_name != NULL ? r->numbers_line : r->class_line;

    *label = LABEL_NONE;
    reason[0] = '\0';
    if (entry->class_name == NULL && entry->label_count == 0)
        return SHEAF_OK;
    if (other != 0) {
        snprintf(reason, 200, "the label is %s, but that of line %llu is %s",
                 entry->class_name != NULL ? "the name of a class" : "a number",
                 (unsigned long long)other,
                 entry->class_name != NULL ? "a number" : "the name of a class");
        return SHEAF_OK;
    }
    if (entry->class_name == NULL) {
        r->numbers_line = r->numbers_line != 0 ? r->numbers_line : line;
        return catalog_numbers(r->scan->catalog, entry->labels, entry->label_count, label, err);
    }
    r->class_line = r->class_line != 0 ? r->class_line : line;
    return catalog_class(r->scan->catalog, entry->class_name, entry->class_size, label, err);
}

static int take_line(struct reading *r, uint64_t line, size_t size, struct sheaf_error *err)
{
    struct list_entry entry;
    struct sheaf_error found;
    char reason[200];
    const char *path;
    uint32_t label;
    struct stat st;
    int code = list_parse(&r->parser, (const char *)r->text.data + r->taken, size, &entry,
                          &found);

    if (code == SHEAF_END)
        return SHEAF_OK;
    if (code == SHEAF_ERR_MEMORY)
        return err_set(err, code, "%s", found.message);
    if (code != SHEAF_OK)
        return bad_line(r, line, found.message, err);
    if (entry.path_size == 0 || entry.path_size != strlen(entry.path))
        return bad_line(r, line, entry.path_size == 0 ? "the path is empty"
                                                      : "the path holds a NUL byte", err);
    code = label_of(r, &entry, line, &label, reason, err);
    if (code != SHEAF_OK)
        return code;
    if (reason[0] != '\0')
        return bad_line(r, line, reason, err);
    path = relative(r->source, entry.path);
    if (fstatat(r->source->root_fd, path, &st, 0) != 0)
        return scan_add_bad(r->scan, path, errno, "cannot stat", err);
    return scan_add(r->scan, path, &st, label, err);
}

int source_scan_list(const struct source *source, struct scan *scan, struct sheaf_error *err)
{
    struct reading r = { .source = source, .scan = scan,
                         .text = BUF_INIT(2 * LIST_LINE_LIMIT + 2 * READ_BYTES) };
    size_t size = 0;
    int code = store_open(source->url, &r.object, err);

    if (code != SHEAF_OK)
        return code;
    list_parser_init(&r.parser, source->list_kind);
    for (;;) {
        const uint64_t line = r.line + 1;

        code = next_line(&r, &size, err);
        if (code != SHEAF_OK)
            break;
        code = take_line(&r, line, size, err);
        if (code != SHEAF_OK)
            break;
        r.taken = MIN(r.taken + size + 1, r.text.size);
    }
    list_parser_free(&r.parser);
    buf_free(&r.text);
    store_close(r.object);
    return code == SHEAF_END ? SHEAF_OK : code;
}
