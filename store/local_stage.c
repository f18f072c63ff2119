/* SPDX-License-Identifier: MIT
 *
 * Implements stages as directories (see stage.h). Each run (a process that writes a data set) has a
 * directory, its stage. The run renames each finished file first into its stage, and from there to
 * its final name. A later run takes over the destination by renaming the stage. The earlier run
 * then no longer finds its stage, and so can publish no more files. */
#include "store/local_stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/file_system.h"
#include "store/stage.h"

bool local_stage_is_there(const char *stage)
{
    struct stat st;

    return stat(local_path(stage), &st) == 0 && S_ISDIR(st.st_mode);
}

int local_stage_check(const char *url, const char *stage, struct sheaf_error *err)
{
    if (local_stage_is_there(stage))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: another run has taken the destination", url);
}

/* Removes all files in the directory `name`. Returns 0, or an errno value. It is not an error if
 * the directory does not exist. */
static int empty(int above, const char *name)
{
    const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;
    int failed = 0;

    if (directory == NULL) {
        failed = errno;
        if (fd >= 0)
            close(fd);
        return failed == ENOENT ? 0 : failed;
    }
    while ((d = readdir(directory)) != NULL)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 &&
            unlinkat(fd, d->d_name, 0) != 0 && errno != ENOENT)
            failed = errno;
    closedir(directory);
    return failed;
}

static bool is_stage(const char *name)
{
    const size_t size = strlen(name), tail = strlen(STAGE_SUFFIX);

    return size > tail && strcmp(name + size - tail, STAGE_SUFFIX) == 0;
}

static const char *last_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* ---- Taking ---------------------------------------------------------------------------------- */

/* Takes over a stage, which is a directory through which a run publishes its files. Looks for a
 * stage of any run in the directory `partial`, and renames it to `stage`. Sets *took to whether a
 * stage was found. */
static int local_stage_take_any(const char *partial, const char *stage, bool *took)
{
    DIR *directory = opendir(partial);
    const struct dirent *d;

    *took = false;
    if (directory == NULL)
        return errno == ENOENT ? 0 : errno;
    while (!*took && (d = readdir(directory)) != NULL)
        *took = is_stage(d->d_name) &&
                renameat(dirfd(directory), d->d_name, AT_FDCWD, stage) == 0;
    closedir(directory);
    return 0;
}

/* Creates the directory `stage`, through which a run publishes its files, and the parent
 * directory `partial`. If another run removes the empty parent at the same moment, tries again. */
static int local_stage_make(const char *partial, const char *stage)
{
    int failed = ENOENT;

    for (int tries = 0; tries < 100 && failed == ENOENT; tries++) {
        failed = mkdir(partial, 0777) == 0 || errno == EEXIST ? 0 : errno;
        if (failed == 0)
            failed = mkdir(stage, 0777) == 0 || errno == EEXIST ? 0 : errno;
    }
    return failed;
}

int local_stage_take(const char *partial, const char *from, const char *stage,
                     struct sheaf_error *err)
{
    const char *path = local_path(stage);
    bool took = false;
    int failed = 0;

    if (from != NULL) {
        took = rename(local_path(from), path) == 0;
        if (!took)
            failed = local_stage_take_any(local_path(partial), path, &took);
        if (failed == 0 && took)
            failed = empty(AT_FDCWD, path);
    }
    if (failed == 0 && !took)
        failed = local_stage_make(local_path(partial), path);
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "%s: cannot make it", stage);
}

int local_stage_drop(const char *partial, const char *only, const char *except,
                     struct sheaf_error *err)
{
    DIR *directory = opendir(local_path(partial));
    const struct dirent *d;
    int failed = 0;

    if (directory == NULL)
        return errno == ENOENT || errno == ENOTDIR ? SHEAF_OK
             : err_errno(err, errno, "%s: cannot list", partial);
    while (failed == 0 && (d = readdir(directory)) != NULL) {
        if (!is_stage(d->d_name) || (only != NULL && strcmp(d->d_name, last_of(only)) != 0) ||
            (except != NULL && strcmp(d->d_name, last_of(except)) == 0))
            continue;
        failed = empty(dirfd(directory), d->d_name);
        if (failed == 0 && unlinkat(dirfd(directory), d->d_name, AT_REMOVEDIR) != 0 &&
            errno != ENOENT)
            failed = errno;
    }
    closedir(directory);
    if (failed == 0)
        (void)rmdir(local_path(partial));
    return failed == 0 ? SHEAF_OK : err_errno(err, failed, "%s: cannot remove a stage", partial);
}

/* ---- Passing files through ------------------------------------------------------------------- */

/* Returns an unused path in the directory `stage`, for a file that is renamed into this
 * directory before it gets its final name (see stage.h). The last part of the path is `name`
 * with a random number. */
static char *place_in(const char *stage, const char *name)
{
    uint64_t random;
    char *path = NULL;

    if (getrandom(&random, sizeof(random), 0) != sizeof(random) ||
        asprintf(&path, "%s/%s.%016llx", local_path(stage), name, (unsigned long long)random) < 0)
        return NULL;
    return path;
}

int local_stage_enter(const char *url, char **path, const char *stage, struct sheaf_error *err)
{
    char *there = place_in(stage, last_of(*path));
    int code = SHEAF_OK;

    if (there == NULL)
        return err_memory(err, strlen(stage));
    if (rename(*path, there) == 0) {
        free(*path);
        *path = there;
        return SHEAF_OK;
    }
    if (errno != EXDEV && errno != ENOENT)
        code = err_errno(err, errno, "%s: cannot rename %s into %s", url, *path, stage);
    if (code == SHEAF_OK)
        code = local_stage_check(url, stage, err);
    free(there);
    return code;
}

int local_stage_remove(const char *url, const char *stage, struct sheaf_error *err)
{
    const char *path = local_path(url);
    char *there = place_in(stage, last_of(path));
    int failed = 0, code = SHEAF_OK;

    if (there == NULL)
        return err_memory(err, strlen(stage));
    if (rename(path, there) == 0)
        failed = unlink(there) == 0 || errno == ENOENT ? 0 : errno;
    else if (errno == EXDEV || errno == ENOENT) {
        const bool is_gone = errno == ENOENT;

        code = local_stage_check(url, stage, err);
        if (code == SHEAF_OK && !is_gone)
            failed = unlink(path) == 0 || errno == ENOENT ? 0 : errno;
    } else {
        failed = errno;
    }
    free(there);
    return failed == 0 ? code : err_errno(err, failed, "%s: cannot remove", url);
}
