/* SPDX-License-Identifier: MIT
 *
 * Makes and locks directories, and removes them again if they stay empty. */
#include "store/made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int made_mkdir(const char *path, struct made_directories *made)
{
    char **paths;

    if (made == NULL)
        return mkdir(path, 0777) == 0 ? 0 : errno;
    paths = realloc(made->paths, (made->count + 1) * sizeof(paths[0]));
    if (paths == NULL)
        return ENOMEM;
    made->paths = paths;
    paths[made->count] = strdup(path);
    if (paths[made->count] == NULL)
        return ENOMEM;
    if (mkdir(path, 0777) != 0) {
        const int failed = errno;

        free(paths[made->count]);
        return failed;
    }
    made->count++;
    return 0;
}

int made_lock(int fd, bool shared)
{
    struct stat st;

    if (flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
        return errno;
    return fstat(fd, &st) == 0 && st.st_nlink == 0 ? EWOULDBLOCK : 0;
}

void made_end(struct made_directories *made, bool failed)
{
    for (size_t i = made->count; i-- > 0;) {
        if (failed)
            (void)rmdir(made->paths[i]);
        free(made->paths[i]);
    }
    free(made->paths);
    *made = (struct made_directories){ .paths = NULL };
}
