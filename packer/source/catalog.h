/* SPDX-License-Identifier: MIT
 *
 * The catalog holds the files of a source and their labels. Sources add files in any order, and the
 * plan is made from the catalog.
 *
 * The catalog is as small as possible, because there may be many millions of files. It takes 32
 * bytes and a path for each file, and stores each different label once. */
#ifndef PACKER_SOURCE_CATALOG_H
#define PACKER_SOURCE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* Location of a file's content. It is stored only if it differs from the file's path under the root
 * of the source. `url` is a URL, the path of a local file, or the position of a member in an
 * archive. */
struct catalog_object {
    uint64_t stamp;
    char url[];
};

/* The place of a file's content. */
enum catalog_origin {
    CATALOG_BELOW,              /* at its path below the source's root */
    CATALOG_OBJECT,             /* at its own URL */
    CATALOG_TEXT                /* in the catalog, from the source's list */
};

struct catalog_file {
    /* path of the file, relative to the root: `key_size` bytes of key, a dot, and the suffix */
    const char *path;
    uint64_t bytes;             /* size of the file */
    union {                     /* when it was scanned: */
        int64_t mtime_ns;       /* for BELOW with a local root */
        /* Used if `origin` is CATALOG_BELOW and the root is in a store: a number that changes if
         * the object is replaced. In other cases, another member of the union is used. */
        uint64_t stamp;
        const struct catalog_object *object;
        const char *text;
    };
    uint32_t label;             /* an index of catalog.labels */
    uint16_t key_size;
    /* true if a problem was recorded for the file, so that its sample cannot be packed */
    bool bad;
    uint8_t origin;             /* enum catalog_origin */
};

#define LABEL_NONE 0u           /* the label of files without one */

/* A label of samples. It has one of three forms: the name of a class, to which the plan will give a
 * number; one or more numbers; or a number and the name of the class with this number. */
struct catalog_label {
    const char *class_name;     /* NULL: numbers */
    const double *values;
    size_t value_count;
};

struct catalog_stat {
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t stamp;             /* in a store, instead of mtime_ns */
    const char *url;            /* CATALOG_OBJECT's; else NULL */
    const char *text;           /* CATALOG_TEXT's; else NULL */
};

/* A file that the catalog passes to the function `sink`. A catalog with such a function does not
 * store files. The caller owns all texts. */
struct catalog_found {
    const char *path;
    size_t key_size;
    const struct catalog_stat *stat;
    uint32_t label;
    bool bad;
};
typedef int catalog_sink_fn(void *context, const struct catalog_found *found,
                            struct sheaf_error *err);

/* Zero-initialised. */
struct catalog {
    /* function that receives each file, so that the catalog stores only the labels; NULL if the
     * catalog also stores the files */
    catalog_sink_fn *sink;
    void *sink_context;
    struct catalog_file *files;
    size_t file_count, file_capacity;
    struct catalog_label *labels;
    uint32_t label_count, label_capacity;
    uint32_t *slots;            /* hash table of labels: index; 0 means empty */
    uint32_t slot_count;        /* a power of two */
    struct arena arena;         /* of labels */
    struct arena texts;         /* of files */
};

/* Set *label to the index of a label in the catalog. A new label is added; an equal label that
 * exists is used again.
 *
 * catalog_class() takes the class `name`. `number` points to the number of the class, or is NULL if
 * the plan will choose the number. catalog_numbers() takes a label of `count` numbers. If `count`
 * is 0, the result is LABEL_NONE, the label of files without a label. */
int catalog_class(struct catalog *c, const char *name, size_t size, const double *number,
                  uint32_t *label, struct sheaf_error *err);
int catalog_numbers(struct catalog *c, const double *values, size_t count, uint32_t *label,
                    struct sheaf_error *err);

/* Adds a file to the catalog. If the file's path cannot be packed, records a problem instead. */
int catalog_add(struct catalog *c, struct problems *problems, const char *path,
                const struct catalog_stat *stat, uint32_t label, struct sheaf_error *err);

/* Records a problem: a file that cannot be packed. `named` is the path under which the file would
 * be packed. If this path contains a key, the plan also leaves out all other files with this key,
 * because their sample would not be complete. */
int catalog_add_bad(struct catalog *c, struct problems *problems, const char *path,
                    const char *named, int code, const char *reason, struct sheaf_error *err);
/* Returns the name of a file for messages. A local file that is packed under another name is named
 * by its own path, which the user knows. All other files are named by the path under which they are
 * packed. */
const char *catalog_shown(const struct catalog_file *file);

/* Returns the bytes of memory that the catalog needs. */
uint64_t catalog_memory(const struct catalog *c);

void catalog_free(struct catalog *c);

#endif
