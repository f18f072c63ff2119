/* SPDX-License-Identifier: MIT
 *
 * Opens a reader on another thread, because opening may have to wait for a server. If a signal ends
 * the program's wait, the other thread still finishes its work and discards the new reader. The
 * data set must exist until the other thread has finished. */
#include "reader.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct reader_opening {
    struct reader_opening *next;           /* next element of the list `left` */
    PyObject *dataset;              /* a reference */
    struct sheaf_reader_options options;
    char *cache_directory;          /* the cache directory of the options */
    struct shared_arena *arena;            /* shared memory for the reader; or NULL */
    struct teller *teller;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    int code;
};

void teller_free(struct teller *teller)
{
    if (teller == NULL)
        return;
    while (teller->first != NULL) {
        struct skipped *s = teller->first;

        teller->first = s->next;
        free(s->where);
        free(s);
    }
    free(teller);
}

/* Stores the report of a skipped record, because it cannot be passed to the program yet. If memory
 * is exhausted, the report is lost. */
static void keep_skip(struct teller *teller, const char *where, const struct sheaf_error *error)
{
    struct skipped *s = malloc(sizeof(*s));

    if (s == NULL)
        return;
    *s = (struct skipped){ .where = strdup(where), .error = *error };
    if (s->where == NULL) {
        free(s);
        return;
    }
    *teller->last = s;
    teller->last = &s->next;
}

/* The C library calls this function for each skipped record, without the GIL. `context` is the
 * struct teller that receives the report. */
static void reader_on_skip(void *context, const char *where, const struct sheaf_error *error)
{
    struct teller *teller = context;
    struct reader_object *self = teller->reader;

    if (self == NULL) {
        keep_skip(teller, where, error);
        return;
    }
    if (self->report == NULL || self->calls.interrupt != 0)
        return;
    calls_report(&self->calls, where, error);
    if (self->calls.interrupt != 0)
        sheaf_reader_interrupt(self->reader);
}

static void opening_do_run(void *what)
{
    struct reader_opening *o = what;

    o->code = sheaf_reader_open(((struct dataset_object *)o->dataset)->dataset, &o->options,
                                &o->reader, &o->error);
}

/* List of openings that ended after the program had stopped waiting for them. Their data sets must
 * still be released. The threads of these openings cannot do this, because Python does not know
 * these threads. So the next opening releases the data sets. */
static struct reader_opening *_Atomic left;

static void discard(void *what)
{
    struct reader_opening *o = what;

    sheaf_reader_free(o->reader);
    arena_leave(o->arena);
    teller_free(o->teller);
    o->next = atomic_load(&left);
    while (!atomic_compare_exchange_weak(&left, &o->next, o))
        ;
}

static void drop_left(void)
{
    struct reader_opening *o = atomic_exchange(&left, NULL);

    while (o != NULL) {
        struct reader_opening *next = o->next;

        Py_DECREF(o->dataset);
        free(o->cache_directory);
        options_free_columns(&o->options);
        free(o);
        o = next;
    }
}

static struct reader_opening *opening_new(PyObject *dataset,
                                          const struct sheaf_reader_options *options)
{
    struct reader_opening *o = calloc(1, sizeof(*o));

    if (o != NULL)
        o->teller = calloc(1, sizeof(*o->teller));
    if (o != NULL && options->cache_directory != NULL)
        o->cache_directory = strdup(options->cache_directory);
    if (o == NULL || o->teller == NULL ||
        (options->cache_directory != NULL && o->cache_directory == NULL)) {
        if (o != NULL)
            free(o->teller);
        free(o);
        PyErr_NoMemory();
        return NULL;
    }
    o->teller->last = &o->teller->first;
    o->dataset = Py_NewRef(dataset);
    o->options = *options;
    o->options.cache_directory = o->cache_directory;
    o->options.report = reader_on_skip;
    o->options.report_context = o->teller;
    return o;
}

/* Calls the program's callable for each record that was skipped while the reader was being opened.
 * Stops at the first exception of the callable. */
static int opening_tell(struct reader_object *self)
{
    calls_begin(&self->calls);
    for (struct skipped *s = self->teller->first; s != NULL; s = s->next)
        calls_report(&self->calls, s->where, &s->error);
    calls_end(&self->calls);
    self->calls.interrupt = 0;
    return PyErr_Occurred() ? -1 : 0;
}

int reader_open(struct reader_object *self, const struct sheaf_reader_options *options,
                struct shared_arena *arena)
{
    struct reader_opening *o;

    drop_left();
    o = opening_new(self->dataset, options);
    if (o == NULL)
        return -1;
    if (arena != NULL && arena_serve(arena, &o->options))
        o->arena = arena;
    if (aside_run(opening_do_run, discard, o) != 0)
        return -1;
    if (o->code != SHEAF_OK)
        error_raise(&o->error);
    self->arena = o->arena;
    self->reader = o->reader;
    self->teller = o->teller;
    self->teller->reader = self;
    Py_DECREF(o->dataset);
    free(o->cache_directory);
    options_free_columns(&o->options);
    free(o);
    if (self->reader == NULL || opening_tell(self) != 0)
        return -1;
    self->watch = watch_new(self->reader);
    if (self->watch != NULL)
        return 0;
    PyErr_SetString(PyExc_OSError, "a thread could not be started");
    return -1;
}
