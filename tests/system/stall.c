/* SPDX-License-Identifier: MIT
 *
 * A library for LD_PRELOAD that stops one process in the middle of its work and never continues it.
 * This is the first process that opens SHEAF_STALL_AFTER .jpg files. Its number is written to the
 * file SHEAF_STALL. While this file exists, no other process is stopped. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int opened;

static void stall(const char *mark)
{
    const int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0)
        return;
    if (dprintf(fd, "%ld\n", (long)getpid()) < 0)
        abort();
    for (;;)
        pause();
}

int openat(int directory, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, ...);
    const char *mark = getenv("SHEAF_STALL"), *after = getenv("SHEAF_STALL_AFTER");
    const size_t size = strlen(path);
    va_list arguments;
    mode_t mode;

    va_start(arguments, flags);
    mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (mark != NULL && after != NULL && size > 4 && strcmp(path + size - 4, ".jpg") == 0 &&
        __atomic_add_fetch(&opened, 1, __ATOMIC_RELAXED) == strtol(after, NULL, 10))
        stall(mark);
    if (real == NULL)
        real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    return real(directory, path, flags, mode);
}
