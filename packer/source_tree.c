/* SPDX-License-Identifier: MIT
 *
 * A directory tree.  The class of a file is the directory that it is in, by its path below the
 * root; files right in the root have none.  Symbolic links are followed; a directory that is
 * found again below itself is a loop.
 *
 * Each directory is read whole and closed before those below it, so the number of open files
 * does not grow with the depth. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "packer/source.h"

/* Room for any path that can be packed, and the longest name after it. */
#define PATH_BYTES (KEY_LIMIT + FIELD_LIMIT + 256)

/* A directory on the way from the root. */
struct level {
    const struct level *above;
    dev_t device;
    ino_t inode;
};

struct tree {
    const struct source *source;
    struct scan *scan;
    size_t path_size;
    char path[PATH_BYTES];      /* of what is being looked at, relative to the root */
};

static int scan_directory(struct tree *tree, const struct level *above,
                          struct sheaf_error *err);

static bool is_loop(const struct level *level)
{
    for (const struct level *l = level->above; l != NULL; l = l->above)
        if (l->device == level->device && l->inode == level->inode)
            return true;
    return false;
}

/* Appends a name to the path; false if that becomes too long. */
static bool push(struct tree *t, const char *name)
{
    const size_t size = strlen(name), slash = t->path_size != 0;

    if (size + slash + 1 > sizeof(t->path) - t->path_size)
        return false;
    if (slash)
        t->path[t->path_size] = '/';
    memcpy(t->path + t->path_size + slash, name, size + 1);
    t->path_size += slash + size;
    return true;
}

static void pop(struct tree *t, size_t size)
{
    t->path_size = size;
    t->path[size] = '\0';
}

static int class_of(struct tree *t, size_t directory_size, uint32_t *label,
                    struct sheaf_error *err)
{
    *label = LABEL_NONE;
    if (directory_size == 0)
        return SHEAF_OK;
    return catalog_class(t->scan->catalog, t->path, directory_size, label, err);
}

/* Looks at one entry, whose path is in t->path; directories are kept for later. */
static int scan_entry(struct tree *t, int directory_fd, const char *name, uint32_t label,
                      struct buf *below, struct sheaf_error *err)
{
    struct stat st;

    if (fstatat(directory_fd, name, &st, 0) != 0)
        return scan_add_bad(t->scan, t->path, errno, "cannot stat", err);
    if (S_ISDIR(st.st_mode))
        return buf_append(below, name, strlen(name) + 1, err);
    return scan_add(t->scan, t->path, &st, label, err);
}

static int read_entries(struct tree *t, DIR *directory, struct buf *below,
                        struct sheaf_error *err)
{
    const size_t size = t->path_size;
    uint32_t label = LABEL_NONE;
    int code = class_of(t, size, &label, err);

    while (code == SHEAF_OK) {
        const struct dirent *d;

        errno = 0;
        d = readdir(directory);
        if (d == NULL)
            return errno == 0 ? SHEAF_OK
                              : scan_add_bad(t->scan, t->path, errno, "cannot list", err);
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (!push(t, d->d_name))
            return problems_add(t->scan->problems, err, t->path, SHEAF_ERR_LIMIT,
                                "paths below it are longer than %d bytes", PATH_BYTES);
        code = scan_entry(t, dirfd(directory), d->d_name, label, below, err);
        pop(t, size);
    }
    return code;
}

/* Opens the directory at t->path and notes a problem if that fails: *directory is then NULL. */
static int open_directory(struct tree *t, struct level *level, DIR **directory,
                          struct sheaf_error *err)
{
    const char *path = t->path_size == 0 ? "." : t->path;
    const int fd = openat(t->source->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    *directory = NULL;
    if (fd < 0)
        return scan_add_bad(t->scan, path, errno, "cannot open the directory", err);
    if (fstat(fd, &st) == 0) {
        level->device = st.st_dev;
        level->inode = st.st_ino;
        if (is_loop(level)) {
            close(fd);
            return problems_add(t->scan->problems, err, path, SHEAF_ERR_UNSUPPORTED,
                                "a directory loop: it is also above itself");
        }
        *directory = fdopendir(fd);
    }
    if (*directory == NULL) {
        const int failed = errno;

        close(fd);
        return scan_add_bad(t->scan, path, failed, "cannot open the directory", err);
    }
    return SHEAF_OK;
}

static int scan_below(struct tree *t, const struct level *level, const struct buf *below,
                      struct sheaf_error *err)
{
    const size_t size = t->path_size;
    int code = SHEAF_OK;

    for (size_t at = 0; at < below->size && code == SHEAF_OK;) {
        const char *name = (const char *)below->data + at;

        /* It has fitted before. */
        if (push(t, name))
            code = scan_directory(t, level, err);
        pop(t, size);
        at += strlen(name) + 1;
    }
    return code;
}

static int scan_directory(struct tree *t, const struct level *above, struct sheaf_error *err)
{
    struct buf below = BUF_INIT(SIZE_MAX / 2);
    struct level level = { .above = above };
    DIR *directory;
    int code = open_directory(t, &level, &directory, err);

    if (code != SHEAF_OK || directory == NULL)
        return code;
    code = read_entries(t, directory, &below, err);
    closedir(directory);
    if (code == SHEAF_OK)
        code = scan_below(t, &level, &below, err);
    buf_free(&below);
    return code;
}

int source_scan_tree(const struct source *source, struct scan *scan, struct sheaf_error *err)
{
    struct tree tree = { .source = source, .scan = scan };

    if (source->below != NULL && !push(&tree, source->below))
        return err_set(err, SHEAF_ERR_LIMIT, "%s: its path is too long", source->below);
    return scan_directory(&tree, NULL, err);
}
