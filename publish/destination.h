/* SPDX-License-Identifier: MIT
 *
 * Inspects a destination: which run has claimed it, which data set it contains, and other files.
 *
 * Every caller that prepares a destination, joins a run, commits or shows the progress calls
 * destination_inspect. It reports and never refuses. The callers decide, and refuse with the
 * functions below, which have the error messages. Any finding may change at once, unless the caller
 * has the claim. */
#ifndef PUBLISH_DESTINATION_H
#define PUBLISH_DESTINATION_H

#include "formats/manifest.h"
#include "publish/output.h"

/* ---- Manifests ------------------------------------------------------------------------------- */

enum manifest_kind {
    MANIFEST_NONE,
    MANIFEST_OF_RUN,            /* the document of a run that is at work, which is not a data set */
    MANIFEST_UNREADABLE,        /* the manifest of a data set, which cannot be parsed: see
                                   `fault` */
    MANIFEST_OF_OTHER_PLAN,
    MANIFEST_OF_PLAN,           /* the manifest of the data set that the run's own plan describes */
};

/* The content of a manifest's file. */
struct manifest_found {
    enum manifest_kind kind;
    struct store_seen seen;
    char note[STORE_NOTE_SIZE]; /* the note of the file; "": none */
    char run[RUN_SIZE];         /* for MANIFEST_OF_RUN; else "" */
    char *text;
    size_t size;
    struct manifest manifest;   /* parsed; for the last two kinds */
    /* For MANIFEST_OF_OTHER_PLAN: if the data set began as this plan's and was changed later, the
     * number of samples before that; otherwise 0. */
    uint64_t grown_from;
    struct sheaf_error fault;
};

int destination_manifest(const struct output *output, const char *directory,
                         struct manifest_found *found, struct sheaf_error *err);
void manifest_found_free(struct manifest_found *found);
bool manifest_found_is_dataset(const struct manifest_found *found);

/* Reads the manifest in a directory. Returns SHEAF_ERR_NOT_FOUND if there is none. */
int destination_read_manifest(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* The name of the note about a data set that is being replaced: the manifest of the removed
 * files. */
#define REPLACED_NAME "replaced.json"
/* Reads it.  SHEAF_ERR_NOT_FOUND. */
int destination_read_replaced(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* ---- Directories in DEST --------------------------------------------------------------------- */

typedef int destination_below_fn(void *context, char *directory, const char *name,
                                 struct sheaf_error *err);
int destination_for_each_below(const char *dest, destination_below_fn *each, void *context,
                               struct sheaf_error *err);
/* Like destination_manifest, for the split in the directory. Sets *is to whether the directory has
 * the split of that name, belonging to the data set in the directory above. */
int destination_split(const struct output *output, const char *directory, const char *name,
                      struct manifest_found *found, bool *is, struct sheaf_error *err);

/* ---- The whole ------------------------------------------------------------------------------- */

enum claim_holder { CLAIM_ABSENT, CLAIM_DAMAGED, CLAIM_OF_OTHER_PLAN, CLAIM_OF_PLAN };

/* Requests. They have different costs. */
enum {
    INSPECT_CLAIM = 1,
    INSPECT_DATASET = 2,        /* the manifests of DEST and the run's splits */
    INSPECT_WHOLE = 4,          /* also compare the sizes of the files of this plan's data set
                                   with its manifest */
    INSPECT_FILES = 8,          /* list DEST: find leftovers, splits of other runs, files without
                                   an owner */
    INSPECT_STRAY = 16,         /* if there is no data set, find reports, indexes and tables of
                                   keys */
};

/* Zero-initialised. Values that were not requested remain 0. */
struct destination {
    enum claim_holder claim;
    struct journal_plan holder; /* for the last two kinds of claims: its holder */
    struct store_seen claim_seen;
    char *dataset;              /* a directory with a data set, of any plan; NULL: none */
    bool is_finished;           /* whether the data set of this plan exists, in all splits */
    uint64_t grown_from;        /* number of samples of this plan's data set before the first
                                   append; 0 if nothing was appended, or the data set was not
                                   published */
    uint64_t samples;           /* number of its samples now */
    bool is_edited;             /* whether it was edited after this plan */
    struct sheaf_error fault;   /* why a file cannot be read, or that it is missing; code
                                   SHEAF_OK if there is no such fault */
    bool is_ours;               /* whether the data set in DEST was packed, and not only indexed */
    bool has_leftovers;         /* of a run, in the journal's directory */
    char *unknown;              /* a file with the name of a shard that belongs to no data set;
                                   NULL: none */
    char *stray;                /* a file with another name that Sheaf uses, which belongs to no
                                   data set; NULL: none */
};

/* Adds the requested findings to *found. The claim is inspected first. A commit removes it after
 * its data set became visible, so one of the two is always seen. */
int destination_inspect(const struct output *output, unsigned asked, struct destination *found,
                        struct sheaf_error *err);
void destination_clear(struct destination *found);

/* Sets *finished to whether the data set of this plan exists. */
int destination_is_finished(const struct output *output, bool *finished, struct sheaf_error *err);
/* Counts the lines of skipped.tsv and converted.tsv, or of the reports of appended part `part`. */
int destination_count_reports(const struct output *output, size_t part,
                              struct sheaf_pack_result *result, struct sheaf_error *err);
/* Adds the counts in the manifests of the data set to the result, and counts the lines of its
 * reports. */
int destination_result(const struct output *output, struct sheaf_pack_result *result,
                       struct sheaf_error *err);

/* ---- Refusals -------------------------------------------------------------------------------- */

/* The findings for which a destination is refused. The error is SHEAF_ERR_EXISTS, or that of
 * `fault`. */
enum {
    REFUSE_FAULT = 2,
    REFUSE_OTHER_DATASET = 4,   /* than this plan's */
    REFUSE_DATASET = 8,
    REFUSE_UNKNOWN = 16,
    REFUSE_STRAY = 32,
    REFUSE_OURS = 64,           /* whatever is there */
};
int destination_refuse(const struct output *output, const struct destination *found,
                       unsigned what, struct sheaf_error *err);
/* Returns SHEAF_ERR_EXISTS with the message that the destination has an unfinished run. */
int destination_refuse_run(const struct output *output, const struct destination *found,
                           struct sheaf_error *err);
/* Returns SHEAF_ERR_CORRUPT with the message that the claim is damaged. */
int destination_refuse_damaged(const struct output *output, struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED with the message that the destination has only a run of another plan,
 * which cannot be resumed. */
int destination_refuse_other_run(const struct output *output, const struct destination *found,
                                 struct sheaf_error *err);
/* Returns SHEAF_ERR_NOT_FOUND, _CORRUPT or _CHANGED with the message that there is no run of this
 * plan to join. */
int destination_refuse_no_run(const struct output *output, const struct destination *found,
                              struct sheaf_error *err);

#endif
