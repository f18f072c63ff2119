/* SPDX-License-Identifier: MIT
 *
 * Declares the sources from which samples are packed: a directory tree, a prefix of objects in a
 * store, a list of files, an archive, one of SageMaker's two kinds of manifest, or a report of S3
 * Inventory. */
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

/* The kind of thing that the URL of a source names: a file, a directory or a prefix. */
enum source_at {
    SOURCE_AT_FILE,             /* or a named pipe, a terminal, an object */
    SOURCE_AT_DIRECTORY,
    /* The URL is not an object, but the beginning of the URLs of several objects in a store. */
    SOURCE_AT_PREFIX
};

/* The objects that a kind of source consists of (source_ops.objects). Only the commands that copy
 * whole objects use this (modes/objects.c), and packing does not. */
enum source_objects {
    SOURCE_OBJECT,              /* an object */
    SOURCE_OBJECTS_BELOW,       /* all objects below it */
    SOURCE_OBJECTS_LISTED,      /* a manifest, whose entries are the objects */
    SOURCE_OBJECTS_OF_LINES     /* an augmented manifest; each line has some objects */
};

/* The functions and properties of one kind of source, such as lists. source.c has the table of
 * kinds. */
struct source_ops {
    const char *name;           /* in manifests and plans */
    const char *noun;           /* in messages: "directory" */
    enum source_at at;
    enum source_objects objects;
    /* Suffixes of files that are sources of this kind, without the suffix of a codec. The array
     * ends with NULL. The pointer is NULL if the file may have any suffix. */
    const char *const *suffixes;
    /* true if the source is everything in a directory or under a prefix, so that the output must
     * not be inside it */
    bool is_tree;
    /* true if the source can be combined with other sources; this requires that all its files are
     * under its root */
    bool joins;
    /* true if the user may set the root (a directory or URL) to which the paths in the source are
     * relative */
    bool takes_root;

    /* Returns whether the file `url` is a source of this kind. `text` is the beginning of the file,
     * without a byte order mark and blanks. `detect` is NULL if the suffix of the file's name alone
     * decides. */
    bool (*detect)(const char *url, const char *text, size_t size);
    /* Sets source.root. `root` is the option, or NULL. */
    int (*open)(struct source *source, const char *root, struct sheaf_error *err);
    /* Finds the source's files and adds them to the catalog. If source->root is still "", sets it
     * to the root that the content of the source states. */
    int (*scan)(struct source *source, struct scan *scan, struct sheaf_error *err);

    /* reopen(), read() and close() exist only for a source that contains its files, such as an
     * archive. For other sources, these three pointers are NULL. reopen() prepares a source from a
     * stored plan for reading, without a scan. */
    int (*reopen)(struct source *source, struct sheaf_error *err);
    /* Reads into `data` the whole content of a file that the scan has found. May be called on any
     * thread. Returns SHEAF_ERR_CHANGED if the source itself (such as the archive) was replaced.
     * The run must then end, even if bad files are skipped. */
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
    /* beginning of the paths of all files: a directory, or the beginning of URLs */
    char *root;
    /* true if the files are in a store and must be fetched */
    bool is_remote;
    int root_fd;                /* the root directory, or -1 */
    /* state of a source that contains its files, such as an archive, and so reads them itself; NULL
     * for any other source */
    void *content;
    /* If several sources are combined, their paths are relative to a common root. `below` is the
     * part of this source's own root after the common root, such as "a/b". NULL if sources are not
     * combined. */
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
    uint64_t parquet;           /* number of these files whose names end in .parquet */
    /* Number of entries that were skipped because they do not name files to be packed. Such entries
     * are markers of directories, and in an inventory also rows for old or deleted objects and for
     * objects outside the root. */
    uint64_t passed_over;
    uint64_t left_out;          /* clutter (clutter.h): files; directories, each counted once; or
                                   objects */
    /* number of directories at the beginning of a path that are the name of its class; 0 for all
     * directories */
    uint32_t class_depth;
    struct buf clean;           /* a cleaned path (name_clean) */
    struct filter *filter;      /* NULL: none */
    struct naming *naming;      /* NULL: names do not change */
    const struct source *source;    /* the scanned source; source_scan sets it */
    /* If several sources are combined, each path begins with the name of its source. below_size is
     * the number of bytes of this name, such as 4 for "a/b/" if the source is the directory a/b of
     * the common root. It is 0 if the paths do not begin with such a name. */
    size_t below_size;
    /* number of files, objects and directories that the user's filter left out; a directory counts
     * once */
    uint64_t filtered;
    /* A list may have labels that are numbers, or labels that are names of classes. numbers_line is
     * the number of the first line with a number as its label, even if the line also names a class.
     * class_line is the number of the first line with only the name of a class. Each of the two is
     * 0 if no such label was found so far, and LINE_NONE if the label came from a source without
     * lines. */
    uint64_t numbers_line, class_line;
    bool has_directories;       /* whether a class is a directory */
};

/* Detects the kind of the source at `url` and opens it. `root` is NULL, or the root to which the
 * source's paths are relative. Some kinds allow no root. */
int source_open(const char *url, const char *root, struct source *source,
                struct sheaf_error *err);
/* Opens the source of a stored plan, so that its files can be read. The source cannot be
 * scanned. */
int source_reopen(const char *kind, const char *root, bool is_remote, struct source *source,
                  struct sheaf_error *err);
/* Returns the path of the source's root without symbolic links, so that every path to the same root
 * gives the same result. The caller frees the result. Returns NULL if memory is exhausted. */
char *source_root_name(const struct source *source);
void source_close(struct source *source);

/* Combines several sources: directories and lists, or prefixes and lists in one store. Two
 * directories must not overlap. The common beginning of all roots becomes the root of each source,
 * and all paths are then relative to it. The classes do not change: they stay relative to the old
 * root of their own source. */
int source_join(struct source *sources, size_t count, struct sheaf_error *err);

/* Finds the source's files and adds them to the catalog. Bad files and bad lines are recorded as
 * problems. An error means that the source as a whole cannot be read. */
int source_scan(struct source *source, struct scan *scan, struct sheaf_error *err);

/* Reads a whole file of the source. */
int source_read(const struct source *source, const struct catalog_file *file, void *data,
                struct sheaf_error *err);

/* Returns whether `url` lies inside the source's directory or prefix. `url` is a directory that
 * need not exist, such as the destination of the run. */
bool source_contains(const struct source *source, const char *url);
/* Returns SHEAF_ERR_ARGUMENT if it is. */
int source_refuse(const struct source *source, const char *dest, struct sheaf_error *err);

/* ---- Between the kinds of source ------------------------------------------------------------ */

/* Two functions that implement source_ops.open. source_open_here() uses the source's own URL as the
 * root. source_open_anywhere() uses the root that the user gave. If the user gave no root, the root
 * is "" until the content of the source states it. */
int source_open_here(struct source *source, const char *root, struct sheaf_error *err);
int source_open_anywhere(struct source *source, const char *root, struct sheaf_error *err);

/* Frees the scan's own memory. */
void scan_end(struct scan *scan);
/* Sets *cleaned to the clean form of a path (see name_clean). If several sources are combined, the
 * first below_size bytes stay unchanged, because they are the name of this source under the common
 * root. *cleaned becomes `path` itself, or a copy that is valid until the next call. */
int scan_clean(struct scan *scan, const char *path, const char **cleaned,
               struct sheaf_error *err);
/* Adds the file `path` with the attributes `st` to the catalog. If the file cannot be packed,
 * records the reason instead. `named` is the path under which the file is packed. If `named` is
 * NULL, this path is computed from `path`. Also checks for an interrupt and shows the progress. */
int scan_add(struct scan *scan, const char *path, const char *named, const struct stat *st,
             uint32_t label, struct sheaf_error *err);
int scan_add_bad(struct scan *scan, const char *path, const char *named, int errnum,
                 const char *what, struct sheaf_error *err);
/* Adds a text from a list as a field of a sample. `path` is the sample's key, a dot and the name of
 * the field. */
int scan_add_text(struct scan *scan, const char *path, const char *text, size_t size,
                  uint32_t label, struct sheaf_error *err);
/* Adds an object from a listing of a store to the catalog. The object is packed under the clean
 * form of its path (see name_clean). */
int scan_add_object(struct scan *scan, const char *path, const struct catalog_stat *stat,
                    uint32_t label, struct sheaf_error *err);
int scan_add_problem(struct scan *scan, const char *path, const struct sheaf_error *problem,
                     struct sheaf_error *err);
/* Sets *out to whether the user's filter leaves the path out. Counts each path that is left out. */
int scan_filter(struct scan *scan, const char *path, bool is_directory, bool *out,
                struct sheaf_error *err);
/* Sets *out to whether a path is left out. Counts each path that is left out. A path is left out if
 * it is clutter (a file that is not data; see clutter.h), or if the user's filter leaves it out.
 * The function is for sources whose scan finds whole paths, such as listings. The scan of a
 * directory tree calls scan_filter() instead, for single directories and files. */
int scan_leave_out(struct scan *scan, const char *path, bool *out, struct sheaf_error *err);
/* Records an entry of a source as a problem, because it is neither a file nor part of a sample. */
int scan_refuse(struct scan *scan, const char *path, int code, const char *reason,
                struct sheaf_error *err);
/* Records a line or an entry of a list as a problem, because it does not yield a file. */
int scan_bad_line(struct scan *scan, const char *url, uint64_t line, const char *reason,
                  struct sheaf_error *err);
/* Finds the label of a list's line. `entry` is the parsed line, and `code` and `found` are the
 * result of parsing it. If parsing has failed, records the line as a problem. Returns SHEAF_END if
 * the line was recorded as a problem, or if the line has no entry. */
int scan_line(struct scan *scan, const char *url, uint64_t line, int code,
              const struct sheaf_error *found, const struct list_entry *entry, uint32_t *label,
              struct sheaf_error *err);
/* Sets *named to the path under which a file is packed. `path` is the file's own path in clean form
 * (see name_clean). The result is valid until the next call. */
int scan_name(struct scan *scan, const char *path, const char **named, struct sheaf_error *err);
/* Sets *label to the label for the class of a path. The class is the file's directory relative to
 * its own source, or the first class_depth directories of it. If the file is directly in one of
 * several sources, its class is the name of that source. */
int scan_class_of(struct scan *scan, const char *path, uint32_t *label, struct sheaf_error *err);

#endif
