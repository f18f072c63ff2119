/* SPDX-License-Identifier: MIT
 *
 * A repair re-creates the damaged or lost files of a data set.
 *
 * repair_check.c compares the files with the manifest, and finds the damaged files. They are
 * repaired in one of two ways: repair_plan.c re-creates shards from the packed files, or
 * repair_copy.c copies files from a copy of the data set. repair.c calls these steps one after
 * another. A file gets its name only after its bytes have been compared with the manifest. */
#ifndef COPY_REPAIR_H
#define COPY_REPAIR_H

#include "base/watch.h"
#include "copy/in_place.h"
#include "publish/output.h"
#include "reader/dataset/dataset.h"
#include "sheaf.h"

#define REPAIR_NO_SHARD SIZE_MAX

enum repair_kind {
    REPAIR_SHARD, REPAIR_NAMES,         /* a shard, and its .lst */
    REPAIR_SIDE,                        /* another reader's file of a shard */
    /* the index of a part of the data set, and the table of keys of a part */
    REPAIR_INDEX, REPAIR_KEYS,
    REPAIR_OTHER
};

/* A file of the data set. */
struct repair_file {
    char *name;
    enum repair_kind kind;
    size_t shard;               /* to which the file belongs, or REPAIR_NO_SHARD */
    bool may_lack;              /* whether a data set need not have the file */
    const char *damage;         /* "is missing", ...; NULL: none was found */
    /* whether the file does not match its shard; a separate member, because another thread may set
     * `damage` at the same time */
    bool differs;
    bool is_absent;             /* whether it is missing, and need not exist */
    bool is_repaired;
    bool is_made;               /* made from other files, not copied */
    char *fault;                /* why the file could not be repaired; or NULL */
    int code;                   /* of the fault */
};

struct repair {
    struct sheaf_repair_options options;
    const char *const *from;    /* the sources, or one copy; borrowed */
    size_t from_count;
    struct watch watch;
    struct sheaf_progress progress;
    char *directory;            /* of the data set */
    struct sheaf_dataset *dataset;
    const struct manifest *manifest;    /* of the data set */
    /* directory of a copy of the data set, from which files are copied; NULL if shards are made
     * again from the packed files */
    char *copy_directory;
    struct sheaf_dataset *copy;
    struct repair_file *files;  /* sorted by name */
    size_t file_count;
    struct in_place place;
    struct output output;
    struct sheaf_repair_result result;
};

/* Lists the files of the data set, and finds the damaged files. If the caller's options name files,
 * these files count as damaged, and no other file is examined. (repair_check.c) */
int repair_check(struct repair *repair, struct sheaf_error *err);
struct repair_file *repair_find(const struct repair *repair, const char *name);
/* Checks the file `name`. `kind` says whether it is an index or a table of keys. A file of another
 * kind is not checked.
 *
 * Returns SHEAF_ERR_CORRUPT if an index does not match the manifest. Returns the result of
 * key_file_check for a table of keys. This result is SHEAF_END, for example, if the table does not
 * exist and the data set was packed without it. */
int repair_check_table(const struct sheaf_dataset *dataset, enum repair_kind kind,
                       const char *name, struct sheaf_error *err);
/* Compares shards again with the files beside them, such as the .lst file. A shard is compared if
 * the shard, a file beside it, or an index was repaired. Records an error for each file that is
 * still damaged. */
int repair_check_again(struct repair *repair, struct sheaf_error *err);
void repair_files_free(struct repair *repair);

/* Records in `file` why the file could not be repaired. Returns `code` if this error must end the
 * whole repair, and SHEAF_OK if the other files can still be repaired. */
int repair_fail(struct repair_file *file, int code, const struct sheaf_error *found,
                struct sheaf_error *err);

/* Makes the damaged shards again from the files that were packed. (repair_plan.c) */
int repair_from_files(struct repair *repair, struct sheaf_error *err);
/* Copies the damaged files from the copy. (repair_copy.c) */
int repair_from_copy(struct repair *repair, struct sheaf_error *err);

#endif
