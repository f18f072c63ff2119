/* SPDX-License-Identifier: MIT
 *
 * Replaces a file as a whole. The new content is written under a temporary name, and then this file
 * is renamed. So a command that is killed while it writes leaves the previous file. */
#ifndef TOOLS_REPLACE_H
#define TOOLS_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

struct replacement {
    const char *path;
    char *temporary;
    FILE *file;                 /* write to this */
    bool is_quiet;              /* nothing is complained of */
    /* whether the file may be lost in a crash of the machine; such a file is not synced to the
     * disk */
    bool is_volatile;
};

/* Checks that the file `path` can be written. If the file exists, it must have the text `mark` near
 * its beginning, because files of other programs must not be replaced. In messages, `what`
 * describes files with this mark, for example as "a report of sheaf". Returns -1 on success. On
 * failure, prints an error message and returns the exit status. Devices and pipes, such as
 * /dev/null, must not be replaced either. */
int replace_check(const char *path, const char *what, const char *mark);
/* replace_begin creates the temporary file, and replace_end renames it to the final name. Both
 * return an exit status. If the status is not 0, they have printed an error message. */
int replace_begin(struct replacement *r, const char *path, bool is_quiet);
int replace_end(struct replacement *r);

#endif
