/* SPDX-License-Identifier: MIT
 *
 * Inspects a destination: which run has claimed it, which data set it contains, and which other
 * files. (A run claims a destination by a file in it; see journal.h.)
 *
 * Every function that prepares a destination, joins a run, commits or shows the progress calls
 * destination_inspect, which only reports and never refuses. The caller decides. To refuse, it
 * calls one of the functions below, which have the error messages. Unless the caller has the claim,
 * another run may change the destination at any moment, so a finding may already be outdated. */
#ifndef PUBLISH_DESTINATION_H
#define PUBLISH_DESTINATION_H

#include "formats/manifest.h"
#include "publish/output.h"

/* ---- Manifests ------------------------------------------------------------------------------- */

enum manifest_kind {
    MANIFEST_NONE,
    /* a file that a working run has put in the place of a manifest; there is no data set */
    MANIFEST_OF_RUN,
    /* the manifest of a data set, but it cannot be parsed (see `fault`) */
    MANIFEST_UNREADABLE,
    MANIFEST_OF_OTHER_PLAN,
    /* the manifest of the data set that the plan of this run describes */
    MANIFEST_OF_PLAN,
};

/* The content of a manifest's file. */
struct manifest_found {
    enum manifest_kind kind;
    struct store_seen seen;
    char note[STORE_NOTE_SIZE]; /* the note of the file; "": none */
    char *text;
    size_t size;
    struct manifest manifest;   /* parsed; for the last two kinds */
    /* For MANIFEST_OF_OTHER_PLAN: if the data set was first made by this run's plan and changed
     * later, the number of samples before the change; otherwise 0. */
    uint64_t grown_from;
    struct sheaf_error fault;
};

int destination_manifest(const struct output *output, const char *directory,
                         struct manifest_found *found, struct sheaf_error *err);
void manifest_found_free(struct manifest_found *found);
bool manifest_found_is_dataset(const struct manifest_found *found);

/* Reads the manifest in a directory. Returns SHEAF_ERR_NOT_FOUND if there is no manifest. */
int destination_read_manifest(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* Name of the file that is a copy of the manifest of a data set which is being replaced. It lists
 * the files that must be removed. */
#define REPLACED_NAME "replaced.json"
/* Reads it.  SHEAF_ERR_NOT_FOUND. */
int destination_read_replaced(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* ---- Directories in DEST --------------------------------------------------------------------- */

typedef int destination_below_fn(void *context, char *directory, const char *name,
                                 struct sheaf_error *err);
int destination_for_each_below(const char *dest, destination_below_fn *each, void *context,
                               struct sheaf_error *err);
/* Reads the manifest in a directory, as destination_manifest does. Sets *is to whether the
 * directory contains a data set that was packed as the split `name` of the data set in the
 * directory above. */
int destination_split(const struct output *output, const char *directory, const char *name,
                      struct manifest_found *found, bool *is, struct sheaf_error *err);

/* ---- The whole ------------------------------------------------------------------------------- */

enum claim_holder { CLAIM_ABSENT, CLAIM_DAMAGED, CLAIM_OF_OTHER_PLAN, CLAIM_OF_PLAN };

/* Requests. They have different costs. */
enum {
    INSPECT_CLAIM = 1,
    INSPECT_DATASET = 2,        /* the manifests of DEST and the run's splits */
    /* also compare the sizes of all files in the data set of this plan with its manifest */
    INSPECT_WHOLE = 4,
    /* list the destination, to find leftovers, splits of other runs, and files that belong to no
     * data set */
    INSPECT_FILES = 8,
    /* if there is no data set, look for reports, indexes and tables of keys */
    INSPECT_STRAY = 16,
};

/* Zero-initialised. Values that were not requested remain 0. */
struct destination {
    enum claim_holder claim;
    struct journal_plan holder; /* for the last two kinds of claims: its holder */
    struct store_seen claim_seen;
    /* a directory that contains a data set of any plan; NULL if there is none */
    char *dataset;
    /* whether the data set of this plan exists completely, with all its splits */
    bool is_finished;
    /* number of samples that this plan's data set had before the first append; 0 if nothing was
     * appended, or the data set was not published */
    uint64_t grown_from;
    uint64_t samples;           /* number of its samples now */
    bool is_edited;             /* whether it was edited after this plan */
    /* the error that says why a file cannot be read, or that it is missing; its code is SHEAF_OK
     * if there is no fault */
    struct sheaf_error fault;
    /* whether Sheaf packed the data set at the destination; false if Sheaf only made an index for
     * shards that another program wrote */
    bool is_ours;
    bool has_leftovers;         /* of a run, in the journal's directory */
    /* a file that is named like a shard but belongs to no data set; NULL if there is none */
    char *unknown;
    /* a file that is named like a report, an index or a table of keys of this run, but belongs to
     * no data set; NULL if there is none */
    char *stray;
};

/* Inspects the destination and adds the requested findings to *found. The claim (the file that says
 * which run packs here) is inspected before the data set. A commit removes its claim only after the
 * data set has become visible, so this function sees at least one of the two. */
int destination_inspect(const struct output *output, unsigned asked, struct destination *found,
                        struct sheaf_error *err);
void destination_clear(struct destination *found);

/* Sets *finished to whether the data set of this plan exists completely. */
int destination_is_finished(const struct output *output, bool *finished, struct sheaf_error *err);
/* Counts the lines of the reports skipped.tsv and converted.tsv. Each append has reports of its
 * own. If `part` is 0, counts the lines of the reports of the first packing, otherwise of append
 * number `part`. */
int destination_count_reports(const struct output *output, size_t part,
                              struct sheaf_pack_result *result, struct sheaf_error *err);
/* Adds the counts in the manifests of the data set to the result, and counts the lines of its
 * reports. */
int destination_result(const struct output *output, struct sheaf_pack_result *result,
                       struct sheaf_error *err);

/* ---- Refusals -------------------------------------------------------------------------------- */

/* The reasons for which destination_refuse may refuse a destination. The error is SHEAF_ERR_EXISTS,
 * or the error in `fault`. */
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
/* Returns SHEAF_ERR_EXISTS, with the message that another run at the destination has not
 * finished. */
int destination_refuse_run(const struct output *output, const struct destination *found,
                           struct sheaf_error *err);
/* Returns SHEAF_ERR_CORRUPT with the message that the claim (the file that says which run packs
 * here) is damaged. */
int destination_refuse_damaged(const struct output *output, struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED, with the message that the only run at the destination has another
 * plan, so that it cannot be resumed. */
int destination_refuse_other_run(const struct output *output, const struct destination *found,
                                 struct sheaf_error *err);
/* Returns SHEAF_ERR_NOT_FOUND, _CORRUPT or _CHANGED, with the message that the destination has no
 * run of this plan that could be joined. */
int destination_refuse_no_run(const struct output *output, const struct destination *found,
                              struct sheaf_error *err);

#endif
