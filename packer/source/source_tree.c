/* SPDX-License-Identifier: MIT
 *
 * A directory tree as a source. The class of a file is the path of its directory relative to the
 * root. Files directly in the root have no class.
 *
 * Symbolic links are followed. If a link leads to a directory above itself, this is a loop, and the
 * scan does not follow it. Clutter (files that are not data; see clutter.h) is left out and
 * counted.
 *
 * One thread reads the directories. It reads each directory completely and closes it before the
 * next one, so that the number of open files does not grow with the depth. Other threads request
 * the attributes of the files (stat_queue.h). */
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
#include "packer/source/clutter.h"
#include "packer/source/source.h"
#include "packer/source/stat_queue.h"

/* Size of the buffer for the current path in bytes. The buffer has room for the longest path that
 * can be packed, followed by the longest name of a file. */
#define PATH_BYTES (KEY_LIMIT + FIELD_LIMIT + 256)

struct tree {
    const struct source *source;
    struct scan *scan;
    struct stat_queue *queue;
    /* Stack of the directories that were found but not read yet. Each entry consists of a path and
     * a struct with the path's length. The directory on top of the stack is read first. */
    struct buf below;
    /* true if the current path may contain a symbolic link. If false, no loop is possible, and the
     * scan does not look for one. */
    bool linked;
    /* length of the path of the directory at which the scan of this tree began */
    size_t start;
    size_t path_size;
    char path[PATH_BYTES + 1];  /* the current path, relative to the root */
};

/* Appends the name of a file or directory to the current path. Returns false if the path would
 * become too long. */
static bool source_tree_push(struct tree *t, const char *name)
{
    const size_t size = strlen(name), slash = t->path_size != 0;

    if (size + slash + 1 > PATH_BYTES - t->path_size)
        return false;
    if (slash)
        t->path[t->path_size] = '/';
    memcpy(t->path + t->path_size + slash, name, size + 1);
    t->path_size += slash + size;
    return true;
}

static void source_tree_pop(struct tree *t, size_t size)
{
    t->path_size = size;
    t->path[size] = '\0';
}

/* ---- Directories to be read ------------------------------------------------------------------ */

struct kept {
    size_t size;                /* of its path */
    bool linked;
};

static int keep_directory(struct tree *t, const char *path, bool linked, struct sheaf_error *err)
{
    const struct kept kept = { .size = strlen(path), .linked = linked };
    int code = buf_reserve(&t->below, kept.size + sizeof(kept), err);

    if (code == SHEAF_OK) {
        buf_put(&t->below, path, kept.size);
        buf_put(&t->below, &kept, sizeof(kept));
    }
    return code;
}

/* Sets the current path to the directory that is read next, and removes it from the stack. Returns
 * false if no directory is left. */
static bool next_directory(struct tree *t)
{
    struct kept kept;

    if (t->below.size == 0)
        return false;
    t->below.size -= sizeof(kept);
    memcpy(&kept, t->below.data + t->below.size, sizeof(kept));
    t->below.size -= kept.size;
    memcpy(t->path, t->below.data + t->below.size, kept.size);
    t->linked = kept.linked;
    source_tree_pop(t, kept.size);
    return true;
}

static int source_tree_leave_out(struct tree *t)
{
    t->scan->left_out++;
    return SHEAF_OK;
}

/* Takes the answer about a path. */
static int source_tree_found(void *context, const struct stat_question *asked, int errnum,
                             const struct stat *st, struct sheaf_error *err)
{
    struct tree *t = context;
    const char *path = asked->path, *slash = strrchr(path, '/');

    const bool is_directory = errnum == 0 && S_ISDIR(st->st_mode);
    bool out;
    int code;

    if (is_directory && clutter_is_directory(slash == NULL ? path : slash + 1))
        return source_tree_leave_out(t);
    code = scan_filter(t->scan, path, is_directory, &out, err);
    if (code != SHEAF_OK || out)
        return code;
    if (errnum != 0)
        return scan_add_bad(t->scan, path, NULL, errnum, "cannot stat", err);
    return is_directory ? keep_directory(t, path, true, err)
                        : scan_add(t->scan, path, NULL, st, asked->label, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Sets *label to the label for the class that the current directory stands for. */
static int source_tree_class_of(struct tree *t, uint32_t *label, struct sheaf_error *err)
{
    const size_t size = t->path_size;
    int code;

    *label = LABEL_NONE;
    if (size == 0)
        return SHEAF_OK;
    t->path[size] = '/';
    t->path[size + 1] = '\0';
    code = scan_class_of(t->scan, t->path, label, err);
    source_tree_pop(t, size);
    return code;
}

/* Handles one entry of a directory. The current path is the path of this entry. Clutter (files that
 * are not data) is counted and left out. A directory is put on the stack, to be read later. The
 * attributes of any other entry are requested. */
static int source_tree_look_at(struct tree *t, const struct dirent *d, uint32_t label,
                               struct sheaf_error *err)
{
    bool out = false;
    int code = SHEAF_OK;

    if (d->d_type == DT_DIR ? clutter_is_directory(d->d_name) : clutter_is_file(d->d_name))
        return source_tree_leave_out(t);
    if (d->d_type != DT_DIR)
        return stat_queue_add(t->queue, &(struct stat_question){ t->path, NULL, label }, err);
    code = scan_filter(t->scan, t->path, true, &out, err);
    return code != SHEAF_OK || out ? code : keep_directory(t, t->path, t->linked, err);
}

static int read_entries(struct tree *t, DIR *directory, struct sheaf_error *err)
{
    const size_t size = t->path_size;
    uint32_t label = LABEL_NONE;
    int code = source_tree_class_of(t, &label, err);

    while (code == SHEAF_OK) {
        const struct dirent *d;

        errno = 0;
        d = readdir(directory);
        if (d == NULL)
            return errno == 0 ? SHEAF_OK
                              : scan_add_bad(t->scan, t->path, NULL, errno, "cannot list", err);
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (!source_tree_push(t, d->d_name))
            return scan_refuse(t->scan, t->path, SHEAF_ERR_LIMIT, "a path below it is too long",
                               err);
        code = source_tree_look_at(t, d, label, err);
        source_tree_pop(t, size);
    }
    return code;
}

/* Returns whether the current directory is also one of the directories above it. This happens if a
 * symbolic link leads upwards. The scan must not follow such a link, because the scan would never
 * end. */
static bool is_loop(struct tree *t, const struct stat *st)
{
    bool loop = false;

    for (size_t size = t->start; size < t->path_size && !loop;) {
        const char end = t->path[size];
        struct stat above;

        t->path[size] = '\0';
        loop = fstatat(t->source->root_fd, size == 0 ? "." : t->path, &above, 0) == 0 &&
               above.st_dev == st->st_dev && above.st_ino == st->st_ino;
        t->path[size] = end;
        size += size != 0;
        size += strcspn(t->path + size, "/");
    }
    return loop;
}

/* Opens the directory at t->path. If this fails, records a problem and sets *directory to NULL. */
static int source_tree_open_directory(struct tree *t, DIR **directory, struct sheaf_error *err)
{
    const char *path = t->path_size == 0 ? "." : t->path;
    const int fd = openat(t->source->root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    *directory = NULL;
    if (fd < 0)
        return scan_add_bad(t->scan, path, NULL, errno, "cannot open the directory", err);
    if (fstat(fd, &st) == 0) {
        if (t->linked && is_loop(t, &st)) {
            close(fd);
            return scan_refuse(t->scan, path, SHEAF_ERR_UNSUPPORTED,
                               "a directory loop: it is also above itself", err);
        }
        *directory = fdopendir(fd);
    }
    if (*directory == NULL) {
        const int failed = errno;

        close(fd);
        return scan_add_bad(t->scan, path, NULL, failed, "cannot open the directory", err);
    }
    return SHEAF_OK;
}

static int read_directory(struct tree *t, struct sheaf_error *err)
{
    DIR *directory;
    int code = source_tree_open_directory(t, &directory, err);

    if (code != SHEAF_OK || directory == NULL)
        return code;
    code = read_entries(t, directory, err);
    closedir(directory);
    return code;
}

/* A symbolic link may prove to be another directory. */
static int source_tree_read_all(struct tree *t, struct sheaf_error *err)
{
    int code = read_directory(t, err);

    while (code == SHEAF_OK) {
        while (code == SHEAF_OK && next_directory(t))
            code = read_directory(t, err);
        if (code == SHEAF_OK)
            code = stat_queue_drain(t->queue, err);
        if (t->below.size == 0)
            break;
    }
    return code;
}

static int scan_tree(struct source *source, struct scan *scan, struct sheaf_error *err)
{
    struct tree tree = { .source = source, .scan = scan, .below.limit = SIZE_MAX / 2 };
    int code;

    if (source->below != NULL && !source_tree_push(&tree, source->below))
        return err_set(err, SHEAF_ERR_LIMIT, "%s: its path is too long", source->below);
    tree.start = tree.path_size;
    code = stat_queue_open(&tree.queue, source->root_fd, source_tree_found, &tree, err);
    if (code == SHEAF_OK)
        code = source_tree_read_all(&tree, err);
    stat_queue_close(tree.queue);
    buf_free(&tree.below);
    return code;
}

const struct source_ops source_tree_ops = {
    .name = "tree", .noun = "directory", .at = SOURCE_AT_DIRECTORY,
    .objects = SOURCE_OBJECTS_BELOW, .is_tree = true, .joins = true,
    .open = source_open_here, .scan = scan_tree,
};
