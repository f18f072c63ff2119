/* SPDX-License-Identifier: MIT
 *
 * The store of local files: listing, creating and removing. local_read.c reads files, and
 * local_write.c writes their content.
 *
 * A file is written as DIR/.sheaf-partial/NAME.<random>.tmp. When the file is complete and on the
 * disk, it is renamed to DIR/NAME. So an incomplete file never has its final name, and two
 * processes can write the same name without disturbing each other.
 *
 * The directory .sheaf-partial is created when it is needed, and removed with its last file.
 * Temporary files of a killed process stay until a later run removes them (store_sweep). */
#include "store/local_read.h"
#include "store/local_stage.h"
#include "store/local_sweep.h"
#include "store/local_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/abilities.h"
#include "store/listing.h"
#include "store/made.h"
#include "store/over.h"

#define PARTIAL "/" STORE_PARTIAL
#define NOTE "user.sheaf.note"

struct file_writer {
    struct store_writer base;
    int fd;
    char *directory;            /* of the final name */
    char *temporary;            /* path */
    struct local_write content;
};

/* ---- Listing --------------------------------------------------------------------------------- */

/* Computes the stamp of a file, a number that is different if the file was altered or replaced. The
 * stamp depends on the time of the last change and on the inode. */
static uint64_t store_file_stamp_of(const struct stat *st)
{
    const uint64_t words[] = { htole64(st->st_ino), htole64((uint64_t)st->st_mtim.tv_sec),
                               htole64((uint64_t)st->st_mtim.tv_nsec) };
    const uint64_t stamp = XXH3_64bits(words, sizeof(words));

    return stamp != 0 ? stamp : 1;
}

static int store_file_add(struct listing *all, const char *name, const struct stat *st,
                          struct sheaf_error *err)
{
    const struct store_entry entry = {
        .name = name, .bytes = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
        .stamp = store_file_stamp_of(st),
    };

    return listing_add(all, &entry, err);
}

/* Sets *failed to errno, and sets the error for a failed system call. If `name` is "", the call has
 * tried to list the directory `url`. Otherwise it has tried to read the attributes of the entry
 * `name`. */
static int failed_to(const char *url, const char *name, int *failed, struct sheaf_error *err)
{
    *failed = errno;
    return err_errno(err, *failed, "%s%s%s: cannot %s", url, name[0] == '\0' ? "" : "/", name,
                     name[0] == '\0' ? "list" : "stat");
}

/* Reads the attributes of a directory entry. If the entry is a symbolic link without a target, it
 * counts as a file, so that reading the file later reports the missing target. */
static int stat_entry(DIR *directory, const char *name, struct stat *st)
{
    if (fstatat(dirfd(directory), name, st, 0) == 0)
        return 0;
    if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        return -1;
    return fstatat(dirfd(directory), name, st, AT_SYMLINK_NOFOLLOW);
}

/* Lists a directory into `all`. If a system call fails, sets *failed to its errno and returns the
 * error. */
static int list_directory(const char *url, DIR *directory, bool directories, struct listing *all,
                          int *failed, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK) {
        const struct dirent *d;
        struct stat st;

        errno = 0;
        d = readdir(directory);
        if (d == NULL)
            return errno == 0 ? SHEAF_OK : failed_to(url, "", failed, err);
        if (d->d_name[0] == '.')
            continue;
        if (stat_entry(directory, d->d_name, &st) != 0) {
            if (errno == ENOENT)
                continue;   /* it has just been removed */
            return failed_to(url, d->d_name, failed, err);
        }
        if (S_ISDIR(st.st_mode) == directories)
            code = store_file_add(all, d->d_name, &st, err);
    }
    return code;
}

/* Lists a directory into `all`. On a network file system, lists it again if a failure may be
 * temporary. */
static int store_file_list_all(const char *url, bool directories, struct listing *all,
                               struct sheaf_error *err)
{
    unsigned tries = 0;
    int code, failed;

    do {
        DIR *directory = opendir(local_path(url));

        failed = 0;
        listing_clear(all);
        code = directory == NULL ? failed_to(url, "", &failed, err)
                                 : list_directory(url, directory, directories, all, &failed, err);
        if (directory != NULL)
            closedir(directory);
    } while (code != SHEAF_OK && local_may_pass(local_path(url), failed, &tries));
    return code;
}

static int store_file_list(const char *url, bool directories, store_entry_fn *each, void *context,
                           struct sheaf_error *err)
{
    struct listing all = { .count = 0 };
    const int code = store_file_list_all(url, directories, &all, err);

    return listing_end(&all, code, each, context);
}

static int file_list(const char *url, store_entry_fn *each, void *context,
                     struct sheaf_error *err)
{
    return store_file_list(url, false, each, context, err);
}

static int file_list_directories(const char *url, store_entry_fn *each, void *context,
                                 struct sheaf_error *err)
{
    return store_file_list(url, true, each, context, err);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Returns the directory that contains a path. */
static char *store_file_directory_of(const char *path)
{
    char *copy = strdup(path), *directory = NULL;

    if (copy != NULL)
        directory = strdup(dirname(copy));
    free(copy);
    return directory;
}

static bool store_file_is_partial(const char *directory)
{
    const size_t size = strlen(directory), tail = strlen(PARTIAL);

    return size >= tail && strcmp(directory + size - tail, PARTIAL) == 0;
}

/* Returns the path of the directory for temporary files of `directory`. If `directory` is itself a
 * directory .sheaf-partial, the result is the path of `directory`. */
static char *partial_of(const char *directory)
{
    return store_file_is_partial(directory) ? strdup(directory) : store_join(directory,
                                                                             STORE_PARTIAL);
}

/* Removes the directory for temporary files of `directory`, unless it still has files. */
static void drop_partial(const char *directory)
{
    char *partial = partial_of(directory);

    if (partial != NULL)
        rmdir(partial);
    free(partial);
}

/* Creates a temporary file. Another writer may remove the directory for temporary files while it is
 * empty. If this happens before the file exists, the directory is created again. */
static int create_temporary(struct file_writer *w, const char *name, struct sheaf_error *err)
{
    char *partial = partial_of(w->directory);
    uint64_t random = 0;
    int failed = ENOMEM;

    for (int tries = 0; partial != NULL && tries < 100; tries++) {
        failed = getrandom(&random, sizeof(random), 0) == sizeof(random) ? 0 : errno;
        free(w->temporary);
        if (asprintf(&w->temporary, "%s/%s.%016llx.tmp", partial, name,
                     (unsigned long long)random) < 0) {
            w->temporary = NULL;
            failed = ENOMEM;
        }
        if (failed == 0 && mkdir(partial, 0777) != 0 && errno != EEXIST)
            failed = errno;
        if (failed != 0)
            break;
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        failed = w->fd >= 0 ? 0 : errno;
        if (failed != ENOENT && failed != EEXIST && failed != EINTR)
            break;
    }
    free(partial);
    if (failed != 0)
        return err_errno(err, failed, "%s: cannot create a temporary file", w->base.url);
    local_sweep_hold(w->fd);
    return SHEAF_OK;
}

static void store_file_writer_free(struct file_writer *w)
{
    local_write_close(&w->content);
    if (w->fd >= 0)
        close(w->fd);
    free(w->base.url);
    free(w->directory);
    free(w->temporary);
    free(w);
}

static int file_create(const char *url, struct store_writer **writer, struct sheaf_error *err)
{
    struct file_writer *w = calloc(1, sizeof(*w));
    const char *path = local_path(url), *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    int code = SHEAF_OK;

    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->fd = -1;
    w->base.ops = &store_file_ops;
    w->base.url = strdup(url);
    w->directory = store_file_directory_of(path);
    if (w->base.url == NULL || w->directory == NULL)
        code = err_memory(err, strlen(url));
    else if (name[0] == '\0')
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: names no file", url);
    else
        code = create_temporary(w, name, err);
    if (code != SHEAF_OK) {
        store_file_writer_free(w);
        return code;
    }
    local_write_open(&w->content, w->fd, w->base.url);
    *writer = &w->base;
    return SHEAF_OK;
}

static int file_write(struct store_writer *writer, const void *data, size_t size,
                      struct sheaf_error *err)
{
    return local_write_add(&((struct file_writer *)writer)->content, data, size, err);
}

static int sync_directory(const char *path, struct sheaf_error *err)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int failed = 0;

    if (fd < 0)
        return err_errno(err, errno, "%s: cannot open", path);
    /* fsync fails with EINVAL on file systems whose directories need no fsync. This is not an
     * error. */
    if (fsync(fd) != 0 && errno != EINVAL)
        failed = errno;
    close(fd);
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "%s: cannot sync", path);
}

/* Writes the content of a new file to the disk, and computes the stamp of the file before the file
 * gets its name. The stamp is a number that is different if the file is replaced. */
static int finish_file(struct file_writer *w, struct store_seen *now, struct sheaf_error *err)
{
    struct stat st;
    int failed, code = local_write_end(&w->content, err);

    if (code != SHEAF_OK)
        return code;
    /* Store the note (a word) in an extended attribute of the file. On a file system without
     * extended attributes, the note is lost. */
    if (w->base.note != NULL)
        (void)fsetxattr(w->fd, NOTE, w->base.note, strlen(w->base.note), 0);
    if (fsync(w->fd) != 0 || fstat(w->fd, &st) != 0)
        return err_errno(err, errno, "%s: cannot sync", w->base.url);
    *now = (struct store_seen){ true, (uint64_t)st.st_size, store_file_stamp_of(&st), "" };
    failed = close(w->fd) == 0 || errno == EINTR ? 0 : errno;
    w->fd = -1;
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "%s: cannot close", w->base.url);
}

/* Renames a file, but only if no file has the new name. Most file systems can check and rename in
 * one step, by renameat2 or by a new link. On any other file system, this function first checks
 * whether the name is free, and then renames the file. If another process creates a file of this
 * name between the two steps, that file is replaced. */
static int rename_new(const char *from, const char *to)
{
    struct stat st;

    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS) {
        if (link(from, to) == 0) {
            (void)unlink(from);     /* another run may have taken it with the stage */
            return 0;
        }
        if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) {
            errno = EEXIST;
            return lstat(to, &st) == 0 ? -1 : rename(from, to);
        }
    }
    return -1;
}

/* Returns whether `path` is a symbolic link without a target. Such a link counts as a missing file,
 * because readers cannot open it. */
static bool leads_nowhere(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) != 0 &&
           errno == ENOENT;
}

static int give_new_name(const char *from, const char *to)
{
    if (rename_new(from, to) == 0)
        return 0;
    if (errno != EEXIST)
        return -1;
    if (leads_nowhere(to))
        return rename(from, to);
    errno = EEXIST;
    return -1;
}

static int give_name(struct file_writer *w, const struct store_seen *seen,
                     struct sheaf_error *err)
{
    const char *path = local_path(w->base.url);
    int code = SHEAF_OK;

    if (seen != NULL && seen->is_there)
        code = store_check_seen(w->base.url, seen, err);
    if (code == SHEAF_OK && w->base.stage != NULL)
        code = local_stage_enter(w->base.url, &w->temporary, w->base.stage, err);
    if (code != SHEAF_OK)
        return code;
    if ((seen == NULL || seen->is_there ? rename(w->temporary, path)
                                        : give_new_name(w->temporary, path)) == 0)
        return SHEAF_OK;
    if (errno == EEXIST && seen != NULL)
        return err_set(err, SHEAF_ERR_CHANGED, "%s: another process created it in the meantime",
                                               w->base.url);
    if (errno == ENOENT && w->base.stage != NULL) {
        code = local_stage_check(w->base.url, w->base.stage, err);
        if (code != SHEAF_OK)
            return code;
        errno = ENOENT;
    }
    return err_errno(err, errno, "%s: cannot rename %s to it", w->base.url, w->temporary);
}

/* Gives a complete temporary file its final name. If the directory cannot be synced afterwards, the
 * file exists, but may lose its name in a power failure. The error's message says so. */
static int publish_file(struct file_writer *w, const struct store_seen *seen,
                        struct store_seen *now, struct sheaf_error *err)
{
    int code = finish_file(w, now, err);

    if (code == SHEAF_OK)
        code = give_name(w, seen, err);
    if (code != SHEAF_OK)
        return code;
    code = sync_directory(w->directory, err);
    if (code != SHEAF_OK)
        err_prefix(err, "%s: is complete and in place, but may not survive a power loss: ",
                   w->base.url);
    return code;
}

static int file_commit_over(struct store_writer *writer, const struct store_seen *seen,
                            struct store_seen *now, struct sheaf_error *err)
{
    struct file_writer *w = (struct file_writer *)writer;
    const int code = publish_file(w, seen, now, err);

    if (code != SHEAF_OK)
        unlink(w->temporary);
    drop_partial(w->directory);
    store_file_writer_free(w);
    return code;
}

static int file_commit(struct store_writer *writer, struct sheaf_error *err)
{
    struct store_seen now;

    return file_commit_over(writer, NULL, &now, err);
}

static void file_abort(struct store_writer *writer)
{
    struct file_writer *w = (struct file_writer *)writer;

    unlink(w->temporary);
    drop_partial(w->directory);
    store_file_writer_free(w);
}

static int file_sweep(const char *url, struct sheaf_error *err)
{
    const char *path = local_path(url), *slash = strrchr(path, '/');
    char *directory = store_file_directory_of(path);
    char *partial = directory == NULL ? NULL : partial_of(directory);
    const int code = partial == NULL ? err_memory(err, strlen(path))
                                     : local_sweep(partial, slash == NULL ? path : slash + 1, err);

    if (code == SHEAF_OK)
        drop_partial(directory);
    free(partial);
    free(directory);
    return code;
}

/* ---- The rest -------------------------------------------------------------------------------- */

static int stat_file(const char *url, uint64_t *bytes, uint64_t *stamp, struct sheaf_error *err)
{
    struct stat st;

    *bytes = UINT64_MAX;
    *stamp = 0;
    if (strcmp(url, "-") == 0)
        return SHEAF_OK;
    if (stat(local_path(url), &st) != 0)
        return local_failed(url, errno, "stat", err);
    if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
        return SHEAF_OK;
    if (!S_ISREG(st.st_mode))
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is %s, not a file", url,
                       S_ISDIR(st.st_mode) ? "a directory" : "a device or a socket");
    *bytes = (uint64_t)st.st_size;
    *stamp = store_file_stamp_of(&st);
    return SHEAF_OK;
}

static int file_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    uint64_t stamp;

    return stat_file(url, bytes, &stamp, err);
}

static void get_note(const char *url, char note[STORE_NOTE_SIZE])
{
    const ssize_t size = getxattr(local_path(url), NOTE, note, STORE_NOTE_SIZE - 1);

    note[MAX(size, 0)] = '\0';
}

/* Asks the kernel, and calls `done` before it returns. */
static void file_stat_start(struct store_stat *stat)
{
    if (stat->note != NULL)
        get_note(stat->url, stat->note);
    stat->modified_s = 0;
    stat->etag[0] = '\0';
    stat->code = stat_file(stat->url, &stat->bytes, &stat->stamp, &stat->error);
    stat->done(stat);
}

static bool file_is_dangling(const char *url)
{
    char target[2];

    return local_is_dangling(local_path(url), target, sizeof(target));
}

static int file_remove(const char *url, struct sheaf_error *err)
{
    char *directory;

    if (unlink(local_path(url)) != 0 && errno != ENOENT && errno != ENOTDIR)
        return err_errno(err, errno, "%s: cannot remove", url);
    directory = store_file_directory_of(local_path(url));
    if (directory != NULL && store_file_is_partial(directory))
        rmdir(directory);
    free(directory);
    return SHEAF_OK;
}

/* Makes the entries of the directory `url` durable (fsync). If this directory no longer exists, for
 * example a removed .sheaf-partial, syncs its parent instead, so that the removal becomes
 * durable. */
static int file_sync(const char *url, struct sheaf_error *err)
{
    struct stat st;
    char *above;
    int code;

    if (stat(local_path(url), &st) == 0)
        return sync_directory(local_path(url), err);
    above = store_file_directory_of(local_path(url));
    code = above == NULL ? err_memory(err, strlen(url)) : sync_directory(above, err);
    free(above);
    return code;
}

/* Asks the nearest existing parent directory. */
static int file_free_space(const char *url, struct store_space *space, struct sheaf_error *err)
{
    char *path = strdup(local_path(url));
    struct statvfs fs;
    int failed = 0;

    while (path != NULL && statvfs(path, &fs) != 0) {
        char *above;

        failed = errno;
        if (failed != ENOENT || strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
            break;
        failed = 0;
        above = store_file_directory_of(path);
        free(path);
        path = above;
    }
    if (path == NULL)
        return err_memory(err, strlen(url));
    free(path);
    if (failed != 0)
        return err_errno(err, failed, "%s: cannot find its free space", url);
    if (__builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize, &space->bytes))
        space->bytes = UINT64_MAX;
    space->files = fs.f_files == 0 ? UINT64_MAX : (uint64_t)fs.f_favail;
    space->block_bytes = MAX((uint64_t)fs.f_frsize, 1u);
    return SHEAF_OK;
}

/* Makes one directory, durably. */
static int make_one(const char *url, const char *path, struct made_directories *made,
                    struct sheaf_error *err)
{
    const int failed = made_mkdir(path, made);
    struct stat st;
    char *above;
    int code;

    if (failed == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return SHEAF_OK;
    if (failed != 0)
        return err_errno(err, failed, "%s: cannot make the directory %s", url, path);
    above = store_file_directory_of(path);
    if (above == NULL)
        return err_memory(err, strlen(path));
    code = sync_directory(above, err);
    free(above);
    return code;
}

/* Locks a directory by a lock on its own descriptor. This needs no lock file, and the lock ends
 * with the process. */
static int file_lock(const char *url, bool shared, int *lock, struct sheaf_error *err)
{
    const int fd = TEMP_FAILURE_RETRY(open(local_path(url), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    int failed;

    if (fd < 0)
        return err_errno(err, errno, "%s: cannot open", url);
    failed = made_lock(fd, shared);
    if (failed != 0)
        close(fd);
    if (failed == EWOULDBLOCK)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: another process is working there", url);
    *lock = failed == 0 ? fd : -1;      /* a file system without locks must do without */
    return SHEAF_OK;
}

/* Finds out whether the file system of a directory has locks, by locking the directory. If the call
 * fails because another process holds a lock, the file system also has locks. */
static int file_find_abilities(const char *directory, struct store_abilities *found,
                               struct sheaf_error *err)
{
    const int fd = TEMP_FAILURE_RETRY(open(local_path(directory),
                                           O_RDONLY | O_DIRECTORY | O_CLOEXEC));

    if (fd < 0)
        return err_errno(err, errno, "%s: cannot open", directory);
    found->locks = flock(fd, LOCK_SH | LOCK_NB) == 0 || errno == EWOULDBLOCK;
    close(fd);
    return SHEAF_OK;
}

static int file_make_directory(const char *url, struct made_directories *made,
                               struct sheaf_error *err)
{
    char *path = strdup(local_path(url));
    int code = SHEAF_OK;

    if (path == NULL)
        return err_memory(err, strlen(url));
    for (char *slash = path + 1; code == SHEAF_OK && path[0] != '\0'; slash++) {
        slash = strchrnul(slash, '/');
        if (slash[0] == '\0')
            break;
        *slash = '\0';
        code = make_one(url, path, made, err);
        *slash = '/';
    }
    if (code == SHEAF_OK)
        code = make_one(url, path, made, err);
    free(path);
    return code;
}

const struct store_ops store_file_ops = {
    .scheme = "file", .is_local = true,
    .open = local_open,
    .read = local_read,
    .warm = local_warm,
    .read_next = local_read_next,
    .wait = local_wait,
    .close = local_close,
    .list = file_list, .list_directories = file_list_directories,
    .create = file_create,
    .write = file_write,
    .commit = file_commit, .commit_over = file_commit_over,
    .abort = file_abort, .sweep = file_sweep,
    .stat_start = file_stat_start,
    .size = file_size, .is_dangling = file_is_dangling, .remove = file_remove,
    .free_space = file_free_space,
    .make_directory = file_make_directory, .sync = file_sync,
    .lock = file_lock,
    .stage_take = local_stage_take, .stage_is_there = local_stage_is_there,
    .stage_drop = local_stage_drop, .stage_remove = local_stage_remove,
    .find_abilities = file_find_abilities,
};
