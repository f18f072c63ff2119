/* SPDX-License-Identifier: MIT
 *
 * The sources of a column's values; see column_rows.h. */
#include "columns/column_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_flat.h"
#include "formats/augmented_line.h"
#include "formats/name.h"
#include "packer/source/lines.h"

#define LINES_ONCE 4096u        /* number of lines between two checks for an interruption */

struct column_rows {
    const char *source;
    struct watch *watch;
    column_row_fn *each;
    void *context;
    struct sheaf_progress progress;
    struct list_parser parser;
    struct lines lines;
    /* copy of the current line of the source, or of texts in this line */
    struct buf text;
    /* The names in the header line of the source, if the source is a table (such as CSV). Each name
     * is ended by a NUL. */
    struct buf names;
    size_t key_column, column_count;
    uint64_t given;             /* number of values that were given to the caller */
    struct sheaf_error *error;  /* error that ended a walk through a directory */
};

/* ---- Values ---------------------------------------------------------------------------------- */

#define ROW_HEAD 9u             /* size in bytes of the line and of is_file */

size_t column_row_bytes(const struct column_row *row)
{
    return ROW_HEAD + strlen(row->key) + 1 + strlen(row->extension) + 1 + row->size;
}

void column_row_put(const struct column_row *row, uint8_t *to)
{
    const size_t key = strlen(row->key) + 1, extension = strlen(row->extension) + 1;

    store64(to, row->line);
    to[8] = row->is_file;
    memcpy(to + ROW_HEAD, row->key, key);
    memcpy(to + ROW_HEAD + key, row->extension, extension);
    (void)name_lower((char *)to + ROW_HEAD + key);
    if (row->size != 0)
        memcpy(to + ROW_HEAD + key + extension, row->data, row->size);
}

void column_row_sum(const struct column_row *row, const uint8_t *bytes, XXH128_hash_t *sum)
{
    const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, column_row_bytes(row), row->stamp);

    sum->low64 += hash.low64;
    sum->high64 += hash.high64;
}

/* A JSON member or a table column becomes a field. Returns the extension of this field. Usually,
 * this is the name of the member or column. But for the name "value", it is "json" if the value is
 * a JSON object or array (`is_json`), and otherwise "txt". */
static const char *extension_of(const char *name, bool is_json)
{
    return strcmp(name, "value") != 0 ? name : is_json ? "json" : "txt";
}

static int column_rows_give(struct column_rows *r, struct column_row *row, uint64_t line,
                            struct sheaf_error *err)
{
    int code;

    row->line = line;
    code = name_suffix_problem(row->extension) == NULL ? SHEAF_OK
         : err_set(err, SHEAF_ERR_CORRUPT, "\"%.100s\" cannot be the name of a field: %s",
                   row->extension, name_suffix_problem(row->extension));
    r->given++;
    return code == SHEAF_OK ? r->each(r->context, row, err) : code;
}

/* ---- JSON Lines ------------------------------------------------------------------------------ */

/* Passes the values of one line of JSON Lines to the caller. The line must be a flat object, whose
 * members are not objects or arrays. Returns SHEAF_END if the line has another form; the caller
 * must then use tree_line. */
static int flat_line(struct column_rows *r, const char *text, size_t size, uint64_t number,
                     struct sheaf_error *err)
{
    const char *key = NULL;
    struct json_flat object;
    int code;

    r->text.size = 0;
    code = buf_reserve(&r->text, size + JSON_FLAT_MORE, err);
    if (code != SHEAF_OK)
        return code;
    if (!json_flat_parse(text, size, (char *)r->text.data, &object))
        return SHEAF_END;
    for (size_t i = 0; i < object.count && key == NULL; i++)
        if (strcmp(object.members[i].name, "key") == 0 &&
            object.members[i].kind == JSON_FLAT_STRING)
            key = object.members[i].value;
    if (key == NULL)
        return SHEAF_END;
    for (size_t i = 0; i < object.count && code == SHEAF_OK; i++) {
        const struct json_flat_member *m = &object.members[i];
        struct column_row row = { .key = key, .extension = extension_of(m->name, false),
                                  .data = m->value, .size = m->size };

        if (m->value != key && m->kind != JSON_FLAT_NULL)
            code = column_rows_give(r, &row, number, err);
    }
    return code;
}

/* Passes the values of one line of JSON Lines to the caller. The line is a JSON object whose
 * members may be objects or arrays. Slower than flat_line. */
static int tree_line(struct column_rows *r, const char *text, size_t size, uint64_t number,
                     struct sheaf_error *err)
{
    struct augmented_line line;
    const struct attribute *key;
    int code = augmented_line_parse(text, size, &line, err);

    if (code == SHEAF_OK) {
        key = augmented_line_find(&line, "key");
        if (key == NULL || !json_is_string(key->value) ||
            json_string_length(key->value) != strlen(json_string_value(key->value)))
            code = err_set(err, SHEAF_ERR_CORRUPT, "expected an object with a string \"key\"");
        for (size_t i = 0; i < line.count && code == SHEAF_OK; i++) {
            const struct attribute *a = &line.attributes[i];
            const bool is_text = json_is_string(a->value);
            struct column_row row = {
                .key = json_string_value(key->value),
                .extension = extension_of(a->name, json_is_object(a->value) ||
                                                   json_is_array(a->value)),
                .data = is_text ? json_string_value(a->value) : a->text,
                .size = is_text ? json_string_length(a->value) : a->size,
            };

            if (a != key && !json_is_null(a->value))
                code = column_rows_give(r, &row, number, err);
        }
    }
    augmented_line_free(&line);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int json_line(struct column_rows *r, const char *text, size_t size, uint64_t number,
                     struct sheaf_error *err)
{
    const int code = flat_line(r, text, size, number, err);

    return code == SHEAF_END ? tree_line(r, text, size, number, err) : code;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct list_cell *column_rows_cell_at(const struct column_rows *r, size_t i)
{
    return (const struct list_cell *)(const void *)r->parser.cells.data + i;
}

static size_t column_rows_cell_count(const struct column_rows *r)
{
    return r->parser.cells.size / sizeof(struct list_cell);
}

static int column_rows_split(struct column_rows *r, const char *text, size_t size,
                             struct sheaf_error *err)
{
    int code;

    r->text.size = 0;
    code = buf_reserve(&r->text, size + 1, err);
    if (code != SHEAF_OK)
        return code;
    buf_put(&r->text, text, size);
    return list_csv_split(&r->parser, (char *)r->text.data, size, err);
}

/* Finds the separator of a table: comma, tab or semicolon. Splits the header line at each of these
 * separators in turn, until one of the columns has the name `key`. */
static int table_header(struct column_rows *r, const char *text, size_t size,
                        struct sheaf_error *err)
{
    static const char separators[] = { ',', '\t', ';' };
    struct sheaf_error malformed;
    int code = SHEAF_OK;

    for (size_t i = 0; i < COUNT_OF(separators); i++) {
        r->parser.separator = separators[i];
        if (column_rows_split(r, text, size, &malformed) != SHEAF_OK)
            continue;
        for (size_t c = 0; c < column_rows_cell_count(r); c++)
            if (strcmp(column_rows_cell_at(r, c)->text, "key") == 0)
                r->key_column = c;
        if (r->key_column != SIZE_MAX)
            break;
    }
    if (r->key_column == SIZE_MAX)
        return err_set(err, SHEAF_ERR_CORRUPT, "expected a header with a column \"key\", separated "
                       "by commas, tabs or semicolons");
    r->column_count = column_rows_cell_count(r);
    for (size_t c = 0; c < r->column_count && code == SHEAF_OK; c++)
        code = buf_append(&r->names, column_rows_cell_at(r, c)->text,
                          column_rows_cell_at(r, c)->size + 1, err);
    return code;
}

static int table_line(struct column_rows *r, const char *text, size_t size, uint64_t number,
                      struct sheaf_error *err)
{
    const char *name;
    int code;

    size -= size != 0 && text[size - 1] == '\r';
    if (size == 0)
        return SHEAF_OK;
    if (r->column_count == 0)
        return table_header(r, text, size, err);
    code = column_rows_split(r, text, size, err);
    if (code == SHEAF_OK && column_rows_cell_count(r) != r->column_count)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%zu column%s, the header has %zu",
                       column_rows_cell_count(r), plural(column_rows_cell_count(r)),
                       r->column_count);
    name = (const char *)r->names.data;
    for (size_t i = 0; i < r->column_count && code == SHEAF_OK; i++) {
        const struct list_cell *cell = column_rows_cell_at(r, i);
        struct column_row row = { .key = column_rows_cell_at(r, r->key_column)->text,
                                  .extension = extension_of(name, false),
                                  .data = cell->text, .size = cell->size };

        name += strlen(name) + 1;
        if (i != r->key_column && cell->size != 0)
            code = column_rows_give(r, &row, number, err);
    }
    return code;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int column_rows_read_lines(struct column_rows *r, bool is_table, struct sheaf_error *err)
{
    const char *text;
    uint64_t number = 0;
    size_t size;
    int code;

    list_parser_init(&r->parser, is_table ? LIST_CSV : LIST_JSONL);
    code = lines_open(&r->lines, r->source, is_table ? &r->parser : NULL, err);
    while (code == SHEAF_OK) {
        if (number % LINES_ONCE == 0)
            code = watch_check(r->watch, err);
        if (code == SHEAF_OK)
            code = lines_next(&r->lines, &text, &size, &number, err);
        if (code != SHEAF_OK)
            break;
        code = (is_table ? table_line : json_line)(r, text, size, number, err);
        if (code == SHEAF_ERR_CORRUPT)
            err_prefix(err, "%s: line %" PRIu64 ": ", r->source, number);
        r->progress.done_count++;
        if (number % LINES_ONCE == 0)
            watch_show(r->watch, &r->progress);
    }
    lines_close(&r->lines);
    list_parser_free(&r->parser);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Passes to the caller the value that is in the file `path`. The path is relative to the source. */
static int give_file(struct column_rows *r, const char *path, const struct store_entry *entry,
                     struct sheaf_error *err)
{
    char *url = store_join(r->source, path), *key = strdup(path);
    struct column_row row = { .key = key, .is_file = true,
                              .stamp = entry->stamp ^ entry->bytes };
    size_t key_size;
    int code = url == NULL || key == NULL ? err_memory(err, strlen(path)) : SHEAF_OK;

    if (code == SHEAF_OK && name_split(key, &key_size, &row.extension)) {
        key[key_size] = '\0';
        row.data = url;
        row.size = strlen(url);
        code = column_rows_give(r, &row, 0, err);
        r->progress.done_count++;
    } else if (code == SHEAF_OK) {
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: is not named KEY.EXTENSION", url);
    }
    free(url);
    free(key);
    return code == SHEAF_OK ? watch_check(r->watch, err) : code;
}

static int each_object(void *context, const struct store_entry *entry)
{
    struct column_rows *r = context;

    return store_is_mark(entry) ? SHEAF_OK : give_file(r, entry->name, entry, r->error);
}

/* A directory that is being listed. Used for stores that list one directory at a time, and not a
 * whole tree. */
struct level {
    struct column_rows *rows;
    const char *path;           /* path below the source, such as "a/b", or "" */
};

static int walk_level(struct column_rows *r, const char *path);

static char *path_below(const struct level *level, const char *name)
{
    return level->path[0] == '\0' ? strdup(name) : store_join(level->path, name);
}

static int each_file(void *context, const struct store_entry *entry)
{
    const struct level *level = context;
    char *path = path_below(level, entry->name);
    const int code = path == NULL ? err_memory(level->rows->error, strlen(entry->name))
                                  : give_file(level->rows, path, entry, level->rows->error);

    free(path);
    return code;
}

static int each_below(void *context, const struct store_entry *entry)
{
    const struct level *level = context;
    char *path = path_below(level, entry->name);
    const int code = path == NULL ? err_memory(level->rows->error, strlen(entry->name))
                                  : walk_level(level->rows, path);

    free(path);
    return code;
}

static int walk_level(struct column_rows *r, const char *path)
{
    struct level level = { r, path };
    char *url = path[0] == '\0' ? strdup(r->source) : store_join(r->source, path);
    int code = url == NULL ? err_memory(r->error, strlen(path))
                           : store_list(url, each_file, &level, r->error);

    if (code == SHEAF_OK)
        code = store_list_directories(url, each_below, &level, r->error);
    free(url);
    return code;
}

static int column_rows_read_files(struct column_rows *r, struct sheaf_error *err)
{
    r->error = err;
    return store_is_local(r->source) ? walk_level(r, "")
                                     : store_walk(r->source, each_object, r, err);
}

/* ---- The kind -------------------------------------------------------------------------------- */

static bool column_rows_ends_in(const char *name, size_t size, const char *end)
{
    return size >= strlen(end) && strncasecmp(name + size - strlen(end), end, strlen(end)) == 0;
}

/* Returns the length of a file name, not counting a suffix that names a compression. For example,
 * "a.json.gz" has the length of "a.json". */
static size_t without_codec(const char *name)
{
    static const char *const codecs[] = { ".gz", ".zst", ".lz4" };
    const size_t size = strlen(name);

    for (size_t i = 0; i < COUNT_OF(codecs); i++)
        if (column_rows_ends_in(name, size, codecs[i]))
            return size - strlen(codecs[i]);
    return size;
}

/* The sum of the hashes of all values that were read so far. */
struct row_sum {
    XXH128_hash_t values;
    struct buf bytes;
};

static int sum_row(void *context, const struct column_row *row, struct sheaf_error *err)
{
    struct row_sum *s = context;
    const int code = buf_reserve(&s->bytes, column_row_bytes(row), err);

    if (code != SHEAF_OK)
        return code;
    column_row_put(row, s->bytes.data);
    column_row_sum(row, s->bytes.data, &s->values);
    return SHEAF_OK;
}

int column_rows_hash(const char *source, struct watch *watch, char hash[HASH_TEXT_BYTES],
                     struct sheaf_error *err)
{
    struct row_sum s = { .bytes = BUF_INIT(SIZE_MAX / 4) };
    const int code = column_rows_read(source, watch, sum_row, &s, err);

    buf_free(&s.bytes);
    hash_text(s.values, hash);
    return code;
}

int column_rows_read(const char *source, struct watch *watch, column_row_fn *each, void *context,
                     struct sheaf_error *err)
{
    static const char *const lines[] = { ".jsonl", ".ndjson", ".json" };
    static const char *const tables[] = { ".csv", ".tsv" };
    const size_t size = without_codec(source);
    struct column_rows r = { .source = source, .watch = watch, .each = each, .context = context,
                      .progress.stage = "scan", .key_column = SIZE_MAX,
                      .text = BUF_INIT(4 * LIST_LINE_LIMIT),
                      .names = BUF_INIT(4 * LIST_LINE_LIMIT) };
    int code = SHEAF_END;

    for (size_t i = 0; i < COUNT_OF(lines) && code == SHEAF_END; i++)
        if (column_rows_ends_in(source, size, lines[i]))
            code = column_rows_read_lines(&r, false, err);
    for (size_t i = 0; i < COUNT_OF(tables) && code == SHEAF_END; i++)
        if (column_rows_ends_in(source, size, tables[i]))
            code = column_rows_read_lines(&r, true, err);
    if (code == SHEAF_END)
        code = column_rows_read_files(&r, err);
    if (code == SHEAF_OK && r.given == 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: has no values: expected lines with a key and "
                       "a value, or files named KEY.EXTENSION", source);
    buf_free(&r.text);
    buf_free(&r.names);
    return code;
}
