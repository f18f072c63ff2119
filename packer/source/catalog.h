/* SPDX-License-Identifier: MIT
 *
 * The catalog: the files of a source, with their labels.  Sources fill it, in whatever order they
 * find things; the plan is made of it.
 *
 * It is as small as it can be, since there may be many millions of files: 32 bytes a file, its
 * path, and each distinct label once. */
#ifndef PACKER_SOURCE_CATALOG_H
#define PACKER_SOURCE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* An object that is not where its path says. */
struct catalog_object {
    uint64_t stamp;
    char url[];
};

/* Where a file's content is. */
enum catalog_origin {
    CATALOG_BELOW,              /* at its path below the source's root */
    CATALOG_OBJECT,             /* at a URL of its own */
    CATALOG_TEXT                /* in the catalog: the source's list has it */
};

struct catalog_file {
    const char *path;           /* relative to the root; its first key_size bytes are the key, */
    uint64_t bytes;             /* a dot follows, and the rest is the suffix */
    union {                     /* when it was scanned: */
        int64_t mtime_ns;       /* BELOW a local root */
        uint64_t stamp;         /* BELOW a root in a store; as store_entry's */
        const struct catalog_object *object;
        const char *text;
    };
    uint32_t label;             /* an index of catalog.labels */
    uint16_t key_size;
    bool bad;                   /* a problem, noted already; its sample cannot be packed */
    uint8_t origin;             /* enum catalog_origin */
};

#define LABEL_NONE 0u           /* the label of files that have none */

/* The name of a class, whose number the plan finds; or numbers; or one number, which is that of a
 * class, and its name. */
struct catalog_label {
    const char *class_name;     /* NULL: numbers */
    const double *values;
    size_t value_count;
};

struct catalog_stat {
    uint64_t bytes;
    int64_t mtime_ns;
    uint64_t stamp;             /* instead, in a store */
    const char *url;            /* CATALOG_OBJECT's; else NULL */
    const char *text;           /* CATALOG_TEXT's; else NULL */
};

/* Takes a file in the catalog's stead; all texts are the caller's. */
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
    catalog_sink_fn *sink;      /* NULL; else where files go: the catalog has labels only */
    void *sink_context;
    struct catalog_file *files;
    size_t file_count, file_capacity;
    struct catalog_label *labels;
    uint32_t label_count, label_capacity;
    uint32_t *slots;            /* hash table of labels: index, 0 is empty */
    uint32_t slot_count;        /* a power of two */
    struct arena arena;         /* of labels */
    struct arena texts;         /* of files */
};

/* The label of a class, or of so many numbers (0: LABEL_NONE), each distinct one once.  `number`:
 * that of the class; NULL: the plan numbers it. */
int catalog_class(struct catalog *c, const char *name, size_t size, const double *number,
                  uint32_t *label, struct sheaf_error *err);
int catalog_numbers(struct catalog *c, const double *values, size_t count, uint32_t *label,
                    struct sheaf_error *err);

/* Adds a file.  A path that cannot be packed is noted as a problem instead. */
int catalog_add(struct catalog *c, struct problems *problems, const char *path,
                const struct catalog_stat *stat, uint32_t label, struct sheaf_error *err);

/* Notes a file's problem; if its path has a key, the sample of the key of `named` is bad. */
int catalog_add_bad(struct catalog *c, struct problems *problems, const char *path,
                    const char *named, int code, const char *reason, struct sheaf_error *err);
/* Where a file is, for messages, if its sample has it under another name; else its path. */
const char *catalog_shown(const struct catalog_file *file);

/* Bytes of memory that it takes. */
uint64_t catalog_memory(const struct catalog *c);

void catalog_free(struct catalog *c);

#endif
