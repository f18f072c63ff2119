/* SPDX-License-Identifier: MIT
 *
 * Files that are replaced as a whole. A file is written under a temporary name and then renamed. So
 * a command that is killed while it writes leaves the previous file. */
#ifndef TOOLS_REPLACE_H
#define TOOLS_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

struct replacement {
    const char *path;
    char *temporary;
    FILE *file;                 /* write to this */
    bool is_quiet;              /* nothing is complained of */
    /* whether the file need not survive a crash of the machine */
    bool is_volatile;
};

/* Checks that the file can be written. An existing file must have the text `mark` near its
 * beginning, because a file that another program has written must not be replaced. `what` describes
 * such files in messages ("a report of sheaf"). Returns -1 on success, or the exit status after an
 * error message. */
int replace_check(const char *path, const char *what, const char *mark);
/* replace_begin and replace_end return an exit status. If it is not 0, they have printed an error
 * message. */
int replace_begin(struct replacement *r, const char *path, bool is_quiet);
int replace_end(struct replacement *r);

#endif
