/* SPDX-License-Identifier: MIT
 *
 * Combines several sources into one. The common beginning of their roots becomes the root of all,
 * so that files in different directories have different paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "packer/source/source.h"
#include "store/store.h"

/* Returns the root of a source as an absolute path or a URL that ends with one slash. The caller
 * frees it. Returns NULL after a failure. */
static char *whole_root(const struct source *s)
{
    char *real = s->is_remote ? strdup(s->root) : realpath(s->root, NULL);
    char *whole = real == NULL ? NULL : store_join(real, "");

    free(real);
    return whole;
}

/* Returns the length of the common beginning of the roots `a` and `b`, up to and including a slash.
 * Only the first `size` bytes are compared. */
static size_t common_size(const char *a, const char *b, size_t size)
{
    size_t at = 0, end = 0;

    for (; at < size && a[at] == b[at] && a[at] != '\0'; at++)
        if (a[at] == '/')
            end = at + 1;
    return end;
}

/* Returns whether the text can be the common root of several sources. Returns false for "s3://",
 * the common beginning of URLs in different buckets, because a root must name a bucket. */
static bool is_root(const char *root, size_t size)
{
    return size > 0 && (size < 3 || memcmp(root + size - 3, "://", 3) != 0);
}

static int check_kinds(const struct source *sources, size_t count, struct sheaf_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct source *s = &sources[i];

        if (!s->ops->joins)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: one of several sources must be a "
                           "directory, a list or a prefix, and this is a source of the kind %s",
                           s->url, s->ops->noun);
        if (s->is_remote != sources[0].is_remote)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s and %s: several sources must all be local, "
                           "or all in one bucket", sources[0].url, s->url);
    }
    return SHEAF_OK;
}

static int check_overlaps(const struct source *sources, char **roots, size_t count,
                          struct sheaf_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (i != j && sources[i].ops->is_tree && sources[j].ops->is_tree &&
                strncmp(roots[i], roots[j], strlen(roots[i])) == 0)
                return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is inside %s, which is also a source",
                               sources[j].url, sources[i].url);
    return SHEAF_OK;
}

/* Sets the root of a source to the common root, which is the first `size` bytes of the source's own
 * root `whole`. The rest of `whole` becomes s->below, the directory or prefix that the scan
 * searches. */
static int source_join_set_root(struct source *s, const char *whole, size_t size,
                                struct sheaf_error *err)
{
    free(s->root);
    s->root = strndup(whole, size);
    s->below = strndup(whole + size, strlen(whole) - size - (strlen(whole) > size));
    if (s->root == NULL || s->below == NULL)
        return err_memory(err, strlen(whole));
    if (s->root_fd < 0)
        return SHEAF_OK;
    close(s->root_fd);
    s->root_fd = open(s->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->root_fd >= 0 ? SHEAF_OK
                           : err_errno(err, errno, "%s: cannot open the directory", s->root);
}

static int source_join_do(struct source *sources, char **roots, size_t count,
                          struct sheaf_error *err)
{
    size_t size = strlen(roots[0]);
    int code = check_overlaps(sources, roots, count, err);

    for (size_t i = 1; i < count; i++)
        size = common_size(roots[0], roots[i], size);
    if (code == SHEAF_OK && !is_root(roots[0], size))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s and %s: several sources must be in one bucket",
                       sources[0].url, sources[1].url);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = source_join_set_root(&sources[i], roots[i], size, err);
    return code;
}

int source_join(struct source *sources, size_t count, struct sheaf_error *err)
{
    char **roots = calloc(count, sizeof(*roots));
    int code = roots == NULL ? err_memory(err, count * sizeof(*roots))
                             : check_kinds(sources, count, err);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        roots[i] = whole_root(&sources[i]);
        if (roots[i] == NULL)
            code = err_errno(err, errno, "%s: cannot find its absolute path", sources[i].url);
    }
    if (code == SHEAF_OK)
        code = source_join_do(sources, roots, count, err);
    for (size_t i = 0; roots != NULL && i < count; i++)
        free(roots[i]);
    free(roots);
    return code;
}
