/* SPDX-License-Identifier: MIT
 *
 * A list of files as a source. The list itself may be a local file or an object in a store. The
 * files that it names are under the root, which is a directory or a prefix in a store. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "formats/name.h"
#include "packer/source/lines.h"
#include "packer/source/list_columns.h"
#include "packer/source/list_root.h"
#include "packer/source/sizes.h"
#include "packer/source/source.h"
#include "packer/source/stat_queue.h"
#include "store/store.h"

struct list_reading {
    const struct source *source;
    struct list_root root;      /* the root of the paths in the list */
    char *path;                 /* of the line, relative to the source's root */
    struct buf named;           /* key and suffix of a further field */
    struct scan *scan;
    struct list_parser parser;
    struct list_columns columns;
    bool has_label;             /* whether a line has a label */
    struct lines lines;
    struct stat_queue *queue;   /* for files, if the root is a directory; */
    struct sizes *sizes;        /* else of objects */
};

/* Sets r->path to the path `given` of a list's entry, in the form relative to the source's root.
 * Returns SHEAF_END if the path is absolute or has a component "..", and is not under the
 * root. */
static int source_list_set_path(struct list_reading *r, const char *given, struct sheaf_error *err)
{
    const struct source *s = r->source;
    const char *below;
    int code = list_root_find(&r->root, given, &below, err);

    free(r->path);
    r->path = code != SHEAF_OK ? NULL : s->below == NULL ? strdup(below)
                                                         : store_join(s->below, below);
    return code == SHEAF_OK && r->path == NULL ? err_memory(err, strlen(given)) : code;
}

static int source_list_found(void *context, const struct stat_question *asked, int errnum,
                             const struct stat *st, struct sheaf_error *err)
{
    struct scan *scan = context;

    return errnum != 0 ? scan_add_bad(scan, asked->path, asked->named, errnum,
                                      "cannot stat below the list's root", err)
                       : scan_add(scan, asked->path, asked->named, st, asked->label, err);
}

/* `named` is as for scan_add. */
static int look_for(struct list_reading *r, const char *path, const char *named, uint32_t label,
                    struct sheaf_error *err)
{
    char *url;
    int code;

    if (r->sizes == NULL)
        return stat_queue_add(r->queue, &(struct stat_question){ path, named, label }, err);
    url = store_join(r->source->root, path);
    code = url == NULL ? err_memory(err, strlen(path))
                       : sizes_add(r->sizes, named == NULL ? path : named, url, named == NULL,
                                   label, err);
    free(url);
    return code;
}

/* ---- Further fields -------------------------------------------------------------------------- */

/* The key of the sample that a line of the list describes, and the suffix of the first file that
 * the line names. */
struct line_key {
    const char *path;           /* the first `size` bytes */
    size_t size;
    const char *suffix;
};

/* Sets r->named to the path under which a field is packed: the sample's key, a dot, and the field's
 * name. If the user gave an alias for this name ("jpeg=jpg"), uses the alias instead. */
static int source_list_name_field(struct list_reading *r, const struct line_key *key,
                                  const char *name, const char *suffix, struct sheaf_error *err)
{
    const char *field = r->scan->naming == NULL ? name : naming_alias(r->scan->naming, name);
    int code;

    r->named.size = 0;
    code = buf_append(&r->named, key->path, key->size, err);
    if (code == SHEAF_OK)
        code = buf_printf(&r->named, err, ".%s%s%s", field, suffix[0] == '\0' ? "" : ".", suffix);
    return code == SHEAF_OK ? buf_append(&r->named, "", 1, err) : code;
}

/* Returns whether an earlier field of the line has the same name as field number `at`, in upper or
 * lower case. */
static bool is_repeated(const struct list_entry *entry, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcasecmp(entry->fields[i].name, entry->fields[at].name) == 0)
            return true;
    return false;
}

static int source_list_add_text(struct list_reading *r, const struct line_key *key,
                                const struct list_entry *entry, size_t at, uint32_t label,
                                struct sheaf_error *err)
{
    const struct list_field *field = &entry->fields[at];
    const char *problem = naming_problem(field->name);
    bool out;
    int code;

    if (problem == NULL && is_repeated(entry, at))
        problem = "an earlier column has that name";
    if (problem == NULL && strcasecmp(field->name, key->suffix) == 0)
        problem = "the sample's file has that name";
    code = list_columns_count(&r->columns, field->name, problem, err);
    if (code != SHEAF_OK || problem != NULL)
        return code;
    code = source_list_name_field(r, key, field->name, "", err);
    if (code == SHEAF_OK)
        code = scan_filter(r->scan, (const char *)r->named.data, false, &out, err);
    return code != SHEAF_OK || out ? code
         : scan_add_text(r->scan, (const char *)r->named.data, field->text, field->size, label,
                         err);
}

/* Adds a field to the sample, from a file that the line names in addition to its first file. The
 * field is named by the suffix of the file. If the line's first file has the same suffix, the field
 * is named COLUMN.SUFFIX, where COLUMN is the name of the file's column. If the file has no suffix,
 * the field is named COLUMN. */
static int source_list_add_file(struct list_reading *r, const struct line_key *key,
                                const struct list_field *field, uint32_t label,
                                struct sheaf_error *err)
{
    const char *suffix = "", *name = field->name;
    size_t size;
    bool out;
    int code = source_list_set_path(r, field->text, err);

    if (code == SHEAF_END)
        return scan_refuse(r->scan, field->text, SHEAF_ERR_UNSUPPORTED, "the path is not below the "
                           "list's root", err);
    if (code != SHEAF_OK)
        return code;
    if (name_split(r->path, &size, &suffix) && strcasecmp(suffix, key->suffix) != 0) {
        name = suffix;
        suffix = "";
    }
    code = source_list_name_field(r, key, name, suffix, err);
    if (code == SHEAF_OK)
        code = scan_filter(r->scan, (const char *)r->named.data, false, &out, err);
    return code != SHEAF_OK || out ? code
         : look_for(r, r->path, (const char *)r->named.data, label, err);
}

/* Makes fields of the sample from the columns or members of a line, except the path and the
 * label. */
static int source_list_add_fields(struct list_reading *r, const char *path,
                                  const struct list_entry *entry, uint32_t label,
                                  struct sheaf_error *err)
{
    struct line_key key;
    const char *cleaned, *named;
    char *kept;
    int code = scan_clean(r->scan, path, &cleaned, err);

    if (code == SHEAF_OK)
        code = scan_name(r->scan, cleaned, &named, err);
    if (code != SHEAF_OK || !name_split(named, &key.size, &key.suffix))
        return code;            /* in that case, the file itself is a problem */
    kept = strdup(named);
    if (kept == NULL)
        return err_memory(err, strlen(named));
    key.path = kept;
    key.suffix = kept + key.size + 1;
    for (size_t i = 0; i < entry->field_count && code == SHEAF_OK; i++)
        code = entry->fields[i].is_file ? source_list_add_file(r, &key, &entry->fields[i], label,
                                                               err)
                                        : source_list_add_text(r, &key, entry, i, label, err);
    free(kept);
    return code;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int source_list_take_line(struct list_reading *r, uint64_t number, const char *line,
                                 size_t size, struct sheaf_error *err)
{
    struct list_entry entry;
    struct sheaf_error found;
    uint32_t label;
    bool out;
    int code = list_parse(&r->parser, line, size, &entry, &found);

    code = scan_line(r->scan, r->source->url, number, code, &found, &entry, &label, err);
    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_OK : code;
    r->has_label |= label != LABEL_NONE;
    code = source_list_set_path(r, entry.path, err);
    if (code == SHEAF_END) {
        code = scan_filter(r->scan, entry.path, false, &out, err);
        if (code != SHEAF_OK || out)
            return code;
        err_set(&found, SHEAF_ERR_UNSUPPORTED, entry.path[0] == '/'
                ? "the path is absolute, but does not begin with the list's root \"%s\""
                : "the path has a component \"..\", and leads to no directory below the list's "
                  "root \"%s\"", r->root.root);
        return scan_add_problem(r->scan, entry.path, &found, err);
    }
    if (code == SHEAF_OK)
        code = scan_filter(r->scan, r->path, false, &out, err);
    if (code != SHEAF_OK || out)
        return code;
    /* A plain list states no labels. So the directory of a file is its class, as in a directory
     * tree. */
    if (r->parser.kind == LIST_PLAIN)
        code = scan_class_of(r->scan, r->path, &label, err);
    if (code == SHEAF_OK)
        code = look_for(r, r->path, NULL, label, err);
    return code == SHEAF_OK && entry.field_count != 0 ? source_list_add_fields(r, r->path, &entry,
                                                                               label, err)
                                                      : code;
}

static int source_list_read_lines(struct list_reading *r, struct sheaf_error *err)
{
    const struct source *source = r->source;
    const char *line;
    size_t size;
    uint64_t number;
    int code = lines_open(&r->lines, source->url, &r->parser, err);

    if (code == SHEAF_OK)
        code = source->is_remote
             ? sizes_open(&r->sizes, r->scan, err)
             : stat_queue_open(&r->queue, source->root_fd, source_list_found, r->scan, err);
    while (code == SHEAF_OK) {
        code = lines_next(&r->lines, &line, &size, &number, err);
        if (code == SHEAF_OK)
            code = source_list_take_line(r, number, line, size, err);
    }
    if (code == SHEAF_END)
        code = r->sizes == NULL ? stat_queue_drain(r->queue, err) : sizes_drain(r->sizes, err);
    if (code == SHEAF_OK)
        list_columns_tell(&r->columns, r->scan->problems, source->url, r->has_label);
    sizes_close(r->sizes);
    stat_queue_close(r->queue);
    lines_close(&r->lines);
    return code;
}

static int scan_list(const struct source *source, enum list_kind kind, struct scan *scan,
                     struct sheaf_error *err)
{
    struct list_reading r = { .source = source, .scan = scan, .named.limit = SIZE_MAX / 2 };
    char *root = source->below == NULL ? strdup(source->root)
                                       : store_join(source->root, source->below);
    int code = root == NULL ? err_memory(err, strlen(source->root))
                            : list_root_open(&r.root, root, source->is_remote, err);

    free(root);
    list_parser_init(&r.parser, kind);
    if (code == SHEAF_OK)
        code = source_list_read_lines(&r, err);
    list_parser_free(&r.parser);
    list_columns_free(&r.columns);
    list_root_close(&r.root);
    buf_free(&r.named);
    free(r.path);
    return code;
}

/* ---- The kinds ------------------------------------------------------------------------------- */

/* Opens a list as a source. Without `root`, its paths are relative to the directory of the list. */
static int source_list_open(struct source *s, const char *root, struct sheaf_error *err)
{
    const char *slash = strrchr(s->url, '/');

    if (root != NULL)
        s->root = strdup(root);
    else if (slash == NULL)
        s->root = strdup(".");
    else
        s->root = slash == s->url ? strdup("/") : strndup(s->url, (size_t)(slash - s->url));
    return s->root == NULL ? err_memory(err, strlen(s->url)) : SHEAF_OK;
}

static int scan_plain(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    return scan_list(s, LIST_PLAIN, scan, err);
}

static int scan_lst(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    return scan_list(s, LIST_LST, scan, err);
}

static int scan_csv(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    return scan_list(s, LIST_CSV, scan, err);
}

static int scan_jsonl(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    return scan_list(s, LIST_JSONL, scan, err);
}

const struct source_ops source_list_ops = {
    .name = "list", .noun = "list", .takes_root = true, .joins = true,
    .open = source_list_open, .scan = scan_plain,
};
const struct source_ops source_lst_ops = {
    .name = "lst", .noun = "list", .takes_root = true, .joins = true,
    .open = source_list_open, .scan = scan_lst,
    .suffixes = (const char *const[]){ ".lst", NULL },
};
const struct source_ops source_csv_ops = {
    .name = "csv", .noun = "list", .takes_root = true, .joins = true,
    .open = source_list_open, .scan = scan_csv,
    .suffixes = (const char *const[]){ ".csv", ".tsv", NULL },
};
/* Returns whether a file is a list in JSON Lines. If the file's name ends with .manifest or .json,
 * the file must begin with "{". This function is not called for an augmented manifest of objects in
 * S3, because such a manifest was recognised before. So an augmented manifest that reaches this
 * function names local files, and is read as a list. */
static bool detect_jsonl(const char *url, const char *text, size_t size)
{
    const char *dot = strrchr(url, '.');

    return (size != 0 && text[0] == '{') || dot == NULL ||
           (strcasecmp(dot, ".manifest") != 0 && strcasecmp(dot, ".json") != 0);
}

const struct source_ops source_jsonl_ops = {
    .name = "jsonl", .noun = "list", .takes_root = true, .joins = true,
    .detect = detect_jsonl, .open = source_list_open, .scan = scan_jsonl,
    .suffixes = (const char *const[]){ ".jsonl", ".ndjson", ".manifest", ".json", NULL },
};
