/* SPDX-License-Identifier: MIT
 *
 * The lists that name files and their labels, line by line; pure.
 *
 *   plain   path
 *   .lst    index TAB label [TAB label ...] TAB path          (MXNet)
 *   .csv    path,label[,label ...]; or a header that names the columns    (RFC 4180)
 *   .jsonl  {"path": ..., "label": number, [numbers] or "class name"}, or a line of an augmented
 *           manifest, {"NAME-ref": path, "label": ...}
 *
 * formats/column_names.h has the names of columns and members that are paths and labels.  What is
 * in other columns and members is given out as further fields.  A table's columns may also be
 * separated by tabs or semicolons, and a plain list that looks like a table is one.
 *
 * A label that is not a number is the name of a class.  If a line has a column label, which is a
 * number, and a column class, this is the name of that number. */
#ifndef PACKER_SOURCE_LIST_H
#define PACKER_SOURCE_LIST_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

#define LIST_LINE_LIMIT ((size_t)4 << 20)   /* bytes of a line */

enum list_kind { LIST_PLAIN, LIST_LST, LIST_CSV, LIST_JSONL };

/* A further column or member. */
struct list_field {
    const char *name;           /* NUL-terminated */
    const char *text;
    size_t size;
    bool is_file;               /* the text is the path of a file: NUL-terminated, not "" */
};

/* One line's content; the parser's, until its next call. */
struct list_entry {
    const char *path;           /* as written, NUL-terminated; may be anything but "" */
    size_t path_size;
    const char *class_name;     /* NULL: numbers, or nothing.  With one number: the number's name */
    size_t class_size;
    const double *labels;
    size_t label_count;
    const struct list_field *fields;
    size_t field_count;
};

struct list_parser {
    enum list_kind kind;        /* a plain list that is a table becomes LIST_CSV */
    struct buf text;            /* what the entry points to */
    struct buf cells;           /* CSV: struct list_cell[] */
    struct buf labels;          /* double[] */
    struct buf fields;          /* struct list_field[] */
    struct buf names;           /* CSV: the header's names, each with a NUL */
    bool begun;                 /* the first record was seen */
    bool has_header;
    char separator;             /* CSV: between cells */
    size_t path_column, label_column, class_column;     /* SIZE_MAX: there is none */
    size_t column_count;                /* of the header */
};

void list_parser_init(struct list_parser *parser, enum list_kind kind);
void list_parser_free(struct list_parser *parser);

/* True if text holds an odd number of a CSV's quotes: a record ends at a line's end only where
 * the quotes before it are even. */
bool list_toggles(const struct list_parser *parser, const char *text, size_t size);

/* Parses a line, without its end.  SHEAF_OK; SHEAF_END: it holds no entry (empty, a header);
 * SHEAF_ERR_CORRUPT: malformed, `err` says how. */
int list_parse(struct list_parser *parser, const char *line, size_t size,
               struct list_entry *entry, struct sheaf_error *err);

/* ---- Between the parsers -------------------------------------------------------------------- */

/* Adds the numbers of a label's text to parser->labels; SHEAF_END: it is not a label. */
int list_add_numbers(struct list_parser *parser, const char *text, size_t size,
                     struct sheaf_error *err);

/* Makes one label's text the entry's class or numbers; empty text is no label. */
int list_set_label(struct list_parser *parser, struct list_entry *entry, const char *text,
                   size_t size, struct sheaf_error *err);

/* Makes text the name of the entry's label, if that is the number of a class.  Returns false if the
 * label or the text is anything else. */
bool list_name_label(struct list_entry *entry, const char *text, size_t size);

bool list_is_blank(const char *text, size_t size);

/* A column of a CSV record. */
struct list_cell {
    char *text;                 /* NUL-terminated */
    size_t size;
};
/* Splits a record into parser->cells, struct list_cell[], at parser->separator, unquoting in place;
 * a NUL is put behind the line. */
int list_csv_split(struct list_parser *parser, char *line, size_t size, struct sheaf_error *err);
/* Finds out by what the cells of a table's first record are separated, and keeps the names of a
 * header.  Sets *is_table: a plain list's first line is such a record. */
int list_csv_begin(struct list_parser *parser, const char *line, size_t size, bool *is_table,
                   struct sheaf_error *err);
/* Unquotes in place. */
int list_parse_csv(struct list_parser *parser, char *line, size_t size,
                   struct list_entry *entry, struct sheaf_error *err);
/* Makes a JSON value the entry's label: a number, an array of them, or the name of a class.  The
 * name is put behind what parser->text holds. */
struct json_t;
int list_json_label(struct list_parser *parser, const struct json_t *label,
                    struct list_entry *entry, struct sheaf_error *err);
/* What is given out of the line's own text points into `line`. */
int list_parse_jsonl(struct list_parser *parser, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err);

#endif
