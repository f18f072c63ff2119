/* SPDX-License-Identifier: MIT
 *
 * The samples that the serving thread (serving.h) has read in the current pass (iteration over the
 * loader). The samples have consecutive numbers, called ordinals, in the order in which the reader
 * returns them.
 *
 * A sample before the reader's position was either given to a worker, or is kept because no worker
 * has requested it yet. The samples after the position were not read yet.
 *
 * A stream can only be read forward. To get a sample after the position, the serving thread reads
 * on. To get an earlier sample, it reads the stream again from the beginning.
 *
 * All functions must be called on the serving thread, except held_reply_free and
 * held_samples_free. */
#ifndef PYTHON_HELD_H
#define PYTHON_HELD_H

#include "serving.h"

#define HELD_WORDS      256u                    /* answers that workers have, at most */
#define HELD_OWN        (-2)    /* owner of an answer: this process */

/* A piece is a block of memory with the samples that one call of the reader has returned, in the
 * order of the epoch. */
struct piece {
    struct piece *next;         /* next kept piece, in the order of ordinals */
    const struct sheaf_sample *samples;
    size_t count;
    uint64_t from, end;         /* range of ordinals; ordinals without a sample were skipped */
    /* number of samples in this piece (block of memory) that no worker has received yet; when it
     * becomes 0, the piece is removed from the list of kept pieces */
    size_t left;
    _Atomic size_t users;       /* the list of kept pieces, and the answers */
    struct sheaf_kept *kept;
};

/* Samples that this process itself has requested, and not a worker. The process uses the samples in
 * the memory in which they were read, so they are not packed into a message. */
struct held_samples {
    /* the pieces (blocks of memory) in which the samples are; the struct has a reference to each
     * piece */
    struct piece **pieces;
    size_t piece_count, count;  /* numbers of pieces and of samples */
    struct sheaf_sample samples[];
};

/* An answer that lies in the arena. */
struct lease {
    /* socket of the client to which the answer was sent; -1 if this struct has no answer and may be
     * used for the next one */
    int owner;
    struct piece **pieces;
    size_t piece_count;
    /* memory in the arena (shared memory) for bytes of fields that had to be copied there; NULL if
     * no bytes had to be copied */
    void *copy;
    size_t copy_bytes;
};

/* Ranges of ordinals, in order; no two are adjacent. */
struct ranges {
    struct range { uint64_t first, end; } *items;
    size_t count, capacity;
};

struct held {
    struct sheaf_reader *reader;
    struct shared_arena *arena;        /* NULL if there is none */
    char *words;                /* the words in the arena */
    struct lease leases[HELD_WORDS];
    uint64_t epoch;             /* the epoch that the reader reads */
    /* ordinal (number in the rank's part of the epoch) of the next sample that the reader returns;
     * UINT64_MAX if the reader must seek first */
    uint64_t place;
    /* number of samples in the rank's part of the epoch; a request for one more sample gets the
     * last sample again */
    uint64_t real;
    /* How often the last sample of the rank's part of the epoch was returned again, and the total
     * size in bytes of the fields in these repetitions. The sample is repeated because the parts of
     * all ranks must be equally long. */
    uint64_t repeats, repeated_bytes;
    bool is_stream;             /* `real` is unknown, UINT64_MAX, before its end */
    struct piece *first;
    size_t held_bytes;
    /* the error after which the reader cannot continue; its code is 0 if there is no such error */
    struct sheaf_error failed;
    struct ranges asked;        /* ordinals that were requested in this pass */
    struct ranges holes;        /* ordinals that were skipped, among those read */
    uint64_t start;             /* ordinal at which the pass began */
    /* The answer that is being made. */
    struct sheaf_sample *out;
    struct piece **out_pieces;
    size_t out_count, out_capacity;
};

bool held_open(struct held *h, struct sheaf_reader *reader, uint64_t epoch,
               struct shared_arena *arena);
void held_free(struct held *h);         /* does not free the reader */

/* Begins a pass (iteration over the loader) at the ordinal `first`, which is a number in the rank's
 * part of the epoch. */
void held_begin(struct held *h, uint64_t epoch, uint64_t first);
/* Records that a worker has requested the samples with the ordinals (sample numbers) `first` to
 * `end` - 1. */
void held_note(struct held *h, uint64_t first, uint64_t end);
/* The ordinals (sample numbers) that were requested so far in a pass (iteration over the loader)
 * may have gaps. held_gap returns the first ordinal of the first gap. held_gap_end returns the
 * ordinal after the end of the gap that begins at `gap`. For example, if the ordinals 0 to 9 and 20
 * to 29 were requested, the functions return 10 and 20. */
uint64_t held_gap(const struct held *h);
uint64_t held_gap_end(const struct held *h, uint64_t gap);
/* A rank with `workers` workers has requested `count` samples from the ordinal `first` on. The
 * reader must first read all samples before `first`, and keep them in memory for other requests.
 * Returns whether there is room for them.
 *
 * There are two limits: one for the bytes of the samples that are already kept, and one for the
 * number of samples to be read. The second limit grows with `workers`, because each worker requests
 * some batches in advance. */
bool held_has_room(const struct held *h, uint64_t first, uint64_t count, uint32_t workers);
/* Records that no worker will request samples with ordinals (sample numbers) below `first`. */
void held_skip(struct held *h, uint64_t first);
/* Drops the samples with the ordinals (sample numbers) `first` to `end` - 1, because no worker will
 * request them. The reader had to read these samples to reach requested samples after them. */
void held_drop(struct held *h, uint64_t first, uint64_t end);

/* Makes the reply to a request for `count` samples from the ordinal (sample number) `first` on, and
 * reads the samples if necessary. After the end of a stream, the reply has no samples. `owner` is
 * the socket of the client that made the request, or HELD_OWN if this process made it. The caller
 * frees the content of the reply. */
int held_give(struct held *h, uint64_t first, uint64_t count, int owner,
              struct serving_reply *reply, struct sheaf_error *error);
/* Frees the content of a reply. May be called on any thread, even after held_free. */
void held_reply_free(struct serving_reply *reply);
/* Frees the samples that held_give has returned for a request of this process itself (`owner`
 * HELD_OWN). May be called on any thread, even after held_free. `samples` may be NULL. */
void held_samples_free(struct held_samples *samples);
/* Returns the word of answer number `number`. A word is a number in shared memory, which the
 * receiver of the answer sets when it no longer uses the samples. */
uint32_t *held_word(const struct held *h, size_t number);
/* Frees all answers that were sent to this client. `owner` is the client's socket. */
void held_forget_owner(struct held *h, int owner);

#endif
