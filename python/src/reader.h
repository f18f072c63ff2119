/* SPDX-License-Identifier: MIT
 *
 * The internals of the Python type Reader. reader.c implements the type. opening.c opens the C
 * library's reader on another thread.
 *
 * The library returns a batch of samples, which becomes self->batch. The program then receives
 * these samples one by one. self->next is the index of the first sample in self->batch that the
 * program has not received. Positions, statistics and errors that the program sees refer to the
 * last sample that it has received. */
#ifndef PYTHON_READER_H
#define PYTHON_READER_H

#include "arena.h"
#include "module.h"

/* The report of a damaged record that the library skipped while the reader was being opened. */
struct skipped {
    struct skipped *next;
    char *where;
    struct sheaf_error error;
};

/* Receives the library's reports about skipped records, and passes them to the program's callable.
 * It exists as long as the library's reader. */
struct teller {
    struct reader_object *reader;       /* NULL while it is being opened, perhaps for nobody */
    struct skipped *first, **last;      /* reports kept while the reader is being opened */
};

struct reader_object {
    PyObject_HEAD
    struct guard guard;
    PyObject *dataset;
    struct sheaf_reader *reader;    /* NULL if the reader is closed */
    /* whether another thread waits to close the reader, so that running calls must end */
    bool closing;
    struct signal_watch *watch;
    struct teller *teller;
    PyObject *report;
    struct calls calls;
    /* the arena (shared memory) in which the reader puts its samples; NULL if the samples are in
     * the reader's own memory */
    struct shared_arena *arena;
    /* a batch with samples that the program has not received yet; NULL if there are no such
     * samples */
    struct batch_object *batch;
    size_t next;                    /* index of the batch's next sample */
    struct sheaf_error failed;      /* code 0 if nothing has failed */
    bool ended;                     /* true if the epoch has ended */
    uint64_t epoch;
    size_t ahead;                   /* samples to take next time */
};

/* ---- opening.c ------------------------------------------------------------------------------ */

/* Opens the library's reader, self->reader. If a signal handler raises an exception, the function
 * stops waiting and fails. If there is an arena (shared memory) with enough room, the reader puts
 * its samples there. Returns -1 with an exception on failure. */
int reader_open(struct reader_object *self, const struct sheaf_reader_options *options,
                struct shared_arena *arena);
void teller_free(struct teller *teller);

#endif
