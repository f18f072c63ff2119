/* SPDX-License-Identifier: MIT
 *
 * The internals of the Python type Reader. reader.c has its epochs and its properties. opening.c
 * opens the library's reader on another thread. reading.c takes samples from the library and
 * returns them to the program.
 *
 * The library returns a batch of samples, without the GIL, which becomes self->batch. The program
 * then receives these samples one by one. The sample at index self->next is the first sample of
 * self->batch that the program has not received. Everything that the program sees (positions,
 * statistics and errors) refers to the last sample that it received. */
#ifndef PYTHON_READER_H
#define PYTHON_READER_H

#include "arena.h"
#include "module.h"

/* The report of a record that was skipped while the reader was being opened. */
struct skipped {
    struct skipped *next;
    char *where;
    struct sheaf_error error;
};

/* Receives the library's reports about skipped records. It lives as long as the library's
 * reader. */
struct teller {
    struct reader_object *reader;       /* NULL while it is being opened, perhaps for nobody */
    struct skipped *first, **last;      /* until then */
};

struct reader_object {
    PyObject_HEAD
    struct guard guard;
    PyObject *dataset;
    struct sheaf_reader *reader;    /* NULL: closed */
    /* whether another thread waits to close the reader, so that running calls must end */
    bool closing;
    struct signal_watch *watch;
    struct teller *teller;
    PyObject *report;
    struct calls calls;
    /* the arena that holds the reader's samples; NULL if they have memory of their own */
    struct shared_arena *arena;
    /* a batch with samples that the program has not received yet; or NULL */
    struct batch_object *batch;
    size_t next;                    /* index of the batch's next sample */
    struct sheaf_error failed;      /* code 0: it has not */
    bool ended;                     /* so has the epoch */
    uint64_t epoch;
    size_t ahead;                   /* samples to take next time */
};

/* ---- reader.c ----------------------------------------------------------------------------- */

/* Begins a call: waits until other threads have left the reader. Returns false with an exception if
 * the reader is closed. */
bool reader_enter(struct reader_object *self);
void reader_leave(struct reader_object *self);

/* ---- opening.c ------------------------------------------------------------------------------ */

/* Opens self->reader. A signal handler that raises an exception ends the wait. If there is an arena
 * with enough room, the reader puts its samples there. Returns -1 with an exception on failure. */
int reader_open(struct reader_object *self, const struct sheaf_reader_options *options,
                struct shared_arena *arena);
void teller_free(struct teller *teller);

/* ---- reading.c ---------------------------------------------------------------------------- */

static inline size_t reader_samples_left(const struct reader_object *self)
{
    return self->batch == NULL ? 0 : self->batch->count - self->next;
}

/* Returns the number of samples, each of `sample_bytes` bytes, to take from the library at once for
 * a program that takes them one by one. */
size_t reader_ahead(uint64_t sample_bytes);

/* The library calls this function, without the GIL, for each skipped record. The context is the
 * struct teller. */
void reader_on_skip(void *context, const char *where, const struct sheaf_error *error);

/* Writes the position after the last sample that the program received. Returns the result code of
 * the library. */
int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE]);

PyObject *reader_next(struct reader_object *self);
PyObject *reader_next_batch(struct reader_object *self, PyObject *size);

#endif
