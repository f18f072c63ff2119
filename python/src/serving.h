/* SPDX-License-Identifier: MIT
 *
 * One reader for all workers of a rank: a thread that answers, over a Unix socket, requests for
 * samples by their ordinals. Its own process makes requests without a socket.
 *
 *     worker: ASK pass, first, count --> thread: reads in order, keeps what is not requested yet
 *     worker: Batch in shared memory <-- ANSWER: message, and the word that ends its use
 *
 * The reader only goes forward, whatever the order of requests. Batches before the requested one
 * are kept for the workers that will request them. If all workers have gone past the beginning of a
 * pass, the reader seeks past it. A later gap that all workers have gone past will never be
 * requested: something outside distributes the samples a second time. That is an error, because the
 * program would get less data than there is. It is also an error at the beginning of a pass that
 * continues from a state.
 *
 * Samples lie in an arena (arena.h) that the worker maps. An answer's word is set when nothing of
 * its batch is left. When a connection ends, everything it holds is freed. If the arena has no
 * room, bytes are sent instead, so nothing waits for views that a program keeps.
 *
 * A pipe has one reader for all ranks of a host. The serving is then SHARED: it turns to another
 * pass when all ranks are done with the current one, and skips nothing for ranks that are late. A
 * rank that leaves a pass early loses the rest of its turns and takes nothing from the others. A
 * rank that does not come at all is waited for until a limit.
 *
 * The thread never needs the GIL. In the child of a fork only the descriptors are closed. */
#ifndef PYTHON_SERVING_H
#define PYTHON_SERVING_H

#include "arena.h"

struct serving;

/* A client's first message: its rank, among the ranks that share the serving, and the number of the
 * rank's workers. The reply is followed by the arena's descriptor unless `bytes` is 0. */
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

/* An answer. It is followed by `bytes` bytes: a packed batch (packed.c) of `samples`, or the
 * message of an error. */
struct serving_answer {
    int32_t code;
    uint32_t word;              /* SERVING_NO_WORD if the message contains everything */
    uint64_t samples, bytes;
    uint64_t real;              /* samples of the rank's part of the epoch; for a stream
                                   UINT64_MAX before its end is found */
};
#define SERVING_NO_WORD   UINT32_MAX
#define SERVING_WORD_FREE 0u    /* value of a word whose answer is done with */
#define SERVING_WORD_USED 1u    /* and until then this */

static inline bool serving_ask_is_valid(const struct serving_ask *ask)
{
    return ask->count != 0 && ask->count <= SERVING_ASK_MOST &&
           ask->first < UINT64_MAX - ask->count;
}

/* The beginning of a pass: an ordinal of this rank's part of an epoch. For ranks that share a
 * serving, the lower half of the number is a checksum of the values on which they must agree. */
#define SERVING_PLACE_BITS 32u
struct serving_pass {
    uint64_t number, epoch, first;
};

/* Starts a serving. Takes over the reader, which is at `epoch`, and the arena, which may be NULL.
 * If `ranks` is more than one, they share it, and each of them is waited for until it has come, for
 * at most `wait_seconds`. Returns NULL with errno if nothing was taken. */
struct serving *serving_start(struct sheaf_reader *reader, uint64_t epoch, uint32_t ranks,
                              uint64_t wait_seconds, struct shared_arena *arena);
/* Lets workers connect to this abstract address. Returns false with errno on failure. */
bool serving_listen(struct serving *serving, const char *name);
/* Tells where a pass begins, before its ordinals are requested. A later pass ends the earlier
 * ones. */
void serving_begin(struct serving *serving, const struct serving_pass *pass);
/* Returns the reader's statistics. Sets *failed if the reader can only be closed. */
void serving_get_stats(struct serving *serving, struct sheaf_reader_stats *stats, bool *failed);
/* Returns whether all ranks that share the serving have finished the pass. If not, sets *missing to
 * the number of ranks that have not begun it. */
bool serving_is_over(struct serving *serving, uint64_t pass, uint32_t *missing);
/* Returns how many ordinals of the pass below `end` were skipped as corrupt, among those read. */
uint64_t serving_skipped(struct serving *serving, uint64_t pass, uint64_t end);

/* Post a request of this process for 1 to SERVING_ASK_MOST samples, and take its answer. Both wait
 * for at most a tick and return false if that was too short: for an earlier request that was
 * abandoned, or for the answer. The caller frees the message. */
bool serving_post(struct serving *serving, const struct serving_ask *ask);
bool serving_collect(struct serving *serving, struct serving_answer *answer, char **message);
/* Abandons the posted request. */
void serving_leave(struct serving *serving);
/* Return the arena with its answers, and the word of one. */
struct shared_arena *serving_arena(struct serving *serving);
uint32_t *serving_word(struct serving *serving, uint32_t number);

/* Ends the thread, the connections and the reader. */
void serving_stop(struct serving *serving);
/* Closes inherited descriptors in the child of a fork. */
void serving_forked(void);

#endif
