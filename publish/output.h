/* SPDX-License-Identifier: MIT
 *
 * The output of a run: the directory or prefix DEST, and the files of an earlier run in it. */
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
    const volatile int *interrupt;      /* flag or NULL; once the flag is not 0, waiting for a
                                           lock ends */
    const char *const *sources; /* sources of the run, which must not be in DEST; or NULL */
    size_t source_count;
    struct journal journal;
    int lock;                   /* lock of `dest`, from output_claim on; -1: none */
    bool is_shared;             /* other processes also work there: output_join */
    bool joins;                 /* whether a run that resumes joins the existing run and does not
                                   take the destination over */
    bool is_visible;            /* a manifest may exist */
    const uint64_t *checked;    /* for a commit: output_entry_sum of each shard's entry at the
                                   time of its check; otherwise NULL */
    uint32_t split_count;
    char *directories[SPLIT_LIMIT];     /* of each split's data set */
    uint64_t shard_counts[SPLIT_LIMIT]; /* of each split; 0: not known yet */
    uint64_t first_shard;       /* number of the first shard, when appending */
    const struct manifest *grows;       /* manifest of the data set that grows; NULL: a new data
                                           set */
    size_t part;                /* number of the appended part: 1, 2, ... */
    size_t generation;          /* number of edits that the index's name tells: with an edit, those
                                   of the data set and one more */
    bool is_edit;               /* the data set `grows` is edited: its shards with `names` are
                                   written, and nothing is appended */
    const char *const *names;   /* of the shards of an edit */
    char plan_hash[PLAN_HASH_SIZE];     /* for the manifest; the journal has the identity */
    char origin[PLAN_HASH_SIZE];        /* of the plan: the note of the manifest */
    bool compares_origin;       /* a data set with this hash and another note is a different one */
};

/* Opens the output for samples from a program. For a plan, output_add_split is called
 * afterwards. */
int output_open(struct output *output, const char *dest, const struct format_ops *format,
                const struct codec_ops *codec, const char *prefix, struct sheaf_error *err);
/* Adds a split with this name; "" for a data set without splits. */
int output_add_split(struct output *output, const char *name, uint64_t shard_count,
                     struct sheaf_error *err);
void output_close(struct output *output);

/* Requests to a destination. */
enum output_ask {
    ASK_PACK, ASK_RESUME, ASK_REPLACE,          /* a new data set */
    ASK_JOIN,                                   /* to join the existing run */
    ASK_GROW, ASK_GROW_RESUME, ASK_GROW_REPLACE,        /* to append to the data set `grows`, or
                                                           to edit it */
    ASK_INDEX, ASK_INDEX_REPLACE, ASK_KEYS,     /* make an index for existing shards; or only its
                                                   table of keys */
    ASKS
};
static inline enum output_ask output_ask(bool resume, bool overwrite, bool grows)
{
    return (enum output_ask)((grows ? ASK_GROW : ASK_PACK) + (resume ? 1 : overwrite ? 2 : 0));
}

/* Prepares DEST for the request: refuses it if it contains something that must not be replaced,
 * claims it, removes what is to be replaced, and begins the journal. *finished tells that the data
 * set of this plan exists already. (output_claim.c has the table.) */
int output_claim(struct output *output, enum output_ask ask, bool *finished,
                 struct sheaf_error *err);
/* Locks DEST, and fails as output_claim would. Changes nothing else. */
int output_check(struct output *output, enum output_ask ask, struct sheaf_error *err);
/* Fails as output_claim would, and changes nothing. */
int output_look(const struct output *output, enum output_ask ask, struct sheaf_error *err);

/* Sets *intact to whether shard and sides have the sizes and hashes of an entry. Reads all of them.
 * An error means that they cannot be read. */
int output_check_shard(const struct output *output, uint32_t split,
                       const struct journal_entry *entry, bool *intact, struct sheaf_error *err);
/* Like output_check_shard, for callers that pack the shard again if it is not intact, whatever the
 * reason. */
bool output_is_intact(const struct output *output, uint32_t split,
                      const struct journal_entry *entry);

/* Returns a hash that identifies an entry among the entries of one shard. */
uint64_t output_entry_sum(const struct journal_entry *entry);
/* Publishes a shard with its entry, which has no stamp yet. If another run has finished the shard
 * before, sets the entry to that run's. Returns SHEAF_ERR_CHANGED if the destination belongs to
 * another run. (output_shard.c) */
int output_publish_shard(const struct output *output, uint32_t split, struct shard_files *files,
                         struct journal_entry *entry, struct sheaf_error *err);
/* For runs that have joined another run: locks DEST. Sets *lock to -1 if the store has no locks. */
int output_lock(const struct output *output, bool shared, int *lock, struct sheaf_error *err);
/* Makes the name of a shard from its number within the split: "PREFIX-000000.tar.gz". It has enough
 * digits for all shards of the split to sort by name. */
int output_shard_name(const struct output *output, uint32_t split, uint64_t number,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err);

/* ---- Changing a data set (output_grow.c) ------------------------------------------------- */

/* Finishes a run whose manifest is already published, whether it appended or edited. */
int output_grown(struct output *output, struct sheaf_error *err);
/* As output_abandon. */
void output_abandon_grow(const struct output *output, bool keep_shards);

/* ---- Many at work on one plan (output_join.c) ------------------------------------------------ */

/* Joins the run of this plan and records the number of parts (0: unknown). Does not touch files of
 * other runs. *finished is as in output_claim. */
int output_join(struct output *output, uint32_t parts, bool *finished, struct sheaf_error *err);
/* Returns the number of parts of the plan's last packing; 0: unknown. */
int output_parts(const struct output *output, uint32_t *parts, struct sheaf_error *err);
/* Returns the stamp by which a shard and its sides can be recognized without reading them. It
 * combines their stamps. The stamp is 0 if their sizes differ from the entry, or if the store
 * cannot tell one file from another. */
int output_stamp(const struct output *output, uint32_t split, const struct journal_entry *entry,
                 uint64_t *stamp, struct sheaf_error *err);
uint64_t output_stamp_add(uint64_t combined, uint64_t stamp);
/* Looks for a complete shard of an earlier run. Sets *found, and sets `entry` to its entry. Shard
 * and sides are read only if their stamps differ from the entry: either no stamps were recorded, or
 * the files were moved or changed. *stamp becomes the stamp of the files that were found, or 0 as
 * in output_stamp. */
int output_find_shard(const struct output *output, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, uint64_t *stamp,
                      struct sheaf_error *err);
/* Removes temporary files and incomplete uploads of killed runs. Called if the user asked to resume
 * or to overwrite. (output_remove.c removes their shards.) */
int output_clean(const struct output *output, struct sheaf_error *err);
/* Like output_clean, for a run that was not killed. If the response to the beginning of an upload
 * was lost, nobody knows that upload. */
int output_clean_lost(const struct output *output, struct sheaf_error *err);

/* The content of the directories of an output; for shards without a number. */
struct output_listing;
int output_list(const struct output *output, struct output_listing **listing,
                struct sheaf_error *err);
void output_listing_free(struct output_listing *listing);     /* NULL is fine */
/* Returns whether a split has such a file. */
bool output_listing_has(const struct output_listing *listing, uint32_t split, const char *name);
/* Returns whether a split has such a file of this size. */
bool output_listing_has_size(const struct output_listing *listing, uint32_t split,
                             const char *name, uint64_t bytes);
enum output_shard_state { SHARD_THERE, SHARD_MISSING, SHARD_ALTERED };
/* Finds the state of a shard and its sides by the listing. Reads them if the listing is
 * insufficient. An error means that they cannot be read. */
int output_listing_check(const struct output_listing *listing, const struct output *output,
                         uint32_t split, const struct journal_entry *entry,
                         enum output_shard_state *state, struct sheaf_error *err);
/* Returns whether the listing shows that a shard and its sides are those of the entry. */
bool output_listing_is_known(const struct output_listing *listing, uint32_t split,
                             const struct journal_entry *entry);
/* Sets *has to whether the journal has an entry of a shard. */
int output_listing_has_entry(const struct output_listing *listing, const struct output *output,
                             uint32_t split, const char *name, bool *has,
                             struct sheaf_error *err);

/* For a finished data set: removes leftovers of a run that was killed at its very end, and the
 * directory of the journal if it is empty. */
int output_sweep(const struct output *output, struct sheaf_error *err);
/* Removes lost uploads, and ends the journal. */
int output_end(const struct output *output, struct sheaf_error *err);
/* Ends a run that has failed: removes everything that it made, except, with `keep_shards`, the
 * files that a later run can use. */
void output_abandon(const struct output *output, bool keep_shards);

#endif
