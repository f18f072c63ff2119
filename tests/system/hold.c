/* SPDX-License-Identifier: MIT
 *
 * A library for LD_PRELOAD. It stops a process just before the process renames a file to a name
 * that ends with HOLD_END. The library then creates the file HOLD_FILE, and the process continues
 * when this file is removed. If NO_FLOCK is set, flock fails as on a file system without locks. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static bool was_held;

static void hold(const char *path)
{
    const char *end = getenv("HOLD_END"), *mark = getenv("HOLD_FILE");
    const size_t size = end == NULL ? 0 : strlen(end), length = strlen(path);
    int fd;

    if (size == 0 || was_held || length < size || strcmp(path + length - size, end) != 0)
        return;
    was_held = true;
    fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        abort();
    close(fd);
    while (access(mark, F_OK) == 0)
        usleep(1000);
}

int rename(const char *from, const char *to)
{
    hold(to);
    return NEXT(rename)(from, to);
}

int link(const char *from, const char *to)
{
    hold(to);
    return NEXT(link)(from, to);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    hold(to);
    return NEXT(renameat2)(from_at, from, to_at, to, flags);
}

int flock(int fd, int operation)
{
    if (getenv("NO_FLOCK") != NULL) {
        errno = ENOSYS;
        return -1;
    }
    return NEXT(flock)(fd, operation);
}
