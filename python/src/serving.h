/* SPDX-License-Identifier: MIT
 *
 * One reader for all workers of a rank: a thread that answers, over a Unix socket, requests for
 * samples by their ordinals.
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
 * The thread never needs the GIL.  In the child of a fork only the descriptors are closed. */
#ifndef PYTHON_SERVING_H
#define PYTHON_SERVING_H

#include "arena.h"

struct serving;

/* What a client says first, and what it gets, with the arena's descriptor unless `bytes` is 0. */
struct serving_hello {
    uint32_t worker, workers;
};
struct serving_welcome {
    uint64_t bytes;
};

struct serving_ask {
    uint64_t pass, first, count;
};

/* Behind it come `bytes`: a packed batch (packed.c) of `samples`, or the message of an error. */
struct serving_answer {
    int32_t code;
    uint32_t word;              /* SERVING_NO_WORD: all of it is in the message */
    uint64_t samples, bytes;
};
#define SERVING_NO_WORD UINT32_MAX

/* Where a pass begins: an ordinal of this rank's part of an epoch. */
struct serving_pass {
    uint64_t number, epoch, first;
};

/* Takes the reader, which is at `epoch`, and the arena over (NULL: none); `name` is the abstract
 * address.  NULL, with errno: nothing was taken. */
struct serving *serving_start(const char *name, struct sheaf_reader *reader, uint64_t epoch,
                              struct arena *arena);
/* Says where a pass begins, before its ordinals are asked for; later ones end earlier ones. */
void serving_begin(struct serving *serving, const struct serving_pass *pass);
/* Of the reader; `failed`: it can only be closed. */
void serving_get_stats(struct serving *serving, struct sheaf_reader_stats *stats, bool *failed);
/* Ends the thread, the connections and the reader. */
void serving_stop(struct serving *serving);
/* In the child of a fork: closes what it has inherited. */
void serving_forked(void);

#endif
