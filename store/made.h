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
/* Removes the directories that are empty, the last one first, and frees the paths. The caller must
 * have the lock of the directory in which it works, if the file system has locks. Otherwise another
 * process may have locked the directory, and may be about to write there. */
void made_remove(struct made_directories *made);
/* Returns whether the open directory `fd` was removed. */
bool made_was_removed(int fd);
/* Frees the paths. The directories stay. */
void made_free(struct made_directories *made);

#endif
