/* SPDX-License-Identifier: MIT
 *
 * Files that are replaced as a whole. They are written under a temporary name and renamed, so that
 * a command that is killed while writing leaves the previous file. */
#ifndef TOOLS_REPLACE_H
#define TOOLS_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

struct replacement {
    const char *path;
    char *temporary;
    FILE *file;                 /* write to this */
    bool is_quiet;              /* nothing is complained of */
    bool is_volatile;           /* the file need not survive a crash of the machine */
};

/* Checks that the file can be written. A file that exists must have `mark` near its beginning, as
 * `what` ("a report of sheaf") has, because a file of another program is not replaced. Returns -1,
 * or the exit status after a complaint. */
int replace_check(const char *path, const char *what, const char *mark);
/* These functions return an exit status, after a complaint if it is not 0. */
int replace_begin(struct replacement *r, const char *path, bool is_quiet);
int replace_end(struct replacement *r);

#endif
