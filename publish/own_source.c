/* SPDX-License-Identifier: MIT
 *
 * Checks whether a destination contains a source of the run. Directories may have several names:
 * `d/`, `./d`, links, and `nx/../d` if `nx` exists. So the directories themselves are compared, and
 * not their names. Splits are subdirectories and are removed together with the data set. So a
 * source in a subdirectory of the destination counts as contained. */
#include "publish/own_source.h"

#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "store/file_system.h"
#include "store/store.h"

/* Returns whether `dest` is the directory `source`, or the parent of this directory. If `source` is
 * a file, the directory that contains the file is used instead. */
static bool is_at(const char *source, const char *dest)
{
    char *real = realpath(local_path(source), NULL);
    struct stat wanted, st;
    bool is = false;

    if (real != NULL && stat(real, &st) == 0 && stat(local_path(dest), &wanted) == 0) {
        int levels = S_ISDIR(st.st_mode) ? 2 : 3;

        for (char *at = real; levels-- > 0 && !is; at = dirname(at))
            is = stat(at, &st) == 0 && st.st_dev == wanted.st_dev && st.st_ino == wanted.st_ino;
    }
    free(real);
    return is;
}

/* Returns the length of a URL without the slashes at its end, so that "s3://b/d/" and "s3://b/d"
 * are equal. */
static size_t trimmed(const char *url)
{
    size_t size = strlen(url);

    while (size > 0 && url[size - 1] == '/')
        size--;
    return size;
}

/* Returns whether a remote source lies in `dest`, or in a subdirectory of it. A source with a
 * suffix, such as ".tar", counts as an object, and any other source as a directory. */
static bool is_remote_at(const char *source, const char *dest)
{
    const size_t wanted = trimmed(dest), size = trimmed(source);
    const char *suffix = strrchr(source, '.');
    size_t levels = 0;

    if (size < wanted || strncmp(source, dest, wanted) != 0 ||
        (size > wanted && source[wanted] != '/'))
        return false;
    for (size_t i = wanted; i < size; i++)
        levels += source[i] == '/' && source[i + 1] != '/';
    return levels < 2 || (levels == 2 && suffix != NULL && strchr(suffix, '/') == NULL);
}

int refuse_own_source(const char *dest, const char *const *sources, size_t count,
                      struct sheaf_error *err)
{
    const struct store_ops *store = store_of(dest, NULL);

    for (size_t i = 0; i < count; i++) {
        if (store_of(sources[i], NULL) != store)
            continue;
        if (store_is_local(dest) ? is_at(sources[i], dest) : is_remote_at(sources[i], dest))
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: holds the source %s", dest, sources[i]);
    }
    return SHEAF_OK;
}
