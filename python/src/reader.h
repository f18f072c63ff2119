/* SPDX-License-Identifier: MIT
 *
 * The inside of Reader. reader.c has its life, its epochs and its properties; opening.c opens it;
 * reading.c takes samples from the library and returns them.
 *
 *     library --a batch, without the GIL--> self->batch --one by one--> the program
 *
 * The samples of self->batch from self->next on are not with the program yet. Everything that the
 * program sees refers to the last sample that it got: positions, statistics and errors. */
#ifndef PYTHON_READER_H
#define PYTHON_READER_H

#include "arena.h"
#include "module.h"

/* A record that was skipped while the reader was being opened. */
struct skipped {
    struct skipped *next;
    char *where;
    struct sheaf_error error;
};

/* Receives the library's reports of skipped records. It lives as long as the library's reader. */
struct teller {
    struct reader_object *reader;       /* NULL while it is being opened, perhaps for nobody */
    struct skipped *first, **last;      /* until then */
};

struct reader_object {
    PyObject_HEAD
    struct guard guard;
    PyObject *dataset;
    struct sheaf_reader *reader;    /* NULL: closed */
    bool closing;                   /* another thread waits to close the reader, so calls under
                                       way must end */
    struct signal_watch *watch;
    struct teller *teller;
    PyObject *report;
    struct calls calls;
    struct shared_arena *arena;     /* its samples are in this arena; NULL if they have memory
                                       of their own */
    struct batch_object *batch;     /* NULL, or a batch with samples that the program has not got
                                       yet */
    size_t next;                    /* index of the batch's next sample */
    struct sheaf_error failed;      /* code 0: it has not */
    bool ended;                     /* so has the epoch */
    uint64_t epoch;
    size_t ahead;                   /* samples to take next time */
};

/* ---- reader.c ----------------------------------------------------------------------------- */

/* Begins a call: waits for other threads. Returns false with an exception if the reader is
 * closed. */
bool reader_enter(struct reader_object *self);
void reader_leave(struct reader_object *self);

/* ---- opening.c ------------------------------------------------------------------------------ */

/* Opens self->reader; a signal's handler may end the wait. Its samples will be in the arena, if
 * there is one with room. Returns -1 with an exception on failure. */
int reader_open(struct reader_object *self, const struct sheaf_reader_options *options,
                struct shared_arena *arena);
void teller_free(struct teller *teller);

/* ---- reading.c ---------------------------------------------------------------------------- */

static inline size_t reader_samples_left(const struct reader_object *self)
{
    return self->batch == NULL ? 0 : self->batch->count - self->next;
}

/* Returns how many samples of `sample_bytes` to read ahead for a program that takes one at a
 * time. */
size_t reader_ahead(uint64_t sample_bytes);

/* Called by the library, without the GIL, for each skipped record. The context is the struct
 * teller. */
void reader_on_skip(void *context, const char *where, const struct sheaf_error *error);

/* Writes the program's position. Returns the code of the library's call. */
int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE]);

PyObject *reader_next(struct reader_object *self);
PyObject *reader_next_batch(struct reader_object *self, PyObject *size);

#endif
