/* SPDX-License-Identifier: MIT
 *
 * What is at a destination: who has claimed it, which data set is there, and what else.
 *
 * Whoever prepares a destination, joins a run, commits or shows the progress asks
 * destination_inspect, which reports and never refuses; the callers decide, and refuse in the words
 * of the functions below.  What is found can change at once, unless the caller has the claim. */
#ifndef PUBLISH_DESTINATION_H
#define PUBLISH_DESTINATION_H

#include "formats/manifest.h"
#include "publish/output.h"

/* ---- Manifests ------------------------------------------------------------------------------- */

enum manifest_kind {
    MANIFEST_NONE,
    MANIFEST_OF_RUN,            /* no data set: a run at work has put it there */
    MANIFEST_UNREADABLE,        /* of a data set, but it cannot be parsed: see `fault` */
    MANIFEST_OF_OTHER_PLAN,
    MANIFEST_OF_PLAN,           /* of the data set that the run's own plan describes */
};

/* What is under a manifest's name. */
struct manifest_found {
    enum manifest_kind kind;
    struct store_seen seen;
    char note[STORE_NOTE_SIZE]; /* that it has; "": none */
    char run[RUN_SIZE];         /* of MANIFEST_OF_RUN; else "" */
    char *text;
    size_t size;
    struct manifest manifest;   /* as parsed; of the last two kinds */
    uint64_t grown_from;        /* the samples that this plan's had, before others were appended:
                                   MANIFEST_OF_OTHER_PLAN; 0: it is not this plan's */
    struct sheaf_error fault;
};

int destination_manifest(const struct output *output, const char *directory,
                         struct manifest_found *found, struct sheaf_error *err);
void manifest_found_free(struct manifest_found *found);
bool manifest_found_is_dataset(const struct manifest_found *found);

/* Reads the manifest in a directory.  SHEAF_ERR_NOT_FOUND. */
int destination_read_manifest(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* The note of what is being replaced: the manifest of a data set whose files are being removed. */
#define REPLACED_NAME "replaced.json"
/* Reads it.  SHEAF_ERR_NOT_FOUND. */
int destination_read_replaced(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* ---- Directories in DEST --------------------------------------------------------------------- */

typedef int destination_below_fn(void *context, char *directory, const char *name,
                                 struct sheaf_error *err);
int destination_for_each_below(const char *dest, destination_below_fn *each, void *context,
                               struct sheaf_error *err);
/* As destination_manifest; *is: it holds the data set that is the split of this name of the one in
 * the directory above. */
int destination_split(const struct output *output, const char *directory, const char *name,
                      struct manifest_found *found, bool *is, struct sheaf_error *err);

/* ---- The whole ------------------------------------------------------------------------------- */

enum claim_holder { CLAIM_ABSENT, CLAIM_DAMAGED, CLAIM_OF_OTHER_PLAN, CLAIM_OF_PLAN };

/* What is asked, since not all of it costs the same. */
enum {
    INSPECT_CLAIM = 1,
    INSPECT_DATASET = 2,        /* the manifests of DEST and the run's splits */
    INSPECT_WHOLE = 4,          /* and whether the shards of this plan's have the sizes they say */
    INSPECT_FILES = 8,          /* lists DEST: leftovers, splits of others, files without owner */
    INSPECT_STRAY = 16,         /* reports, indexes and tables of keys, if there is no data set */
};

/* Zero-initialised; what was not asked stays zero. */
struct destination {
    enum claim_holder claim;
    struct journal_plan holder; /* of the last two kinds of claims: whose it is */
    struct store_seen claim_seen;
    char *dataset;              /* a directory with a data set, of whatever plan; NULL: none */
    bool is_finished;           /* the data set of this very plan is there, in all splits */
    uint64_t grown_from;        /* the samples that this plan's data set had before it grew; 0: it
                                   has not grown, or was not published */
    uint64_t samples;           /* the samples that it has since */
    struct sheaf_error fault;   /* or of what is there something cannot be read, or is missing; code
                                   SHEAF_OK: nothing */
    bool is_ours;               /* the data set in DEST was packed, and not only indexed */
    bool has_leftovers;         /* of a run, in the journal's directory */
    char *unknown;              /* a file with the name of a shard, of no data set; NULL: none */
    char *stray;                /* a file with another name of ours, of no data set; NULL: none */
};

/* Adds what is asked to *found.  The claim is asked for first: a commit removes it after its data
 * set became visible, so one of both is always seen. */
int destination_inspect(const struct output *output, unsigned asked, struct destination *found,
                        struct sheaf_error *err);
void destination_clear(struct destination *found);

/* Whether the data set of this very plan is there. */
int destination_is_finished(const struct output *output, bool *finished, struct sheaf_error *err);
/* Counts the lines of skipped.tsv and converted.tsv, or of those of the part that was appended as
 * number `part`. */
int destination_count_reports(const struct output *output, size_t part,
                              struct sheaf_pack_result *result, struct sheaf_error *err);
/* Adds what its manifests say, and counts its reports. */
int destination_result(const struct output *output, struct sheaf_pack_result *result,
                       struct sheaf_error *err);

/* ---- Refusals -------------------------------------------------------------------------------- */

/* What is refused if it is there: SHEAF_ERR_EXISTS, or the fault's own code. */
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
/* SHEAF_ERR_EXISTS: an unfinished run is there. */
int destination_refuse_run(const struct output *output, const struct destination *found,
                           struct sheaf_error *err);
/* SHEAF_ERR_CORRUPT: the claim is damaged. */
int destination_refuse_damaged(const struct output *output, struct sheaf_error *err);
/* SHEAF_ERR_CHANGED: there is nothing to resume but the run of another plan. */
int destination_refuse_other_run(const struct output *output, const struct destination *found,
                                 struct sheaf_error *err);
/* There is no run of this plan to take part in.  SHEAF_ERR_NOT_FOUND, _CORRUPT, or _CHANGED. */
int destination_refuse_no_run(const struct output *output, const struct destination *found,
                              struct sheaf_error *err);

#endif
