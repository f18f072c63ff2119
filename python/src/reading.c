/* SPDX-License-Identifier: MIT
 *
 * Takes samples from the C library and returns them to the program, one by one or in batches; see
 * reader.h. The library may already have returned samples that the program has not received yet.
 * The program's position is the position before these samples. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* If the program asks for single samples, this module takes several samples from the library in one
 * call, and returns them one by one. These are the limits for such a call. They are small for two
 * reasons:
 *
 * - The samples should fit into the CPU's cache.
 * - If the program keeps one of the samples, all samples of the call stay in memory. */
#define AHEAD_BYTES   ((uint64_t)256 << 10)
#define AHEAD_SAMPLES ((size_t)1024)

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

void reader_on_skip(void *context, const char *where, const struct sheaf_error *error)
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

int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE])
{
    return sheaf_reader_position_back(self->reader, reader_samples_left(self), text);
}

/* ---- Reading -------------------------------------------------------------------------------- */

size_t reader_ahead(uint64_t sample_bytes)
{
    const uint64_t samples = AHEAD_BYTES / (sample_bytes + 1) + 1;

    return samples < AHEAD_SAMPLES ? (size_t)samples : AHEAD_SAMPLES;
}

/* The result of a call of the library. */
struct given {
    const struct sheaf_sample *samples;
    size_t count;
    struct sheaf_kept *kept;
};

/* Without the GIL. */
static int reading_ask(struct reader_object *self, size_t max, struct given *given)
{
    int code;

    watch_enter(self->watch);
    code = sheaf_reader_next_batch(self->reader, max, &given->samples, &given->count);
    watch_leave(self->watch);
    if (code == SHEAF_OK)
        code = sheaf_reader_keep(self->reader, &given->samples, &given->count, &given->kept);
    return code;
}

static void release_kept(void *kept)
{
    sheaf_kept_free(kept);
}

/* Samples in an arena (shared memory), which are released when the program no longer uses them. If
 * the process has forked meanwhile, they are never released, because the child may still use the
 * same memory. */
struct shared {
    struct sheaf_kept *kept;
    struct shared_arena *arena;
    unsigned forks;             /* forks_begun when they were taken */
};

static void release_shared(void *what)
{
    struct shared *shared = what;

    if (shared->forks == forks_begun) {
        sheaf_kept_free(shared->kept);
        arena_leave(shared->arena);
    }
    PyMem_Free(shared);
}

static struct hold *hold_shared(struct sheaf_kept *kept, struct shared_arena *arena)
{
    struct shared *shared = PyMem_Malloc(sizeof(*shared));
    struct hold *hold = shared == NULL ? NULL : hold_new(release_shared, shared);

    if (hold == NULL) {
        PyMem_Free(shared);
        return NULL;
    }
    *shared = (struct shared){ kept, arena, forks_begun };
    arena_use(arena);
    return hold;
}

/* Adds the result to the batch. */
static bool reading_take(struct reader_object *self, const struct given *given)
{
    struct hold *hold = self->arena == NULL ? hold_new(release_kept, given->kept)
                                            : hold_shared(given->kept, self->arena);

    if (hold == NULL) {
        sheaf_kept_free(given->kept);
        return false;
    }
    if (!batch_extend(self->batch, hold, given->samples, given->count)) {
        hold_drop(hold);
        return false;
    }
    self->ahead = reader_ahead(packed_payload(given->samples, given->count) / given->count);
    return true;
}

/* Takes up to `max` samples from the library and adds them to self->batch. Records the end of the
 * epoch, or an error. Returns -1 if a signal handler or the program's callable has raised an
 * exception. */
static int reading_fetch(struct reader_object *self, size_t max)
{
    for (;;) {
        struct given given = { 0 };
        int code;

        if (self->closing) {
            error_raise_state("the reader is closed");
            return -1;
        }
        calls_begin(&self->calls);
        code = reading_ask(self, max, &given);
        calls_end(&self->calls);
        if (code == SHEAF_OK && !reading_take(self, &given)) {
            self->failed = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY };
            return 0;
        }
        self->calls.interrupt = 0;
        if (code == SHEAF_END)
            self->ended = true;
        else if (code != SHEAF_OK && code != SHEAF_ERR_INTERRUPTED)
            self->failed = *sheaf_reader_error(self->reader);   /* also after an exception */
        if (PyErr_Occurred() || PyErr_CheckSignals() != 0)
            return -1;
        if (code != SHEAF_ERR_INTERRUPTED)
            return 0;
    }
}

/* Replaces self->batch by a new batch with the samples that the program has not received yet.
 * Further samples can be added to the new batch, because the program has no reference to it yet. */
static int rebase(struct reader_object *self)
{
    struct batch_object *batch;

    if (self->batch != NULL && self->next == 0)
        return 0;                   /* none of it was handed out */
    batch = reader_samples_left(self) == 0 ? batch_new()
          : batch_part(self->batch, self->next, reader_samples_left(self));
    if (batch == NULL)
        return -1;
    Py_XDECREF((PyObject *)self->batch);
    self->batch = batch;
    self->next = 0;
    return 0;
}

/* Adds samples to self->batch until the batch has `want` samples, the epoch ends, or an error
 * occurs. If `enough` is set, makes only one call of the library, even if it returns fewer samples.
 * Returns -1 with an exception on failure. */
static int reading_fill(struct reader_object *self, size_t want, bool enough)
{
    if (rebase(self) != 0)
        return -1;
    while (self->batch->count < want && !self->ended && self->failed.code == 0) {
        if (reading_fetch(self, want - self->batch->count) != 0)
            return -1;
        if (enough)
            break;
    }
    if (self->batch->count == 0 && self->failed.code != 0) {
        error_raise(&self->failed);
        return -1;
    }
    return 0;
}

PyObject *reader_next(struct reader_object *self)
{
    PyObject *sample = NULL;

    if (reader_samples_left(self) == 0 || self->guard.owner != 0 ||
        guard_is_foreign(&self->guard)) {
        if (!reader_enter(self))
            return NULL;
        if (reader_samples_left(self) == 0 && reading_fill(self, self->ahead, true) != 0) {
            reader_leave(self);
            return NULL;
        }
        reader_leave(self);
    }
    if (reader_samples_left(self) != 0)
        sample = sample_new(self->batch, self->next);
    if (sample != NULL)
        self->next++;
    return sample;
}

/* Called with the lock. */
static PyObject *take_batch(struct reader_object *self, size_t want)
{
    PyObject *batch;

    if (reader_samples_left(self) > want) {        /* taken ahead for single samples */
        struct batch_object *part = batch_part(self->batch, self->next, want);

        self->next += part != NULL ? want : 0;
        return (PyObject *)part;
    }
    if (reading_fill(self, want, false) != 0)
        return NULL;
    if (self->batch->count == 0)
        return Py_NewRef(Py_None);
    batch = (PyObject *)self->batch;
    self->batch = NULL;
    self->next = 0;
    return batch;
}

PyObject *reader_next_batch(struct reader_object *self, PyObject *size)
{
    const Py_ssize_t want = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    PyObject *batch;

    if (want == -1 && PyErr_Occurred())
        return NULL;
    if (want < 1) {
        error_raise_argument("a batch of %zd samples: expected 1 or more", want);
        return NULL;
    }
    if (!reader_enter(self))
        return NULL;
    batch = take_batch(self, (size_t)want);
    reader_leave(self);
    return batch;
}
