/* SPDX-License-Identifier: MIT
 *
 * One reader for all workers of a rank: a thread that answers requests for samples by their
 * ordinals (numbers in the rank's part of the epoch). Workers send requests over a Unix socket. The
 * process in which the thread runs makes requests without a socket, and gets the samples where they
 * are.
 *
 *     worker: ASK pass, first, count --> thread: reads in order, keeps what is not requested yet
 *     worker: Batch in shared memory <-- ANSWER: message, and the word that ends its use
 *
 * A pass is one iteration over the loader. The reader only moves forward, whatever the order of
 * requests. Samples before the requested ones are kept for the workers that will request them. If
 * all workers have gone past the beginning of a pass, the reader seeks past it. If all workers have
 * gone past a later gap, the gap will never be requested, because something outside distributes the
 * samples a second time. This is an error, because the program would get less data than there is.
 * At the beginning of a pass that continues from a saved state, it is also an error.
 *
 * If there are workers, samples lie in an arena (arena.h) that each worker maps. The word of an
 * answer is set when no part of its batch is used any more. When a connection ends, everything that
 * it holds is freed. If the arena has no room, the bytes are sent in the message instead, so that
 * nothing waits for views that a program keeps.
 *
 * A pipe has one reader for all ranks of a host. The thread is then SHARED by the ranks. It moves
 * to another pass when all ranks are done with the present one, and skips nothing for ranks that
 * are late. A rank that leaves a pass early loses the rest of its samples and does not affect the
 * others. The thread waits for a rank that has not begun at all, up to a limit of time.
 *
 * The thread never needs the GIL. In a forked child, only the descriptors are closed. */
#ifndef PYTHON_SERVING_H
#define PYTHON_SERVING_H

#include "arena.h"

struct serving;

/* The first message of a client: its rank, among the ranks that share the thread, and the number of
 * the rank's workers. The descriptor of the arena follows the reply, unless `bytes` in the reply is
 * 0. */
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

/* An answer to a request. If it goes to a worker, `bytes` bytes follow it: either a packed batch
 * (packed.c) of `samples` samples, or an error message. */
struct serving_answer {
    int32_t code;
    uint32_t word;              /* SERVING_NO_WORD if the message contains everything */
    uint64_t samples, bytes;
    /* number of samples in the rank's part of the epoch; for a stream UINT64_MAX until its end
     * is found */
    uint64_t real;
};
/* An answer with its content. The content is bytes (for a worker), samples (for this process), or
 * an error message. */
struct serving_reply {
    struct serving_answer answer;
    char *message;                  /* the bytes that follow the answer; or NULL */
    struct held_samples *samples;   /* the samples for this process (held.h); or NULL */
};
#define SERVING_NO_WORD   UINT32_MAX
#define SERVING_WORD_FREE 0u    /* value of a word whose answer is done with */
#define SERVING_WORD_USED 1u    /* and until then this */

static inline bool serving_ask_is_valid(const struct serving_ask *ask)
{
    return ask->count != 0 && ask->count <= SERVING_ASK_MOST &&
           ask->first < UINT64_MAX - ask->count;
}

/* The position at which a pass (iteration over the loader) begins: an epoch, and an ordinal in this
 * rank's part of the epoch. If ranks share the thread, the lower half of the pass's number is a
 * checksum of the values on which all ranks must agree. */
#define SERVING_PLACE_BITS 32u
struct serving_pass {
    uint64_t number, epoch, first;
};

/* Starts the serving thread. Takes over the reader, which must be at the beginning of `epoch`, and
 * the arena, which may be NULL. If `ranks` is more than one, this number of ranks share the thread.
 * The thread then waits at most `wait_seconds` until all of them have connected. On failure,
 * returns NULL with errno, and takes nothing over. */
struct serving *serving_start(struct sheaf_reader *reader, uint64_t epoch, uint32_t ranks,
                              uint64_t wait_seconds, struct shared_arena *arena);
/* Lets workers connect to this abstract socket address. Returns false with errno on failure. */
bool serving_listen(struct serving *serving, const char *name);
/* Tells the thread at which sample a pass (iteration over the loader) begins. Must be called before
 * ordinals of the pass are requested. A later pass ends the earlier ones. */
void serving_begin(struct serving *serving, const struct serving_pass *pass);
/* Returns the reader's statistics. Sets *failed if the reader has failed and can only be closed. */
void serving_get_stats(struct serving *serving, struct sheaf_reader_stats *stats, bool *failed);
/* Returns whether all ranks that share the thread have finished the pass (iteration over the
 * loader). If not, sets *missing to the number of ranks that have not begun it. */
bool serving_is_over(struct serving *serving, uint64_t pass, uint32_t *missing);
/* Returns how many ordinals below `end` were skipped as corrupt in this pass (iteration over the
 * loader), among the ordinals that were read. */
uint64_t serving_skipped(struct serving *serving, uint64_t pass, uint64_t end);

/* This process itself makes requests by these two functions. serving_post makes a request for 1 to
 * SERVING_ASK_MOST samples. serving_collect takes the answer; the caller frees its content. Each
 * function waits for at most about a tenth of a second. After that, serving_post returns false if
 * an earlier, abandoned request is not finished, and serving_collect returns false if the answer is
 * not ready. */
bool serving_post(struct serving *serving, const struct serving_ask *ask);
bool serving_collect(struct serving *serving, struct serving_reply *reply);
/* Frees the content of a reply. */
void serving_reply_free(struct serving_reply *reply);
/* Abandons the posted request. */
void serving_leave(struct serving *serving);
/* Returns the arena (shared memory) in which the samples lie. Returns NULL if there is none. */
struct shared_arena *serving_arena(struct serving *serving);

/* Ends the thread, the connections and the reader. */
void serving_stop(struct serving *serving);
/* Closes inherited descriptors in the child of a fork. */
void serving_forked(void);

#endif
