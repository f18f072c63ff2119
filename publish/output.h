/* SPDX-License-Identifier: MIT
 *
 * The output of a run: the directory or prefix DEST to which it writes. A run is a process that
 * packs, appends, edits or makes an index. */
#ifndef PUBLISH_OUTPUT_H
#define PUBLISH_OUTPUT_H

#include <stdbool.h>

#include "formats/codec.h"
#include "formats/format.h"
#include "formats/manifest.h"
#include "publish/journal.h"
#include "publish/shard_files.h"

struct output {
    const char *dest;           /* borrowed, like the texts below */
    const struct format_ops *format;
    const struct codec_ops *codec;      /* NULL: none */
    const char *interop;        /* list of readers that get index files; or NULL */
    const char *prefix;
    /* flag of the caller, or NULL if the caller has no flag; once the flag is set, the run stops
     * waiting for a lock */
    const volatile int *interrupt;
    /* sources from which the run reads, or NULL; they must not lie in the destination, because they
     * would be deleted together with an old data set there */
    const char *const *sources;
    size_t source_count;
    struct journal journal;
    int lock;                   /* lock of `dest`, from output_claim on; -1: none */
    bool is_shared;             /* other processes also work there: output_join */
    bool is_visible;            /* a manifest may exist */
    /* whether the run has begun to write its index, its table of keys and its reports */
    bool has_written;
    bool continues;             /* the run continues an earlier run, whose files it keeps */
    /* set if another split of the same run publishes the reports (lists of skipped and converted
     * files), so that this output must not publish them */
    bool lacks_reports;
    /* Used only by a commit, and NULL in other runs. The commit checks each shard with its journal
     * entry (the stored facts about the shard). checked[i] is the hash (output_entry_sum) that the
     * entry of shard i had at that time. */
    const uint64_t *checked;
    uint32_t split_count;
    char *directories[SPLIT_LIMIT];     /* of each split's data set */
    uint64_t shard_counts[SPLIT_LIMIT]; /* of each split; 0: not known yet */
    uint64_t first_shard;       /* number of the first shard, when appending */
    /* manifest of the data set that the run extends or edits; NULL if the run makes a new data
     * set */
    const struct manifest *grows;
    size_t part;                /* number of the appended part: 1, 2, ... */
    /* number of edits of the data set, counting the present run if it is an edit. The names of new
     * index files contain this number, so that they differ from the names of older index files. */
    size_t generation;
    /* whether the run edits the data set `grows`. An edit writes some shards again, under the new
     * names `names`. */
    bool is_edit;
    const char *const *names;   /* of the shards of an edit */
    /* whether the run repairs the data set `grows`. A repair publishes a shard only if it equals
     * the shard in the manifest. */
    bool is_repair;
    /* Called when a repair refuses a shard, with the facts about the refused shard. May be NULL. */
    void (*refused)(void *context, const struct journal_entry *entry);
    void *refused_context;
    char plan_hash[PLAN_HASH_SIZE];     /* for the manifest; the journal has the identity */
    char origin[PLAN_HASH_SIZE];        /* of the plan: the note of the manifest */
    /* A manifest counts as a manifest of this plan if it has the plan hash. If compares_origin is
     * true, the manifest's note must also be empty or equal `origin`. (The note is a text that the
     * store keeps with the manifest.) */
    bool compares_origin;
};

/* Opens the output of a run. If the run has a plan, the caller must then call output_add_split. A
 * run without a plan, which packs the samples of a program, does not call that function. */
int output_open(struct output *output, const char *dest, const struct format_ops *format,
                const struct codec_ops *codec, const char *prefix, struct sheaf_error *err);
/* Adds a split. `name` is its name, or "" for a data set without splits. */
int output_add_split(struct output *output, const char *name, uint64_t shard_count,
                     struct sheaf_error *err);
void output_close(struct output *output);

/* Requests to a destination. */
enum output_ask {
    ASK_PACK, ASK_RESUME, ASK_REPLACE,          /* a new data set */
    ASK_JOIN,                                   /* to join the existing run */
    /* append to the data set output->grows, or edit it */
    ASK_GROW, ASK_GROW_RESUME, ASK_GROW_REPLACE,
    /* ASK_INDEX, ASK_INDEX_REPLACE: make an index for shards that exist. If they already have an
     * index, ASK_INDEX refuses, and ASK_INDEX_REPLACE replaces the index. ASK_KEYS: make only the
     * table of keys, by which samples are found. */
    ASK_INDEX, ASK_INDEX_REPLACE, ASK_KEYS,
    ASKS
};
static inline enum output_ask output_ask(bool resume, bool overwrite, bool grows)
{
    return (enum output_ask)((grows ? ASK_GROW : ASK_PACK) + (resume ? 1 : overwrite ? 2 : 0));
}

/* Prepares the destination for a request (enum output_ask). Refuses if the destination has files
 * that must not be replaced. Otherwise claims the destination, removes the files to be replaced,
 * and begins the journal. *finished becomes true if the destination already has the finished data
 * set of this plan. The table in output_claim.c decides what is done. */
int output_claim(struct output *output, enum output_ask ask, bool *finished,
                 struct sheaf_error *err);
/* Locks the destination, and creates it if necessary. Then checks whether output_claim would
 * refuse, and returns the error that it would return. Does not change files. */
int output_check(struct output *output, enum output_ask ask, struct sheaf_error *err);
/* Checks whether output_claim would refuse, and returns the error that it would return. Does not
 * lock the destination or change files. */
int output_look(const struct output *output, enum output_ask ask, struct sheaf_error *err);

/* Reads a shard and the files beside it (its index files for other programs). Sets *intact to
 * whether all these files have the sizes and hashes in the shard's journal entry (the stored facts
 * about the shard). Returns an error if a file cannot be read. */
int output_check_shard(const struct output *output, uint32_t split,
                       const struct journal_entry *entry, bool *intact, struct sheaf_error *err);
/* Reads a shard and the files beside it (its index files for other programs). Returns whether all
 * these files have the sizes and hashes in the shard's journal entry (the stored facts about the
 * shard). Also returns false if a file cannot be read. */
bool output_is_intact(const struct output *output, uint32_t split,
                      const struct journal_entry *entry);

/* Returns a hash of the journal entry (the stored facts) of a shard. If two runs have made
 * different versions of the shard, their entries have different hashes. */
uint64_t output_entry_sum(const struct journal_entry *entry);
/* Publishes a shard and its journal entry (the stored facts about the shard), which does not have
 * the shard's stamp yet (see output_stamp). If another run has already finished this shard, *entry
 * becomes the entry of that run. Returns SHEAF_ERR_CHANGED if the destination belongs to another
 * run. (output_shard.c) */
int output_publish_shard(const struct output *output, uint32_t split, struct shard_files *files,
                         struct journal_entry *entry, struct sheaf_error *err);
/* Locks the destination for a process that has joined a run. If `shared` is true, other processes
 * may hold a shared lock at the same time. If `shared` is false, no other process may hold the
 * lock. *lock becomes -1 if the store has no locks. */
int output_lock(const struct output *output, bool shared, int *lock, struct sheaf_error *err);
/* Makes the name of a shard from its number in the split, for example "PREFIX-000000.tar.gz". All
 * names of a split have the same number of digits, so that the order by name is the order by
 * number. */
int output_shard_name(const struct output *output, uint32_t split, uint64_t number,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err);

/* ---- Changing a data set (output_grow.c) ------------------------------------------------- */

/* Ends a run that has appended to a data set or edited it. Must be called after the run has
 * published the new manifest. */
int output_grown(struct output *output, struct sheaf_error *err);

/* ---- Many at work on one plan (output_join.c) ------------------------------------------------ */

/* Joins the run of this plan, without changing files of other runs. `parts` is the number of parts
 * into which the caller divides the plan. If `parts` is not 0, it is stored, and output_parts can
 * return it later. *finished becomes true if the destination already has the finished data set of
 * this plan. */
int output_join(struct output *output, uint32_t parts, bool *finished, struct sheaf_error *err);
/* Sets *parts to the number of parts into which the plan was last divided, or to 0 if unknown. */
int output_parts(const struct output *output, uint32_t *parts, struct sheaf_error *err);
/* Computes the stamp of a shard and the files beside it (its index files for other programs). The
 * stamp is a number by which the files can be recognised without reading them. It is computed from
 * the stamp of each file, which depends on the file's time and inode, or on its ETag. The result is
 * 0 if a file does not have the size in the journal entry, or if the store has no stamps. */
int output_stamp(const struct output *output, uint32_t split, const struct journal_entry *entry,
                 uint64_t *stamp, struct sheaf_error *err);
uint64_t output_stamp_add(uint64_t combined, uint64_t stamp);
/* Looks for a shard that an earlier run has finished. Sets *found to whether the shard is complete,
 * and *entry to its journal entry (the stored facts about the shard). Sets *stamp to the result of
 * output_stamp() for the shard and the files beside it. If *stamp equals the stamp in the entry,
 * the files are unchanged and are not read. Otherwise they may have been copied or changed, so they
 * are read and compared with the hashes in the entry. */
int output_find_shard(const struct output *output, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, uint64_t *stamp,
                      struct sheaf_error *err);
/* Removes temporary files and incomplete uploads of killed runs. Called if the user has asked to
 * resume or to overwrite. Shards of killed runs are removed in output_remove.c. */
int output_clean(const struct output *output, struct sheaf_error *err);
/* Removes incomplete uploads at the end of a run. Lists the uploads, because the run may not know
 * the ids of all of them. It does not know an id if the response that stated this id was lost. */
int output_clean_lost(const struct output *output, struct sheaf_error *err);

/* A listing of the directories of an output. It shows the state of many shards without a request
 * for each shard. */
struct output_listing;
int output_list(const struct output *output, struct output_listing **listing,
                struct sheaf_error *err);
void output_listing_free(struct output_listing *listing);     /* NULL is fine */
/* Returns whether a split has such a file. */
bool output_listing_has(const struct output_listing *listing, uint32_t split, const char *name);
/* Returns whether the directory of a split has a file with this name and size. */
bool output_listing_has_size(const struct output_listing *listing, uint32_t split,
                             const char *name, uint64_t bytes);
enum output_shard_state { SHARD_THERE, SHARD_MISSING, SHARD_ALTERED };
/* Finds out whether a shard and the files beside it are there, missing or altered. Uses the
 * listing, and reads the files only if the listing is not enough. Returns an error if a file cannot
 * be read. */
int output_listing_check(const struct output_listing *listing, const struct output *output,
                         uint32_t split, const struct journal_entry *entry,
                         enum output_shard_state *state, struct sheaf_error *err);
/* Returns whether the listing alone shows that a shard and the files beside it are still as the
 * shard's journal entry (its stored facts) describes them. If the result is false, the files must
 * be read to find this out. */
bool output_listing_is_known(const struct output_listing *listing, uint32_t split,
                             const struct journal_entry *entry);
/* Sets *has to whether the listing shows a journal entry (the stored facts) for the shard
 * `name`. */
int output_listing_has_entry(const struct output_listing *listing, const struct output *output,
                             uint32_t split, const char *name, bool *has,
                             struct sheaf_error *err);

/* Removes the remaining files of a run that was killed after it had published its data set. Also
 * removes the journal's directory if it is empty. */
int output_sweep(const struct output *output, struct sheaf_error *err);
/* Ends a run: removes its incomplete uploads and its journal, so that other runs can use the
 * destination. */
int output_end(const struct output *output, struct sheaf_error *err);
/* Ends a run that has failed, and removes the files that it has made. If keep_shards is true,
 * shards and other files stay if a later run can use them. The data set that the run extends or
 * edits stays as it is. */
void output_abandon(const struct output *output, bool keep_shards);

#endif
