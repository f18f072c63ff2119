/* SPDX-License-Identifier: MIT
 *
 * Which paths of a source are packed: patterns as in a .gitignore (path_glob.h), of which the last
 * that matches decides.  A directory that is left out is pruned: nothing below it comes back.  What
 * no pattern matches is packed, unless the first of them packs: then only what one of them packs
 * is, and all that is in a directory that one of them packs. */
#ifndef PACKER_SOURCE_FILTER_H
#define PACKER_SOURCE_FILTER_H

#include <stdint.h>

#include "base/buf.h"
#include "packer/source/path_glob.h"

struct filter_rule {
    struct sheaf_filter given;
    struct path_glob glob;
    bool packs;
    bool matched;               /* it has decided something */
    uint64_t left_out;          /* files and directories */
    uint64_t directories;       /* of `left_out`, the directories */
};

enum filter_state {
    FILTER_LOOK,                /* rules decide; what none matches is packed, or not (`only`) */
    FILTER_TAKE,                /* rules decide; what none matches is packed */
    FILTER_PRUNE                /* nothing is packed */
};

/* Zero-initialised: everything is packed. */
struct filter {
    struct filter_rule *rules;
    size_t count;
    bool only;                  /* the first rule packs */
    uint64_t unmatched;         /* files that were left out because no rule packs them */
    struct buf directory;       /* the last one that was asked about, with a NUL; */
    enum filter_state state;    /*   what becomes of what is in it, */
    struct filter_rule *pruned; /*   and the rule that prunes it */
};

/* The patterns are borrowed. */
int filter_open(struct filter *filter, const struct sheaf_filter *rules, size_t count,
                struct sheaf_error *err);
void filter_close(struct filter *filter);

/* Sets *out: whether a path is left out; whoever asks in the order of directories asks cheaply. */
int filter_ask(struct filter *filter, const char *path, bool is_directory, bool *out,
               struct sheaf_error *err);

#endif
