/* SPDX-License-Identifier: MIT
 *
 * Parses the lists that name files and their labels, line by line. The functions have no side
 * effects. There are four kinds of lists.
 *
 * A line of a plain list is a path. A line of MXNet's .lst file consists of an index, one or more
 * labels, and a path, separated by TABs. A .csv file (RFC 4180) has a path and then labels in each
 * line, or begins with a header line that names the columns; its columns may also be separated by
 * tabs or semicolons. A line of a .jsonl file is a JSON object: either {"path": PATH, "label":
 * LABEL}, where LABEL is a number, an array of numbers or the name of a class, or a line of an
 * augmented manifest, such as {"NAME-ref": PATH, "label": LABEL}. A plain list whose first line
 * looks like a .csv file with several columns is read as a .csv file.
 *
 * formats/column_names.h has the names of columns and members that are paths and labels. The
 * content of other columns and members is returned as further fields.
 *
 * A label that is not a number is the name of a class. If a line has a number in the column `label`
 * and also a column `class`, the class is the name of the number. */
#ifndef PACKER_SOURCE_LIST_H
#define PACKER_SOURCE_LIST_H

#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

#define LIST_LINE_LIMIT ((size_t)4 << 20)   /* maximum bytes of a line */

enum list_kind { LIST_PLAIN, LIST_LST, LIST_CSV, LIST_JSONL };

/* A further column or member. */
struct list_field {
    const char *name;           /* NUL-terminated */
    const char *text;
    size_t size;
    /* whether the text is the path of a file; it is then NUL-terminated and not empty */
    bool is_file;
};

/* The content of one line. It belongs to the parser and is valid until the next call of the
 * parser. */
struct list_entry {
    const char *path;           /* as written, NUL-terminated; any text but "" */
    size_t path_size;
    /* name of the label's class, or NULL if the line does not name a class; if the line has a
     * number as well, the number is the class's number */
    const char *class_name;
    size_t class_size;
    const double *labels;
    size_t label_count;
    const struct list_field *fields;
    size_t field_count;
};

struct list_parser {
    enum list_kind kind;        /* a plain list that is a table becomes LIST_CSV */
    struct buf text;            /* texts of the entry */
    struct buf cells;           /* CSV: struct list_cell[] */
    struct buf labels;          /* double[] */
    struct buf fields;          /* struct list_field[] */
    /* for CSV: the column names in the header, each followed by a NUL */
    struct buf names;
    /* set by the caller: whether the list names samples (by their keys, or by paths that contain
     * the keys), and not files */
    bool by_key;
    bool begun;                 /* whether the first record was seen */
    bool has_header;
    char separator;             /* CSV: between cells */
    size_t path_column, label_column, class_column;     /* SIZE_MAX: no such column */
    size_t column_count;                /* of the header */
};

void list_parser_init(struct list_parser *parser, enum list_kind kind);
void list_parser_free(struct list_parser *parser);

/* Returns whether the text contains an odd number of CSV quotes. A CSV record ends at a line end
 * only if an even number of quotes precedes the line end. */
bool list_toggles(const struct list_parser *parser, const char *text, size_t size);

/* Parses a line, given without its end. Returns SHEAF_END if the line has no entry (it is empty or
 * a header), and SHEAF_ERR_CORRUPT with a message if it is malformed. */
int list_parse(struct list_parser *parser, const char *line, size_t size,
               struct list_entry *entry, struct sheaf_error *err);

/* ---- Between the parsers -------------------------------------------------------------------- */

/* Adds the numbers in the text of a label to parser->labels. Returns SHEAF_END if the text is not a
 * label. */
int list_add_numbers(struct list_parser *parser, const char *text, size_t size,
                     struct sheaf_error *err);

/* Sets the entry's class or numbers from the text of one label. An empty text is not a label. */
int list_set_label(struct list_parser *parser, struct list_entry *entry, const char *text,
                   size_t size, struct sheaf_error *err);

/* Uses the text as the name of the entry's class, if the entry's label is a class number. Returns
 * false if the label is not a class number or the text is not a class name. */
bool list_name_label(struct list_entry *entry, const char *text, size_t size);

bool list_is_blank(const char *text, size_t size);

/* A column of a CSV record. */
struct list_cell {
    char *text;                 /* NUL-terminated */
    size_t size;
};
/* Splits a CSV record at parser->separator into parser->cells (struct list_cell[]). Removes quotes
 * in place, and writes a NUL after the line. */
int list_csv_split(struct list_parser *parser, char *line, size_t size, struct sheaf_error *err);
/* Detects the separator of a table's cells in its first record, and stores the column names of a
 * header. For a plain list, sets *is_table to whether its first line shows that the list is a
 * table. */
int list_csv_begin(struct list_parser *parser, const char *line, size_t size, bool *is_table,
                   struct sheaf_error *err);
/* Unquotes in place. */
int list_parse_csv(struct list_parser *parser, char *line, size_t size,
                   struct list_entry *entry, struct sheaf_error *err);
/* Uses a JSON value (a number, an array of numbers, or the name of a class) as the entry's label.
 * The name is appended to parser->text. */
struct json_t;
int list_json_label(struct list_parser *parser, const struct json_t *label,
                    struct list_entry *entry, struct sheaf_error *err);
/* Parses a line of JSON Lines. Texts that need no conversion are not copied and point into
 * `line`. */
int list_parse_jsonl(struct list_parser *parser, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err);

#endif
