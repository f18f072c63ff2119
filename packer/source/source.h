/* SPDX-License-Identifier: MIT
 *
 * Where the samples come from: a directory tree, a prefix of objects in a store, a list of files,
 * one of SageMaker's two kinds of manifest, or a report of S3 Inventory. */
#ifndef PACKER_SOURCE_SOURCE_H
#define PACKER_SOURCE_SOURCE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/watch.h"
#include "packer/source/catalog.h"
#include "packer/source/filter.h"
#include "packer/source/list.h"
#include "packer/source/naming.h"
#include "packer/source/problems.h"

struct scan;
struct source;

/* What has to be at a URL for a kind of source to be there. */
enum source_at {
    SOURCE_AT_FILE,             /* or a named pipe, a terminal, an object */
    SOURCE_AT_DIRECTORY,
    SOURCE_AT_PREFIX            /* no object: what begins with the URL in a store */
};

/* What such a source is to those who take objects whole, as input modes do. */
enum source_objects {
    SOURCE_OBJECT,              /* an object */
    SOURCE_OBJECTS_BELOW,       /* all that is below it */
    SOURCE_OBJECTS_LISTED,      /* a manifest, and they are its entries */
    SOURCE_OBJECTS_OF_LINES     /* an augmented manifest, of whose lines each has some */
};

/* A kind of source.  source.c has the table of them. */
struct source_ops {
    const char *name;           /* in manifests and plans */
    const char *noun;           /* in messages: "directory" */
    enum source_at at;
    enum source_objects objects;
    const char *const *suffixes;    /* what names of such files end with, perhaps before a codec's
                                       suffix; up to a NULL.  NULL: with anything */
    bool is_tree;               /* all that is below a directory or prefix, wherever else it is
                                   listed: none may hold what is made of it */
    bool joins;                 /* its files are below its root: it can be one of several */
    bool takes_root;            /* the user may say what its paths are relative to */

    /* Whether a file with such a name is one, from its first bytes, a byte order mark and blanks
     * left out.  NULL: the name is enough. */
    bool (*detect)(const char *url, const char *text, size_t size);
    /* Sets source.root.  `root`: the option, or NULL. */
    int (*open)(struct source *source, const char *root, struct sheaf_error *err);
    /* Fills the catalog; may set the root, where only the content knows it. */
    int (*scan)(struct source *source, struct scan *scan, struct sheaf_error *err);

    /* Of a source that has its files within itself; NULL of others, whose files are below the root,
     * or objects.  Makes a source whose root is known ready to be read without a scan: that of a
     * stored plan; */
    int (*reopen)(struct source *source, struct sheaf_error *err);
    /* reads all of a file as the scan has found it, on any thread.  SHEAF_ERR_CHANGED: the source
     * itself is another one, so no file of it may be skipped; */
    int (*read)(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);
    /* frees source.content. */
    void (*close)(struct source *source);
};

extern const struct source_ops source_tree_ops, source_prefix_ops, source_inventory_ops,
       source_manifest_ops, source_augmented_ops, source_list_ops, source_lst_ops, source_csv_ops,
       source_jsonl_ops, source_archive_ops;

struct source {
    const char *url;            /* as given; borrowed */
    const struct source_ops *ops;
    char *root;                 /* what comes before paths: a directory, or the beginning of URLs */
    bool is_remote;             /* the content is in a store, to be fetched */
    int root_fd;                /* -1, or the root, a directory */
    void *content;              /* of a kind that reads its files itself; else NULL */
    char *below;                /* NULL; or the source's own part of a common root: "a/b" */
};

#define LINE_NONE UINT64_MAX

/* What a scan fills and asks. */
struct scan {
    struct catalog *catalog;
    struct problems *problems;
    struct watch *watch;
    uint64_t found;             /* files, good or bad */
    uint64_t found_bytes;
    uint64_t passed_over;       /* marks of directories; rows of an inventory that are not current
                                   or not below the root */
    uint64_t left_out;          /* clutter (clutter.h): files, and directories, of which
                                   what is in them is not looked at; or objects */
    uint32_t class_depth;       /* 0; or so many directories of a path are its class */
    struct buf clean;           /* a path without what says nothing (name_clean) */
    struct filter *filter;      /* NULL: none */
    struct naming *naming;      /* NULL: as the names say */
    const struct source *source;    /* that is scanned; source_scan sets it */
    size_t below_size;          /* so many bytes of each path are before the source's own part */
    uint64_t filtered;          /* what it has left out: files, objects, and directories as above */
    uint64_t numbers_line, class_line;  /* of a list: where the first label of each kind was met;
                                           0: not yet; LINE_NONE: in what has no lines.  A number
                                           that has a name is a number */
    bool has_directories;       /* some class is a directory */
};

/* Finds out what it is.  `root`: NULL, or what its paths are relative to, where they are to
 * something. */
int source_open(const char *url, const char *root, struct source *source,
                struct sheaf_error *err);
/* The source of a stored plan, which says so much of it: its files can be read, and no more. */
int source_reopen(const char *kind, const char *root, bool is_remote, struct source *source,
                  struct sheaf_error *err);
/* Where the root is, the same by whatever name; to be freed.  NULL: out of memory. */
char *source_root_name(const struct source *source);
void source_close(struct source *source);

/* Several sources as one: directories and lists, or prefixes and lists in one store, become parts
 * of the directory or prefix that their roots have in common: paths are relative to that, classes
 * to the source's own part of it.  No two directories may overlap. */
int source_join(struct source *sources, size_t count, struct sheaf_error *err);

/* Fills the catalog.  Bad files and lines are noted; an error means that the source as a whole
 * cannot be read. */
int source_scan(struct source *source, struct scan *scan, struct sheaf_error *err);

/* Reads a whole file, wherever it is. */
int source_read(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);

/* True if the directory `url`, which may not be there yet, lies in the tree or prefix. */
bool source_contains(const struct source *source, const char *url);
/* Fails with SHEAF_ERR_ARGUMENT if it does. */
int source_refuse(const struct source *source, const char *dest, struct sheaf_error *err);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* `open` of those whose root is what was given, and of those whose content says where it is. */
int source_open_here(struct source *source, const char *root, struct sheaf_error *err);
int source_open_anywhere(struct source *source, const char *root, struct sheaf_error *err);

/* Frees what the scan has of its own. */
void scan_end(struct scan *scan);
/* Sets *cleaned to the path without what says nothing below the source's own part (name_clean): to
 * `path`, or to a copy that the next call may replace. */
int scan_clean(struct scan *scan, const char *path, const char **cleaned,
               struct sheaf_error *err);
/* Adds a file as stat found it, or its problem; checks for interruption, shows progress.  `named`:
 * key and suffix of another name under which it is packed; NULL: they follow from its path. */
int scan_add(struct scan *scan, const char *path, const char *named, const struct stat *st,
             uint32_t label, struct sheaf_error *err);
int scan_add_bad(struct scan *scan, const char *path, const char *named, int errnum,
                 const char *what, struct sheaf_error *err);
/* Adds text that a list says of a sample as a field: `path` is the key, a dot and the field. */
int scan_add_text(struct scan *scan, const char *path, const char *text, size_t size,
                  uint32_t label, struct sheaf_error *err);
/* The same for an entry that is not a file.  The path may be one that is to be cleaned: then the
 * object is there, but packed under the clean path. */
int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err);
int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err);
/* Sets *out: whether the filter leaves a path out, which is counted then; */
int scan_filter(struct scan *scan, const char *path, bool is_directory, bool *out,
                struct sheaf_error *err);
/* or whether that is no data (clutter.h), of sources that have the whole paths of files. */
int scan_leave_out(struct scan *scan, const char *path, bool *out, struct sheaf_error *err);
/* Counts an entry that is neither a file nor part of a sample. */
int scan_refuse(struct scan *scan, const char *path, int code, const char *reason,
                struct sheaf_error *err);
/* A line, or an entry, that makes no file. */
int scan_bad_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                  struct sheaf_error *err);
/* The label of the entry that a parser has found on a line, for which it returned `code`, with the
 * error `found`.  SHEAF_END: the line has none (it says nothing, or was noted as bad). */
int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err);
/* Sets *named to the path under which a file is packed, whose path has been cleaned; until the
 * next call. */
int scan_name(struct scan *scan, const char *path, const char **named, struct sheaf_error *err);
/* The label of the class that is the directory of a path, below the source's own part of it, or the
 * first class_depth directories; right in that, the class has its name. */
int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err);

#endif
