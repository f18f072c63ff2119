/* SPDX-License-Identifier: MIT
 *
 * Recognises by its name that a file is not data (.DS_Store, ...); see clutter.h. */
#include "packer/source/clutter.h"

#include <string.h>
#include <strings.h>

bool clutter_is_directory(const char *name)
{
    return name[0] == '.';
}

bool clutter_is_file(const char *name)
{
    return strcmp(name, ".DS_Store") == 0 || strncmp(name, "._", 2) == 0 ||
           strcasecmp(name, "Thumbs.db") == 0 || strcasecmp(name, "desktop.ini") == 0;
}

bool clutter_is_path(const char *path)
{
    const char *slash;

    for (; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        /* The components "." and ".." do not count as hidden directories. A path with ".." is
         * reported as a problem. */
        const size_t size = (size_t)(slash - path);

        if (clutter_is_directory(path) && strncmp(path, "..", size) != 0)
            return true;
    }
    return clutter_is_file(path);
}
