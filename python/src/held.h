/* SPDX-License-Identifier: MIT
 *
 * What the thread of serving.h has read: the reader's place in the pass, samples that nobody has
 * asked for yet, and those that workers have.
 *
 *     ordinals:  asked and given | held: read, not asked for | place | not read yet ...
 *
 * A stream is only read forward: to seek is to read on, or from its beginning once more.
 *
 * Of the serving thread alone. */
#ifndef PYTHON_HELD_H
#define PYTHON_HELD_H

#include "serving.h"

#define HELD_WORDS      256u                    /* answers that workers have, at most */
#define HELD_OWN        (-2)    /* an owner: this process */

/* Samples of one call of the reader, in the order of their ordinals. */
struct piece {
    struct piece *next;         /* those held, by ordinal */
    const struct sheaf_sample *samples;
    size_t count;
    uint64_t from, end;         /* ordinals: what is missing of them was skipped */
    size_t left;                /* not given yet; 0: it is held no more */
    size_t users;               /* the list, and the answers */
    struct sheaf_kept *kept;
};

/* An answer that lies in the arena. */
struct lease {
    int owner;                  /* -1: free */
    struct piece **pieces;
    size_t piece_count;
    void *copy;                 /* of the arena: what was not there; or NULL */
    size_t copy_bytes;
};

/* Ordinals, in order; no two ranges touch. */
struct ranges {
    struct range { uint64_t first, end; } *items;
    size_t count, capacity;
};

struct held {
    struct sheaf_reader *reader;
    struct arena *arena;        /* NULL: none */
    char *words;                /* of the arena */
    struct lease leases[HELD_WORDS];
    uint64_t epoch;             /* the reader's */
    uint64_t place;             /* the next ordinal that it gives; UINT64_MAX: to be sought */
    uint64_t real;              /* its samples; behind them its last one is repeated */
    uint64_t repeats, repeated_bytes;   /* how often that was done, and the fields' bytes */
    bool is_stream;             /* `real` is not known, UINT64_MAX, before its end */
    struct piece *first;
    size_t held_bytes;
    struct sheaf_error failed;  /* code 0: it has not */
    struct ranges asked;        /* for, in the pass */
    struct ranges holes;        /* what was skipped, as far as it was read */
    uint64_t start;             /* where the pass began */
    /* Of the answer that is being made. */
    struct sheaf_sample *out;
    struct piece **out_pieces;
    size_t out_count, out_capacity;
};

bool held_open(struct held *h, struct sheaf_reader *reader, uint64_t epoch, struct arena *arena);
void held_free(struct held *h);         /* but for the reader */

/* A pass begins. */
void held_begin(struct held *h, uint64_t epoch, uint64_t first);
/* The ordinals are asked for. */
void held_note(struct held *h, uint64_t first, uint64_t end);
/* The first ordinal that nobody has asked for, behind what was asked for first; and the next one
 * that somebody has. */
uint64_t held_gap(const struct held *h);
uint64_t held_gap_end(const struct held *h, uint64_t gap);
/* Whether what lies before `first` may be read and held. */
bool held_has_room(const struct held *h, uint64_t first, uint64_t count, uint32_t workers);
/* What lies before `first` will not be asked for. */
void held_skip(struct held *h, uint64_t first);
/* Neither will these, which are read, as others come behind them. */
void held_drop(struct held *h, uint64_t first, uint64_t end);

/* The answer for these ordinals, read if need be: behind the end of a stream there are none.
 * *message is the caller's. */
int held_give(struct held *h, uint64_t first, uint64_t count, int owner,
              struct serving_answer *answer, char **message, struct sheaf_error *error);
/* The word of an answer, which says when it is free. */
uint32_t *held_word(const struct held *h, size_t number);
/* What the owner has is free. */
void held_forget_owner(struct held *h, int owner);

#endif
