/* SPDX-License-Identifier: MIT
 *
 * Parses the lists that name files and their labels, line by line. The functions have no side
 * effects. There are four kinds of lists:
 *
 * - Plain list: each line is a path. If the first line looks like a .csv file with several columns,
 *   the list is read as a .csv file.
 * - MXNet's .lst file: each line has an index, one or more labels, and a path, separated by TABs.
 * - .csv file (RFC 4180): each line has a path and then labels, or the first line is a header that
 *   names the columns. The separator may also be a tab or a semicolon.
 * - .jsonl file: each line is a JSON object, such as {"path": PATH, "label": LABEL}. LABEL is a
 *   number, an array of numbers or the name of a class. A line of an augmented manifest is also
 *   accepted, such as {"NAME-ref": PATH, "label": LABEL}.
 *
 * formats/column_names.h lists the names of columns and members that state paths and labels. All
 * other columns and members are returned as further fields.
 *
 * A label that is not a number is the name of a class. If a line has a number in the column `label`
 * and a text in the column `class`, the text is the name of the class with this number. */
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
    /* true if the text is the path of a file, whose content becomes the field; the text is then
     * NUL-terminated and not empty */
    bool is_file;
};

/* The content of one line of a list. Its texts belong to the parser and are valid until the next
 * line is parsed. */
struct list_entry {
    const char *path;           /* as written, NUL-terminated; any text but "" */
    size_t path_size;
    /* Name of the label's class, or NULL if the line names no class. If `labels` has a number, this
     * number is the number of the class. */
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
    /* CSV: the names of the columns from the header, each followed by a NUL */
    struct buf names;
    /* Set by the caller: true if the lines of the list name samples, by their keys or by paths that
     * contain the keys; false if the lines name files. */
    bool by_key;
    bool begun;                 /* whether the first record was seen */
    bool has_header;
    char separator;             /* CSV: between cells */
    size_t path_column, label_column, class_column;     /* SIZE_MAX: no such column */
    size_t column_count;                /* of the header */
};

void list_parser_init(struct list_parser *parser, enum list_kind kind);
void list_parser_free(struct list_parser *parser);

/* Returns whether the text contains an odd number of CSV quotes. A line end inside quotes does not
 * end a CSV record. So a record ends only if the number of quotes before the line end is even. */
bool list_toggles(const struct list_parser *parser, const char *text, size_t size);

/* Parses a line of a list, without the end of the line, into *entry. Returns SHEAF_END if the line
 * has no entry, because it is empty or a header. Returns SHEAF_ERR_CORRUPT with a message if it is
 * malformed, and SHEAF_ERR_UNSUPPORTED if the first line shows that the whole list cannot be
 * read. */
int list_parse(struct list_parser *parser, const char *line, size_t size,
               struct list_entry *entry, struct sheaf_error *err);

/* ---- Between the parsers -------------------------------------------------------------------- */

/* Parses the numbers in the text of a label and adds them to parser->labels. Returns SHEAF_END if
 * the text does not consist of numbers. */
int list_add_numbers(struct list_parser *parser, const char *text, size_t size,
                     struct sheaf_error *err);

/* Sets the label of an entry from the text of one label. If the text consists of numbers, these are
 * the label. Otherwise the text is the name of the label's class. If the text is empty, the label
 * is not set. */
int list_set_label(struct list_parser *parser, struct list_entry *entry, const char *text,
                   size_t size, struct sheaf_error *err);

/* Sets the name of the entry's class to the text, and returns true. Returns false without a change
 * if the entry's label is not the number of a class, or if the text cannot be the name of a
 * class. */
bool list_name_label(struct list_entry *entry, const char *text, size_t size);

bool list_is_blank(const char *text, size_t size);

/* A column of a CSV record. */
struct list_cell {
    char *text;                 /* NUL-terminated */
    size_t size;
};
/* Splits a CSV record into cells, which are stored in parser->cells (struct list_cell[]). The
 * separator is parser->separator. Removes quotes in place, and writes a NUL after the line. */
int list_csv_split(struct list_parser *parser, char *line, size_t size, struct sheaf_error *err);
/* Called for the first record of a table. Detects the separator of cells. If the record is a
 * header, stores the names of the columns. Sets *is_table to whether the line looks like the first
 * line of a table. The caller needs this for a plain list, which may in fact be a table. */
int list_csv_begin(struct list_parser *parser, const char *line, size_t size, bool *is_table,
                   struct sheaf_error *err);
/* Unquotes in place. */
int list_parse_csv(struct list_parser *parser, char *line, size_t size,
                   struct list_entry *entry, struct sheaf_error *err);
struct attribute;
/* Sets the label of an entry from an attribute of a JSON line: a number, an array of numbers, or
 * the name of a class. Appends the name to parser->text. */
int list_json_label(struct list_parser *parser, const struct attribute *label,
                    struct list_entry *entry, struct sheaf_error *err);
/* Parses a line of a list in JSON Lines into *entry. Texts that need no conversion are not copied:
 * the entry points into `line`. */
int list_parse_jsonl(struct list_parser *parser, const char *line, size_t size,
                     struct list_entry *entry, struct sheaf_error *err);

#endif
