/* SPDX-License-Identifier: MIT
 *
 * Decides which paths of a source are packed, with patterns as in a .gitignore (path_glob.h). A
 * pattern either includes the paths that match it or excludes them. If several patterns match a
 * path, the last one decides. If a directory is excluded, nothing in it is packed.
 *
 * The first pattern also decides about paths that match no pattern. If the first pattern is an
 * excluding one, a path without a match is packed. If the first pattern is an including one, a path
 * without a match is packed only if it is in a directory that a pattern has included. */
#ifndef PACKER_SOURCE_FILTER_H
#define PACKER_SOURCE_FILTER_H

#include <stdint.h>

#include "base/buf.h"
#include "packer/source/path_glob.h"

struct filter_rule {
    struct sheaf_filter given;
    struct path_glob glob;
    bool packs;
    bool matched;               /* whether it has decided something */
    uint64_t left_out;          /* files and directories */
    uint64_t directories;       /* the directories among `left_out` */
};

enum filter_state {
    FILTER_LOOK,                /* rules decide; without a match, `only` decides */
    FILTER_TAKE,                /* rules decide; without a match, the path is packed */
    FILTER_PRUNE                /* nothing is packed */
};

/* Zero-initialised: everything is packed. */
struct filter {
    struct filter_rule *rules;
    size_t count;
    bool only;                  /* whether the first rule packs */
    /* number of files that were left out because no pattern matches them */
    uint64_t unmatched;
    struct buf directory;       /* the directory of the last question, with a NUL; */
    enum filter_state state;    /* the decision about its content, */
    struct filter_rule *pruned; /* and the rule that leaves it out */
};

/* The patterns are borrowed. */
int filter_open(struct filter *filter, const struct sheaf_filter *rules, size_t count,
                struct sheaf_error *err);
void filter_close(struct filter *filter);

/* Sets *out to whether a path is left out. The call is fast if the previous call was about a path
 * in the same directory. */
int filter_ask(struct filter *filter, const char *path, bool is_directory, bool *out,
               struct sheaf_error *err);

#endif
