/* SPDX-License-Identifier: MIT
 *
 * The directories that a call has made. If the call fails, it removes those of them that are still
 * empty, so that a failed call leaves nothing behind. */
#ifndef STORE_MADE_H
#define STORE_MADE_H

#include <stdbool.h>
#include <stddef.h>

/* Paths of directories, in the order in which they were made. A struct of zeros has none. */
struct made_directories {
    char **paths;
    size_t count;
};

/* Makes a directory, and adds its path to `made`, unless `made` is NULL. Returns 0 or an errno
 * value. */
int made_mkdir(const char *path, struct made_directories *made);
/* Locks the open directory `fd`. If `shared` is true, other processes may hold a shared lock at the
 * same time. Returns 0 or an errno value. EWOULDBLOCK means that another process has the lock, or
 * has removed the directory after it was opened. Other values mean that the file system has no
 * locks. */
int made_lock(int fd, bool shared);

/* Ends a call. If `failed` is true, removes the directories that are empty, the last one first. The
 * call must then have the lock of the directory in which it works, if the file system has locks.
 * Otherwise another process may have locked the directory, and may be about to write there. Frees
 * the paths. */
void made_end(struct made_directories *made, bool failed);

#endif
