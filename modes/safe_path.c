/* SPDX-License-Identifier: MIT
 *
 * Names of files in a directory. */
#include "modes/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "store/store.h"

static const char *safe_path_component_problem(const char *start, size_t size)
{
    if (size == 0)
        return "has an empty component";
    if ((size == 1 && start[0] == '.') || (size == 2 && memcmp(start, "..", 2) == 0))
        return "has a component \".\" or \"..\"";
    return size > NAME_MAX ? "has a component of more than 255 bytes" : NULL;
}

const char *safe_path_problem(const char *name)
{
    const size_t partial = strlen(STORE_PARTIAL);
    const char *problem = NULL, *at = name;

    if (*name == '\0')
        return "is empty";
    if (*name == '/')
        return "is absolute";
    if (strncmp(name, STORE_PARTIAL, partial) == 0 && (name[partial] == '/' ||
                                                       name[partial] == '\0'))
        return "is reserved for unfinished files";
    while (problem == NULL) {
        const size_t size = strcspn(at, "/");

        problem = safe_path_component_problem(at, size);
        at += size;
        if (*at == '\0')
            break;
        at++;
    }
    return problem;
}

static int safe_path_rank_of(char c)
{
    return c == '\0' ? -1 : c == '/' ? 0 : (unsigned char)c;
}

int safe_path_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return safe_path_rank_of(*a) - safe_path_rank_of(*b);
}

int safe_path_is_below(const char *a, const char *b)
{
    const size_t size = strlen(a);

    return strncmp(a, b, size) == 0 && b[size] == '/';
}

const char *safe_path_base(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash == NULL ? name : slash + 1;
}

/* Opens the directory `name` inside the open directory `fd`, and creates the directory if it does
 * not exist. */
static int descend(int fd, const char *name, size_t size)
{
    char component[NAME_MAX + 1];
    int below;

    memcpy(component, name, size);
    component[size] = '\0';
    below = openat(fd, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0 || errno != ENOENT)
        return below;
    if (mkdirat(fd, component, 0777) != 0 && errno != EEXIST)
        return -1;
    return openat(fd, component, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int safe_path_open(int root_fd, const char *name, int *directory_fd, struct sheaf_error *err)
{
    const char *const base = safe_path_base(name);
    int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);

    for (const char *at = name; fd >= 0 && at < base;) {
        const size_t size = strcspn(at, "/");
        const int below = descend(fd, at, size), failed = errno;

        close(fd);
        fd = below;
        errno = failed;
        at += size + 1;
    }
    *directory_fd = fd;
    if (fd >= 0)
        return SHEAF_OK;
    return err_errno(err, errno, "%s: cannot make its directory", name);
}
