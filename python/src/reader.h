/* SPDX-License-Identifier: MIT
 *
 * Reader, inside.  reader.c has its life, its epochs and what it says of itself; opening.c opens
 * it; reading.c takes samples from the library and hands them out.
 *
 *     library --a batch, without the GIL--> self->batch --one by one--> the program
 *
 * What self->batch holds from self->next on is not yet with the program, and as far as the
 * program can see the reader is there: positions, statistics and errors are those of the sample
 * that it had last. */
#ifndef PYTHON_READER_H
#define PYTHON_READER_H

#include "arena.h"
#include "module.h"

/* A record that was skipped while the reader was opened. */
struct skipped {
    struct skipped *next;
    char *where;
    struct sheaf_error error;
};

/* What the library tells of skipped records; it lives as long as the library's reader. */
struct teller {
    struct reader_object *reader;       /* NULL: it is being opened, perhaps for nobody */
    struct skipped *first, **last;      /* until then */
};

struct reader_object {
    PyObject_HEAD
    struct guard guard;
    PyObject *dataset;
    struct sheaf_reader *reader;    /* NULL: closed */
    bool closing;                   /* somebody waits to close it: calls under way are to end */
    struct watch *watch;
    struct teller *teller;
    PyObject *report;
    struct calls calls;
    struct arena *arena;            /* its samples are in; NULL: in memory of its own */
    struct batch_object *batch;     /* NULL, or not all of it is handed out */
    size_t next;                    /* the sample of the batch that comes next */
    struct sheaf_error failed;      /* code 0: it has not */
    bool ended;                     /* so has the epoch */
    uint64_t epoch;
    size_t ahead;                   /* samples to take next time */
};

/* ---- reader.c ----------------------------------------------------------------------------- */

/* Begins a call: waits for other threads; false with an exception if there is no reader. */
bool reader_enter(struct reader_object *self);
void reader_leave(struct reader_object *self);

/* ---- opening.c ------------------------------------------------------------------------------ */

/* Opens self->reader, so that a signal's handler may end the wait; its samples will be in the
 * arena, if there is one that has room.  -1 with an exception. */
int reader_open(struct reader_object *self, const struct sheaf_reader_options *options,
                struct arena *arena);
void teller_free(struct teller *teller);

/* ---- reading.c ---------------------------------------------------------------------------- */

static inline size_t reader_samples_left(const struct reader_object *self)
{
    return self->batch == NULL ? 0 : self->batch->count - self->next;
}

/* How many samples of `sample_bytes` to take ahead for a program that asks for one at a time. */
size_t reader_ahead(uint64_t sample_bytes);

/* Called from within the library, without the GIL, for each record that is skipped; the context
 * is the struct teller. */
void reader_on_skip(void *context, const char *where, const struct sheaf_error *error);

/* Where the program is.  The code of the library's call. */
int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE]);

PyObject *reader_next(struct reader_object *self);
PyObject *reader_next_batch(struct reader_object *self, PyObject *size);

#endif
