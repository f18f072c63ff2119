/* SPDX-License-Identifier: MIT
 *
 * The Python type Reader; see reader.h. It takes samples from the C library and returns them to the
 * program, one by one or in batches. The library may already have returned samples that the program
 * has not received yet. The program's position is the position before these samples. */
#include "reader.h"

/* If the program asks for single samples, this module takes several samples from the library in one
 * call, and returns them one by one. These are the limits for such a call. They are small for two
 * reasons:
 *
 * - The samples should fit into the CPU's cache.
 * - If the program keeps one of the samples, all samples of the call stay in memory. */
#define AHEAD_BYTES   ((uint64_t)256 << 10)
#define AHEAD_SAMPLES ((size_t)1024)

/* ---- Calls ---------------------------------------------------------------------------------- */

/* Begins a call of a method. Waits until no other thread uses the reader. Returns false with an
 * exception if the reader is closed. */
static bool reader_enter(struct reader_object *self)
{
    if (self->reader == NULL && !guard_is_foreign(&self->guard)) {
        error_raise_state("the reader is closed");
        return false;
    }
    if (guard_enter(&self->guard, "reader") != 0)
        return false;
    if (self->reader != NULL && !self->closing)
        return true;
    guard_leave(&self->guard);
    error_raise_state("the reader is closed");
    return false;
}

static void reader_leave(struct reader_object *self)
{
    guard_leave(&self->guard);
}

static size_t reader_samples_left(const struct reader_object *self)
{
    return self->batch == NULL ? 0 : self->batch->count - self->next;
}

/* Raises the reader's last error as an exception. */
static PyObject *raise_own(struct reader_object *self)
{
    return calls_raise(sheaf_reader_error(self->reader));
}

static void forget_batch(struct reader_object *self)
{
    Py_CLEAR(self->batch);
    self->next = 0;
    self->ended = false;
}

/* ---- Epochs and positions ------------------------------------------------------------------- */

/* Called after the library's reader was told to move to another position. `code` is the result of
 * the move. Drops the samples that the program has not received yet, even if a Python exception is
 * set.
 *
 * If the move failed, stores the error in self->failed, so that the next call of a method raises
 * it. The present call cannot always raise it, because a Python exception may be set already. */
static void note_place(struct reader_object *self, int code)
{
    struct sheaf_reader_stats stats;

    forget_batch(self);
    sheaf_reader_get_stats(self->reader, &stats, sizeof(stats));
    self->epoch = stats.epoch;
    if (code != SHEAF_OK && self->failed.code == 0)
        self->failed = *sheaf_reader_error(self->reader);
}

static int reader_begin_epoch(struct reader_object *self, uint64_t epoch)
{
    int code;

    calls_begin(&self->calls);
    watch_enter(self->watch);
    code = sheaf_reader_begin_epoch(self->reader, epoch);
    watch_leave(self->watch);
    calls_end(&self->calls);
    self->calls.interrupt = 0;
    note_place(self, code);
    if (code == SHEAF_OK && !PyErr_Occurred())
        return 0;
    raise_own(self);
    return -1;
}

static PyObject *reader_iter(struct reader_object *self)
{
    int result = 0;

    if (!reader_enter(self))
        return NULL;
    if (self->ended && reader_samples_left(self) == 0)
        result = reader_begin_epoch(self, self->epoch + 1);
    reader_leave(self);
    return result == 0 ? Py_NewRef((PyObject *)self) : NULL;
}

static PyObject *reader_epoch(struct reader_object *self, PyObject *number)
{
    const unsigned long long epoch = PyLong_AsUnsignedLongLong(number);
    int result;

    if ((epoch == (unsigned long long)-1 && PyErr_Occurred()) || !reader_enter(self))
        return NULL;
    result = reader_begin_epoch(self, epoch);
    reader_leave(self);
    return result == 0 ? Py_NewRef((PyObject *)self) : NULL;
}

/* Writes to `text` the position after the last sample that the program has received. Returns the
 * result code of the library. */
static int reader_here(const struct reader_object *self, char text[SHEAF_POSITION_SIZE])
{
    return sheaf_reader_position_back(self->reader, reader_samples_left(self), text);
}

static PyObject *reader_position(struct reader_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_error error = { 0 };
    char text[SHEAF_POSITION_SIZE];

    if (!reader_enter(self))
        return NULL;
    error.code = reader_here(self, text);
    reader_leave(self);
    return error.code == SHEAF_OK ? PyUnicode_FromString(text) : error_raise(&error);
}

static PyObject *reader_resume(struct reader_object *self, PyObject *text_object)
{
    const char *text = utf8_of(text_object, "a position");
    int code;

    if (text == NULL || !reader_enter(self))
        return NULL;
    calls_begin(&self->calls);
    watch_enter(self->watch);
    code = sheaf_reader_resume(self->reader, text);
    watch_leave(self->watch);
    calls_end(&self->calls);
    self->calls.interrupt = 0;
    if (code != SHEAF_ERR_ARGUMENT && code != SHEAF_ERR_CHANGED)
        /* unless the library refused the position, so that the reader is still at its old
         * position */
        note_place(self, code);
    if (code != SHEAF_OK || PyErr_Occurred()) {
        raise_own(self);
        reader_leave(self);
        return NULL;
    }
    reader_leave(self);
    Py_RETURN_NONE;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* A program may ask for single samples, which have about `sample_bytes` bytes on average. Returns
 * the number of samples to take from the library in one call for such a program. */
static size_t reader_ahead(uint64_t sample_bytes)
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

static PyObject *reader_next(struct reader_object *self)
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

static PyObject *reader_next_batch(struct reader_object *self, PyObject *size)
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

/* ---- What it says of itself ----------------------------------------------------------------- */

static Py_ssize_t reader_length(struct reader_object *self)
{
    uint64_t samples;

    if (!reader_enter(self))
        return -1;
    samples = sheaf_reader_epoch_samples(self->reader);
    reader_leave(self);
    if (samples > (uint64_t)PY_SSIZE_T_MAX) {
        PyErr_SetString(PyExc_TypeError, "a stream's samples are not known before its end");
        return -1;
    }
    return (Py_ssize_t)samples;
}

PyObject *reader_stats_dict(const struct sheaf_reader_stats *stats)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,"
                         "s:K}",
                         "samples", (unsigned long long)stats->samples,
                         "payload_bytes", (unsigned long long)stats->payload_bytes,
                         "read_bytes", (unsigned long long)stats->read_bytes,
                         "chosen_bytes", (unsigned long long)stats->chosen_bytes,
                         "cached_bytes", (unsigned long long)stats->cached_bytes,
                         "uncached_objects", (unsigned long long)stats->uncached_objects,
                         "corrupt", (unsigned long long)stats->corrupt,
                         "passed_over", (unsigned long long)stats->passed_over,
                         "lost_bytes", (unsigned long long)stats->lost_bytes,
                         "repeated", (unsigned long long)stats->repeated,
                         "repeated_keys", (unsigned long long)stats->repeated_keys,
                         "stall_ns", (unsigned long long)stats->stall_ns,
                         "first_sample_ns", (unsigned long long)stats->first_sample_ns,
                         "memory_bytes", (unsigned long long)stats->memory_bytes,
                         "memory_peak_bytes", (unsigned long long)stats->memory_peak_bytes,
                         "requests", (unsigned long long)stats->requests,
                         "retries", (unsigned long long)stats->retries,
                         "missing", (unsigned long long)stats->missing);
}

static PyObject *reader_stats(struct reader_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_reader_stats s;
    size_t left, left_bytes = 0;

    if (!reader_enter(self))
        return NULL;
    sheaf_reader_get_stats(self->reader, &s, sizeof(s));
    left = reader_samples_left(self);
    if (left != 0)
        left_bytes = packed_payload(self->batch->samples + self->next, left);
    reader_leave(self);
    s.samples -= left;
    s.payload_bytes -= left_bytes;
    return reader_stats_dict(&s);
}

static PyObject *reader_current_epoch(struct reader_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->epoch);
}

static PyObject *reader_dataset(struct reader_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef(self->dataset != NULL ? self->dataset : Py_None);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void reader_release(struct reader_object *self)
{
    struct sheaf_reader *reader = self->reader;
    struct signal_watch *watch = self->watch;

    self->reader = NULL;
    self->watch = NULL;
    if (guard_is_foreign(&self->guard))
        return;                     /* its threads do not exist here */
    Py_BEGIN_ALLOW_THREADS
    watch_free(watch);
    sheaf_reader_free(reader);
    Py_END_ALLOW_THREADS
    arena_leave(self->arena);
    self->arena = NULL;
    teller_free(self->teller);
    self->teller = NULL;
}

static int reader_init(struct reader_object *self, PyObject *args, PyObject *keywords)
{
    struct sheaf_reader_options options;
    struct sheaf_dataset_info info;
    PyObject *source, *arena_object = Py_None;
    struct shared_arena *arena = NULL;

    sheaf_reader_options_init(&options, sizeof(options));
    if (!PyArg_ParseTuple(args, "O|O:Reader", &source, &arena_object) ||
        options_set(&options, reader_options_table, keywords) != 0) {
        options_free_columns(&options);
        return -1;
    }
    if (self->guard.lock != NULL) {
        error_raise_state("the reader is open already");
        return -1;
    }
    if (guard_init(&self->guard) != 0)
        return -1;
    self->dataset = dataset_of(source);
    if (self->dataset == NULL)
        return -1;
    self->report = Py_XNewRef(options_call(keywords, "report"));
    self->calls = (struct calls){ .report = self->report };
    self->epoch = options.epoch;
    if (arena_object != Py_None)
        arena = arena_of(arena_object);
    if (PyErr_Occurred() || reader_open(self, &options, arena) != 0) {
        reader_release(self);              /* it is closed, and stays so */
        return -1;
    }
    sheaf_dataset_get_info(((struct dataset_object *)self->dataset)->dataset, &info,
                           sizeof(info));
    self->ahead = info.samples == 0 ? 1 : reader_ahead(info.payload_bytes / info.samples);
    return 0;
}

static PyObject *reader_close(struct reader_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->reader == NULL || guard_is_foreign(&self->guard))
        Py_RETURN_NONE;
    /* A call in another thread may be waiting for a server. This function interrupts that call,
     * which then ends as if the reader had been closed before the call began. */
    if (!guard_is_own(&self->guard)) {
        self->closing = true;
        sheaf_reader_interrupt(self->reader);
    }
    if (guard_enter(&self->guard, "reader") != 0)
        return NULL;
    if (self->reader != NULL) {             /* nobody else has closed it meanwhile */
        forget_batch(self);
        reader_release(self);
    }
    guard_leave(&self->guard);
    Py_RETURN_NONE;
}

static PyObject *reader_self(struct reader_object *self, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef((PyObject *)self);
}

static int reader_traverse(struct reader_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->dataset);
    Py_VISIT(self->report);
    return 0;
}

static int reader_clear(struct reader_object *self)
{
    self->calls.report = NULL;
    Py_CLEAR(self->report);
    return 0;
}

static void reader_dealloc(struct reader_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    PyObject_GC_UnTrack(self);
    reader_clear(self);
    reader_release(self);
    Py_CLEAR(self->batch);
    Py_CLEAR(self->dataset);
    guard_free(&self->guard);
    object_free(self);
    Py_DECREF(type);
}

static PyMethodDef reader_methods[] = {
    { "next_batch", (PyCFunction)reader_next_batch, METH_O,
      "next_batch(size): that many samples as a Batch, fewer at the end of the epoch, None "
      "after it." },
    { "epoch", (PyCFunction)reader_epoch, METH_O,
      "epoch(number): begins an epoch from its start, wherever the reader was; returns the "
      "reader." },
    { "position", (PyCFunction)reader_position, METH_NOARGS,
      "Where the program is, after the sample that it had last: a line of at most 256 "
      "characters." },
    { "resume", (PyCFunction)reader_resume, METH_O,
      "resume(position): goes there; the samples that follow are those that followed then." },
    { "stats", (PyCFunction)reader_stats, METH_NOARGS, "Counts, as a dict." },
    { "close", (PyCFunction)reader_close, METH_NOARGS, "Ends its threads, frees its memory." },
    { "__enter__", (PyCFunction)reader_self, METH_NOARGS, NULL },
    { "__exit__", (PyCFunction)(void (*)(void))reader_close, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef reader_getset[] = {
    { "current_epoch", (getter)reader_current_epoch, NULL, "The epoch under way.", NULL },
    { "dataset", (getter)reader_dataset, NULL, "Its Dataset.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot reader_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, reader_init },
    { Py_tp_dealloc, reader_dealloc },
    { Py_tp_traverse, reader_traverse },
    { Py_tp_clear, reader_clear },
    { Py_tp_methods, reader_methods },
    { Py_tp_getset, reader_getset },
    { Py_tp_iter, reader_iter },
    { Py_tp_iternext, reader_next },
    { Py_sq_length, reader_length },
    { Py_tp_doc, "Reader(source, **options): the samples of epochs." },
    { 0, NULL },
};

static PyType_Spec reader_spec = {
    .name = "sheaf._sheaf.Reader",
    .basicsize = sizeof(struct reader_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = reader_slots,
};

int reader_add(PyObject *module)
{
    reader_type = module_add_type(module, &reader_spec);
    return reader_type == NULL ? -1 : 0;
}
