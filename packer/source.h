/* SPDX-License-Identifier: MIT
 *
 * Where the samples come from: a directory tree, or a list of files. */
#ifndef PACKER_SOURCE_H
#define PACKER_SOURCE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "packer/catalog.h"
#include "packer/list.h"
#include "packer/problems.h"
#include "packer/watch.h"

struct source {
    const char *url;            /* as given; borrowed */
    bool is_tree;
    enum list_kind list_kind;   /* where it is no tree */
    char *root;                 /* what paths are relative to */
    int root_fd;
};

/* What a scan fills and asks. */
struct scan {
    struct catalog *catalog;
    struct problems *problems;
    struct watch *watch;
    uint64_t found;             /* files, good or bad */
    uint64_t found_bytes;
};

/* Finds out what it is.  `root`: NULL, or of a list what its paths are relative to. */
int source_open(const char *url, const char *root, struct source *source,
                struct sheaf_error *err);
void source_close(struct source *source);

/* "tree", "list", "lst", "csv", "jsonl". */
const char *source_kind_name(const struct source *source);

/* Fills the catalog.  Bad files and lines are noted; an error means that the source as a whole
 * cannot be read. */
int source_scan(const struct source *source, struct scan *scan, struct sheaf_error *err);

/* True if the local directory `path`, which may not be there yet, lies in the tree. */
bool source_contains(const struct source *source, const char *path);

/* ---- Between the kinds of source ------------------------------------------------------------ */

int source_scan_tree(const struct source *source, struct scan *scan, struct sheaf_error *err);
int source_scan_list(const struct source *source, struct scan *scan, struct sheaf_error *err);

/* Adds a file as stat found it, or its problem; checks for interruption, shows progress. */
int scan_add(struct scan *scan, const char *path, const struct stat *st, uint32_t label,
             struct sheaf_error *err);
int scan_add_bad(struct scan *scan, const char *path, int errnum, const char *what,
                 struct sheaf_error *err);

#endif
