/* SPDX-License-Identifier: MIT
 *
 * Files that are replaced as a whole: written under a temporary name and renamed, so that who is
 * killed while it writes leaves the file before. */
#ifndef TOOLS_REPLACE_H
#define TOOLS_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

struct replacement {
    const char *path;
    char *temporary;
    FILE *file;                 /* write to this */
    bool is_quiet;              /* nothing is complained of */
    bool is_volatile;           /* it need not survive the machine */
};

/* Whether it can be written: -1, or a complaint and the exit status. */
int replace_check(const char *path);
/* Each returns an exit status, after a complaint. */
int replace_begin(struct replacement *r, const char *path, bool is_quiet);
int replace_end(struct replacement *r);

#endif
