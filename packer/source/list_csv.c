/* SPDX-License-Identifier: MIT
 *
 * CSV as RFC 4180 has it: cells between commas, quoted ones with "" for a quote.  Cells are
 * unquoted in place, each given a NUL, since that never makes them longer. */
#include "packer/source/list.h"

#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"

static size_t cell_count(const struct list_parser *p)
{
    return p->cells.size / sizeof(struct list_cell);
}

static const struct list_cell *cell_at(const struct list_parser *p, size_t i)
{
    return (const struct list_cell *)(const void *)p->cells.data + i;
}

/* Takes a quoted cell from `from` (after its quote); gives where it ends, or NULL. */
static char *unquote(char *from, char *end, struct list_cell *cell)
{
    char *to = from;

    cell->text = from;
    for (; from < end; from++) {
        if (*from == '"') {
            if (from + 1 == end || from[1] != '"') {
                cell->size = (size_t)(to - cell->text);
                return from + 1;
            }
            from++;
        }
        *to++ = *from;
    }
    return NULL;
}

int list_csv_split(struct list_parser *p, char *line, size_t size, struct sheaf_error *err)
{
    char *at = line, *end = line + size;


    p->cells.size = 0;
    for (;;) {
        struct list_cell cell;
        const size_t column = cell_count(p) + 1;
        bool last;
        int code;

        if (at < end && *at == '"') {
            at = unquote(at + 1, end, &cell);
            if (at == NULL)
                return err_set(err, SHEAF_ERR_CORRUPT, "the quote of column %zu is not closed",
                               column);
            if (at < end && *at != ',')
                return err_set(err, SHEAF_ERR_CORRUPT,
                               "expected a comma after the quoted column %zu", column);
        } else {
            cell.text = at;
            at = memchr(at, ',', (size_t)(end - at));
            if (at == NULL)
                at = end;
            cell.size = (size_t)(at - cell.text);
            if (memchr(cell.text, '"', cell.size) != NULL)
                return err_set(err, SHEAF_ERR_CORRUPT, "a quote inside the unquoted column %zu",
                               column);
        }
        last = at == end;
        cell.text[cell.size] = '\0';
        code = buf_append(&p->cells, &cell, sizeof(cell), err);
        if (code != SHEAF_OK || last)
            return code;
        at++;
    }
}

static bool is_one_of(const char *text, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcasecmp(text, *names) == 0)
            return true;
    return false;
}

/* A first record with a column called path is a header. */
static bool take_header(struct list_parser *p)
{
    static const char *const paths[] = { "path", "file", "filename", NULL };
    static const char *const labels[] = { "label", NULL }, *const classes[] = { "class", NULL };
    size_t path = SIZE_MAX, label = SIZE_MAX, class = SIZE_MAX;

    for (size_t i = cell_count(p); i-- > 0;) {
        const char *name = cell_at(p, i)->text;

        path = is_one_of(name, paths) ? i : path;
        label = is_one_of(name, labels) ? i : label;
        class = is_one_of(name, classes) ? i : class;
    }
    p->path_column = path == SIZE_MAX ? 0 : path;
    p->label_column = label == SIZE_MAX ? class : label;
    p->column_count = cell_count(p);
    p->has_header = path != SIZE_MAX;
    return p->has_header;
}

/* A label that is called something else would be lost without a word. */
static int check_header(const struct list_parser *p, struct sheaf_error *err)
{
    if (p->column_count == 1 || p->label_column != SIZE_MAX)
        return SHEAF_END;
    return err_set(err, SHEAF_ERR_CORRUPT, "a header of %zu column%s, of which \"%.40s\" is the "
                   "path, but none is called label or class", p->column_count,
                   plural(p->column_count), cell_at(p, p->path_column)->text);
}

/* Without a header, every column but the first is a label. */
static int take_labels(struct list_parser *p, struct list_entry *entry, struct sheaf_error *err)
{
    const size_t count = cell_count(p);
    int code = SHEAF_OK;

    if (count == 2)
        return list_set_label(p, entry, cell_at(p, 1)->text, cell_at(p, 1)->size, err);
    for (size_t i = 1; i < count && code == SHEAF_OK; i++) {
        code = list_add_numbers(p, cell_at(p, i)->text, cell_at(p, i)->size, err);
        if (code == SHEAF_END)
            code = err_set(err, SHEAF_ERR_CORRUPT, "%zu label%s, but \"%.40s\" in column %zu is "
                           "not a number", count - 1, plural(count - 1), cell_at(p, i)->text,
                           i + 1);
    }
    if (code != SHEAF_OK)
        return code;
    entry->labels = (const double *)(const void *)p->labels.data;
    entry->label_count = p->labels.size / sizeof(double);
    return SHEAF_OK;
}

int list_parse_csv(struct list_parser *p, char *line, size_t size, struct list_entry *entry,
                   struct sheaf_error *err)
{
    int code = list_csv_split(p, line, size, err);

    if (code != SHEAF_OK)
        return code;
    if (!p->begun && take_header(p))
        return check_header(p, err);
    if (p->has_header && cell_count(p) != p->column_count)
        return err_set(err, SHEAF_ERR_CORRUPT, "%zu column%s, the header has %zu", cell_count(p),
                       plural(cell_count(p)), p->column_count);
    entry->path = cell_at(p, p->path_column)->text;
    entry->path_size = cell_at(p, p->path_column)->size;
    if (!p->has_header)
        return take_labels(p, entry, err);
    if (p->label_column == SIZE_MAX)
        return SHEAF_OK;
    return list_set_label(p, entry, cell_at(p, p->label_column)->text,
                          cell_at(p, p->label_column)->size, err);
}
