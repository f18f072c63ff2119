/* SPDX-License-Identifier: MIT
 *
 * A report of S3 Inventory as a source. Its manifest.json names the columns and the data files. The
 * data files are gzipped CSV files that list a bucket's objects with size and ETag. So the size of
 * an object is known without a request.
 *
 * Two kinds of rows are skipped and counted: rows that are not current objects (delete markers,
 * older versions, markers of directories), and rows of objects outside of the source's root. The
 * root is the whole bucket, unless the user sets it. The class of an object is the directory in its
 * path. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "packer/source/lines.h"
#include "packer/source/source.h"
#include "store/etag.h"

#define MANIFEST_MOST ((size_t)64 << 20)
#define COLUMN_LIMIT  64u
#define ARN           "arn:aws:s3:::"

enum column { KEY, SIZE, ETAG, IS_LATEST, IS_DELETE_MARKER, COLUMN_COUNT };

static const char *const column_names[COLUMN_COUNT] = {
    [KEY] = "Key", [SIZE] = "Size", [ETAG] = "ETag", [IS_LATEST] = "IsLatest",
    [IS_DELETE_MARKER] = "IsDeleteMarker",
};

struct inventory {
    const struct source *source;
    struct scan *scan;
    const char *below;          /* the prefix of the wanted keys */
    size_t below_size;
    size_t columns[COLUMN_COUNT];   /* index of each column; SIZE_MAX: absent */
    size_t column_count;
    const char *data_root;      /* "s3://BUCKET/", or the directory of a local manifest.json */
    bool is_local;
    struct list_parser parser;
    struct buf line;
};

static int source_inventory_malformed(const struct inventory *x, const char *what,
                                      struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: the inventory's manifest: %s", x->source->url,
                   what);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int source_inventory_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a percent-encoded key of an object in place, and sets *size to its new length. Returns
 * false if the key is malformed or contains an encoded NUL. */
static bool source_inventory_decode(char *text, size_t *size)
{
    char *to = text;

    for (size_t i = 0; i < *size; i++) {
        char c = text[i] == '+' ? ' ' : text[i];

        if (c == '%') {
            if (i + 2 >= *size || source_inventory_digit(text[i + 1]) < 0
                || source_inventory_digit(text[i + 2]) < 0)
                return false;
            c = (char)(source_inventory_digit(text[i + 1]) << 4 |
                       source_inventory_digit(text[i + 2]));
            i += 2;
        }
        if (c == '\0')
            return false;
        *to++ = c;
    }
    *to = '\0';
    *size = (size_t)(to - text);
    return true;
}

static bool source_inventory_read_size(const struct list_cell *cell, uint64_t *bytes)
{
    return number_parse(cell->text, INT64_MAX, bytes) && strlen(cell->text) == cell->size;
}

static bool source_inventory_says(const struct inventory *x, const struct list_cell *cells,
                                  enum column column, const char *word)
{
    return x->columns[column] != SIZE_MAX &&
           strcasecmp(cells[x->columns[column]].text, word) == 0;
}

static int source_inventory_pass_over(struct inventory *x)
{
    x->scan->passed_over++;
    return SHEAF_OK;
}

/* Takes an object with a decoded key. */
static int source_inventory_take_object(struct inventory *x, const char *key,
                                        const struct list_cell *etag, uint64_t bytes,
                                        struct sheaf_error *err)
{
    const struct catalog_stat stat = { .bytes = bytes,
                                       .stamp = etag == NULL ? 0 : etag_stamp(etag->text) };
    const char *path = key + x->below_size;
    uint32_t label;
    bool out;
    int code;

    if (strncmp(key, x->below, x->below_size) != 0)
        return source_inventory_pass_over(x);
    if (bytes == 0 && (path[0] == '\0' || path[strlen(path) - 1] == '/'))
        return source_inventory_pass_over(x);
    code = scan_leave_out(x->scan, path, &out, err);
    if (code != SHEAF_OK || out)
        return code;
    code = scan_class_of(x->scan, path, &label, err);
    return code == SHEAF_OK ? scan_add_object(x->scan, path, &stat, label, err) : code;
}

static int source_inventory_take_line(struct inventory *x, const char *url, const char *line,
                                      size_t size, uint64_t number, struct sheaf_error *err)
{
    struct sheaf_error found;
    struct list_cell *cells;
    uint64_t bytes;
    int code;

    while (size > 0 && line[size - 1] == '\r')
        size--;
    if (size == 0)
        return SHEAF_OK;
    x->line.size = 0;
    code = buf_reserve(&x->line, size + 1, err);
    if (code != SHEAF_OK)
        return code;
    buf_put(&x->line, line, size);
    if (list_csv_split(&x->parser, (char *)x->line.data, size, &found) != SHEAF_OK)
        return scan_bad_line(x->scan, url, number, found.message, err);
    if (x->parser.cells.size / sizeof(*cells) != x->column_count)
        return scan_bad_line(x->scan, url, number, "has a different number of columns than the "
                             "manifest says", err);
    cells = (struct list_cell *)(void *)x->parser.cells.data;
    if (source_inventory_says(x, cells, IS_LATEST, "false")
        || source_inventory_says(x, cells, IS_DELETE_MARKER, "true"))
        return source_inventory_pass_over(x);
    if (!source_inventory_decode(cells[x->columns[KEY]].text, &cells[x->columns[KEY]].size))
        return scan_bad_line(x->scan, url, number, "the key is not URL-encoded", err);
    if (!source_inventory_read_size(&cells[x->columns[SIZE]], &bytes))
        return scan_bad_line(x->scan, url, number, "the size is not a number", err);
    return source_inventory_take_object(x, cells[x->columns[KEY]].text,
                                        x->columns[ETAG] == SIZE_MAX ? NULL
                                        : &cells[x->columns[ETAG]], bytes,
                                        err);
}

/* ---- Data files ------------------------------------------------------------------------------ */

static int read_data(struct inventory *x, const char *url, struct sheaf_error *err)
{
    struct lines lines;
    const char *line;
    size_t size;
    uint64_t number;
    int code = lines_open(&lines, url, NULL, err);

    while (code == SHEAF_OK) {
        code = lines_next(&lines, &line, &size, &number, err);
        if (code == SHEAF_OK)
            code = source_inventory_take_line(x, url, line, size, number, err);
    }
    lines_close(&lines);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* Returns the path of a data file of the report in a local copy of the report. Tries four paths
 * relative to the directory x->data_root:
 * 1. the whole key;
 * 2. the file's base name in ../data/, which is its place in the bucket;
 * 3. the base name in data/;
 * 4. the base name in the directory itself. This path is returned even if it does not exist. */
static char *source_inventory_find_local(const struct inventory *x, const char *key)
{
    static const char *const places[] = { "", "../data/", "data/", "" };
    const char *slash = strrchr(key, '/'), *name = slash == NULL ? key : slash + 1;

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        uint64_t bytes;
        char *url;

        if (asprintf(&url, "%s/%s%s", x->data_root, places[i], i == 0 ? key : name) < 0)
            return NULL;
        if (i + 1 == COUNT_OF(places) || store_size(url, &bytes, NULL) == SHEAF_OK)
            return url;
        free(url);
    }
    return NULL;
}

static int source_inventory_take_file(struct inventory *x, const json_t *file,
                                      struct sheaf_error *err)
{
    const char *key = json_string_value(json_object_get(file, "key"));
    char *url;
    int code;

    if (key == NULL || key[0] == '\0')
        return source_inventory_malformed(x, "a file without a \"key\"", err);
    url = x->is_local ? source_inventory_find_local(x, key) : store_join(x->data_root, key);
    code = url == NULL ? err_memory(err, strlen(key)) : read_data(x, url, err);
    free(url);
    return code;
}

/* ---- The manifest ---------------------------------------------------------------------------- */

/* Parses "Bucket, Key, Size, ETag". */
static int take_schema(struct inventory *x, const char *schema, struct sheaf_error *err)
{
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        x->columns[c] = SIZE_MAX;
    for (const char *at = schema; x->column_count < COLUMN_LIMIT;) {
        const size_t blanks = strspn(at, " "), size = strcspn(at + blanks, ", ");

        for (size_t c = 0; c < COLUMN_COUNT; c++)
            if (strlen(column_names[c]) == size &&
                strncasecmp(at + blanks, column_names[c], size) == 0)
                x->columns[c] = x->column_count;
        x->column_count++;
        at = strchr(at, ',');
        if (at == NULL)
            break;
        at++;
    }
    if (x->columns[KEY] == SIZE_MAX || x->columns[SIZE] == SIZE_MAX)
        return source_inventory_malformed(x, "its fileSchema has no Key or no Size: the "
                                          "inventory must be made with the optional field Size",
                                          err);
    return SHEAF_OK;
}

/* Sets the root to which the objects' paths are relative. If the user gave a root, it must be in
 * the listed bucket. Otherwise the root is the whole bucket. */
static int source_inventory_set_root(struct source *source, struct inventory *x, const char *bucket,
                                     struct sheaf_error *err)
{
    char *whole = store_s3_url(bucket);
    size_t size;

    if (whole == NULL)
        return err_memory(err, strlen(bucket));
    size = strlen(whole);
    if (source->root[0] == '\0') {
        free(source->root);
        source->root = whole;
    } else {
        const bool lies_below = strncmp(source->root, whole, size) == 0;

        free(whole);
        if (!lies_below)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: lists the bucket %s, which does not "
                           "contain the root %s", source->url, bucket, source->root);
    }
    x->below = source->root + size;
    x->below_size = strlen(x->below);
    return SHEAF_OK;
}

static int set_data_root(struct inventory *x, const char *destination, char **root,
                         struct sheaf_error *err)
{
    const char *slash = strrchr(x->source->url, '/');

    x->is_local = store_is_local(x->source->url);
    if (x->is_local) {
        *root = slash == NULL ? strdup(".")
                              : strndup(x->source->url, (size_t)(slash - x->source->url));
    } else {
        if (strncmp(destination, ARN, strlen(ARN)) == 0)
            destination += strlen(ARN);
        *root = store_s3_url(destination);
    }
    x->data_root = *root;
    return *root == NULL ? err_memory(err, strlen(x->source->url)) : SHEAF_OK;
}

static int source_inventory_read_files(struct inventory *x, const json_t *files,
                                       struct sheaf_error *err)
{
    const json_t *file;
    size_t i;
    int code = SHEAF_OK;

    if (!json_is_array(files))
        return source_inventory_malformed(x, "no array \"files\"", err);
    list_parser_init(&x->parser, LIST_CSV);
    x->line.limit = LIST_LINE_LIMIT + 16;
    json_array_foreach(files, i, file) {
        if (code == SHEAF_OK)
            code = source_inventory_take_file(x, file, err);
    }
    list_parser_free(&x->parser);
    buf_free(&x->line);
    return code;
}

static int source_inventory_take_manifest(struct source *source, struct inventory *x,
                                          const json_t *m, struct sheaf_error *err)
{
    const char *bucket = json_string_value(json_object_get(m, "sourceBucket"));
    const char *destination = json_string_value(json_object_get(m, "destinationBucket"));
    const char *format = json_string_value(json_object_get(m, "fileFormat"));
    const char *schema = json_string_value(json_object_get(m, "fileSchema"));
    char *root = NULL;
    int code;

    if (bucket == NULL || destination == NULL || format == NULL || schema == NULL)
        return source_inventory_malformed(x, "no text \"sourceBucket\", \"destinationBucket\", "
                                          "\"fileFormat\" or \"fileSchema\"", err);
    if (strcmp(format, "CSV") != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its files are %.20s, expected CSV",
                       source->url, format);
    code = take_schema(x, schema, err);
    if (code == SHEAF_OK)
        code = source_inventory_set_root(source, x, bucket, err);
    if (code == SHEAF_OK)
        code = set_data_root(x, destination, &root, err);
    if (code == SHEAF_OK)
        code = source_inventory_read_files(x, json_object_get(m, "files"), err);
    free(root);
    return code;
}

static int scan_inventory(struct source *source, struct scan *scan, struct sheaf_error *err)
{
    struct inventory x = { .source = source, .scan = scan };
    json_error_t found;
    char *text = NULL;
    json_t *manifest;
    size_t size = 0;
    int code = store_get(source->url, MANIFEST_MOST, &text, &size, err);

    if (code != SHEAF_OK)
        return code;
    code = json_load_text(text, size, JSON_REJECT_DUPLICATES, &manifest, &found, err);
    free(text);
    if (code != SHEAF_OK)
        return code == SHEAF_ERR_CORRUPT ? source_inventory_malformed(&x, found.text, err) : code;
    code = source_inventory_take_manifest(source, &x, manifest, err);
    json_decref(manifest);
    return code;
}

static bool source_inventory_detect(const char *url, const char *text, size_t size)
{
    (void)url;
    return size > 0 && text[0] == '{' && memmem(text, size, "\"fileSchema\"", 12) != NULL &&
           memmem(text, size, "\"sourceBucket\"", 14) != NULL;
}

static int open_inventory(struct source *source, const char *root, struct sheaf_error *err)
{
    if (root != NULL && !store_is_s3(root))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the root of an inventory is an s3:// URL",
                       root);
    return source_open_anywhere(source, root, err);
}

const struct source_ops source_inventory_ops = {
    .name = "inventory", .noun = "inventory", .takes_root = true,
    .suffixes = (const char *const[]){ ".json", ".manifest", ".jsonl", NULL },
    .detect = source_inventory_detect, .open = open_inventory, .scan = scan_inventory,
};
