/* SPDX-License-Identifier: MIT
 *
 * The journal says which run packs at the destination DEST, and which shards the run has finished,
 * so that another run can resume. A run is one process, or several processes together, that write
 * to DEST. The journal is the directory DEST/.sheaf-partial. The journal is removed when it has no
 * file left.
 *
 * The file "plan" of the journal is the claim. The claim has the plan hash, which is a hash of the
 * packing options and of the names and sizes of the source files. It also has the prefix of the
 * names of shards, the names of the splits, and the number and state of the run. For messages, the
 * claim says which process made it and when.
 *
 * Each finished shard has a journal entry, the file [SPLIT.]SHARD.HASH.done, where HASH is the
 * beginning of the plan hash. The entry has the facts about the shard for the manifest and the
 * index. It is written before the shard. When the shard has its final name, the entry is written
 * again, now with the shard's stamp. The stamp is a number by which the shard is recognised without
 * reading it.
 *
 * A run writes or removes a file in DEST in three steps:
 * 1. It looks at the file.
 * 2. It checks that the claim still names this run.
 * 3. It writes or removes the file, but only if the file has not changed since step 1
 *    (store_commit_over).
 *
 * A run that takes over a destination first replaces the claim. So an earlier run that was paused
 * between the steps cannot undo the work of a later run. packer/PLAN.md has the reasons. */
#ifndef PUBLISH_JOURNAL_H
#define PUBLISH_JOURNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/hash_text.h"
#include "formats/codec.h"
#include "publish/names.h"
#include "sheaf.h"
#include "store/abilities.h"
#include "store/made.h"
#include "store/store.h"

#define PLAN_FILE "plan"
#define RUN_SIZE 33
#define HOLDER_SIZE 160

/* The state of a run. It is stored in the run's claim, the file that says which run packs here.
 * READY means that the destination is prepared and the run packs. A run that has just claimed the
 * destination has the state LOOKS while it inspects the destination, or REPLACES while it removes
 * old files. A run that appends or edits has the state GROWS, and a run that makes an index has the
 * state INDEXES. */
enum claim_state {
    CLAIM_LOOKS, CLAIM_REPLACES, CLAIM_READY, CLAIM_GROWS,
    /* the run makes an index, or a table of keys (by which samples are found), for shards that
     * already exist */
    CLAIM_INDEXES
};

/* The content of the plan file. */
struct journal_plan {
    char hash[PLAN_HASH_SIZE];
    char prefix[SHARD_NAME_BYTES];
    char splits[SPLIT_LIMIT][SPLIT_NAME_BYTES];     /* "" without splits */
    uint32_t split_count;
    /* random number that identifies the run; "" in the claim of a run of release 0.1, which had no
     * such number */
    char run[RUN_SIZE];
    char holder[HOLDER_SIZE];   /* who made the claim, and when: for messages */
    enum claim_state state;
};

/* The facts about a finished shard. */
struct shard_facts {
    char name[SHARD_NAME_BYTES];
    uint64_t bytes, raw_bytes, payload_bytes, samples, files, largest, names_bytes;
    uint64_t multipart;         /* records */
    uint64_t resized;           /* images that were only made smaller */
    uint64_t cls_words;         /* samples whose field `cls` does not consist of numbers */
    /* whether at least one sample of the shard has a field `cls`; used only if a program appends
     * the samples (sheaf_packer_append) */
    bool has_cls;
    char xxh3[HASH_TEXT_BYTES];
    char library[CODEC_LIBRARY_BYTES];      /* the library that compressed it; "": unknown */
};

struct journal_entry {
    struct shard_facts facts;
    struct buf section;         /* of the index */
    /* key_hash() of the key of each sample, in order, as little-endian u64 */
    struct buf keys;
    /* counts of the fields of the shard's samples, as text (formats/tally.h); empty if unknown */
    struct buf fields;
    struct buf skipped;         /* lines of skipped.tsv */
    struct buf converted;       /* lines of converted.tsv; older releases have none */
    struct buf sides;           /* "NAME<TAB>BYTES<TAB>XXH3-128\n" for each file next to the
                                   shard */
    /* hash of the URLs and stamps (size and time, or ETag) of the files from which the shard was
     * packed */
    uint64_t source;
    uint64_t stamp;             /* of shard and sides (output_stamp); 0: unknown */
};

struct journal {
    char *directory;            /* DEST/.sheaf-partial */
    /* Set if this process only stores a plan, so that other processes pack the parts of the plan.
     * The claim says so. If the destination is already claimed for the same plan, this process
     * joins that run, where other processes take the destination over from it. */
    bool stores_plan;
    struct journal_plan plan;
    struct store_seen claim;    /* as the run itself has written it */
    /* A stage is a directory through which a run's files pass to their final names. Another run can
     * stop this run by renaming the directory (see store/stage.h). `stage` is the path of the stage
     * of the run that has the claim (the file that says which run packs here). It is NULL if the
     * store has no stages. */
    char *stage;
    /* The directories that the run has made. When the journal is closed, those that are empty are
     * removed, because the run has failed before it wrote anything into them. */
    struct made_directories made;
    struct store_abilities can; /* the destination's store; once the run has claimed it */
};

int journal_open(struct journal *journal, const char *dest, struct sheaf_error *err);
void journal_close(struct journal *journal);

/* ---- The claim (journal_claim.c) ------------------------------------------------------------- */

/* Reads the claim, the file `plan` that says which run packs here. Returns SHEAF_END if there is no
 * claim, and SHEAF_ERR_CORRUPT if it is damaged. If `seen` is not NULL, *seen describes the file as
 * it was read, so that the caller can notice a later change. */
int journal_load(const struct journal *journal, struct journal_plan *plan,
                 struct store_seen *seen, struct sheaf_error *err);
/* Claims the destination for a new run: writes the claim (the file that says which run packs here).
 * `seen` describes what the caller has seen before: no claim, or a claim of the run `from`. The
 * claim of `from` is replaced. Returns SHEAF_ERR_EXISTS if the claim has changed since the caller
 * saw it. After this call, the run `from` can no longer change the destination, not even by a
 * system call that it has already begun. */
int journal_claim(struct journal *journal, const struct store_seen *seen, const char *from,
                  enum claim_state state, struct sheaf_error *err);
/* Returns whether a claim was made for a stored plan. Returns false for claims made by release 0.3
 * and earlier releases, which do not say so. */
bool journal_is_stored_plan(const struct journal_plan *plan);
/* Joins the run of a claim. */
int journal_join(struct journal *journal, const struct journal_plan *holder,
                 struct sheaf_error *err);
/* Updates the progress in the run's own claim. */
int journal_state(struct journal *journal, enum claim_state state, struct sheaf_error *err);
/* Returns SHEAF_ERR_CHANGED if another run has claimed the destination. */
int journal_check(const struct journal *journal, struct sheaf_error *err);
/* Writes a file of the destination or of the journal. If `url` no longer has the file that the
 * caller has seen (`seen`), writes nothing and returns an error. `note` is a text that the store
 * keeps with the file, or NULL. */
int journal_put_file(const struct journal *journal, const char *url, const void *data, size_t size,
                     const char *note, const struct store_seen *seen, struct store_seen *now,
                     struct sheaf_error *err);
/* Removes the file that was seen. */
int journal_remove_seen(const struct journal *journal, const char *url,
                        const struct store_seen *seen, struct sheaf_error *err);
/* Commits `writer`: the written file gets its final name. `seen` describes what the caller has seen
 * under this name before: a file, or no file. The call fails if this has changed since. Frees the
 * writer even after an error. */
int journal_commit(const struct journal *journal, struct store_writer *writer,
                   const struct store_seen *seen, struct store_seen *now,
                   struct sheaf_error *err);

/* ---- Files of the journal -------------------------------------------------------------------- */

typedef int journal_name_fn(void *context, const char *name, struct sheaf_error *err);

/* Lists the names in .sheaf-partial of a directory. */
int journal_list(const char *directory, journal_name_fn *each, void *context,
                 struct sheaf_error *err);
/* Returns whether a name in .sheaf-partial is the name of a file that is still being written. */
bool journal_is_temporary(const char *name);
/* Removes half-written files of killed runs from the subdirectory .sheaf-partial of `directory`, in
 * which files are written before they get their final names. */
int journal_remove_temporaries(const char *directory, struct sheaf_error *err);
/* Removes a file in a directory of the destination. Returns SHEAF_ERR_CHANGED if another run has
 * claimed the destination. */
int journal_remove_in(const struct journal *journal, const char *directory, const char *name,
                      struct sheaf_error *err);
/* Removes a file of the journal. */
int journal_remove(const struct journal *journal, const char *name, struct sheaf_error *err);
/* Releases the destination: removes the claim and its stage. */
int journal_release(const struct journal *journal, struct sheaf_error *err);
/* Removes everything but the claim and its stage. */
int journal_clear_files(const struct journal *journal, struct sheaf_error *err);
/* Removes everything, and the claim and the stage last. */
int journal_clear(const struct journal *journal, struct sheaf_error *err);

/* Returns the URL of the journal entry (the stored facts) of a shard, or NULL if memory is
 * exhausted. The caller must free it. */
char *journal_entry_url(const struct journal *journal, const char *split, const char *shard);
int journal_see(const struct journal *journal, const char *split, const char *shard,
                struct store_seen *seen, struct sheaf_error *err);
/* Writes the journal entry (the stored facts) of a finished shard. Thread-safe. If the store no
 * longer has the entry that the caller has seen with journal_see (`seen`), writes nothing and
 * returns SHEAF_ERR_CHANGED. */
int journal_put(const struct journal *journal, const char *split, const struct journal_entry *entry,
                const struct store_seen *seen, struct store_seen *now, struct sheaf_error *err);
/* Reads the journal entry (the stored facts) of a shard. *entry may have the result of an earlier
 * call, whose buffers are used again. Returns SHEAF_END if there is no entry, or if the entry is
 * damaged or belongs to another plan. */
int journal_get(const struct journal *journal, const char *split, const char *shard,
                struct journal_entry *entry, struct sheaf_error *err);
/* Reads an entry by its name, of any plan. */
int journal_get_named(const struct journal *journal, const char *name,
                      struct journal_entry *entry, struct sheaf_error *err);
/* Returns whether `name` is the name of a journal entry (the facts about a finished shard) of this
 * plan. */
bool journal_is_own(const struct journal *journal, const char *name);
void journal_entry_free(struct journal_entry *entry);

/* Reads one line "NAME<TAB>BYTES<TAB>XXH3-128\n" of the list of the files beside a shard. The line
 * begins at *at, which is moved to the next line. Returns false if there is no further line. */
bool journal_take_side(const char **at, const char *end, char name[SHARD_NAME_BYTES],
                       uint64_t *bytes, char hash[HASH_TEXT_BYTES]);

/* Makes the name of an entry's file. */
int journal_entry_name(const struct journal *journal, const char *split, const char *shard,
                       char **name, struct sheaf_error *err);

/* ---- Bytes; for the tests ------------------------------------------------------------------- */

int journal_entry_write(const struct journal_entry *entry, const char *hash, struct buf *out,
                        struct sheaf_error *err);
/* Parses a journal entry (the facts about a finished shard). Returns SHEAF_END if the entry is
 * damaged, or does not belong to the plan with the hash `hash`. If `hash` is NULL, an entry of any
 * plan is accepted. */
int journal_entry_parse(const uint8_t *data, size_t size, const char *hash,
                        struct journal_entry *entry, struct sheaf_error *err);

#endif
