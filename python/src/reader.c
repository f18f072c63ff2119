/* SPDX-License-Identifier: MIT
 *
 * The Python type Reader; see reader.h. This file opens and closes a Reader, and implements its
 * epochs, positions and properties. */
#include "reader.h"

/* ---- Calls ---------------------------------------------------------------------------------- */

bool reader_enter(struct reader_object *self)
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

void reader_leave(struct reader_object *self)
{
    guard_leave(&self->guard);
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
