/* SPDX-License-Identifier: MIT
 *
 * The sources of samples: a directory tree, a prefix of objects in a store, a list of files, one of
 * SageMaker's two kinds of manifest, or a report of S3 Inventory. */
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

/* The kind of file to which the URL of a source must refer. */
enum source_at {
    SOURCE_AT_FILE,             /* or a named pipe, a terminal, an object */
    SOURCE_AT_DIRECTORY,
    SOURCE_AT_PREFIX            /* the URL is not an object but the beginning of objects' URLs in
                                   a store */
};

/* The meaning of such a source for a caller that needs whole objects, such as an input mode. */
enum source_objects {
    SOURCE_OBJECT,              /* an object */
    SOURCE_OBJECTS_BELOW,       /* all objects below it */
    SOURCE_OBJECTS_LISTED,      /* a manifest, whose entries are the objects */
    SOURCE_OBJECTS_OF_LINES     /* an augmented manifest; each line has some objects */
};

/* A kind of source. The table of kinds is in source.c. */
struct source_ops {
    const char *name;           /* in manifests and plans */
    const char *noun;           /* in messages: "directory" */
    enum source_at at;
    enum source_objects objects;
    const char *const *suffixes;    /* Ends of such files' names, before the suffix of a codec;
                                       ended by NULL. NULL: any name. */
    bool is_tree;               /* The source is everything in a directory or prefix. The output
                                   must not be inside it. */
    bool joins;                 /* whether it can be one of several sources, because its files
                                   are below its root */
    bool takes_root;            /* whether the user may set the root of its paths */

    /* Returns whether a file with such a name is of this kind. `text` is the beginning of the file
     * without a byte order mark and blanks. NULL: the name is sufficient. */
    bool (*detect)(const char *url, const char *text, size_t size);
    /* Sets source.root. `root` is the option, or NULL. */
    int (*open)(struct source *source, const char *root, struct sheaf_error *err);
    /* Fills the catalog. May set the root if it is known only from the content. */
    int (*scan)(struct source *source, struct scan *scan, struct sheaf_error *err);

    /* The functions reopen, read and close are for a source that contains its files, such as
     * an archive. They are NULL for others, whose files are below the root or are objects. reopen
     * prepares a source whose root is known from a stored plan for reading without a scan. */
    int (*reopen)(struct source *source, struct sheaf_error *err);
    /* read: reads all of a file that the scan has found, on any thread. Returns SHEAF_ERR_CHANGED
     * if the source itself was replaced, so that no file of it may be skipped. */
    int (*read)(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);
    /* close: frees source.content. */
    void (*close)(struct source *source);
};

extern const struct source_ops source_tree_ops, source_prefix_ops, source_inventory_ops,
       source_manifest_ops, source_augmented_ops, source_list_ops, source_lst_ops, source_csv_ops,
       source_jsonl_ops, source_archive_ops;

struct source {
    const char *url;            /* as given; borrowed */
    const struct source_ops *ops;
    char *root;                 /* prefix of the paths: a directory, or the beginning of URLs */
    bool is_remote;             /* whether the content is in a store and must be fetched */
    int root_fd;                /* the root directory, or -1 */
    void *content;              /* state of a source kind that reads its files itself; else NULL */
    char *below;                /* NULL; or, for one of several sources, the part of its root
                                   that follows their common root: "a/b" */
};

#define LINE_NONE UINT64_MAX

/* The inputs and the results of a scan. */
struct scan {
    struct catalog *catalog;
    struct problems *problems;
    struct watch *watch;
    uint64_t found;             /* files, good or bad */
    uint64_t found_bytes;
    uint64_t passed_over;       /* number of skipped entries: marks of directories, and the rows
                                   of an inventory that are not current or not below the root */
    uint64_t left_out;          /* clutter (clutter.h): files; directories, each counted once; or
                                   objects */
    uint32_t class_depth;       /* 0; or the number of directories at the beginning of a path
                                   that name its class */
    struct buf clean;           /* a cleaned path (name_clean) */
    struct filter *filter;      /* NULL: none */
    struct naming *naming;      /* NULL: names do not change */
    const struct source *source;    /* the scanned source; source_scan sets it */
    size_t below_size;          /* number of bytes of each path before the source's own part */
    uint64_t filtered;          /* number of files, objects and directories (each counted once)
                                   that the filter left out */
    /* In a list: the line of the first label that is a number, and the line of the first label that
     * is a class. 0 if there is none so far, LINE_NONE if the source has no lines. A number that
     * also has a class name counts as a number. */
    uint64_t numbers_line, class_line;
    bool has_directories;       /* whether a class is a directory */
};

/* Detects the kind of a source and opens it. `root` is NULL, or the root of its paths if the kind
 * has one. */
int source_open(const char *url, const char *root, struct source *source,
                struct sheaf_error *err);
/* Opens the source of a stored plan. Only its files can be read. */
int source_reopen(const char *kind, const char *root, bool is_remote, struct source *source,
                  struct sheaf_error *err);
/* Returns the real path of the root, the same for all names that it has. The caller frees it.
 * Returns NULL if memory is exhausted. */
char *source_root_name(const struct source *source);
void source_close(struct source *source);

/* Makes several sources one. Directories and lists, or prefixes and lists in one store, become
 * parts of the directory or prefix that their roots have in common. Paths are relative to that, and
 * classes to the source's own part. No two directories may overlap. */
int source_join(struct source *sources, size_t count, struct sheaf_error *err);

/* Fills the catalog. Bad files and lines are noted. An error means that the source as a whole
 * cannot be read. */
int source_scan(struct source *source, struct scan *scan, struct sheaf_error *err);

/* Reads a whole file of the source. */
int source_read(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);

/* Returns whether the directory `url`, which need not exist, is in the tree or prefix. */
bool source_contains(const struct source *source, const char *url);
/* Returns SHEAF_ERR_ARGUMENT if it is. */
int source_refuse(const struct source *source, const char *dest, struct sheaf_error *err);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* Open a source: with a given root, and with the root that its content names. */
int source_open_here(struct source *source, const char *root, struct sheaf_error *err);
int source_open_anywhere(struct source *source, const char *root, struct sheaf_error *err);

/* Frees the scan's own memory. */
void scan_end(struct scan *scan);
/* Sets *cleaned to the path after name_clean, which is applied below the source's own part of the
 * root. The result is `path`, or a copy that is valid until the next call. */
int scan_clean(struct scan *scan, const char *path, const char **cleaned,
               struct sheaf_error *err);
/* Adds a file with its attributes, or records why it is bad. Checks for interruption and shows the
 * progress. `named` is the path under which it is packed, or NULL if that follows from its own
 * path. */
int scan_add(struct scan *scan, const char *path, const char *named, const struct stat *st,
             uint32_t label, struct sheaf_error *err);
int scan_add_bad(struct scan *scan, const char *path, const char *named, int errnum,
                 const char *what, struct sheaf_error *err);
/* Adds a text from a list as a field of a sample. `path` is the key, a dot and the name of the
 * field. */
int scan_add_text(struct scan *scan, const char *path, const char *text, size_t size,
                  uint32_t label, struct sheaf_error *err);
/* Adds a listed object. An object whose path is not clean is packed under the clean path. */
int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err);
int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err);
/* Sets *out to whether the filter leaves the path out, and counts the path if so. */
int scan_filter(struct scan *scan, const char *path, bool is_directory, bool *out,
                struct sheaf_error *err);
/* Sets *out to whether the path is clutter (clutter.h), for sources that know whole paths. */
int scan_leave_out(struct scan *scan, const char *path, bool *out, struct sheaf_error *err);
/* Records as a problem an entry that is neither a file nor part of a sample. */
int scan_refuse(struct scan *scan, const char *path, int code, const char *reason,
                struct sheaf_error *err);
/* Notes a line, or an entry, that makes no file. */
int scan_bad_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                  struct sheaf_error *err);
/* Finds the label of an entry. `code` and `found` are the result of the parser for the line.
 * Returns SHEAF_END if the line has no entry, or was recorded as bad. */
int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err);
/* Sets *named to the name under which a file with a cleaned path is packed. It is valid until the
 * next call. */
int scan_name(struct scan *scan, const char *path, const char **named, struct sheaf_error *err);
/* Finds the label for the class of a path: its directory below the source's own part, or the first
 * class_depth directories of that. A file directly in that part has the class with the name of the
 * part. */
int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err);

#endif
