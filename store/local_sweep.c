/* SPDX-License-Identifier: MIT
 *
 * Removes the temporary files of killed writers. */
#include "store/local_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"

#define RANDOM_DIGITS 16        /* NAME.<random>.tmp */

void local_sweep_hold(int fd)
{
    (void)flock(fd, LOCK_EX | LOCK_NB);
}

static bool is_temporary_of(const char *entry, const char *name)
{
    const size_t size = strlen(name);

    return strncmp(entry, name, size) == 0 && entry[size] == '.' &&
           strspn(entry + size + 1, "0123456789abcdef") == RANDOM_DIGITS &&
           strcmp(entry + size + 1 + RANDOM_DIGITS, ".tmp") == 0;
}

/* Removes a temporary file, unless a process holds the lock on it. Such a process is still writing
 * the file. Returns 0 if the file was removed or is still being written, or an errno value after a
 * failure. */
static int remove_abandoned(int directory, const char *entry)
{
    const int fd = openat(directory, entry, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    int failed = 0;

    if (fd < 0)
        return errno == ENOENT ? 0 : errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(directory, entry, 0) != 0 &&
        errno != ENOENT)
        failed = errno;
    close(fd);
    return failed;
}

int local_sweep(const char *partial, const char *name, struct sheaf_error *err)
{
    DIR *directory = opendir(partial);
    const struct dirent *d;
    int failed = 0;

    if (directory == NULL && (errno == ENOENT || errno == ENOTDIR))
        return SHEAF_OK;
    if (directory == NULL)
        return err_errno(err, errno, "%s: cannot list", partial);
    while (failed == 0) {
        errno = 0;
        d = readdir(directory);
        if (d == NULL) {
            failed = errno;
            break;
        }
        if (is_temporary_of(d->d_name, name))
            failed = remove_abandoned(dirfd(directory), d->d_name);
    }
    closedir(directory);
    return failed == 0 ? SHEAF_OK
                       : err_errno(err, failed, "%s: cannot remove what a killed run left of %s",
                                   partial, name);
}
