/* SPDX-License-Identifier: MIT
 *
 * One reader for all workers of a rank: a thread that answers, over a Unix socket, requests for
 * samples by their ordinals.  The process that it is in asks without a socket.
 *
 *     worker: ASK pass, first, count --> thread: reads in order, keeps what is not asked for yet
 *     worker: Batch in shared memory <-- ANSWER: message, and the word that ends its use
 *
 * The reader goes forward only, whatever the order in which workers ask: of the batches before the
 * one asked for, those that nobody has asked for yet are kept for who will.  A beginning that all
 * workers have gone past is sought over.  A gap behind it that all have gone past will never be
 * asked for: something outside shares the samples out once more, and that is an error, since it
 * would be less data than there is.  So is a beginning in a pass that goes on from a state.
 *
 * Samples lie in an arena (arena.h), which the worker maps; its word is set when nothing of the
 * batch is left.  What a connection has is free when the connection ends.  Where the arena has no
 * room, bytes are sent instead: nothing waits for views that somebody keeps.
 *
 * A pipe has one reader for all ranks of a host.  The serving is then SHARED: it turns to another
 * pass when all ranks are done with the one under way, and leaves nothing out for those who are
 * late.  A rank that breaks a pass off loses the rest of its turns, and takes nothing from the
 * others.  One that does not come at all is waited for until a limit.
 *
 * The thread never needs the GIL.  In the child of a fork only the descriptors are closed. */
#ifndef PYTHON_SERVING_H
#define PYTHON_SERVING_H

#include "arena.h"

struct serving;

/* What a client says first, which is the rank that it belongs to, of those that share the serving,
 * and the rank's workers; and what it gets, with the arena's descriptor unless `bytes` is 0. */
struct serving_hello {
    uint32_t rank, workers;
};
struct serving_welcome {
    uint64_t bytes;
};

#define SERVING_ASK_MOST ((uint64_t)1 << 20)    /* samples */
struct serving_ask {
    uint64_t pass, first, count;
};

/* Behind it come `bytes`: a packed batch (packed.c) of `samples`, or the message of an error. */
struct serving_answer {
    int32_t code;
    uint32_t word;              /* SERVING_NO_WORD: all of it is in the message */
    uint64_t samples, bytes;
    uint64_t real;              /* samples of the rank's part of the epoch; of a stream UINT64_MAX
                                   before its end is found */
};
#define SERVING_NO_WORD   UINT32_MAX
#define SERVING_WORD_FREE 0u    /* a word says so when the answer is done with, */
#define SERVING_WORD_USED 1u    /* and until then this */

static inline bool serving_ask_is_valid(const struct serving_ask *ask)
{
    return ask->count != 0 && ask->count <= SERVING_ASK_MOST &&
           ask->first < UINT64_MAX - ask->count;
}

/* Where a pass begins: an ordinal of this rank's part of an epoch.  Of ranks that share a serving
 * the lower half of the number is a checksum of what they must agree on. */
#define SERVING_PLACE_BITS 32u
struct serving_pass {
    uint64_t number, epoch, first;
};

/* Takes the reader, which is at `epoch`, and the arena over (NULL: none).  If there is more than
 * one, `ranks` share it, each of which is waited for until it has come, at most so long.  NULL,
 * with errno: nothing was taken. */
struct serving *serving_start(struct sheaf_reader *reader, uint64_t epoch, uint32_t ranks,
                              uint64_t wait_seconds, struct arena *arena);
/* Workers may come to this abstract address.  False, with errno. */
bool serving_listen(struct serving *serving, const char *name);
/* Says where a pass begins, before its ordinals are asked for; later ones end earlier ones. */
void serving_begin(struct serving *serving, const struct serving_pass *pass);
/* Of the reader; `failed`: it can only be closed. */
void serving_get_stats(struct serving *serving, struct sheaf_reader_stats *stats, bool *failed);
/* Whether all ranks that share it are done with the pass; else *missing have not come to it. */
bool serving_is_over(struct serving *serving, uint64_t pass, uint32_t *missing);
/* How many ordinals of the pass below `end` were skipped as corrupt, of those that were read. */
uint64_t serving_skipped(struct serving *serving, uint64_t pass, uint64_t end);

/* A request of this process, of 1 to SERVING_ASK_MOST samples.  Both wait for a tick at most, and
 * are false if that was too short: for an earlier request that was left, or for the answer.  The
 * message is the caller's. */
bool serving_post(struct serving *serving, const struct serving_ask *ask);
bool serving_collect(struct serving *serving, struct serving_answer *answer, char **message);
/* Nobody waits for what was posted any more. */
void serving_leave(struct serving *serving);
/* Where its answers lie, and the word of one, as above. */
struct arena *serving_arena(struct serving *serving);
uint32_t *serving_word(struct serving *serving, uint32_t number);

/* Ends the thread, the connections and the reader. */
void serving_stop(struct serving *serving);
/* In the child of a fork: closes what it has inherited. */
void serving_forked(void);

#endif
