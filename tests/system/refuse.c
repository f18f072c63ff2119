/* SPDX-License-Identifier: MIT
 *
 * A library for LD_PRELOAD that makes calls fail with REFUSE_ERRNO. These are calls that open or
 * examine a path that ends with REFUSE_END. If REFUSE_SYNC is set, they are instead the syncs of a
 * directory that contains a file of that name. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static bool refuses(const char *path)
{
    const char *end = getenv("REFUSE_END"), *number = getenv("REFUSE_ERRNO");
    const size_t size = end == NULL ? 0 : strlen(end), length = strlen(path);

    if (size == 0 || getenv("REFUSE_SYNC") != NULL || length < size ||
        strcmp(path + length - size, end) != 0)
        return false;
    errno = (int)strtol(number, NULL, 10);
    return true;
}

#define MODE(flags, mode) \
    va_list arguments; \
    mode_t mode; \
    va_start(arguments, flags); \
    mode = ((flags) & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments)

int open(const char *path, int flags, ...)
{
    MODE(flags, mode);
    return refuses(path) ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    MODE(flags, mode);
    return refuses(path) ? -1 : NEXT(openat)(at, path, flags, mode);
}

int stat(const char *path, struct stat *st)
{
    return refuses(path) ? -1 : NEXT(stat)(path, st);
}

int lstat(const char *path, struct stat *st)
{
    return refuses(path) ? -1 : NEXT(lstat)(path, st);
}

int fstatat(int at, const char *path, struct stat *st, int flags)
{
    return refuses(path) ? -1 : NEXT(fstatat)(at, path, st, flags);
}

int fsync(int fd)
{
    const char *end = getenv("REFUSE_END");
    struct stat st;

    if (end != NULL && getenv("REFUSE_SYNC") != NULL && NEXT(fstatat)(fd, end, &st, 0) == 0) {
        errno = (int)strtol(getenv("REFUSE_ERRNO"), NULL, 10);
        return -1;
    }
    return NEXT(fsync)(fd);
}
