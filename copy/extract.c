/* SPDX-License-Identifier: MIT
 *
 * Writes files into one directory tree. A file is first written under a temporary name and then
 * renamed. So a killed run leaves only complete files, and can be resumed. */
#include "copy/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd_io.h"
#include "base/keyset.h"
#include "store/made.h"
#include "store/store.h"

#define SLOT_COUNT 256      /* directories kept open; a power of two */
#define COMPARE_BYTES ((size_t)16 << 10)
#define PART_NAME ".sheaf-unpack"       /* temporary name, in the file's own directory */

/* An entry of the table of open directories. The hash of a directory's path determines the entry
 * for the directory. If the entry already has another directory, this directory is closed and
 * replaced. */
struct directory_slot {
    /* path of the open directory, relative to the root; NULL if this entry of the table is empty */
    char *path;
    int fd;
};

struct extract {
    char *directory;        /* for messages */
    struct made_directories made;       /* the root and its parents */
    int root;               /* descriptor, locked so that no other run writes here */
    bool resume;            /* whether existing files with the same content are kept */
    /* paths of all files that this run has written, or has kept from an earlier run; needed to
     * report an error if files of two samples have the same path */
    struct keyset written;
    struct directory_slot slots[SLOT_COUNT];
};

static int set_errno(struct sheaf_error *error, const struct extract *x, const char *path,
                     int errnum)
{
    int code;

    struct stat st;

    if (errnum == ELOOP || errnum == ENOTDIR)
        return err_because(error, err_set(error, SHEAF_ERR_UNSUPPORTED, "%s/%s: a component of it "
                                          "is a file or a link, expected a directory (symbolic "
                                          "links are not followed)", x->directory, path),
                           SHEAF_REASON_FILE_OR_DIRECTORY);
    if (errnum == EEXIST && fstatat(x->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode))
        return err_because(error, err_set(error, SHEAF_ERR_UNSUPPORTED, "%s/%s: is a directory, "
                                          "expected no file: samples of the data set may be in it",
                                          x->directory, path),
                           SHEAF_REASON_FILE_OR_DIRECTORY);
    code = err_errno(error, errnum, "%s/%s", x->directory, path);
    return errnum == EEXIST ? err_because(error, code, SHEAF_REASON_FILE_EXISTS) : code;
}

/* Makes, opens and locks the root directory, so that only one process extracts files there.
 * Symbolic links in the path are followed, because the user chose this path. If the file system has
 * no locks, the extraction continues without a lock. */
static int extract_open_root(struct extract *x, const char *directory, struct sheaf_error *error)
{
    const int code = store_make_directory(directory, &x->made, error);

    if (code != SHEAF_OK)
        return code;
    x->root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->root < 0)
        return err_errno(error, errno, "%s", directory);
    if (made_lock(x->root, false) == EWOULDBLOCK) {
        made_end(&x->made, false);
        return err_set(error, SHEAF_ERR_EXISTS, "%s: another process is unpacking into it",
                       directory);
    }
    for (size_t end = strlen(directory); end > 1 && directory[end - 1] == '/'; end--)
        x->directory[end - 1] = '\0';
    return SHEAF_OK;
}

int extract_open(const char *directory, bool resume, struct extract **extract,
                 struct sheaf_error *error)
{
    struct extract *x;
    int code;

    if (strstr(directory, "://"))
        return err_set(error, SHEAF_ERR_ARGUMENT, "%s: expected a local directory to unpack into",
                       directory);
    x = calloc(1, sizeof(*x));
    if (!x)
        return err_errno(error, ENOMEM, "%s", directory);
    x->root = -1;
    x->resume = resume;
    x->directory = strdup(directory);
    code = x->directory ? extract_open_root(x, directory, error)
                        : err_errno(error, ENOMEM, "%s", directory);
    if (code == SHEAF_OK)
        *extract = x;
    else
        extract_close(x, true);
    return code;
}

void extract_close(struct extract *extract, bool failed)
{
    if (!extract)
        return;
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        if (extract->slots[i].path)
            close(extract->slots[i].fd);
        free(extract->slots[i].path);
    }
    made_end(&extract->made, failed);
    if (extract->root >= 0)
        close(extract->root);
    keyset_free(&extract->written);
    free(extract->directory);
    free(extract);
}

/* Returns a text that says why no file with this path may be written under the root directory, or
 * NULL if the path is allowed. */
static const char *path_problem(const char *path)
{
    const char *p = path;

    if (*p == '/')
        return "is absolute";
    do {
        const size_t size = strcspn(p, "/");

        if (size == 0)
            return "has an empty component";
        if (size <= 2 && strncmp(p, "..", size) == 0)
            return "has a component \".\" or \"..\"";
        p += size;
    } while (*p++ == '/');
    return NULL;
}

/* Opens the directory whose path, relative to `root`, is the first `size` bytes of `path`. Creates
 * missing directories. Sets *there to the length of the part of the path that existed before.
 * Returns the descriptor of the directory, or -1 with errno. */
static int extract_walk(int root, const char *path, size_t size, size_t *there)
{
    char *copy = strndup(path, size);
    char *state = NULL;
    int fd = copy ? root : -1;

    *there = 0;
    for (char *name = copy ? strtok_r(copy, "/", &state) : NULL; name && fd >= 0;
         name = strtok_r(NULL, "/", &state)) {
        const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        int next = openat(fd, name, flags);
        const bool made = next < 0 && errno == ENOENT && mkdirat(fd, name, 0777) == 0;

        if (made || (next < 0 && errno == EEXIST))
            next = openat(fd, name, flags);
        if (next >= 0 && !made)
            *there = (size_t)(name - copy) + strlen(name);
        if (fd != root) {
            const int errnum = errno;

            close(fd);
            errno = errnum;
        }
        fd = next;
    }
    free(copy);
    return fd;
}

/* Removes the directories that were made for a file that could not be written, if they are empty.
 * The path of the innermost directory is the first `size` bytes of `path`. The first `there` bytes
 * existed before. */
static void extract_remove_made(int root, const char *path, size_t size, size_t there)
{
    while (size > there) {
        const char *slash = memrchr(path, '/', size);
        const size_t above = slash ? (size_t)(slash - path) : 0, start = slash ? above + 1 : 0;
        char *name = strndup(path + start, size - start);
        size_t ignored;
        const int fd = name ? extract_walk(root, path, above, &ignored) : -1;

        if (fd >= 0)
            (void)unlinkat(fd, name, AT_REMOVEDIR);
        if (fd >= 0 && fd != root)
            close(fd);
        free(name);
        size = above;
    }
}

/* Returns the descriptor of the directory whose path is the first `size` bytes of `path`, or -1
 * with errno. The table of open directories owns the descriptor, so the caller must not close it.
 * Sets *there to the length of the part of the path that existed before. */
static int extract_directory_of(struct extract *x, const char *path, size_t size, size_t *there)
{
    uint32_t hash = 2166136261u;    /* FNV-1a */
    struct directory_slot *slot;
    char *copy;
    int fd;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint8_t)path[i]) * 16777619u;
    slot = &x->slots[(hash ^ hash >> 16) % SLOT_COUNT];
    if (slot->path && strncmp(slot->path, path, size) == 0 && slot->path[size] == '\0') {
        *there = size;
        return slot->fd;
    }
    fd = extract_walk(x->root, path, size, there);
    if (fd < 0)
        return -1;
    copy = strndup(path, size);
    if (!copy) {
        close(fd);
        return -1;
    }
    if (slot->path)
        close(slot->fd);
    free(slot->path);
    *slot = (struct directory_slot){ copy, fd };
    return fd;
}

/* Returns 1 if the content of the open file equals the `size` bytes at `data`, and 0 if it differs.
 * Returns a negative errno value on failure. */
static int has_bytes(int fd, const uint8_t *data, size_t size)
{
    uint8_t there[COMPARE_BYTES];
    struct stat st;

    if (fstat(fd, &st) != 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
        return 0;
    while (size > 0) {
        const ssize_t n = read(fd, there, size < COMPARE_BYTES ? size : COMPARE_BYTES);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || memcmp(there, data, (size_t)n) != 0)
            return n < 0 ? -errno : 0;
        data += n;
        size -= (size_t)n;
    }
    return 1;
}

/* Records the path of a file that this run writes, or keeps from an earlier run. Returns an error
 * if the path was already recorded for another sample. */
static int note_path(struct extract *x, const char *path, struct sheaf_error *error)
{
    const int code = keyset_check(&x->written, path, error);

    if (code == SHEAF_OK)
        keyset_add(&x->written, path);
    if (code != SHEAF_ERR_EXISTS)
        return code;
    err_set(error, code, "%s/%s: two samples of the data set have this file", x->directory, path);
    return err_because(error, code, SHEAF_REASON_REPEATED_KEY);
}

/* Compares an existing file with the data that would be written. Sets *kept if the file already has
 * this content, because an earlier run has written it. */
static int keep_file(const struct extract *x, int directory, const char *name, const char *path,
                     const void *data, size_t size, bool *kept, struct sheaf_error *error)
{
    const int fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    int same;

    *kept = false;
    if (fd < 0)
        return errno == ENOENT ? SHEAF_OK : set_errno(error, x, path, errno);
    same = has_bytes(fd, data, size);
    close(fd);
    if (same == -EISDIR)
        return set_errno(error, x, path, EEXIST);
    if (same < 0)
        return set_errno(error, x, path, -same);
    if (same == 0)
        return err_set(error, SHEAF_ERR_EXISTS, "%s/%s: exists, and differs from the data set",
                       x->directory, path);
    *kept = true;
    return SHEAF_OK;
}

/* Renames the temporary file to `name`, if no other file has this name. Returns 0 or an errno
 * value. */
static int extract_publish(int directory, const char *name)
{
    if (renameat2(directory, PART_NAME, directory, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    if (linkat(directory, PART_NAME, directory, name, 0) != 0)
        return errno;
    return unlinkat(directory, PART_NAME, 0) != 0 ? errno : 0;
}

/* Writes a file. If the process ends at any point, the file is complete under its name or does not
 * exist. Returns 0 or an errno value. */
static int extract_write_file(int directory, const char *name, const void *data, size_t size,
                              bool resume)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(directory, PART_NAME, flags, 0666), errnum;

    if (fd < 0 && errno == EEXIST && resume && unlinkat(directory, PART_NAME, 0) == 0)
        fd = openat(directory, PART_NAME, flags, 0666);
    if (fd < 0)
        return errno;
    errnum = fd_write(fd, data, size) == size ? 0 : errno != 0 ? errno : EIO;
    if (close(fd) != 0 && !errnum)
        errnum = errno;
    if (!errnum)
        errnum = extract_publish(directory, name);
    if (errnum)
        unlinkat(directory, PART_NAME, 0);
    return errnum;
}

int extract_sync(const struct extract *extract, struct sheaf_error *error)
{
    if (syncfs(extract->root) == 0)
        return SHEAF_OK;
    return err_errno(error, errno, "%s: cannot be made durable", extract->directory);
}

/* Writes the file `name` in the open directory. `path` is its path under the root directory. */
static int extract_put(struct extract *x, int directory, const char *name, const char *path,
                       const void *data, size_t size, struct sheaf_error *error)
{
    bool kept = false;
    int errnum, code = note_path(x, path, error);

    if (code == SHEAF_OK && x->resume)
        code = keep_file(x, directory, name, path, data, size, &kept, error);
    if (code != SHEAF_OK || kept)
        return code;
    errnum = extract_write_file(directory, name, data, size, x->resume);
    return errnum ? set_errno(error, x, path, errnum) : SHEAF_OK;
}

int extract_file(struct extract *extract, const char *path, const void *data, size_t size,
                 struct sheaf_error *error)
{
    const char *problem = path_problem(path);
    const char *slash = strrchr(path, '/');
    const size_t above = slash ? (size_t)(slash - path) : 0;
    size_t there = above;
    int directory, code;

    if (problem)
        return err_set(error, SHEAF_ERR_UNSUPPORTED, "%s: the path %s; nothing is written outside "
                       "%s", path, problem, extract->directory);
    directory = slash ? extract_directory_of(extract, path, above, &there) : extract->root;
    code = directory < 0 ? set_errno(error, extract, path, errno)
                         : extract_put(extract, directory, slash ? slash + 1 : path, path, data,
                                       size, error);
    if (code != SHEAF_OK)
        extract_remove_made(extract->root, path, above, there);
    return code;
}
