/* SPDX-License-Identifier: MIT
 *
 * The journal: which run packs a destination, and which shards it has finished, so that another run
 * can resume.
 *
 * While a data set is packed, DEST/.sheaf-partial/ holds
 *
 *     plan                    the claim: the plan's hash, how the run's files are named, and the
 *                             run's own number and holder
 *     [SPLIT.]SHARD.HASH.done for each finished shard: what the manifest and the index will say;
 *                             HASH begins the plan's
 *
 * A run that writes or removes anything in DEST looks at it, then checks that the claim is still
 * its own, and then acts only if what it looked at is there still (store_commit_over).  A run that
 * takes a destination away replaces its claim before all else.  So whatever a run does that has
 * been stopped in between, it does not undo what came after: packer/PLAN.md says why.
 *
 * An entry comes before its shard, without the stamp by which the shard is known without being
 * read; when the shard has its name, the entry is replaced by one that has it.  With the last file
 * the directory goes. */
#ifndef PUBLISH_JOURNAL_H
#define PUBLISH_JOURNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/hash_text.h"
#include "formats/codec.h"
#include "publish/names.h"
#include "sheaf.h"
#include "store/abilities.h"
#include "store/store.h"

#define PLAN_FILE "plan"
#define RUN_SIZE 33
#define HOLDER_SIZE 160

/* How far a run is: whether what is there may be replaced, until the destination is ready; or that
 * it appends to the data set that is there. */
enum claim_state {
    CLAIM_LOOKS, CLAIM_REPLACES, CLAIM_READY, CLAIM_GROWS,
    CLAIM_INDEXES       /* it makes an index, or a table of keys, for the shards that are there */
};

/* The plan file's content. */
struct journal_plan {
    char hash[PLAN_HASH_SIZE];
    char prefix[SHARD_NAME_BYTES];
    char splits[SPLIT_LIMIT][SPLIT_NAME_BYTES];     /* "" without splits */
    uint32_t split_count;
    char run[RUN_SIZE];         /* a random number; "" in the claims of release 0.1 */
    char holder[HOLDER_SIZE];   /* who made it, and when: for messages */
    enum claim_state state;
};

/* What there is to say of a finished shard. */
struct shard_facts {
    char name[SHARD_NAME_BYTES];
    uint64_t bytes, raw_bytes, payload_bytes, samples, files, largest, names_bytes;
    uint64_t multipart;         /* records */
    uint64_t resized;           /* images that were only made smaller */
    bool has_cls;               /* samples that a program made: some have a field `cls` */
    char xxh3[HASH_TEXT_BYTES];
    char library[CODEC_LIBRARY_BYTES];      /* that compressed it; "": unknown */
};

struct journal_entry {
    struct shard_facts facts;
    struct buf section;         /* of the index */
    struct buf keys;            /* key_hash() of each sample's key, in order: u64, little-
                                   endian; empty: not known, in those of
                                   release 0.1 and of what came before the table of keys */
    struct buf fields;          /* a tally of them as text; empty: not known, as these */
    struct buf skipped;         /* lines of skipped.tsv */
    struct buf converted;       /* lines of converted.tsv; there are none of older releases */
    struct buf sides;           /* "NAME<TAB>BYTES<TAB>XXH3-128\n" of each file beside the shard */
    uint64_t source;            /* hash of the stamps and URLs of the files that it was made of */
    uint64_t stamp;             /* of shard and sides, as output_stamp has it; 0: not known */
};

struct journal {
    char *directory;            /* DEST/.sheaf-partial */
    struct journal_plan plan;
    struct store_seen claim;    /* as the run itself has written it */
    char *stage;                /* of the claim's run (store/stage.h); NULL: the store has none */
    struct store_abilities can; /* the destination's store; once the run has claimed it */
};

int journal_open(struct journal *journal, const char *dest, struct sheaf_error *err);
void journal_close(struct journal *journal);

/* ---- The claim (journal_claim.c) ------------------------------------------------------------- */

/* Reads the plan file that is there.  SHEAF_OK; SHEAF_END: there is none; SHEAF_ERR_CORRUPT: it is
 * damaged.  `seen`, if not NULL: what was there before it was read. */
int journal_load(const struct journal *journal, struct journal_plan *plan,
                 struct store_seen *seen, struct sheaf_error *err);
/* Takes the destination for a new run: over the claim of the run `from` that was seen, or
 * SHEAF_ERR_EXISTS.  From then on nothing that the run before had begun takes effect. */
int journal_claim(struct journal *journal, const struct store_seen *seen, const char *from,
                  enum claim_state state, struct sheaf_error *err);
/* Takes part in the run of a claim. */
int journal_join(struct journal *journal, const struct journal_plan *holder,
                 struct sheaf_error *err);
/* Says of the run's own claim how far the run is. */
int journal_state(struct journal *journal, enum claim_state state, struct sheaf_error *err);
/* SHEAF_ERR_CHANGED if the claim that is there is not the run's. */
int journal_check(const struct journal *journal, struct sheaf_error *err);

/* ---- Files of the journal -------------------------------------------------------------------- */

typedef int journal_name_fn(void *context, const char *name, struct sheaf_error *err);

/* The names in a directory's .sheaf-partial. */
int journal_list(const char *directory, journal_name_fn *each, void *context,
                 struct sheaf_error *err);
/* Removes temporary files that an earlier run has left. */
int journal_remove_temporaries(const char *directory, struct sheaf_error *err);
/* Removes a file; SHEAF_ERR_CHANGED if the claim is another's. */
int journal_remove_in(const struct journal *journal, const char *directory, const char *name,
                      struct sheaf_error *err);
/* One of the journal itself. */
int journal_remove(const struct journal *journal, const char *name, struct sheaf_error *err);
/* Writes a file of DEST or of the journal over what was seen, with a note or NULL. */
int journal_put_file(const struct journal *journal, const char *url, const void *data, size_t size,
                     const char *note, const struct store_seen *seen, struct store_seen *now,
                     struct sheaf_error *err);
/* Removes what was seen. */
int journal_remove_seen(const struct journal *journal, const char *url,
                        const struct store_seen *seen, struct sheaf_error *err);
/* Gives a file its name, over what was seen.  Frees the writer, also on failure. */
int journal_commit(const struct journal *journal, struct store_writer *writer,
                   const struct store_seen *seen, struct store_seen *now,
                   struct sheaf_error *err);
/* Gives the destination back: removes the claim and its stage. */
int journal_release(const struct journal *journal, struct sheaf_error *err);
/* Removes everything, the claim and the stage last. */
int journal_clear(const struct journal *journal, struct sheaf_error *err);

/* What is there of a shard's entry. */
int journal_see(const struct journal *journal, const char *split, const char *shard,
                struct store_seen *seen, struct sheaf_error *err);
/* Writes the entry of a finished shard over what was seen.  Thread-safe. */
int journal_put(const struct journal *journal, const char *split, const struct journal_entry *entry,
                const struct store_seen *seen, struct store_seen *now, struct sheaf_error *err);
/* Reads it back, into an entry whose buffers are empty or from before.  SHEAF_END: there is no
 * entry, or it is not sound or of another plan. */
int journal_get(const struct journal *journal, const char *split, const char *shard,
                struct journal_entry *entry, struct sheaf_error *err);
/* The same by its name, of whatever plan. */
int journal_get_named(const struct journal *journal, const char *name,
                      struct journal_entry *entry, struct sheaf_error *err);
/* Whether a name is that of an entry of this plan. */
bool journal_is_own(const struct journal *journal, const char *name);
void journal_entry_free(struct journal_entry *entry);

/* Takes a line "NAME<TAB>BYTES<TAB>XXH3-128\n" off an entry's sides; false if there is none. */
bool journal_take_side(const char **at, const char *end, char name[SHARD_NAME_BYTES],
                       uint64_t *bytes, char hash[HASH_TEXT_BYTES]);

/* The name of an entry's file. */
int journal_entry_name(const struct journal *journal, const char *split, const char *shard,
                       char **name, struct sheaf_error *err);

/* ---- Bytes; for the tests ------------------------------------------------------------------- */

int journal_entry_write(const struct journal_entry *entry, const char *hash, struct buf *out,
                        struct sheaf_error *err);
/* `hash` NULL: of any plan.  SHEAF_END: it is not sound, or of another plan. */
int journal_entry_parse(const uint8_t *data, size_t size, const char *hash,
                        struct journal_entry *entry, struct sheaf_error *err);

#endif
