/* SPDX-License-Identifier: MIT
 *
 * Taking samples from the library, and handing them out one by one or in batches; see reader.h.
 * The library says where it is after what it gave; where the program is within that is counted
 * here. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* Taken ahead for a program that asks sample by sample: few enough to stay in the cache, and
 * not to be held in vain by one sample that is kept. */
#define AHEAD_BYTES   ((uint64_t)256 << 10)
#define AHEAD_SAMPLES ((size_t)1024)

static uint64_t delivered_samples(const struct reader_object *self)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(self->reader, &stats, sizeof(stats));
    return stats.samples;
}

/* ---- Records skipped ------------------------------------------------------------------------ */

static void note_skip(struct reader_object *self, size_t before)
{
    if (self->skip_count == self->skip_capacity) {
        const size_t capacity = 2 * self->skip_capacity + 16;
        size_t *skips = realloc(self->skips, capacity * sizeof(skips[0]));

        if (skips == NULL) {
            self->skips_lost = true;
            return;
        }
        self->skips = skips;
        self->skip_capacity = capacity;
    }
    self->skips[self->skip_count++] = before;
}

void reader_on_skip(void *context, const char *where, const struct sheaf_error *error)
{
    struct reader_object *self = context;

    if (self->reader != NULL)       /* else it is being opened */
        note_skip(self, (size_t)(delivered_samples(self) - self->delivered));
    if (self->report == NULL || self->calls.interrupt != 0)
        return;
    calls_report(&self->calls, where, error);
    if (self->calls.interrupt != 0 && self->reader != NULL)
        sheaf_reader_interrupt(self->reader);
}

/* ---- Positions ------------------------------------------------------------------------------ */

int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE])
{
    uint64_t turns = self->next;

    if (reader_samples_left(self) == 0)
        return sheaf_reader_position(self->reader, text);
    if (self->start[0] == '\0')
        return SHEAF_ERR_UNSUPPORTED;
    if (self->skips_lost)
        return SHEAF_ERR_MEMORY;
    for (size_t i = 0; i < self->skip_count; i++)
        turns += self->skips[i] < self->next;
    return place_after(self->start, turns, text) ? SHEAF_OK : SHEAF_ERR_STATE;
}

/* Makes what is left of the batch a batch that begins here, to which more may be added. */
static int rebase(struct reader_object *self)
{
    struct batch_object *batch;
    char start[SHEAF_POSITION_SIZE];
    size_t kept = 0;

    if (self->batch != NULL && self->next == 0)
        return 0;                   /* none of it was handed out */
    batch = batch_new();
    if (batch == NULL)
        return -1;
    if (reader_samples_left(self) != 0 &&
        !batch_append(batch, self->batch->samples + self->next, reader_samples_left(self))) {
        Py_DECREF(batch);
        PyErr_NoMemory();
        return -1;
    }
    if (reader_here(self, start) != SHEAF_OK)
        start[0] = '\0';
    for (size_t i = 0; reader_samples_left(self) != 0 && i < self->skip_count; i++)
        if (self->skips[i] >= self->next)
            self->skips[kept++] = self->skips[i] - self->next;
    self->skip_count = kept;
    self->skips_lost = self->skips_lost && kept != 0;
    memcpy(self->start, start, sizeof(start));
    self->delivered = delivered_samples(self) - batch->count;
    Py_XDECREF((PyObject *)self->batch);
    self->batch = batch;
    self->next = 0;
    return 0;
}

/* ---- Reading -------------------------------------------------------------------------------- */

size_t reader_ahead(uint64_t sample_bytes)
{
    const uint64_t samples = AHEAD_BYTES / (sample_bytes + 1) + 1;

    return samples < AHEAD_SAMPLES ? (size_t)samples : AHEAD_SAMPLES;
}

/* Adds up to `max` samples to the batch; notes the end, or an error.  -1 with an exception if a
 * signal or the report raised one. */
static int fetch(struct reader_object *self, size_t max)
{
    for (;;) {
        const struct sheaf_sample *samples = NULL;
        size_t count = 0;
        bool copied = true;
        int code;

        calls_begin(&self->calls);
        watch_enter(self->watch);
        code = sheaf_reader_next_batch(self->reader, max, &samples, &count);
        watch_leave(self->watch);
        if (code == SHEAF_OK)
            copied = batch_append(self->batch, samples, count);
        calls_end(&self->calls);
        if (!copied) {
            self->failed = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY };
            return 0;
        }
        if (code == SHEAF_OK && count != 0)
            self->ahead = reader_ahead(batch_payload(samples, count) / count);
        self->calls.interrupt = 0;
        if (PyErr_Occurred() || PyErr_CheckSignals() != 0)
            return -1;
        if (code == SHEAF_ERR_INTERRUPTED)
            continue;
        if (code == SHEAF_END)
            self->ended = true;
        else if (code != SHEAF_OK)
            self->failed = *sheaf_reader_error(self->reader);
        return 0;
    }
}

/* Makes the batch hold `want` samples; fewer before the end, before an error, or if one call
 * gives fewer and that is `enough`.  -1 with an exception. */
static int fill(struct reader_object *self, size_t want, bool enough)
{
    if (rebase(self) != 0)
        return -1;
    while (self->batch->count < want && !self->ended && self->failed.code == 0) {
        if (fetch(self, want - self->batch->count) != 0)
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
        if (reader_samples_left(self) == 0 && fill(self, self->ahead, true) != 0) {
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
        struct batch_object *part = batch_new();

        if (part != NULL && !batch_append(part, self->batch->samples + self->next, want)) {
            Py_CLEAR(part);
            PyErr_NoMemory();
        }
        self->next += part != NULL ? want : 0;
        return (PyObject *)part;
    }
    if (fill(self, want, false) != 0)
        return NULL;
    if (self->batch->count == 0)
        return Py_NewRef(Py_None);
    batch = (PyObject *)self->batch;
    self->batch = NULL;
    self->next = self->skip_count = 0;
    return batch;
}

PyObject *reader_next_batch(struct reader_object *self, PyObject *size)
{
    const Py_ssize_t want = PyNumber_AsSsize_t(size, PyExc_OverflowError);
    PyObject *batch;

    if (want == -1 && PyErr_Occurred())
        return NULL;
    if (want < 1) {
        PyErr_Format(PyExc_ValueError, "a batch of %zd samples: expected 1 or more", want);
        return NULL;
    }
    if (!reader_enter(self))
        return NULL;
    batch = take_batch(self, (size_t)want);
    reader_leave(self);
    return batch;
}
