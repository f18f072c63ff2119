/* SPDX-License-Identifier: MIT
 *
 * A list of files: reads its lines through the store, and finds each file below the root, in a
 * directory or in a store. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/source/lines.h"
#include "packer/source/sizes.h"
#include "packer/source/source.h"
#include "packer/source/stat_queue.h"
#include "store/store.h"

struct reading {
    const struct source *source;
    char *root;                 /* that the paths in the list are relative to */
    char *path;                 /* of the line, relative to the source's root */
    struct scan *scan;
    struct list_parser parser;
    struct lines lines;
    struct stat_queue *queue;   /* of files, if the root is a directory; */
    struct sizes *sizes;        /* else of objects */
};

/* Takes off the root, if the path is absolute and below it, and leading "./"; puts the source's own
 * part of a common root before it.  *outside: the path is absolute, but does not begin with the
 * root. */
static int set_path(struct reading *r, const char *path, bool *outside, struct sheaf_error *err)
{
    const struct source *s = r->source;
    size_t size = strlen(r->root);

    while (size > 0 && r->root[size - 1] == '/')
        size--;
    if ((r->root[0] == '/' || s->is_remote) && strncmp(path, r->root, size) == 0 &&
        path[size] == '/')
        path += size + 1;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    *outside = path[0] == '/' && !s->is_remote;
    free(r->path);
    r->path = s->below == NULL ? strdup(path) : store_join(s->below, path);
    return r->path == NULL ? err_memory(err, strlen(path)) : SHEAF_OK;
}

static int found(void *context, const char *path, uint32_t label, int errnum,
                 const struct stat *st, struct sheaf_error *err)
{
    struct scan *scan = context;

    return errnum != 0 ? scan_add_bad(scan, path, errnum, "cannot stat below the list's "
                                      "root", err)
                       : scan_add(scan, path, st, label, err);
}

static int look_for(struct reading *r, const char *path, uint32_t label, struct sheaf_error *err)
{
    char *url;
    int code;

    if (r->sizes == NULL)
        return stat_queue_add(r->queue, path, label, err);
    url = store_join(r->source->root, path);
    code = url == NULL ? err_memory(err, strlen(path))
                       : sizes_add(r->sizes, path, url, true, label, err);
    free(url);
    return code;
}

static int take_line(struct reading *r, uint64_t number, const char *line, size_t size,
                     struct sheaf_error *err)
{
    struct list_entry entry;
    struct sheaf_error found;
    uint32_t label;
    bool out, outside;
    int code = list_parse(&r->parser, line, size, &entry, &found);

    code = scan_line(r->scan, r->source->url, number, code, &found, &entry, &label, err);
    if (code != SHEAF_OK)
        return code == SHEAF_END ? SHEAF_OK : code;
    code = set_path(r, entry.path, &outside, err);
    if (code == SHEAF_OK)
        code = scan_filter(r->scan, r->path, false, &out, err);
    if (code != SHEAF_OK || out)
        return code;
    if (outside) {
        err_set(&found, SHEAF_ERR_UNSUPPORTED, "the path is absolute, but does not begin with the "
                "list's root \"%s\"", r->root);
        return scan_add_problem(r->scan, entry.path, &found, err);
    }
    if (r->parser.kind == LIST_PLAIN)     /* it says nothing of labels, so as in a tree */
        code = scan_class_of(r->scan, r->path, &label, err);
    return code == SHEAF_OK ? look_for(r, r->path, label, err) : code;
}

static int scan_list(const struct source *source, enum list_kind kind, struct scan *scan,
                     struct sheaf_error *err)
{
    struct reading r = { .source = source, .scan = scan,
                         .root = source->below == NULL ? strdup(source->root)
                                                       : store_join(source->root, source->below) };
    const char *line;
    size_t size;
    uint64_t number;
    int code;

    if (r.root == NULL)
        return err_memory(err, strlen(source->root));
    list_parser_init(&r.parser, kind);
    code = lines_open(&r.lines, source->url, &r.parser, err);
    if (code == SHEAF_OK)
        code = source->is_remote
             ? sizes_open(&r.sizes, scan, err)
             : stat_queue_open(&r.queue, source->root_fd, found, scan, err);
    while (code == SHEAF_OK) {
        code = lines_next(&r.lines, &line, &size, &number, err);
        if (code == SHEAF_OK)
            code = take_line(&r, number, line, size, err);
    }
    if (code == SHEAF_END)
        code = r.sizes == NULL ? stat_queue_drain(r.queue, err) : sizes_drain(r.sizes, err);
    sizes_close(r.sizes);
    stat_queue_close(r.queue);
    list_parser_free(&r.parser);
    lines_close(&r.lines);
    free(r.path);
    free(r.root);
    return code;
}

/* ---- The kinds ------------------------------------------------------------------------------- */

/* By default, paths are relative to the directory of the list. */
static int open_list(struct source *s, const char *root, struct sheaf_error *err)
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
    .open = open_list, .scan = scan_plain,
};
const struct source_ops source_lst_ops = {
    .name = "lst", .noun = "list", .takes_root = true, .joins = true,
    .open = open_list, .scan = scan_lst,
    .suffixes = (const char *const[]){ ".lst", NULL },
};
const struct source_ops source_csv_ops = {
    .name = "csv", .noun = "list", .takes_root = true, .joins = true,
    .open = open_list, .scan = scan_csv,
    .suffixes = (const char *const[]){ ".csv", NULL },
};
const struct source_ops source_jsonl_ops = {
    .name = "jsonl", .noun = "list", .takes_root = true, .joins = true,
    .open = open_list, .scan = scan_jsonl,
    .suffixes = (const char *const[]){ ".jsonl", NULL },
};
