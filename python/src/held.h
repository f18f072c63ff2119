/* SPDX-License-Identifier: MIT
 *
 * The samples that the serving thread (serving.h) has read in the current pass (iteration over the
 * loader). The samples are numbered by ordinals, in the order in which the reader returns them.
 * Before the reader's position are samples that workers have received and samples that are held
 * because nobody has requested them yet; after the position are samples that were not read yet.
 *
 * A stream can only be read forward. To get a sample after the position, the serving thread reads
 * on; to get an earlier one, it reads the stream again from its beginning.
 *
 * All functions must be called on the serving thread, except held_samples_free. */
#ifndef PYTHON_HELD_H
#define PYTHON_HELD_H

#include "serving.h"

#define HELD_WORDS      256u                    /* answers that workers have, at most */
#define HELD_OWN        (-2)    /* owner of an answer: this process */

/* A piece: the samples that one call of the reader returned, in the order of their ordinals. */
struct piece {
    struct piece *next;         /* next kept piece, in the order of ordinals */
    const struct sheaf_sample *samples;
    size_t count;
    uint64_t from, end;         /* range of ordinals; ordinals without a sample were skipped */
    /* number of samples that no worker has received yet; when it becomes 0, the piece is removed
     * from the list of kept pieces */
    size_t left;
    _Atomic size_t users;       /* the list of kept pieces, and the answers */
    struct sheaf_kept *kept;
};

/* The samples that answer a request of this process. The process uses them where they lie, so they
 * need not be packed. */
struct held_samples {
    /* the pieces in which the samples lie; the struct has a reference to each piece */
    struct piece **pieces;
    size_t piece_count, count;  /* numbers of pieces and of samples */
    struct sheaf_sample samples[];
};

/* An answer that lies in the arena. */
struct lease {
    int owner;                  /* socket of the client, or -1 if the struct is free */
    struct piece **pieces;
    size_t piece_count;
    /* memory in the arena (shared memory) for bytes that had to be copied there; NULL if none had
     * to be copied */
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
    struct shared_arena *arena;        /* NULL: none */
    char *words;                /* of the arena */
    struct lease leases[HELD_WORDS];
    uint64_t epoch;             /* the reader's */
    /* ordinal of the next sample that the reader returns; UINT64_MAX if the reader must seek
     * first */
    uint64_t place;
    /* number of samples in the rank's part of the epoch; a request for the ordinal after the end
     * gets the last sample once more */
    uint64_t real;
    /* `repeats` counts how often the last sample of the rank's epoch was returned once more as
     * padding; `repeated_bytes` is the total number of bytes in the fields of these repeated
     * samples */
    uint64_t repeats, repeated_bytes;
    bool is_stream;             /* `real` is unknown, UINT64_MAX, before its end */
    struct piece *first;
    size_t held_bytes;
    /* error after which the reader cannot continue; code 0 if there is none */
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
void held_free(struct held *h);         /* except the reader */

/* Begins a pass (iteration over the loader) at the ordinal `first` of an epoch. */
void held_begin(struct held *h, uint64_t epoch, uint64_t first);
/* Records that the ordinals from `first` up to, but not including, `end` were requested. */
void held_note(struct held *h, uint64_t first, uint64_t end);
/* The requested ordinals of a pass may have gaps. held_gap returns the first ordinal after the
 * first requested range, where the first gap begins. held_gap_end returns the first requested
 * ordinal after the gap that begins at `gap`. */
uint64_t held_gap(const struct held *h);
uint64_t held_gap_end(const struct held *h, uint64_t gap);
/* A client with `workers` workers requests `count` samples from ordinal `first` on. The reader only
 * moves forward, so it must first read the samples between its present position and `first`, and
 * keep them for other requests. Returns whether there is room to keep them. */
bool held_has_room(const struct held *h, uint64_t first, uint64_t count, uint32_t workers);
/* Records that the samples before ordinal `first` will not be requested. */
void held_skip(struct held *h, uint64_t first);
/* Drops samples that nobody will request. They were read only because requested samples come after
 * them. */
void held_drop(struct held *h, uint64_t first, uint64_t end);

/* Makes the reply to a request for `count` samples from ordinal `first` on. Reads the samples first
 * if necessary. After the end of a stream, the reply has no samples. `owner` is the socket of the
 * client that gets the reply, or HELD_OWN if this process made the request. The caller frees the
 * content of the reply. */
int held_give(struct held *h, uint64_t first, uint64_t count, int owner,
              struct serving_reply *reply, struct sheaf_error *error);
/* Frees the samples that answered a request of this process. May be called on any thread, even
 * after held_free. NULL is allowed. */
void held_samples_free(struct held_samples *samples);
/* Returns the "word" of answer number `number`. It is a number in shared memory that the receiver
 * sets when it no longer uses the answer. */
uint32_t *held_word(const struct held *h, size_t number);
/* Frees the answers of this owner (the socket of a client). */
void held_forget_owner(struct held *h, int owner);

#endif
