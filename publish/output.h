/* SPDX-License-Identifier: MIT
 *
 * The output of a run: the directory or prefix DEST, and the files that earlier runs left in it. */
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
    /* NULL, or a flag; once the flag is not 0, the run stops waiting for a lock */
    const volatile int *interrupt;
    /* sources from which the run reads, which must not be inside DEST; or NULL */
    const char *const *sources;
    size_t source_count;
    struct journal journal;
    int lock;                   /* lock of `dest`, from output_claim on; -1: none */
    bool is_shared;             /* other processes also work there: output_join */
    /* whether a run that resumes joins the existing run, instead of taking over the destination */
    bool joins;
    bool is_visible;            /* a manifest may exist */
    /* whether the lists of skipped and converted files are published with another output */
    bool lacks_reports;
    /* for a commit: the result of output_entry_sum for each shard's journal entry, computed when
     * the commit checked the shard; otherwise NULL */
    const uint64_t *checked;
    uint32_t split_count;
    char *directories[SPLIT_LIMIT];     /* of each split's data set */
    uint64_t shard_counts[SPLIT_LIMIT]; /* of each split; 0: not known yet */
    uint64_t first_shard;       /* number of the first shard, when appending */
    /* manifest of the data set to which samples are appended; NULL if the run makes a new data
     * set */
    const struct manifest *grows;
    size_t part;                /* number of the appended part: 1, 2, ... */
    /* number in the names of new index files: the number of edits of the data set so far; if this
     * run is an edit, it counts as well */
    size_t generation;
    /* whether the run edits the data set `grows`: it writes the shards in `names` again, and
     * appends nothing */
    bool is_edit;
    const char *const *names;   /* of the shards of an edit */
    /* whether the run makes shards of the data set `grows` again; it then does not publish a shard
     * that differs from the one in the manifest */
    bool is_repair;
    char plan_hash[PLAN_HASH_SIZE];     /* for the manifest; the journal has the identity */
    char origin[PLAN_HASH_SIZE];        /* of the plan: the note of the manifest */
    /* whether a manifest belongs to the plan of this run only if its note (a text that the store
     * keeps with the object) is empty or equals `origin`; otherwise it is enough that the plan hash
     * is the same */
    bool compares_origin;
};

/* Opens the output of a run. A run with a plan calls output_add_split afterwards; a run that packs
 * samples of a program does not. */
int output_open(struct output *output, const char *dest, const struct format_ops *format,
                const struct codec_ops *codec, const char *prefix, struct sheaf_error *err);
/* Adds a split with this name. The name is "" if the data set has no splits. */
int output_add_split(struct output *output, const char *name, uint64_t shard_count,
                     struct sheaf_error *err);
void output_close(struct output *output);

/* Requests to a destination. */
enum output_ask {
    ASK_PACK, ASK_RESUME, ASK_REPLACE,          /* a new data set */
    ASK_JOIN,                                   /* to join the existing run */
    /* requests to append to the data set that output->grows describes, or to edit that data set */
    ASK_GROW, ASK_GROW_RESUME, ASK_GROW_REPLACE,
    /* requests to make an index for existing shards, or only its table of keys */
    ASK_INDEX, ASK_INDEX_REPLACE, ASK_KEYS,
    ASKS
};
static inline enum output_ask output_ask(bool resume, bool overwrite, bool grows)
{
    return (enum output_ask)((grows ? ASK_GROW : ASK_PACK) + (resume ? 1 : overwrite ? 2 : 0));
}

/* Prepares DEST for one of the requests of enum output_ask. Refuses if DEST contains something that
 * must not be replaced. Otherwise claims DEST, removes the files to be replaced, and begins the
 * journal. Sets *finished if DEST already has the finished data set of this output's plan.
 * (output_claim.c has the table that tells what to do.) */
int output_claim(struct output *output, enum output_ask ask, bool *finished,
                 struct sheaf_error *err);
/* Locks DEST, which is created if it does not exist. Returns the error that output_claim would
 * return. Does not change the files in DEST. */
int output_check(struct output *output, enum output_ask ask, struct sheaf_error *err);
/* Returns the error that output_claim would return, without locking DEST or changing its files. */
int output_look(const struct output *output, enum output_ask ask, struct sheaf_error *err);

/* Reads a shard and the files beside it. Sets *intact to whether they have the sizes and hashes
 * that the shard's journal entry states. An error means that they cannot be read. */
int output_check_shard(const struct output *output, uint32_t split,
                       const struct journal_entry *entry, bool *intact, struct sheaf_error *err);
/* Returns true if a shard and the files beside it have the sizes and hashes that the journal entry
 * states. Returns false if not, or if they cannot be read. */
bool output_is_intact(const struct output *output, uint32_t split,
                      const struct journal_entry *entry);

/* Returns a hash of a shard's journal entry. It differs between entries that different runs have
 * written for the same shard. */
uint64_t output_entry_sum(const struct journal_entry *entry);
/* Publishes a shard together with its journal entry. The entry does not have the stamp yet, by
 * which a shard is recognised without reading it. If another run has finished the shard before,
 * copies that run's entry to `entry`. Returns SHEAF_ERR_CHANGED if the destination belongs to
 * another run. (output_shard.c) */
int output_publish_shard(const struct output *output, uint32_t split, struct shard_files *files,
                         struct journal_entry *entry, struct sheaf_error *err);
/* Locks DEST, for a run that has joined another run. Sets *lock to -1 if the store has no locks. */
int output_lock(const struct output *output, bool shared, int *lock, struct sheaf_error *err);
/* Makes the name of a shard from its number within the split, as in "PREFIX-000000.tar.gz". The
 * number has enough digits for the names of all shards of the split to be in order. */
int output_shard_name(const struct output *output, uint32_t split, uint64_t number,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err);

/* ---- Changing a data set (output_grow.c) ------------------------------------------------- */

/* Finishes a run that has appended or edited and has already published its manifest. */
int output_grown(struct output *output, struct sheaf_error *err);
/* As output_abandon. */
void output_abandon_grow(const struct output *output, bool keep_shards);

/* ---- Many at work on one plan (output_join.c) ------------------------------------------------ */

/* Joins the run of this plan, and records the number of parts (0 if unknown). Does not change files
 * of other runs. *finished is set as by output_claim. */
int output_join(struct output *output, uint32_t parts, bool *finished, struct sheaf_error *err);
/* Sets *parts to the number of parts into which the plan was last divided for packing, or to 0 if
 * it is unknown. */
int output_parts(const struct output *output, uint32_t *parts, struct sheaf_error *err);
/* Computes the stamp by which a shard and the files beside it can be recognised without reading
 * them. The stamp combines the stamps (time, inode or ETag) of these files. It is 0 if the size of
 * a file differs from the entry, or if the store cannot tell one file from another. */
int output_stamp(const struct output *output, uint32_t split, const struct journal_entry *entry,
                 uint64_t *stamp, struct sheaf_error *err);
uint64_t output_stamp_add(uint64_t combined, uint64_t stamp);
/* Looks for a complete shard that an earlier run has finished. Sets *found, and `entry` to the
 * shard's entry. The shard and the files beside it are read only if their stamps differ from the
 * entry. Stamps differ if the files were moved or changed, or if no stamps were recorded. Sets
 * *stamp to the stamp of the files that were found, or to 0 as output_stamp does. */
int output_find_shard(const struct output *output, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, uint64_t *stamp,
                      struct sheaf_error *err);
/* Removes temporary files and incomplete uploads of killed runs. Called if the user asked to resume
 * or to overwrite. (Shards of such runs are removed by output_remove.c.) */
int output_clean(const struct output *output, struct sheaf_error *err);
/* Like output_clean, called at the end of a run that was not killed. If the response to the
 * beginning of an upload was lost, the run does not know that the upload exists. */
int output_clean_lost(const struct output *output, struct sheaf_error *err);

/* The listing of an output's directories. It saves a request for each shard whose state is
 * needed. */
struct output_listing;
int output_list(const struct output *output, struct output_listing **listing,
                struct sheaf_error *err);
void output_listing_free(struct output_listing *listing);     /* NULL is fine */
/* Returns whether a split has such a file. */
bool output_listing_has(const struct output_listing *listing, uint32_t split, const char *name);
/* Returns whether a split's directory has a file with this name and size. */
bool output_listing_has_size(const struct output_listing *listing, uint32_t split,
                             const char *name, uint64_t bytes);
enum output_shard_state { SHARD_THERE, SHARD_MISSING, SHARD_ALTERED };
/* Finds the state of a shard and the files beside it from the listing. If the listing does not tell
 * enough, reads the files. An error means that they cannot be read. */
int output_listing_check(const struct output_listing *listing, const struct output *output,
                         uint32_t split, const struct journal_entry *entry,
                         enum output_shard_state *state, struct sheaf_error *err);
/* Returns whether the listing shows that a shard and the files beside it are those that the journal
 * entry describes. */
bool output_listing_is_known(const struct output_listing *listing, uint32_t split,
                             const struct journal_entry *entry);
/* Sets *has to whether the journal has an entry (facts about a finished shard) for a shard. */
int output_listing_has_entry(const struct output_listing *listing, const struct output *output,
                             uint32_t split, const char *name, bool *has,
                             struct sheaf_error *err);

/* Called for a finished data set. Removes the remains of a run that was killed at its very end.
 * Removes the journal's directory if it is empty. */
int output_sweep(const struct output *output, struct sheaf_error *err);
/* Removes lost uploads, and ends the journal. */
int output_end(const struct output *output, struct sheaf_error *err);
/* Ends a run that has failed, and removes everything that it made. If keep_shards is set, files
 * that a later run can use stay. */
void output_abandon(const struct output *output, bool keep_shards);

#endif
