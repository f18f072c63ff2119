/* SPDX-License-Identifier: MIT
 *
 * What a run has finished, so that another run may go on where it was killed.
 *
 * While a data set is packed, DEST/.sheaf-partial/ holds
 *
 *     plan                    the plan's hash, and how the run's files are named
 *     [SPLIT.]SHARD.done      for each finished shard: what the manifest and the index will say
 *
 * An entry is written when its shard is complete, just before that gets its name, and is
 * checksummed; whoever goes on compares the shard with it.  Where many pack one plan it is written
 * again when the shard has its name, with the stamp by which it is known again without being read.
 * With the last file the directory goes. */
#ifndef PACKER_JOURNAL_H
#define PACKER_JOURNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "packer/plan.h"
#include "packer/shard_writer.h"
#include "sheaf.h"

/* The plan file's content. */
struct journal_plan {
    char hash[PLAN_HASH_SIZE];
    char prefix[SHARD_NAME_BYTES];
    char splits[SPLIT_LIMIT][SPLIT_NAME_BYTES];     /* "" without splits */
    uint32_t split_count;
};

struct journal_entry {
    struct shard_facts facts;
    struct buf section;         /* of the index */
    struct buf skipped;         /* lines of skipped.tsv */
    struct buf sides;           /* as in struct shard_writer */
    uint64_t source;            /* as in struct plan_shard: of the files that it was made of */
    uint64_t stamp;             /* of shard and sides, as target_stamp has it; 0: not known */
};

struct journal {
    char *directory;            /* DEST/.sheaf-partial */
    struct journal_plan plan;
};

int journal_open(struct journal *journal, const char *dest, struct sheaf_error *err);
void journal_close(struct journal *journal);

/* Reads the plan file of an earlier run.  SHEAF_OK; SHEAF_END: there is none; SHEAF_ERR_CORRUPT:
 * it is damaged. */
int journal_load(const struct journal *journal, struct journal_plan *plan,
                 struct sheaf_error *err);
/* True if an earlier run has left anything. */
bool journal_has_leftovers(const struct journal *journal);
/* Writes the plan file. */
int journal_begin(const struct journal *journal, struct sheaf_error *err);
/* Removes temporary files that an earlier run has left. */
int journal_remove_temporaries(const char *directory, struct sheaf_error *err);
/* Removes everything, the plan file last. */
int journal_clear(const struct journal *journal, struct sheaf_error *err);

/* Writes the entry of a finished shard.  Thread-safe. */
int journal_put(const struct journal *journal, const char *split, const struct journal_entry *entry,
                struct sheaf_error *err);
/* Reads it back, into an entry whose buffers are empty or from before.  SHEAF_END: there is no
 * entry, or it is not sound or of another plan. */
int journal_get(const struct journal *journal, const char *split, const char *shard,
                struct journal_entry *entry, struct sheaf_error *err);
void journal_entry_free(struct journal_entry *entry);

/* Takes a line "NAME<TAB>BYTES<TAB>XXH3-128\n" off an entry's sides; false if there is none. */
bool journal_take_side(const char **at, const char *end, char name[SHARD_NAME_BYTES],
                       uint64_t *bytes, char hash[HASH_TEXT_BYTES]);

/* The name of an entry's file. */
int journal_entry_name(const char *split, const char *shard, char **name,
                       struct sheaf_error *err);

/* ---- Bytes; for the tests ------------------------------------------------------------------- */

int journal_entry_write(const struct journal_entry *entry, const char *hash, struct buf *out,
                        struct sheaf_error *err);
bool journal_entry_parse(const uint8_t *data, size_t size, const char *hash,
                         struct journal_entry *entry);

#endif
