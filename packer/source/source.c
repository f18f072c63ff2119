/* SPDX-License-Identifier: MIT
 *
 * The kinds of source, and their common code. */
#include "packer/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"
#include "base/utf8.h"
#include "formats/codec.h"
#include "formats/name.h"
#include "formats/view.h"
#include "packer/source/clutter.h"
#include "store/file_system.h"
#include "store/store.h"

#define DANGLING_TEXT \
    "is a symbolic link to a file that does not exist: fetch the file that it stands for"

/* The kinds of sources, such as a list or an archive. If several kinds match a URL, the first one
 * is used. */
static const struct source_ops *const kinds[] = {
    &source_tree_ops, &source_prefix_ops, &source_inventory_ops, &source_manifest_ops,
    &source_augmented_ops, &source_archive_ops, &source_lst_ops, &source_csv_ops,
    &source_jsonl_ops, &source_list_ops,
};

char *source_root_name(const struct source *s)
{
    char *real = s->is_remote ? NULL : realpath(s->root, NULL);

    return real != NULL ? real : strdup(s->root);
}

/* ---- Finding the kind ------------------------------------------------------------------------ */

/* The facts about a URL. */
struct source_look {
    const char *url;
    enum source_at at;
    /* true if the content can be read at any offset; false for a pipe */
    bool is_readable;
    bool is_read;
    char bytes[4096];           /* the first ones */
    const char *text;           /* their part after a byte order mark and blanks */
    size_t size;
};

static bool is_named_so(const struct source_ops *ops, const char *url)
{
    const size_t size = strlen(url), stem = codec_stem(url);    /* lists may be compressed */

    for (const char *const *s = ops->suffixes; s != NULL && *s != NULL; s++) {
        const size_t tail = strlen(*s);

        if ((size > tail && strncasecmp(url + size - tail, *s, tail) == 0) ||
            (stem > tail && strncasecmp(url + stem - tail, *s, tail) == 0))
            return true;
    }
    return ops->suffixes == NULL;
}

/* Returns whether the name alone suggests a file. */
static bool may_be_file(const char *url)
{
    bool may = false;

    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        may |= kinds[i]->suffixes != NULL && is_named_so(kinds[i], url);
    return may;
}

static int read_start(struct source_look *look, struct sheaf_error *err)
{
    struct store_object *object;
    size_t size;
    int code;

    if (look->is_read || !look->is_readable)
        return SHEAF_OK;
    code = store_open(look->url, &object, err);
    if (code != SHEAF_OK)
        return code;
    size = object->is_stream ? 0 : (size_t)MIN(object->bytes, sizeof(look->bytes));
    code = store_read(object, 0, look->bytes, size, err);
    store_close(object);
    look->is_read = true;
    look->text = look->bytes;
    look->size = size;
    utf8_pass_mark(&look->text, &look->size);
    while (look->size > 0 && memchr(" \t\r\n", *look->text, 4) != NULL) {
        look->text++;
        look->size--;
    }
    return code;
}

static int find_kind(struct source_look *look, const struct source_ops **kind,
                     struct sheaf_error *err)
{
    *kind = NULL;
    for (size_t i = 0; i < COUNT_OF(kinds) && *kind == NULL; i++) {
        int code = SHEAF_OK;

        if (kinds[i]->at != look->at || !is_named_so(kinds[i], look->url))
            continue;
        if (kinds[i]->detect != NULL)
            code = read_start(look, err);
        if (code != SHEAF_OK)
            return code;
        if (kinds[i]->detect == NULL || kinds[i]->detect(look->url, look->text, look->size))
            *kind = kinds[i];
    }
    return SHEAF_OK;
}

/* Finds out whether the URL of a source in a store is an object. If it is not, the URL is the
 * prefix of several objects. */
static int look_at_store(struct source_look *look, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(look->url, err);
    const size_t size = strlen(look->url);
    const bool is_directory = size > 0 && look->url[size - 1] == '/';
    uint64_t bytes;
    int code;

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    if (ops->walk == NULL && is_directory)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a directory, which cannot be listed "
                       "over HTTP", look->url);
    code = is_directory ? SHEAF_ERR_NOT_FOUND : ops->size(look->url, &bytes, err);
    look->at = SOURCE_AT_FILE;
    look->is_readable = true;
    if (code == SHEAF_OK)
        return SHEAF_OK;
    if (ops->walk == NULL || code == SHEAF_ERR_NETWORK ||
        (code == SHEAF_ERR_ACCESS && may_be_file(look->url)))
        return code;
    look->at = SOURCE_AT_PREFIX;
    return SHEAF_OK;
}

static int look_at_file(struct source_look *look, struct sheaf_error *err)
{
    struct stat st = { .st_mode = S_IFIFO };

    if (strcmp(look->url, "-") != 0 && stat(look->url, &st) != 0)
        return store_is_dangling(look->url)
             ? err_set(err, SHEAF_ERR_NOT_FOUND, "%s: the source " DANGLING_TEXT, look->url)
             : err_errno(err, errno, "%s: cannot read the source", look->url);
    look->at = S_ISDIR(st.st_mode) ? SOURCE_AT_DIRECTORY : SOURCE_AT_FILE;
    look->is_readable = S_ISREG(st.st_mode);
    return SHEAF_OK;
}

/* Returns an error if the source is a view (formats/view.h). A view is a file that selects and
 * mixes samples of data sets. A view is neither a list of files nor a file with samples. */
static int source_refuse_view(struct source_look *look, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (look->at != SOURCE_AT_FILE || !view_is_name(look->url))
        return SHEAF_OK;
    code = read_start(look, err);
    if (code != SHEAF_OK || !view_begins(look->text, look->size))
        return code;
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a view, not files: name its sources, or "
                   "make a data set of it with sheaf convert first", look->url);
}

/* ---- Opening --------------------------------------------------------------------------------- */

int source_open_here(struct source *s, const char *root, struct sheaf_error *err)
{
    (void)root;
    s->root = strdup(s->url);
    return s->root == NULL ? err_memory(err, strlen(s->url)) : SHEAF_OK;
}

int source_open_anywhere(struct source *s, const char *root, struct sheaf_error *err)
{
    s->root = strdup(root == NULL ? "" : root);
    return s->root == NULL ? err_memory(err, 1) : SHEAF_OK;
}

static int source_open_directory(struct source *s, struct sheaf_error *err)
{
    s->root_fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->root_fd >= 0 ? SHEAF_OK
                           : err_errno(err, errno, "%s: cannot open the directory", s->root);
}

/* Opens the root of the source's paths. A root in a store gets a slash at its end, so that a path
 * can be appended to it. */
static int open_root(struct source *s, struct sheaf_error *err)
{
    char *plain = s->root;

    s->is_remote = s->ops->read == NULL && (s->root[0] == '\0' || !store_is_local(s->root));
    /* An empty root cannot be opened yet, because the content of the source will state the root. A
     * source that contains its files, such as an archive, reads them itself, so its root is not
     * opened either. */
    if (s->root[0] == '\0' || s->ops->read != NULL)
        return SHEAF_OK;
    if (s->is_remote) {
        s->root = store_join(plain, "");
        free(plain);
        return s->root == NULL ? err_memory(err, strlen(s->url)) : SHEAF_OK;
    }
    return source_open_directory(s, err);
}

int source_open(const char *url, const char *root, struct source *s, struct sheaf_error *err)
{
    const char *path = local_path(url);
    struct source_look look = { .url = path };
    int code = store_is_local(path) ? look_at_file(&look, err) : look_at_store(&look, err);

    *s = (struct source){ .url = path, .root_fd = -1 };
    if (code == SHEAF_OK)
        code = source_refuse_view(&look, err);
    if (code == SHEAF_OK)
        code = find_kind(&look, &s->ops, err);
    if (code == SHEAF_OK && root != NULL && !s->ops->takes_root)
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: a root is only valid for a list, an archive "
                       "or an inventory, not for a %s", url, s->ops->noun);
    if (code == SHEAF_OK)
        code = s->ops->open(s, root, err);
    if (code == SHEAF_OK)
        code = open_root(s, err);
    if (code != SHEAF_OK)
        source_close(s);
    return code;
}

int source_reopen(const char *kind, const char *root, bool is_remote, struct source *s,
                  struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *s = (struct source){ .url = root, .root = strdup(root), .is_remote = is_remote,
                          .root_fd = -1 };
    for (size_t i = 0; i < COUNT_OF(kinds) && s->ops == NULL; i++)
        if (strcmp(kinds[i]->name, kind) == 0)
            s->ops = kinds[i];
    if (s->root == NULL)
        code = err_memory(err, strlen(root));
    else if (s->ops == NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: an unknown kind of source, \"%.40s\"", root,
                       kind);
    else if (s->ops->reopen != NULL)
        code = s->ops->reopen(s, err);
    else if (!is_remote)
        code = source_open_directory(s, err);
    if (code != SHEAF_OK)
        source_close(s);
    return code;
}

void source_close(struct source *s)
{
    if (s->content != NULL)
        s->ops->close(s);
    s->content = NULL;
    if (s->root_fd >= 0)
        close(s->root_fd);
    s->root_fd = -1;
    free(s->root);
    free(s->below);
    s->root = s->below = NULL;
}

int source_scan(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    scan->source = s;
    scan->below_size = s->below == NULL || s->below[0] == '\0' ? 0 : strlen(s->below) + 1;
    return s->ops->scan(s, scan, err);
}

static int source_read_remote(const struct source *s, const struct catalog_file *f, void *data,
                              struct sheaf_error *err)
{
    const bool has_url = f->origin == CATALOG_OBJECT;
    struct store_object *object;
    char *url;
    int code;

    if (asprintf(&url, "%s%s", has_url ? "" : s->root, has_url ? f->object->url : f->path) < 0)
        return err_memory(err, strlen(f->path));
    code = store_open_known(url, f->bytes, has_url ? f->object->stamp : f->stamp, &object, err);
    free(url);
    if (code != SHEAF_OK)
        return code;
    code = store_read(object, 0, data, f->bytes, err);
    store_close(object);
    return code;
}

int source_read(const struct source *s, const struct catalog_file *f, void *data,
                struct sheaf_error *err)
{
    int fd, code = SHEAF_OK;

    if (f->origin == CATALOG_TEXT) {
        memcpy(data, f->text, f->bytes);
        return SHEAF_OK;
    }
    if (s->ops->read != NULL)
        return s->ops->read(s, f, data, err);
    if (s->is_remote)
        return source_read_remote(s, f, data, err);
    fd = openat(s->root_fd, f->origin == CATALOG_OBJECT ? f->object->url : f->path,
                O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open");
    if (fd_read(fd, data, f->bytes) != f->bytes)
        code = err_errno(err, errno == 0 ? EIO : errno, "cannot read");
    close(fd);
    return code;
}

/* ---- Where the tree is ----------------------------------------------------------------------- */

/* Returns the path of a directory with symbolic links resolved, in memory that the caller frees. If
 * the directory does not exist, returns the nearest directory above it that exists. */
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
    char *real;
    const char *below = s->below == NULL || s->below[0] == '\0' ? "." : s->below;
    struct stat tree, st;
    bool found = false;

    if (!s->ops->is_tree)
        return false;
    if (s->is_remote)
        return prefix_contains(s, url);
    real = store_is_local(url) ? nearest(url) : NULL;
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
    const char *path = local_path(dest);

    if (!source_contains(s, path))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is inside the source %s, which would be packed "
                   "into itself: choose a place outside", dest, s->url);
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

void scan_end(struct scan *scan)
{
    buf_free(&scan->clean);
}

/* Returns whether name_clean() would not change a path. The path of a directory may end with a
 * slash. */
static bool is_clean(const char *path)
{
    for (;;) {
        const size_t size = (size_t)(strchrnul(path, '/') - path);

        if (size == 0 || (size == 1 && path[0] == '.'))
            return false;
        if (path[size] == '\0' || path[size + 1] == '\0')
            return true;
        path += size + 1;
    }
}

int scan_clean(struct scan *scan, const char *path, const char **cleaned, struct sheaf_error *err)
{
    const size_t size = strlen(path), below = MIN(scan->below_size, size);
    bool climbs;
    char *copy;
    int code;

    *cleaned = path;
    if (path[below] == '\0' || is_clean(path + below))
        return SHEAF_OK;
    scan->clean.limit = SIZE_MAX / 2;
    scan->clean.size = 0;
    code = buf_append(&scan->clean, path, size + 1, err);
    if (code != SHEAF_OK)
        return code;
    copy = (char *)scan->clean.data;
    copy[below + name_clean(copy + below, size - below, &climbs)] = '\0';
    *cleaned = copy;
    return SHEAF_OK;
}

int scan_name(struct scan *scan, const char *path, const char **named, struct sheaf_error *err)
{
    *named = path;
    if (scan->naming == NULL || !scan->naming->renames || name_problem(path) != NULL)
        return SHEAF_OK;
    return naming_apply(scan->naming, path, named, err);
}

/* Finds the path under which a file is packed. */
static int name_file(struct scan *scan, const char *path, const char **named,
                     struct sheaf_error *err)
{
    const char *cleaned;
    const int code = scan_clean(scan, path, &cleaned, err);

    return code == SHEAF_OK ? scan_name(scan, cleaned, named, err) : code;
}

/* Adds a file to the catalog. The file is packed under the path `named`. If `named` differs from
 * the file's own path `path`, also stores where the file is. */
static int add_named(struct scan *scan, const char *path, const char *named,
                     const struct catalog_stat *stat, uint32_t label, struct sheaf_error *err)
{
    const bool is_remote = scan->source != NULL && scan->source->is_remote;
    struct catalog_stat placed = *stat;
    char *url;
    int code;

    if (named == path || stat->url != NULL || stat->text != NULL)
        return catalog_add(scan->catalog, scan->problems, named, stat, label, err);
    if (asprintf(&url, "%s%s", is_remote ? scan->source->root : "", path) < 0)
        return err_memory(err, strlen(path));
    placed.url = url;
    placed.stamp = is_remote ? stat->stamp : (uint64_t)stat->mtime_ns;
    code = catalog_add(scan->catalog, scan->problems, named, &placed, label, err);
    free(url);
    return code;
}

static int add_bad(struct scan *scan, const char *path, const char *named, int why,
                   const char *reason, struct sheaf_error *err)
{
    int code = named != NULL ? SHEAF_OK : name_file(scan, path, &named, err);

    return code == SHEAF_OK ? catalog_add_bad(scan->catalog, scan->problems, path, named, why,
                                              reason, err) : code;
}

/* Adds a file to the catalog. The file is packed under the path `named`. If `named` is NULL, this
 * path is computed from the file's own path. */
static int source_add_file(struct scan *scan, const char *path, const char *named,
                           const struct catalog_stat *stat, uint32_t label, struct sheaf_error *err)
{
    static const char parquet[] = ".parquet";
    const size_t size = strlen(path);
    int code = tick(scan, err);

    if (code == SHEAF_OK && named == NULL)
        code = name_file(scan, path, &named, err);
    if (code != SHEAF_OK)
        return code;
    scan->found_bytes += stat->bytes;
    scan->parquet += size > sizeof(parquet) - 1 &&
                     strcasecmp(path + size - (sizeof(parquet) - 1), parquet) == 0;
    return add_named(scan, path, named, stat, label, err);
}

int scan_add(struct scan *scan, const char *path, const char *named, const struct stat *st,
             uint32_t label, struct sheaf_error *err)
{
    const struct catalog_stat found = {
        .bytes = (uint64_t)st->st_size,
        .mtime_ns = (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000u +
                              (uint64_t)st->st_mtim.tv_nsec),
    };
    int code;

    if (S_ISREG(st->st_mode))
        return source_add_file(scan, path, named, &found, label, err);
    code = tick(scan, err);
    return code != SHEAF_OK ? code : add_bad(scan, path, named, SHEAF_ERR_UNSUPPORTED,
                         S_ISDIR(st->st_mode) ? "is a directory"
                         : S_ISFIFO(st->st_mode) ? "is a named pipe, not a file"
                         : S_ISSOCK(st->st_mode) ? "is a socket, not a file"
                                                 : "is a device, not a file", err);
}

int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err)
{
    return source_add_file(scan, path, NULL, stat, label, err);
}

int scan_add_text(struct scan *scan, const char *path, const char *text, size_t size,
                  uint32_t label, struct sheaf_error *err)
{
    const struct catalog_stat stat = { .bytes = size, .text = text };

    return source_add_file(scan, path, path, &stat, label, err);
}

static int add_problem(struct scan *scan, const char *path, const char *named,
                       const struct sheaf_error *problem, struct sheaf_error *err)
{
    const int code = tick(scan, err);

    return code == SHEAF_OK
               ? add_bad(scan, path, named, problem->code, problem->message, err) : code;
}

int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err)
{
    return add_problem(scan, path, NULL, problem, err);
}

/* Sets `found` to the error of a file that is a symbolic link to nothing. Returns false if it is
 * not such a link. */
static bool is_dangling(const struct scan *scan, const char *path, struct sheaf_error *found)
{
    char *url = store_join(scan->source->root, path);
    const bool is_it = url != NULL && store_is_dangling(url);

    free(url);
    if (is_it)
        err_set(found, SHEAF_ERR_NOT_FOUND, DANGLING_TEXT);
    return is_it;
}

int scan_add_bad(struct scan *scan, const char *path, const char *named, int errnum,
                 const char *what, struct sheaf_error *err)
{
    struct sheaf_error found;

    if (!err_blames_file(errnum))
        return err_because(err, err_errno(err, errnum, "%s: %s", path, what),
                           SHEAF_REASON_SOURCE_LOST);
    if (errnum != ENOENT || !is_dangling(scan, path, &found))
        err_errno(&found, errnum, "%s", what);
    return add_problem(scan, path, named, &found, err);
}

int scan_filter(struct scan *scan, const char *path, bool is_directory, bool *out,
                struct sheaf_error *err)
{
    size_t below;
    int code = scan_clean(scan, path, &path, err);

    *out = false;
    below = MIN(scan->below_size, strlen(path));
    if (code == SHEAF_OK && scan->filter != NULL)
        code = filter_ask(scan->filter, path + below, is_directory, out, err);
    scan->filtered += *out;
    return code;
}

int scan_leave_out(struct scan *scan, const char *path, bool *out, struct sheaf_error *err)
{
    const int code = scan_clean(scan, path, &path, err);

    if (code != SHEAF_OK)
        return code;
    *out = clutter_is_path(path + MIN(scan->below_size, strlen(path)));
    scan->left_out += *out;
    return *out ? SHEAF_OK : scan_filter(scan, path, false, out, err);
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

/* Returns the length of the part of a path that is its class: the first `depth` directories, or all
 * if `depth` is 0. */
static size_t class_size(const char *path, uint32_t depth)
{
    const char *slash = strrchr(path, '/'), *end = path;

    for (uint32_t i = 0; depth != 0 && i < depth && end != slash && slash != NULL; i++)
        end = strchr(end + (i != 0), '/');
    return slash == NULL ? 0 : (size_t)((depth == 0 ? slash : end) - path);
}

int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err)
{
    const char *own, *slash;
    size_t size;
    int code = scan_clean(scan, path, &path, err);

    *label = LABEL_NONE;
    if (code != SHEAF_OK)
        return code;
    own = path + MIN(scan->below_size, strlen(path));
    slash = strrchr(own, '/');
    size = class_size(own, scan->class_depth);
    /* If several sources are combined and a file lies directly in one of them, the name of this
     * source is the file's class. */
    if (slash == NULL && own != path) {
        const char *end = own - 1;

        for (own = end; own > path && own[-1] != '/'; own--)
            ;
        size = (size_t)(end - own);
    }
    if (size == 0)
        return SHEAF_OK;
    if (scan->numbers_line != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: its label is the name of a class, but "
                       "that of line %llu of a list is a number", path,
                       (unsigned long long)scan->numbers_line);
    scan->class_line = scan->class_line != 0 ? scan->class_line : LINE_NONE;
    scan->has_directories = true;
    return catalog_class(scan->catalog, own, size, NULL, label, err);
}

/* Records a problem: a line of a list that names no usable file. Returns SHEAF_END if this
 * succeeds, because the caller then skips the line. */
static int refuse_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                       struct sheaf_error *err)
{
    const int code = scan_bad_line(scan, url, line, reason, err);

    return code == SHEAF_OK ? SHEAF_END : code;
}

/* Finds the label of a list's entry. The labels of a list may be names of classes, or numbers of
 * classes, but not a mixture of both. In a mixture, a class with a name could get a number that
 * another entry already uses. */
static int entry_label(struct scan *scan, const char *url, uint64_t line,
                       const struct list_entry *entry, uint32_t *label, struct sheaf_error *err)
{
    const bool is_name = entry->class_name != NULL && entry->label_count == 0;
    const uint64_t other = is_name ? scan->numbers_line : scan->class_line;
    char reason[200];

    *label = LABEL_NONE;
    if (entry->class_name == NULL && entry->label_count == 0)
        return SHEAF_OK;
    if (other != 0) {
        if (other == LINE_NONE)
            snprintf(reason, sizeof(reason), "the label is a number, but directories of other "
                     "sources are classes");
        else
            snprintf(reason, sizeof(reason), "the label is %s, but that of line %llu is %s",
                     is_name ? "the name of a class" : "a number", (unsigned long long)other,
                     is_name ? "a number" : "the name of a class");
        return refuse_line(scan, url, line, reason, err);
    }
    if (is_name)
        scan->class_line = scan->class_line != 0 ? scan->class_line : line;
    else
        scan->numbers_line = scan->numbers_line != 0 ? scan->numbers_line : line;
    if (entry->class_name == NULL)
        return catalog_numbers(scan->catalog, entry->labels, entry->label_count, label, err);
    return catalog_class(scan->catalog, entry->class_name, entry->class_size,
                         is_name ? NULL : entry->labels, label, err);
}

int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err)
{
    if (code == SHEAF_END)
        return SHEAF_END;
    if (code == SHEAF_ERR_MEMORY)
        return err_set(err, code, "%s", found->message);
    if (code == SHEAF_ERR_UNSUPPORTED)
        return err_set(err, code, "%s:%llu: %s", url, (unsigned long long)line, found->message);
    if (code != SHEAF_OK)
        return refuse_line(scan, url, line, found->message, err);
    return entry_label(scan, url, line, entry, label, err);
}
