/* SPDX-License-Identifier: MIT
 *
 * Finds out what is at a destination: the run that has claimed it, its data set, and other files. A
 * run claims a destination by a file in it; see journal.h.
 *
 * destination_inspect() only finds facts. A caller that wants to refuse a destination calls one of
 * the functions destination_refuse..., which make the error and its message.
 *
 * Other runs may change the destination, so the facts may already be out of date when the caller
 * gets them. Only the run that has claimed the destination can be sure that no other run changes
 * it. */
#ifndef PUBLISH_DESTINATION_H
#define PUBLISH_DESTINATION_H

#include "formats/manifest.h"
#include "publish/output.h"

/* ---- Manifests ------------------------------------------------------------------------------- */

enum manifest_kind {
    MANIFEST_NONE,
    /* a stand-in: a file with the name of the manifest, which a run writes while it replaces a data
     * set. As long as the stand-in exists, the destination has no data set. */
    MANIFEST_OF_RUN,
    /* the file of a manifest that cannot be parsed; `fault` has the reason */
    MANIFEST_UNREADABLE,
    MANIFEST_OF_OTHER_PLAN,
    /* the manifest was written for the plan of this run */
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
    /* Number of samples before the first append or edit, if a run with this plan packed the data
     * set and an append or edit changed it afterwards; otherwise 0. If the number is not 0, `kind`
     * is MANIFEST_OF_OTHER_PLAN, because the plan no longer describes the data set. */
    uint64_t grown_from;
    struct sheaf_error fault;
};

int destination_manifest(const struct output *output, const char *directory,
                         struct manifest_found *found, struct sheaf_error *err);
void manifest_found_free(struct manifest_found *found);
bool manifest_found_is_dataset(const struct manifest_found *found);

/* Reads the manifest in a directory. Returns SHEAF_ERR_NOT_FOUND if the directory has no
 * manifest. */
int destination_read_manifest(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* Name of a file with a copy of the manifest of a data set that is being replaced. The copy shows
 * which files of the data set must be removed. */
#define REPLACED_NAME "replaced.json"
/* Reads this copy. Returns SHEAF_ERR_NOT_FOUND if there is none. */
int destination_read_replaced(const char *directory, struct manifest *manifest,
                              struct sheaf_error *err);

/* ---- Directories in DEST --------------------------------------------------------------------- */

typedef int destination_below_fn(void *context, char *directory, const char *name,
                                 struct sheaf_error *err);
int destination_for_each_below(const char *dest, destination_below_fn *each, void *context,
                               struct sheaf_error *err);
/* Reads the manifest in a directory into *found, as destination_manifest() does. Sets *is to
 * whether the directory has a data set that was packed as the split `name` of the data set in the
 * parent directory. */
int destination_split(const struct output *output, const char *directory, const char *name,
                      struct manifest_found *found, bool *is, struct sheaf_error *err);

/* ---- The whole ------------------------------------------------------------------------------- */

enum claim_holder { CLAIM_ABSENT, CLAIM_DAMAGED, CLAIM_OF_OTHER_PLAN, CLAIM_OF_PLAN };

/* Requests. They have different costs. */
enum {
    INSPECT_CLAIM = 1,
    INSPECT_DATASET = 2,        /* the manifests of DEST and the run's splits */
    /* check the files of this plan's data set as well: they must have the sizes that its manifest
     * states */
    INSPECT_WHOLE = 4,
    /* list the destination, to find remaining files of unfinished runs, splits of other runs, and
     * files that belong to no data set */
    INSPECT_FILES = 8,
    /* look for stray files: reports, indexes and tables of keys (by which samples are found) that
     * belong to no data set */
    INSPECT_STRAY = 16,
};

/* Zero-initialised. Values that were not requested remain 0. */
struct destination {
    enum claim_holder claim;
    struct journal_plan holder; /* for the last two kinds of claims: its holder */
    struct store_seen claim_seen;
    /* path of a directory in which a data set was found, whatever plan has made it; NULL if the
     * destination has no data set */
    char *dataset;
    /* whether this plan's data set is complete, with all its splits */
    bool is_finished;
    /* number of samples of this plan's data set before its first append or edit; 0 if there was no
     * append or edit, or if this plan's data set does not exist */
    uint64_t grown_from;
    uint64_t samples;           /* number of its samples now */
    bool is_edited;             /* whether it was edited after this plan */
    /* the error that says why a file cannot be read or is missing; its code is SHEAF_OK if nothing
     * is wrong */
    struct sheaf_error fault;
    /* whether Sheaf has packed the data set that is at the destination; false if Sheaf has only
     * indexed shards that another program wrote */
    bool is_ours;
    bool has_leftovers;         /* of a run, in the journal's directory */
    /* a file that has the name of a shard but belongs to no data set; NULL if no such file was
     * found */
    char *unknown;
    /* a file that belongs to no data set but has the name of a report, an index or a table of keys
     * of this run; NULL if no such file was found */
    char *stray;
};

/* Inspects a destination. `asked` says which facts are requested (INSPECT_...); the function adds
 * these facts to *found. The claim is the file that says which run packs here. It is inspected
 * before the data set. A commit removes its claim only after the data set has become visible. So if
 * a run commits during the inspection, at least its claim or its data set is found. */
int destination_inspect(const struct output *output, unsigned asked, struct destination *found,
                        struct sheaf_error *err);
void destination_clear(struct destination *found);

/* Sets *finished to whether the data set of this plan is complete. */
int destination_is_finished(const struct output *output, bool *finished, struct sheaf_error *err);
/* Called by a process that works on a plan together with other processes, after a step with the
 * result `code`. Returns true if the step failed, but other processes have meanwhile finished the
 * whole data set. The step may then have failed only because they removed its temporary files, so
 * the failure does not matter. Returns false after an interrupt. */
bool destination_excuses(const struct output *output, int code);
/* Counts the lines of two reports, skipped.tsv and converted.tsv, and stores the numbers in
 * *result. The first packing and each append have reports of their own. `part` says whose reports
 * are counted: 0 for the first packing, 1 for the first append, and so on. */
int destination_count_reports(const struct output *output, size_t part,
                              struct sheaf_pack_result *result, struct sheaf_error *err);
/* Adds the counts of a finished data set, such as its number of samples, to *result. The counts
 * come from the manifests and the reports of the data set. */
int destination_result(const struct output *output, struct sheaf_pack_result *result,
                       struct sheaf_error *err);

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Reasons for which destination_refuse refuses a destination. A caller combines the reasons that it
 * wants to be checked. The error code is SHEAF_ERR_EXISTS, except for REFUSE_FAULT, which returns
 * the error `fault` of struct destination. */
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
/* Returns SHEAF_ERR_EXISTS with the message that another run at the destination is unfinished. */
int destination_refuse_run(const struct output *output, const struct destination *found,
                           struct sheaf_error *err);
/* Returns SHEAF_ERR_CORRUPT with the message that the claim is damaged. The claim is the file that
 * says which run packs here. */
int destination_refuse_damaged(const struct output *output, struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED with the message that the unfinished run has another plan and cannot be
 * resumed. */
int destination_refuse_other_run(const struct output *output, const struct destination *found,
                                 struct sheaf_error *err);
/* Returns SHEAF_OK if this process can join a run of this plan at the destination. Otherwise
 * returns an error, for example:
 *
 * - SHEAF_ERR_NOT_FOUND if there is no run;
 * - SHEAF_ERR_CORRUPT if the claim is damaged;
 * - SHEAF_ERR_CHANGED if the run has another plan;
 * - SHEAF_ERR_EXISTS if the destination has another data set;
 * - SHEAF_ERR_STATE if the destination is not prepared yet. */
int destination_refuse_no_run(const struct output *output, const struct destination *found,
                              struct sheaf_error *err);

#endif
