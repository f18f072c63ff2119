/* SPDX-License-Identifier: MIT
 *
 * Parses CSV as in RFC 4180: cells are separated by commas, and in a quoted cell "" stands for a
 * quote. Spreadsheets also use semicolons as separators, and other programs use tabs. The first
 * record shows which separator is used.
 *
 * Quotes are removed in place, and a NUL is written after each cell. The line has room for the
 * result, because no cell becomes longer, and a NUL takes the place of the separator or of the end
 * of the line. */
#include "packer/source/list.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/column_names.h"
#include "formats/label.h"

/* the possible separators of cells, in the order in which they are tried */
static const char separators[] = { '\t', ';', ',' };

static size_t list_csv_cell_count(const struct list_parser *p)
{
    return p->cells.size / sizeof(struct list_cell);
}

static enum column_role path_role(const struct list_parser *p)
{
    return p->by_key ? COLUMN_KEY : COLUMN_PATH;
}

static const struct list_cell *list_csv_cell_at(const struct list_parser *p, size_t i)
{
    return (const struct list_cell *)(const void *)p->cells.data + i;
}

/* Removes the quotes from a quoted cell of a CSV record. `from` is the position after its opening
 * quote. Returns the end of the cell in the record, or NULL if the cell is malformed. */
static char *list_csv_unquote(char *from, char *end, struct list_cell *cell)
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
        const size_t column = list_csv_cell_count(p) + 1;
        bool last;
        int code;

        if (at < end && *at == '"') {
            at = list_csv_unquote(at + 1, end, &cell);
            if (at == NULL)
                return err_set(err, SHEAF_ERR_CORRUPT, "the quote of column %zu is not closed",
                               column);
            if (at < end && *at != p->separator)
                return err_set(err, SHEAF_ERR_CORRUPT, "expected a %s after the quoted column %zu",
                               p->separator == ',' ? "comma" : p->separator == ';' ? "semicolon"
                                                                                   : "tab", column);
        } else {
            cell.text = at;
            at = memchr(at, p->separator, (size_t)(end - at));
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

/* ---- The first record ------------------------------------------------------------------------ */

/* Returns the index of the column whose name has the role `role` (path, label or class). If several
 * columns have this role, returns the column whose name has the lowest column_rank(). Returns
 * SIZE_MAX if no column has this role. The names must be in p->cells, without blanks around
 * them. */
static size_t column_of(const struct list_parser *p, enum column_role role)
{
    unsigned least = COLUMN_RANK_NONE;
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < list_csv_cell_count(p); i++) {
        const unsigned rank = column_rank(role, list_csv_cell_at(p, i)->text);

        if (rank < least) {
            least = rank;
            found = i;
        }
    }
    return found;
}

static void list_csv_trim(struct list_cell *cell)
{
    while (cell->size > 0 && list_is_blank(cell->text, 1)) {
        cell->text++;
        cell->size--;
    }
    while (cell->size > 0 && list_is_blank(cell->text + cell->size - 1, 1))
        cell->size--;
    cell->text[cell->size] = '\0';
}

/* Tries to split a copy of the line into cells at `separator`. Also removes blanks around each
 * cell, because the names in a header may have blanks around them. Returns false if the line cannot
 * be split. */
static bool split_copy(struct list_parser *p, const char *line, size_t size, char separator,
                       int *code, struct sheaf_error *err)
{
    struct sheaf_error malformed;

    p->names.size = 0;
    p->separator = separator;
    *code = buf_reserve(&p->names, size + 1, err);
    if (*code != SHEAF_OK)
        return false;
    buf_put(&p->names, line, size);
    if (list_csv_split(p, (char *)p->names.data, size, &malformed) != SHEAF_OK)
        return false;
    for (size_t i = 0; i < list_csv_cell_count(p); i++)
        list_csv_trim((struct list_cell *)(void *)p->cells.data + i);
    return true;
}

/* Returns whether a first record is data and not a header: its first cell is the path of a file, or
 * a key, and the other cells are labels. */
static bool is_entry(const struct list_parser *p)
{
    const size_t count = list_csv_cell_count(p);
    const char *slash = strrchr(list_csv_cell_at(p, 0)->text, '/');
    const char *base = slash == NULL ? list_csv_cell_at(p, 0)->text : slash + 1;
    const char *dot = strrchr(base, '.');
    double number;

    if (count < 2 || (!p->by_key && (dot == NULL || dot == base || dot[1] == '\0')))
        return false;
    for (size_t i = 1; i < count; i++) {
        const struct list_cell *c = list_csv_cell_at(p, i);

        if (label_parse(c->text, c->size, &number, 1) < 0 &&
            (count > 2 || c->size == 0 || strpbrk(c->text, "./\\") != NULL))
            return false;
    }
    return true;
}

/* Stores the cells of a header as the names of the columns in p->names, and finds the columns with
 * the path, the label and the class. */
static void take_header(struct list_parser *p)
{
    char *to = (char *)p->names.data;

    p->path_column = column_of(p, path_role(p));
    p->label_column = column_of(p, COLUMN_LABEL);
    p->class_column = column_of(p, COLUMN_CLASS);
    if (p->label_column == SIZE_MAX) {
        p->label_column = p->class_column;
        p->class_column = SIZE_MAX;
    }
    p->column_count = list_csv_cell_count(p);
    for (size_t i = 0; i < p->column_count; i++) {
        const struct list_cell *c = list_csv_cell_at(p, i);

        memmove(to, c->text, c->size + 1);
        to += c->size + 1;
    }
}

/* Returns the index of the first cell that is the name of a column of labels or classes. Returns
 * SIZE_MAX if the record does not contain such a cell. */
static size_t label_name(const struct list_parser *p)
{
    const size_t label = column_of(p, COLUMN_LABEL);

    return label != SIZE_MAX ? label : column_of(p, COLUMN_CLASS);
}

/* Refuses a list whose first record names a column of labels but no column of paths. Without this
 * check, the names of the columns would be read as the path of a file and its label. */
static int refuse_header(struct list_parser *p, const char *line, size_t size,
                         struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(separators) && code == SHEAF_OK; i++) {
        if (!split_copy(p, line, size, separators[i], &code, err) ||
            list_csv_cell_count(p) < 2 || label_name(p) == SIZE_MAX)
            continue;
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "the header has a column \"%.80s\", but no "
                       "column of %s, which is called %spath, file, file_name, filename or image",
                       list_csv_cell_at(p, label_name(p))->text, p->by_key ? "keys" : "paths",
                       p->by_key ? "key, __key__, " : "");
    }
    return code;
}

int list_csv_begin(struct list_parser *p, const char *line, size_t size, bool *is_table,
                   struct sheaf_error *err)
{
    const bool is_plain = p->kind == LIST_PLAIN;
    char of_header = '\0', of_entry = '\0';
    size_t most = is_plain;
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(separators) && code == SHEAF_OK; i++) {
        if (!split_copy(p, line, size, separators[i], &code, err))
            continue;
        if (column_of(p, path_role(p)) != SIZE_MAX && list_csv_cell_count(p) > most) {
            most = list_csv_cell_count(p);
            of_header = separators[i];
        }
        if (of_entry == '\0' && is_entry(p))
            of_entry = separators[i];
    }
    p->path_column = 0;
    p->label_column = p->class_column = SIZE_MAX;
    p->has_header = of_header != '\0';
    if (p->has_header && code == SHEAF_OK && split_copy(p, line, size, of_header, &code, err))
        take_header(p);
    *is_table = p->has_header || of_entry != '\0';
    if (code == SHEAF_OK && !*is_table)
        code = refuse_header(p, line, size, err);
    if (!p->has_header)
        p->separator = of_entry != '\0' ? of_entry : ',';
    return code;
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* Sets the labels of an entry from a record of a table without a header. All cells except the first
 * one are labels. */
static int list_csv_take_labels(struct list_parser *p, struct list_entry *entry,
                                struct sheaf_error *err)
{
    const size_t count = list_csv_cell_count(p);
    int code = SHEAF_OK;

    if (count == 2)
        return list_set_label(p, entry, list_csv_cell_at(p, 1)->text, list_csv_cell_at(p, 1)->size,
                              err);
    for (size_t i = 1; i < count && code == SHEAF_OK; i++) {
        code = list_add_numbers(p, list_csv_cell_at(p, i)->text, list_csv_cell_at(p, i)->size, err);
        if (code == SHEAF_END)
            code = err_set(err, SHEAF_ERR_CORRUPT, "%zu label%s, but \"%.40s\" in column %zu is "
                           "not a number", count - 1, plural(count - 1),
                           list_csv_cell_at(p, i)->text,
                           i + 1);
    }
    if (code != SHEAF_OK)
        return code;
    entry->labels = (const double *)(const void *)p->labels.data;
    entry->label_count = p->labels.size / sizeof(double);
    return SHEAF_OK;
}

/* Adds fields to the entry: all cells of the record that are neither path nor label. Empty cells
 * are ignored. */
static int take_fields(struct list_parser *p, const struct list_entry *entry,
                       struct sheaf_error *err)
{
    const char *name = (const char *)p->names.data;
    int code = SHEAF_OK;

    for (size_t i = 0; i < p->column_count && code == SHEAF_OK; i++) {
        const struct list_cell *c = list_csv_cell_at(p, i);
        const struct list_field field = { .name = name, .text = c->text, .size = c->size };

        name += strlen(name) + 1;
        if (i != p->path_column && i != p->label_column && c->size != 0 &&
            c->text != entry->class_name)
            code = buf_append(&p->fields, &field, sizeof(field), err);
    }
    return code;
}

int list_parse_csv(struct list_parser *p, char *line, size_t size, struct list_entry *entry,
                   struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (!p->begun && p->has_header)
        return SHEAF_END;
    code = list_csv_split(p, line, size, err);
    if (code != SHEAF_OK)
        return code;
    if (p->has_header && list_csv_cell_count(p) != p->column_count)
        return err_set(err, SHEAF_ERR_CORRUPT, "%zu column%s, the header has %zu",
                       list_csv_cell_count(p), plural(list_csv_cell_count(p)), p->column_count);
    entry->path = list_csv_cell_at(p, p->path_column)->text;
    entry->path_size = list_csv_cell_at(p, p->path_column)->size;
    if (!p->has_header)
        return list_csv_take_labels(p, entry, err);
    if (p->label_column != SIZE_MAX)
        code = list_set_label(p, entry, list_csv_cell_at(p, p->label_column)->text,
                              list_csv_cell_at(p, p->label_column)->size, err);
    if (code == SHEAF_OK && p->class_column != SIZE_MAX)
        list_name_label(entry, list_csv_cell_at(p, p->class_column)->text,
                        list_csv_cell_at(p, p->class_column)->size);
    return code == SHEAF_OK ? take_fields(p, entry, err) : code;
}
