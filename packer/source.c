/* SPDX-License-Identifier: MIT
 *
 * The kinds of source, and what they share. */
#include "packer/source.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static bool ends_with(const char *text, const char *end)
{
    const size_t size = strlen(text), tail = strlen(end);

    return size > tail && strcmp(text + size - tail, end) == 0;
}

static enum list_kind kind_of_list(const char *url)
{
    if (ends_with(url, ".lst"))
        return LIST_LST;
    if (ends_with(url, ".csv"))
        return LIST_CSV;
    return ends_with(url, ".jsonl") ? LIST_JSONL : LIST_PLAIN;
}

const char *source_kind_name(const struct source *s)
{
    static const char *const names[] = {
        [LIST_PLAIN] = "list", [LIST_LST] = "lst", [LIST_CSV] = "csv", [LIST_JSONL] = "jsonl",
    };

    return s->is_tree ? "tree" : names[s->list_kind];
}

/* The directory that a list is in. */
static char *list_directory(const char *url)
{
    const char *slash = strrchr(url, '/');

    if (slash == NULL)
        return strdup(".");
    return slash == url ? strdup("/") : strndup(url, (size_t)(slash - url));
}

int source_open(const char *url, const char *root, struct source *s, struct sheaf_error *err)
{
    const char *path = strncmp(url, "file://", 7) == 0 ? url + 7 : url;
    struct stat st;
    int code;

    *s = (struct source){ .url = path, .root_fd = -1 };
    if (strcmp(path, "-") != 0 && stat(path, &st) != 0)
        return err_errno(err, errno, "%s: cannot read the source", url);
    s->is_tree = strcmp(path, "-") != 0 && S_ISDIR(st.st_mode);
    s->list_kind = kind_of_list(path);
    if (s->is_tree && root != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: a root is for lists, this is a directory",
                       url);
    s->root = root != NULL ? strdup(root) : s->is_tree ? strdup(path) : list_directory(path);
    if (s->root == NULL)
        return err_memory(err, strlen(url));
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
    s->root = NULL;
}

int source_scan(const struct source *s, struct scan *scan, struct sheaf_error *err)
{
    return s->is_tree ? source_scan_tree(s, scan, err) : source_scan_list(s, scan, err);
}

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

bool source_contains(const struct source *s, const char *path)
{
    char *real = s->is_tree ? nearest(path) : NULL;
    struct stat tree, st;
    bool found = false;

    if (real != NULL && fstat(s->root_fd, &tree) == 0) {
        for (char *at = real; !found; at = dirname(at)) {
            found = stat(at, &st) == 0 && st.st_dev == tree.st_dev && st.st_ino == tree.st_ino;
            if (strcmp(at, "/") == 0)
                break;
        }
    }
    free(real);
    return found;
}

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
    found.bytes = (uint64_t)st->st_size;
    found.mtime_ns = (int64_t)((uint64_t)st->st_mtim.tv_sec * 1000000000u +
                               (uint64_t)st->st_mtim.tv_nsec);
    scan->found_bytes += found.bytes;
    return catalog_add(scan->catalog, scan->problems, path, &found, label, err);
}

int scan_add_bad(struct scan *scan, const char *path, int errnum, const char *what,
                 struct sheaf_error *err)
{
    struct sheaf_error found;
    int code = tick(scan, err);

    if (code != SHEAF_OK)
        return code;
    err_errno(&found, errnum, "%s", what);
    return catalog_add_bad(scan->catalog, scan->problems, path, found.code, found.message, err);
}
