/* SPDX-License-Identifier: MIT
 *
 * See list_root.h. */
#include "packer/source/list_root.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "formats/name.h"
#include "store/file_system.h"
#include "store/store.h"

/* ---- The names of the root ------------------------------------------------------------------- */

/* Removes the meaningless parts of an absolute path (see name_clean), and a slash at its end. "/"
 * becomes "". */
static void clean_absolute(char *path)
{
    bool climbs;
    size_t size = name_clean(path + 1, strlen(path + 1), &climbs);

    path[1 + size] = '\0';
    if (size == 0)
        path[0] = '\0';
}

/* Adds the path DIRECTORY/NAME to r->names, which has the absolute paths of the list's root. Frees
 * `directory`. Does nothing if `directory` is NULL. */
static int list_root_add_name(struct list_root *r, char *directory, const char *name,
                              struct sheaf_error *err)
{
    char *joined;

    if (directory == NULL)
        return SHEAF_OK;
    if (asprintf(&joined, "%s/%s", directory, name) < 0)
        joined = NULL;
    free(directory);
    if (joined == NULL)
        return err_memory(err, strlen(name));
    clean_absolute(joined);
    r->names[r->name_count++] = joined;
    return SHEAF_OK;
}

/* Returns the path of the working directory from the variable PWD, which may contain symbolic
 * links. Returns NULL if PWD does not name the working directory. */
static char *shell_directory(void)
{
    const char *name = getenv("PWD");
    struct stat a, b;

    return name != NULL && name[0] == '/' && stat(name, &a) == 0 && stat(".", &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino ? strdup(name) : NULL;
}

static int list_root_add_names(struct list_root *r, struct sheaf_error *err)
{
    int code;

    if (r->root[0] == '/') {
        code = list_root_add_name(r, strdup(""), r->root, err);
    } else {
        code = list_root_add_name(r, shell_directory(), r->root, err);
        if (code == SHEAF_OK)
            code = list_root_add_name(r, getcwd(NULL, 0), r->root, err);
    }
    return code == SHEAF_OK ? list_root_add_name(r, realpath(r->root, NULL), "", err) : code;
}

int list_root_open(struct list_root *r, const char *name, bool is_remote, struct sheaf_error *err)
{
    *r = (struct list_root){ .is_remote = is_remote, .root = strdup(name),
                             .text.limit = SIZE_MAX / 2 };
    if (r->root == NULL)
        return err_memory(err, strlen(name));
    return is_remote ? SHEAF_OK : list_root_add_names(r, err);
}

void list_root_close(struct list_root *r)
{
    for (size_t i = 0; i < r->name_count; i++)
        free(r->names[i]);
    buf_free(&r->text);
    free(r->directory);
    free(r->below);
    free(r->root);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* Returns the rest of a path after the directory `name` and a slash. Returns NULL if the path is
 * not in this directory. */
static const char *list_root_after(const char *path, const char *name)
{
    const size_t size = strlen(name);

    return strncmp(path, name, size) == 0 && path[size] == '/' ? path + size + 1 : NULL;
}

/* Resolves the symbolic links in the directory of a path. Sets r->below to this directory relative
 * to the root. The next path is usually in the same directory, because lists are usually sorted, so
 * the result is kept. */
static int follow_links(struct list_root *r, const char *path, size_t size, struct sheaf_error *err)
{
    const char *root = r->name_count == 0 ? NULL : r->names[r->name_count - 1];
    char *real;

    if (r->directory != NULL && strncmp(r->directory, path, size) == 0 &&
        r->directory[size] == '\0')
        return SHEAF_OK;
    free(r->directory);
    free(r->below);
    r->below = NULL;
    r->directory = strndup(path, size);
    if (r->directory == NULL)
        return err_memory(err, size);
    real = root == NULL ? NULL : realpath(r->directory, NULL);
    if (real != NULL && strcmp(real, root) == 0)
        r->below = strdup("");
    else if (real != NULL && list_root_after(real, root) != NULL)
        r->below = strdup(list_root_after(real, root));
    free(real);
    return SHEAF_OK;
}

/* Sets *below to the path relative to the list's root, after the symbolic links in the path and in
 * the root were resolved. Returns SHEAF_END if the path is not under the root. */
static int find_real(struct list_root *r, const char **below, struct sheaf_error *err)
{
    char *path = (char *)r->text.data, *slash = strrchr(path, '/');
    int code = follow_links(r, path, (size_t)(slash - path) + (slash == path), err);
    char *joined;

    if (code != SHEAF_OK)
        return code;
    if (r->below == NULL)
        return SHEAF_END;
    if (asprintf(&joined, "%s%s%s", r->below, r->below[0] == '\0' ? "" : "/", slash + 1) < 0)
        return err_memory(err, strlen(path));
    r->text.size = 0;
    code = buf_append(&r->text, joined, strlen(joined) + 1, err);
    free(joined);
    *below = (const char *)r->text.data;
    return code;
}

/* Finds a path with components "..", which is relative to the root, as the absolute path that it
 * stands for. */
static int list_root_climb(struct list_root *r, const char *given, const char **below,
                           struct sheaf_error *err)
{
    int code;

    r->text.size = 0;
    code = buf_printf(&r->text, err, "%s/%s",
                      r->name_count == 0 ? "" : r->names[r->name_count - 1], given);
    if (code == SHEAF_OK)
        code = buf_append(&r->text, "", 1, err);
    return code == SHEAF_OK ? find_real(r, below, err) : code;
}

static int list_root_find_local(struct list_root *r, const char *given, const char **below,
                                struct sheaf_error *err)
{
    const bool is_absolute = given[0] == '/';
    const size_t size = strlen(given);
    bool climbs;
    char *path;
    int code;

    r->text.size = 0;
    code = buf_append(&r->text, given, size + 1, err);
    if (code != SHEAF_OK)
        return code;
    path = (char *)r->text.data;
    path[is_absolute + name_clean(path + is_absolute, size - is_absolute, &climbs)] = '\0';
    *below = path;
    if (!is_absolute && climbs)
        return list_root_climb(r, given, below, err);
    if (!is_absolute)
        return SHEAF_OK;
    for (size_t i = 0; i < r->name_count && !climbs; i++) {
        *below = list_root_after(path, r->names[i]);
        if (*below != NULL)
            return SHEAF_OK;
    }
    return find_real(r, below, err);
}

int list_root_find(struct list_root *r, const char *path, const char **below,
                   struct sheaf_error *err)
{
    size_t size = strlen(r->root);

    if (!r->is_remote)
        return list_root_find_local(r, local_path(path), below, err);
    while (size > 0 && r->root[size - 1] == '/')
        size--;
    if (strncmp(path, r->root, size) == 0 && path[size] == '/')
        path += size + 1;
    while (path[0] == '/' || (path[0] == '.' && path[1] == '/'))
        path++;
    *below = path;
    return SHEAF_OK;
}
