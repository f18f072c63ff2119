/* SPDX-License-Identifier: MIT
 *
 * The output of a run: the directory or prefix DEST, and what an earlier run left in it. */
#ifndef PUBLISH_OUTPUT_H
#define PUBLISH_OUTPUT_H

#include <stdbool.h>

#include "formats/codec.h"
#include "formats/format.h"
#include "formats/manifest.h"
#include "publish/journal.h"
#include "publish/shard_files.h"

struct output {
    const char *dest;           /* borrowed, like those below */
    const struct format_ops *format;
    const struct codec_ops *codec;      /* NULL: none */
    const char *interop;        /* list of other readers that get index files; or NULL */
    const char *prefix;
    const volatile int *interrupt;      /* once it is nonzero, no lock is waited for; or NULL */
    const char *const *sources; /* what the run reads, which DEST must not hold; or NULL */
    size_t source_count;
    struct journal journal;
    int lock;                   /* on `dest`, from output_claim on; -1: none */
    bool is_shared;             /* others are at work there, too: output_join */
    bool joins;                 /* resume takes part in the run that is there, and takes it from
                                   nobody */
    bool is_visible;            /* a manifest may be there */
    const uint64_t *checked;    /* of a commit: output_entry_sum of the entry of each shard, as it
                                   was checked; else NULL */
    uint32_t split_count;
    char *directories[SPLIT_LIMIT];     /* of each split's data set */
    uint64_t shard_counts[SPLIT_LIMIT]; /* of each; 0: not known yet */
    uint64_t first_shard;       /* the number of the first shard: of samples that are appended */
    const struct manifest *grows;       /* of the data set that is to grow; NULL: one of its own */
    size_t part;                /* of its parts, what is appended: 1, 2, ... */
    char plan_hash[PLAN_HASH_SIZE];     /* that a manifest has; the journal has the identity */
    char origin[PLAN_HASH_SIZE];        /* of the plan: what is noted with a manifest */
    bool compares_origin;       /* a data set of this hash and with another note is another's */
};

/* Opens the output of samples that a program makes; output_add_split makes one of a plan of it. */
int output_open(struct output *output, const char *dest, const struct format_ops *format,
                const struct codec_ops *codec, const char *prefix, struct sheaf_error *err);
/* Adds a split of this name, "" for a data set without splits. */
int output_add_split(struct output *output, const char *name, uint64_t shard_count,
                     struct sheaf_error *err);
void output_close(struct output *output);

/* What is asked of a destination. */
enum output_ask {
    ASK_PACK, ASK_RESUME, ASK_REPLACE,          /* a new data set */
    ASK_JOIN,                                   /* to take part in the run that is there */
    ASK_GROW, ASK_GROW_RESUME, ASK_GROW_REPLACE,        /* to append to the data set `grows` */
    ASK_INDEX, ASK_INDEX_REPLACE, ASK_KEYS,     /* an index for the shards that are there; or only
                                                   its table of keys */
    ASKS
};
static inline enum output_ask output_ask(bool resume, bool overwrite, bool grows)
{
    return (enum output_ask)((grows ? ASK_GROW : ASK_PACK) + (resume ? 1 : overwrite ? 2 : 0));
}

/* Makes DEST ready for what is asked: refuses it if it holds something that is not to be replaced,
 * claims it, removes what is to be replaced, and begins the journal.  *finished says that the data
 * set of this very plan is there already.  (output_claim.c has the table.) */
int output_claim(struct output *output, enum output_ask ask, bool *finished,
                 struct sheaf_error *err);
/* Takes DEST's lock, and fails as output_claim would; changes nothing else. */
int output_check(struct output *output, enum output_ask ask, struct sheaf_error *err);
/* Fails as output_claim would, and changes nothing. */
int output_look(const struct output *output, enum output_ask ask, struct sheaf_error *err);

/* Whether shard and sides have the sizes and hashes that an entry says; reads all of them.  An
 * error: they cannot be read. */
int output_check_shard(const struct output *output, uint32_t split,
                       const struct journal_entry *entry, bool *intact, struct sheaf_error *err);
/* The same for those who pack again what is not intact, for whatever reason. */
bool output_is_intact(const struct output *output, uint32_t split,
                      const struct journal_entry *entry);

/* What tells the entries of one shard apart. */
uint64_t output_entry_sum(const struct journal_entry *entry);
/* Publishes it, as `entry` says, which lacks its stamp; or, if another run has
 * finished it before, makes the entry that one's.  (output_shard.c)  SHEAF_ERR_CHANGED: the
 * destination is another run's. */
int output_publish_shard(const struct output *output, uint32_t split, struct shard_files *files,
                         struct journal_entry *entry, struct sheaf_error *err);
/* For those who have joined: takes the lock of DEST, where there are locks, and -1 else. */
int output_lock(const struct output *output, bool shared, int *lock, struct sheaf_error *err);
/* "PREFIX-000000.tar.gz": the name of a shard by its number within the split, wide enough for all
 * of the split's to sort by name. */
int output_shard_name(const struct output *output, uint32_t split, uint64_t number,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err);

/* ---- Appending to a data set (output_grow.c) ------------------------------------------------- */

/* Of a run whose manifest is there: finishes what it has left. */
int output_grown(struct output *output, struct sheaf_error *err);
/* As output_abandon. */
void output_abandon_grow(const struct output *output, bool keep_shards);

/* ---- Many at work on one plan (output_join.c) ------------------------------------------------ */

/* Takes part in the run of this plan, and notes that it is packed in so many parts (0: not known).
 * Nothing of others is touched.  *finished as in output_claim. */
int output_join(struct output *output, uint32_t parts, bool *finished, struct sheaf_error *err);
/* In how many parts the plan was packed last; 0: not known. */
int output_parts(const struct output *output, uint32_t *parts, struct sheaf_error *err);
/* How to know a shard and its sides again without reading them; 0: they are not as the entry says,
 * or cannot be told from others.  Of several files: of the shard first, then of each side. */
int output_stamp(const struct output *output, uint32_t split, const struct journal_entry *entry,
                 uint64_t *stamp, struct sheaf_error *err);
uint64_t output_stamp_add(uint64_t combined, uint64_t stamp);
/* Whether a shard is there, whole, from an earlier run, in which case `entry` says what it is.
 * Shard and sides are read only where their stamps are not those of the entry: where they were not
 * noted, or somebody has moved or changed the files.  *stamp: of what was found, 0 as above. */
int output_find_shard(const struct output *output, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, uint64_t *stamp,
                      struct sheaf_error *err);
/* Removes what killed runs have left: temporary files, and uploads that were not completed. */
int output_clean(const struct output *output, struct sheaf_error *err);
/* The same for a run that was not killed: the answer to the beginning of an upload can be lost, and
 * what was begun is then known to nobody. */
int output_clean_lost(const struct output *output, struct sheaf_error *err);

/* What is in the directories of a output; for shards without number. */
struct output_listing;
int output_list(const struct output *output, struct output_listing **listing,
                struct sheaf_error *err);
void output_listing_free(struct output_listing *listing);     /* NULL is fine */
/* Whether a split has such a file. */
bool output_listing_has(const struct output_listing *listing, uint32_t split, const char *name);
enum output_shard_state { SHARD_THERE, SHARD_MISSING, SHARD_ALTERED };
/* How shard and sides are, by the listing; they are read where that cannot tell, and an error says
 * that they cannot be. */
int output_listing_check(const struct output_listing *listing, const struct output *output,
                         uint32_t split, const struct journal_entry *entry,
                         enum output_shard_state *state, struct sheaf_error *err);
/* Whether the journal has an entry of a shard. */
int output_listing_has_entry(const struct output_listing *listing, const struct output *output,
                             uint32_t split, const char *name, bool *has,
                             struct sheaf_error *err);

/* Of a finished data set: removes what a run that was killed at its very end has left of its
 * manifest's writer, and the directory of the journal where that is empty. */
int output_sweep(const struct output *output, struct sheaf_error *err);
/* Removes uploads that were lost, and ends the journal. */
int output_end(const struct output *output, struct sheaf_error *err);
/* After a failure: removes all that the run has made, or only what is of no use to another one
 * (`keep_shards`). */
void output_abandon(const struct output *output, bool keep_shards);

#endif
