/* SPDX-License-Identifier: MIT
 *
 * The sources of samples: a directory tree, a prefix of objects in a store, a list of files, an
 * archive, one of SageMaker's two kinds of manifest, or a report of S3 Inventory. */
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

/* The kind of place to which the URL of a source refers. */
enum source_at {
    SOURCE_AT_FILE,             /* or a named pipe, a terminal, an object */
    SOURCE_AT_DIRECTORY,
    /* the URL is not an object, but the beginning of the URLs of objects in a store */
    SOURCE_AT_PREFIX
};

/* The objects that belong to a source. Each kind of source has one of these values
 * (source_ops.objects). Callers that read whole objects instead of samples use the value
 * (modes/objects.c). */
enum source_objects {
    SOURCE_OBJECT,              /* an object */
    SOURCE_OBJECTS_BELOW,       /* all objects below it */
    SOURCE_OBJECTS_LISTED,      /* a manifest, whose entries are the objects */
    SOURCE_OBJECTS_OF_LINES     /* an augmented manifest; each line has some objects */
};

/* The functions and properties of one kind of source. source.c has the table of kinds. */
struct source_ops {
    const char *name;           /* in manifests and plans */
    const char *noun;           /* in messages: "directory" */
    enum source_at at;
    enum source_objects objects;
    /* the suffixes by which a file is recognised as a source of this kind (without the suffix of a
     * codec), ended by NULL; NULL if the name may have any suffix */
    const char *const *suffixes;
    /* whether the source consists of everything in a directory or prefix, so that the output
     * must not be inside it */
    bool is_tree;
    /* whether the source can be combined with other sources, because its files are under its
     * root */
    bool joins;
    /* whether the user may set the root for the source's paths */
    bool takes_root;

    /* Returns whether a file with this name is of this kind. `text` is the beginning of the file
     * without a byte order mark and blanks. The pointer `detect` is NULL if the suffix of the name
     * alone decides. */
    bool (*detect)(const char *url, const char *text, size_t size);
    /* Sets source.root. `root` is the option, or NULL. */
    int (*open)(struct source *source, const char *root, struct sheaf_error *err);
    /* Finds the source's files and adds them to the catalog. May also set the root, if only the
     * content shows it. */
    int (*scan)(struct source *source, struct scan *scan, struct sheaf_error *err);

    /* The functions reopen, read and close are for a source that contains its files, such as an
     * archive. They are NULL for other sources, whose files are under the root or are objects.
     * `reopen` prepares a source from a stored plan for reading, without a scan. */
    int (*reopen)(struct source *source, struct sheaf_error *err);
    /* Reads the whole content of a file that the scan has found. May be called on any thread.
     * Returns SHEAF_ERR_CHANGED if the source itself was replaced; its files must then not be
     * skipped as bad. */
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
    /* prefix of the files' paths: a directory, or the beginning of URLs */
    char *root;
    /* whether the content is in a store, so that it must be fetched */
    bool is_remote;
    int root_fd;                /* the root directory, or -1 */
    /* for a source that reads its files itself, such as an archive: its state; otherwise NULL */
    void *content;
    /* if several sources are combined: the part of this source's root after their common root,
     * as in "a/b"; otherwise NULL */
    char *below;
};

#define LINE_NONE UINT64_MAX

/* The inputs and the results of a scan. */
struct scan {
    struct catalog *catalog;
    struct problems *problems;
    struct watch *watch;
    uint64_t found;             /* files, good or bad */
    uint64_t found_bytes;
    /* number of skipped entries: markers of directories, and rows of an inventory that describe old
     * or deleted objects, or objects outside the root */
    uint64_t passed_over;
    uint64_t left_out;          /* clutter (clutter.h): files; directories, each counted once; or
                                   objects */
    /* number of directories at the beginning of a path that name its class; 0 if all directories of
     * the path do */
    uint32_t class_depth;
    struct buf clean;           /* a cleaned path (name_clean) */
    struct filter *filter;      /* NULL: none */
    struct naming *naming;      /* NULL: names do not change */
    const struct source *source;    /* the scanned source; source_scan sets it */
    /* if several sources are combined: number of bytes at the beginning of each path that lead from
     * the common root to this source; otherwise 0 */
    size_t below_size;
    /* number of files, objects and directories that the filter left out; a directory counts as
     * one */
    uint64_t filtered;
    /* In a list: the number of the first line whose label is a number, and of the first line whose
     * label is a class. 0 if there is no such line so far, LINE_NONE if the source has no lines. A
     * number that also has a class name counts as a number. */
    uint64_t numbers_line, class_line;
    bool has_directories;       /* whether a class is a directory */
};

/* Detects the kind of a source and opens it. `root` is NULL, or the root for the source's paths if
 * this kind allows one. */
int source_open(const char *url, const char *root, struct source *source,
                struct sheaf_error *err);
/* Opens the source of a stored plan. Its files can be read, but it cannot be scanned. */
int source_reopen(const char *kind, const char *root, bool is_remote, struct source *source,
                  struct sheaf_error *err);
/* Returns the path of the root without symbolic links, so that the result is the same for every
 * path that leads to this root. The caller frees it. Returns NULL if memory is exhausted. */
char *source_root_name(const struct source *source);
void source_close(struct source *source);

/* Combines several sources into one. They are directories and lists, or prefixes and lists in one
 * store. The common beginning of their roots becomes the root of the combined source. Paths are
 * relative to this root; classes are relative to the root of their own source. Two directories must
 * not overlap. */
int source_join(struct source *sources, size_t count, struct sheaf_error *err);

/* Adds the source's files to the catalog. Bad files and lines are recorded as problems. An error
 * means that the source as a whole cannot be read. */
int source_scan(struct source *source, struct scan *scan, struct sheaf_error *err);

/* Reads a whole file of the source. */
int source_read(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);

/* Returns whether the directory `url`, which need not exist, lies inside the source's tree or
 * prefix. */
bool source_contains(const struct source *source, const char *url);
/* Returns SHEAF_ERR_ARGUMENT if it is. */
int source_refuse(const struct source *source, const char *dest, struct sheaf_error *err);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* source_open_here opens a source with a given root. source_open_anywhere opens a source whose
 * content names the root. */
int source_open_here(struct source *source, const char *root, struct sheaf_error *err);
int source_open_anywhere(struct source *source, const char *root, struct sheaf_error *err);

/* Frees the scan's own memory. */
void scan_end(struct scan *scan);
/* Sets *cleaned to the clean form of the path (see name_clean). If several sources are combined,
 * the part of the path that leads to this source (the first below_size bytes) is left unchanged.
 * *cleaned becomes `path` itself, or a copy that is valid until the next call. */
int scan_clean(struct scan *scan, const char *path, const char **cleaned,
               struct sheaf_error *err);
/* Adds a file with its attributes, or records why it is bad. Also checks for an interrupt and shows
 * the progress. `named` is the path under which the file is packed. If it is NULL, that path
 * follows from the file's own path. */
int scan_add(struct scan *scan, const char *path, const char *named, const struct stat *st,
             uint32_t label, struct sheaf_error *err);
int scan_add_bad(struct scan *scan, const char *path, const char *named, int errnum,
                 const char *what, struct sheaf_error *err);
/* Adds a text from a list as a field of a sample. `path` consists of the sample's key, a dot and
 * the name of the field. */
int scan_add_text(struct scan *scan, const char *path, const char *text, size_t size,
                  uint32_t label, struct sheaf_error *err);
/* Adds an object from a listing. If the object's path is not clean, it is packed under the clean
 * path. */
int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err);
int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err);
/* Sets *out to whether the filter leaves the path out. Counts the paths that are left out. */
int scan_filter(struct scan *scan, const char *path, bool is_directory, bool *out,
                struct sheaf_error *err);
/* Sets *out to whether the path is clutter (see clutter.h). Used by sources that know whole paths,
 * such as listings. */
int scan_leave_out(struct scan *scan, const char *path, bool *out, struct sheaf_error *err);
/* Records a problem: an entry is neither a file nor part of a sample. */
int scan_refuse(struct scan *scan, const char *path, int code, const char *reason,
                struct sheaf_error *err);
/* Records a problem: a line or an entry of a list does not yield a file. */
int scan_bad_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                  struct sheaf_error *err);
/* Finds the label of an entry of a list. `code` and `found` are the result of parsing the entry's
 * line. Returns SHEAF_END if the line has no entry, or if it was recorded as bad. */
int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err);
/* Sets *named to the name under which a file with the cleaned path `path` is packed. The name is
 * valid until the next call. */
int scan_name(struct scan *scan, const char *path, const char **named, struct sheaf_error *err);
/* Finds the label for the class of a path. The class is the file's directory relative to its own
 * source, or the first class_depth directories of it. If the file is directly in one of several
 * sources, its class is the name of that source. */
int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err);

#endif
