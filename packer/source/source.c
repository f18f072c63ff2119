/* SPDX-License-Identifier: MIT
 *
 * The kinds of source, and what they share. */
#include "packer/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/codec.h"
#include "store/store.h"

static bool stem_ends_with(const char *text, size_t size, const char *end)
{
    const size_t tail = strlen(end);

    return size > tail && memcmp(text + size - tail, end, tail) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    return stem_ends_with(text, strlen(text), end);
}

static enum list_kind kind_of_list(const char *url)
{
    const size_t stem = codec_stem(url);        /* lists may be compressed */

    if (stem_ends_with(url, stem, ".lst"))
        return LIST_LST;
    if (stem_ends_with(url, stem, ".csv"))
        return LIST_CSV;
    return stem_ends_with(url, stem, ".jsonl") ? LIST_JSONL : LIST_PLAIN;
}

const char *source_kind_name(const struct source *s)
{
    static const char *const kinds[] = {
        [SOURCE_TREE] = "tree", [SOURCE_PREFIX] = "tree", [SOURCE_MANIFEST] = "manifest",
        [SOURCE_AUGMENTED] = "augmented", [SOURCE_INVENTORY] = "inventory",
    };
    static const char *const lists[] = {
        [LIST_PLAIN] = "list", [LIST_LST] = "lst", [LIST_CSV] = "csv", [LIST_JSONL] = "jsonl",
    };

    return s->kind == SOURCE_LIST ? lists[s->list_kind] : kinds[s->kind];
}

bool source_is_remote(const struct source *s)
{
    return s->root_fd < 0;
}

char *source_place(const struct source *s)
{
    char *real = source_is_remote(s) ? NULL : realpath(s->root, NULL);

    return real != NULL ? real : strdup(s->root);
}

/* The directory that a list is in. */
static char *list_directory(const char *url)
{
    const char *slash = strrchr(url, '/');

    if (slash == NULL)
        return strdup(".");
    return slash == url ? strdup("/") : strndup(url, (size_t)(slash - url));
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool is_local(const char *url)
{
    return store_of(url, NULL) == &store_file_ops;
}

/* Whether the first line is that of an augmented manifest and not of a list: it names no "path",
 * but an object. */
static bool is_augmented(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    const size_t line = end == NULL ? size : (size_t)(end - text);

    return memmem(text, line, "\"path\"", 6) == NULL && memmem(text, line, "-ref\"", 5) != NULL;
}

/* The manifest of a report of S3 Inventory. */
static bool is_inventory(const char *text, size_t size)
{
    return memmem(text, size, "\"fileSchema\"", 12) != NULL &&
           memmem(text, size, "\"sourceBucket\"", 14) != NULL;
}

/* SageMaker's manifests are known by their first character, but only among names that may be
 * one. */
static int find_kind(struct source *s, struct sheaf_error *err)
{
    const bool is_jsonl = s->list_kind == LIST_JSONL;
    struct store_object *object;
    char text[4096];
    size_t size, at = 0;
    int code;

    s->kind = SOURCE_LIST;
    if (!is_jsonl && !ends_with(s->url, ".manifest") && !ends_with(s->url, ".json"))
        return SHEAF_OK;
    code = store_open(s->url, &object, err);
    if (code != SHEAF_OK)
        return code;
    size = object->is_stream ? 0 : (size_t)MIN(object->bytes, sizeof(text));
    code = store_read(object, 0, text, size, err);
    store_close(object);
    if (code != SHEAF_OK)
        return code;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    while (at < size && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0')
        at++;
    if (at < size && text[at] == '[' && !is_jsonl)
        s->kind = SOURCE_MANIFEST;
    else if (at < size && text[at] == '{' && is_inventory(text + at, size - at))
        s->kind = SOURCE_INVENTORY;
    else if (at < size && text[at] == '{' && (!is_jsonl || is_augmented(text + at, size - at)))
        s->kind = SOURCE_AUGMENTED;
    return SHEAF_OK;
}

/* In a store, what is no object is a prefix. */
static int find_remote_kind(struct source *s, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(s->url, err);
    const bool may_be_file = s->list_kind != LIST_PLAIN || ends_with(s->url, ".manifest") ||
                             ends_with(s->url, ".json");
    uint64_t bytes;
    int code;

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    if (ops->walk == NULL && ends_with(s->url, "/"))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a directory, which cannot be listed "
                       "over HTTP", s->url);
    code = ends_with(s->url, "/") ? SHEAF_ERR_NOT_FOUND : ops->size(s->url, &bytes, err);
    if (code == SHEAF_OK)
        return find_kind(s, err);
    if (ops->walk == NULL || code == SHEAF_ERR_NETWORK ||
        (code == SHEAF_ERR_ACCESS && may_be_file))
        return code;
    s->kind = SOURCE_PREFIX;
    return SHEAF_OK;
}

static int find_local_kind(struct source *s, struct sheaf_error *err)
{
    struct stat st = { .st_mode = S_IFIFO };

    if (strcmp(s->url, "-") != 0 && stat(s->url, &st) != 0)
        return err_errno(err, errno, "%s: cannot read the source", s->url);
    s->kind = S_ISDIR(st.st_mode) ? SOURCE_TREE : SOURCE_LIST;
    return S_ISREG(st.st_mode) ? find_kind(s, err) : SHEAF_OK;
}

/* A root in a store ends with a slash, so that a path may follow. */
static int set_root(struct source *s, const char *root, struct sheaf_error *err)
{
    if (s->kind == SOURCE_MANIFEST || s->kind == SOURCE_AUGMENTED ||
        (s->kind == SOURCE_INVENTORY && root == NULL))
        s->root = strdup("");       /* the manifest will say where its objects are */
    else if (root != NULL)
        s->root = strdup(root);
    else
        s->root = s->kind == SOURCE_LIST ? list_directory(s->url) : strdup(s->url);
    if (s->root != NULL && s->root[0] != '\0' && !is_local(s->root)) {
        char *plain = s->root;

        s->root = store_join(plain, "");
        free(plain);
    }
    return s->root == NULL ? err_memory(err, strlen(s->url)) : SHEAF_OK;
}

int source_open(const char *url, const char *root, struct source *s, struct sheaf_error *err)
{
    const char *path = strncmp(url, "file://", 7) == 0 ? url + 7 : url;
    int code;

    *s = (struct source){ .url = path, .root_fd = -1, .list_kind = kind_of_list(path) };
    code = is_local(path) ? find_local_kind(s, err) : find_remote_kind(s, err);
    if (code == SHEAF_OK && root != NULL && s->kind != SOURCE_LIST && s->kind != SOURCE_INVENTORY)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: a root is for lists, this is a %s", url,
                       s->kind == SOURCE_TREE ? "directory"
                       : s->kind == SOURCE_PREFIX ? "prefix" : "manifest");
    if (code == SHEAF_OK)
        code = set_root(s, root, err);
    if (code == SHEAF_OK && s->kind == SOURCE_INVENTORY && s->root[0] != '\0' &&
        strncmp(s->root, "s3://", 5) != 0)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: the root of an inventory is an s3:// URL",
                       root);
    if (code != SHEAF_OK || s->root[0] == '\0' || !is_local(s->root))
        return code;
    s->root_fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root_fd < 0) {
        code = err_errno(err, errno, "%s: cannot open the directory", s->root);
        source_close(s);
        return code;
    }
    return SHEAF_OK;
}

void source_close(struct source *s)
{
    if (s->root_fd >= 0)
        close(s->root_fd);
    s->root_fd = -1;
    free(s->root);
    free(s->below);
    s->root = s->below = NULL;
}

int source_scan(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    switch (s->kind) {
    case SOURCE_TREE: return source_scan_tree(s, scan, err);
    case SOURCE_PREFIX: return source_scan_prefix(s, scan, err);
    case SOURCE_MANIFEST: return source_scan_manifest(s, scan, err);
    case SOURCE_INVENTORY: return source_scan_inventory(s, scan, err);
    case SOURCE_AUGMENTED: return source_scan_augmented(s, scan, err);
    default: return source_scan_list(s, scan, err);
    }
}

/* ---- Where the tree is ----------------------------------------------------------------------- */

/* The nearest directory, at or above a path, that is there. */
static char *nearest(const char *path)
{
    char *name = strdup(path), *real = NULL;

    while (name != NULL && (real = realpath(name, NULL)) == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "/") != 0) {
        char *above = strdup(dirname(name));

        free(name);
        name = above;
    }
    free(name);
    return real;
}

static bool prefix_contains(const struct source *s, const char *url)
{
    char *whole = store_join(s->root, s->below == NULL ? "" : s->below);
    size_t size = whole == NULL ? 0 : strlen(whole);
    bool contains;

    while (size > 0 && whole[size - 1] == '/')
        size--;
    contains = whole != NULL && strncmp(url, whole, size) == 0 &&
               (url[size] == '/' || url[size] == '\0');
    free(whole);
    return contains;
}

bool source_contains(const struct source *s, const char *url)
{
    char *real = s->kind == SOURCE_TREE && is_local(url) ? nearest(url) : NULL;
    const char *below = s->below == NULL || s->below[0] == '\0' ? "." : s->below;
    struct stat tree, st;
    bool found = false;

    if (s->kind == SOURCE_PREFIX)
        return prefix_contains(s, url);
    if (real != NULL && fstatat(s->root_fd, below, &tree, 0) == 0) {
        for (char *at = real; !found; at = dirname(at)) {
            found = stat(at, &st) == 0 && st.st_dev == tree.st_dev && st.st_ino == tree.st_ino;
            if (strcmp(at, "/") == 0)
                break;
        }
    }
    free(real);
    return found;
}

int source_refuse(const struct source *s, const char *dest, struct sheaf_error *err)
{
    const char *path = strncmp(dest, "file://", 7) == 0 ? dest + 7 : dest;

    if (!source_contains(s, path))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT,
                   "%s: lies in the source %s, which would then be packed into itself", dest,
                   s->url);
}

/* ---- What a scan finds ----------------------------------------------------------------------- */

static int tick(struct scan *scan, struct sheaf_error *err)
{
    scan->found++;
    if (scan->found % 256 == 0) {
        const struct sheaf_progress progress = {
            .stage = "scan", .done_count = scan->found, .done_bytes = scan->found_bytes,
        };

        watch_show(scan->watch, &progress);
    }
    return watch_check(scan->watch, err);
}

int scan_add(struct scan *scan, const char *path, const struct stat *st, uint32_t label,
             struct sheaf_error *err)
{
    struct catalog_stat found;
    int code = tick(scan, err);

    if (code != SHEAF_OK)
        return code;
    if (!S_ISREG(st->st_mode)) {
        const char *what = S_ISDIR(st->st_mode) ? "is a directory"
                         : S_ISFIFO(st->st_mode) ? "is a named pipe, not a file"
                         : S_ISSOCK(st->st_mode) ? "is a socket, not a file"
                                                 : "is a device, not a file";

        return catalog_add_bad(scan->catalog, scan->problems, path, SHEAF_ERR_UNSUPPORTED, what,
                               err);
    }
    found = (struct catalog_stat){
        .bytes = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000u +
                              (uint64_t)st->st_mtim.tv_nsec),
    };
    scan->found_bytes += found.bytes;
    return catalog_add(scan->catalog, scan->problems, path, &found, label, err);
}

int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err)
{
    int code = tick(scan, err);

    if (code != SHEAF_OK)
        return code;
    scan->found_bytes += stat->bytes;
    return catalog_add(scan->catalog, scan->problems, path, stat, label, err);
}

int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err)
{
    int code = tick(scan, err);

    if (code != SHEAF_OK)
        return code;
    return catalog_add_bad(scan->catalog, scan->problems, path, problem->code, problem->message,
                           err);
}

int scan_add_bad(struct scan *scan, const char *path, int errnum, const char *what,
                 struct sheaf_error *err)
{
    struct sheaf_error found;

    if (errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM)     /* not the file's fault */
        return err_errno(err, errnum, "%s: %s", path, what);
    err_errno(&found, errnum, "%s", what);
    return scan_add_problem(scan, path, &found, err);
}

int scan_refuse(struct scan *scan, const char *path, int code, const char *reason,
                struct sheaf_error *err)
{
    scan->found++;
    return problems_add(scan->problems, err, path, code, "%s", reason);
}

int scan_bad_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                  struct sheaf_error *err)
{
    char *where;
    int code;

    if (asprintf(&where, "%s:%llu", url, (unsigned long long)line) < 0)
        return err_memory(err, strlen(url));
    scan->found++;
    code = problems_add(scan->problems, err, where, SHEAF_ERR_CORRUPT, "%s", reason);
    free(where);
    return code;
}

int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err)
{
    const char *slash = strrchr(path, '/');

    *label = LABEL_NONE;
    if (slash == NULL || slash == path)
        return SHEAF_OK;
    return catalog_class(scan->catalog, path, (size_t)(slash - path), label, err);
}

/* Notes a line that makes no file; SHEAF_END if that is to be skipped. */
static int refuse_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                       struct sheaf_error *err)
{
    const int code = scan_bad_line(scan, url, line, reason, err);

    return code == SHEAF_OK ? SHEAF_END : code;
}

/* Names and numbers of classes do not mix: a class would get a number that is used already. */
static int entry_label(struct scan *scan, const char *url, uint64_t line,
                       const struct list_entry *entry, uint32_t *label, struct sheaf_error *err)
{
    const uint64_t other = entry->class_name != NULL ? scan->numbers_line : scan->class_line;
    char reason[200];

    *label = LABEL_NONE;
    if (entry->class_name == NULL && entry->label_count == 0)
        return SHEAF_OK;
    if (other != 0) {
        snprintf(reason, sizeof(reason), "the label is %s, but that of line %llu is %s",
                 entry->class_name != NULL ? "the name of a class" : "a number",
                 (unsigned long long)other,
                 entry->class_name != NULL ? "a number" : "the name of a class");
        return refuse_line(scan, url, line, reason, err);
    }
    if (entry->class_name == NULL) {
        scan->numbers_line = scan->numbers_line != 0 ? scan->numbers_line : line;
        return catalog_numbers(scan->catalog, entry->labels, entry->label_count, label, err);
    }
    scan->class_line = scan->class_line != 0 ? scan->class_line : line;
    return catalog_class(scan->catalog, entry->class_name, entry->class_size, label, err);
}

int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err)
{
    if (code == SHEAF_END)
        return SHEAF_END;
    if (code == SHEAF_ERR_MEMORY)
        return err_set(err, code, "%s", found->message);
    if (code != SHEAF_OK)
        return refuse_line(scan, url, line, found->message, err);
    return entry_label(scan, url, line, entry, label, err);
}
