/* SPDX-License-Identifier: MIT
 *
 * The serving thread reads samples with one reader, for all workers of a rank. Workers request
 * samples over a Unix socket. The process in which the thread runs makes its requests by calling
 * functions.
 *
 * Requests come in any order, but the reader only moves forward. To answer a request, the thread
 * also reads the samples before the requested samples, and keeps them for the workers that will
 * request them.
 *
 * Some samples will not be requested by any worker. At the beginning of a new pass (iteration over
 * the loader), the reader skips such samples. Everywhere else they are an error, because the
 * program would lose them. This includes the beginning of a pass that continues from a saved state.
 *
 * A channel of pipes (Amazon SageMaker's Pipe mode) can only be read once. So all ranks of a host
 * SHARE one reader and its thread (serving_ranks.c).
 *
 * The thread never needs the GIL. It does not exist in a forked child, which only closes the
 * descriptors of the sockets. */
#ifndef PYTHON_SERVING_H
#define PYTHON_SERVING_H

#include "arena.h"

struct serving;

/* The first message of a client (a worker). It has the worker's rank, among the ranks that share
 * the thread, and the number of the rank's workers. The thread answers with a struct
 * serving_welcome. */
struct serving_hello {
    uint32_t rank, workers;
};
struct serving_welcome {
    uint64_t bytes;
};

#define SERVING_ASK_MOST ((uint64_t)1 << 20)    /* samples */
/* A request for `count` samples. `pass` is the number of the pass (iteration over the loader).
 * `first` is the ordinal of the first sample (its number in the rank's part of the epoch). */
struct serving_ask {
    uint64_t pass, first, count;
};

/* The head of the answer to a request. If the answer goes to a worker, `bytes` further bytes
 * follow: either a packed batch (packed.c) of `samples` samples, or an error message.
 *
 * The serving thread reads the samples for all workers. The bytes of the samples are in an arena
 * (arena.h), which is memory that this thread shares with all workers. If the arena has no room,
 * the packed batch itself contains the bytes. So the thread never waits until a worker frees
 * samples. */
struct serving_answer {
    int32_t code;
    /* Index of the word of this answer. A word is a number in the arena. The worker sets the word
     * when it no longer uses any of these samples. The thread then frees their memory.
     * SERVING_NO_WORD if this answer has no bytes in the arena. */
    uint32_t word;
    uint64_t samples, bytes;
    /* number of samples in the rank's part of the epoch; UINT64_MAX for a stream whose end was not
     * found yet */
    uint64_t real;
};
/* An answer to a request together with its content, which is bytes (for a worker), samples (for
 * this process), or an error message. */
struct serving_reply {
    struct serving_answer answer;
    char *message;                  /* the bytes that follow the answer; or NULL */
    struct held_samples *samples;   /* the samples for this process (held.h); or NULL */
};
#define SERVING_NO_WORD   UINT32_MAX
#define SERVING_WORD_FREE 0u    /* value of a word when the worker no longer uses the samples */
#define SERVING_WORD_USED 1u    /* value of a word while the worker may use the samples */

static inline bool serving_ask_is_valid(const struct serving_ask *ask)
{
    return ask->count != 0 && ask->count <= SERVING_ASK_MOST &&
           ask->first < UINT64_MAX - ask->count;
}

/* A pass is one iteration over the loader. `number` identifies the pass. The pass begins at the
 * ordinal `first`, which is a sample's number in the rank's part of the epoch.
 *
 * If several ranks share the thread, `number` has two halves. The upper half counts the passes. The
 * lower half (SERVING_PLACE_BITS bits) is a checksum of values that must be the same on all ranks,
 * such as the epoch and the position at which the pass begins. */
#define SERVING_PLACE_BITS 32u
struct serving_pass {
    uint64_t number, epoch, first;
};

/* Starts the serving thread. Takes over `reader`, which must be at the beginning of `epoch`, and
 * `arena`, which may be NULL. `ranks` is the number of ranks that share the thread. If there are
 * several ranks, the thread waits at most `wait_seconds` until all of them have connected. On
 * failure, returns NULL with errno, and the caller still owns the reader and the arena. */
struct serving *serving_start(struct sheaf_reader *reader, uint64_t epoch, uint32_t ranks,
                              uint64_t wait_seconds, struct shared_arena *arena);
/* Opens the socket to which workers connect, at the abstract address `name`. Returns false with
 * errno on failure. */
bool serving_listen(struct serving *serving, const char *name);
/* Tells the thread at which sample a pass (iteration over the loader) begins. Must be called before
 * samples of the pass are requested. A new pass ends all earlier passes. */
void serving_begin(struct serving *serving, const struct serving_pass *pass);
/* Copies the reader's statistics to *stats. Sets *failed to whether the reader has failed, so that
 * it can only be closed. */
void serving_get_stats(struct serving *serving, struct sheaf_reader_stats *stats, bool *failed);
/* Returns whether all ranks that share the thread have finished the pass (iteration over the
 * loader). If not, sets *missing to the number of ranks that have not begun this pass. */
bool serving_is_over(struct serving *serving, uint64_t pass, uint32_t *missing);
/* Returns the number of samples that the reader has skipped as corrupt in this pass (iteration over
 * the loader). Counts only samples with ordinals below `end`. */
uint64_t serving_skipped(struct serving *serving, uint64_t pass, uint64_t end);

/* With these two functions, this process itself makes requests. serving_post requests 1 to
 * SERVING_ASK_MOST samples. serving_collect takes the answer, and the caller frees its content.
 * Each function waits for at most about a tenth of a second. After that, serving_post returns false
 * if an earlier, abandoned request is not finished, and serving_collect returns false if the answer
 * is not ready. */
bool serving_post(struct serving *serving, const struct serving_ask *ask);
bool serving_collect(struct serving *serving, struct serving_reply *reply);
/* Abandons the posted request. */
void serving_leave(struct serving *serving);
/* Returns the arena (shared memory) in which the samples lie. Returns NULL if the thread has no
 * arena. */
struct shared_arena *serving_arena(struct serving *serving);

/* Ends the thread, the connections and the reader. */
void serving_stop(struct serving *serving);
/* Closes inherited descriptors in the child of a fork. */
void serving_forked(void);

#endif
