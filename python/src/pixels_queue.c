/* SPDX-License-Identifier: MIT
 *
 * The batches of one pass (iteration over a loader), as three Python types:
 * - PixelQueue has the batches that are being made, in order.
 * - ReadyBatches is an iterator over the batches of a queue. A Python class is derived from it.
 * - Progress notes how far a pass has come.
 *
 * There are two ways to get the next batch of a queue:
 * - PixelQueue.first returns the next batch even if its crops are not made yet.
 * - next() of a ReadyBatches returns the next batch if it is complete. This is fast, because it
 *   runs no Python code of this package. Otherwise next() calls the method _next_other() of the
 *   Python class and returns its result.
 *
 * Both ways also begin new batches, up to the allowed number of batches in advance. So almost every
 * batch is complete when the training loop asks for it. */
#include "pixels.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#define QUEUE_MOST 64u          /* batches */

/* The progress of a pass, for the position that a loader saves. */
struct progress_object {
    PyObject_HEAD
    unsigned long long yielded; /* number of samples that were requested */
    char is_over;               /* the end of the pass was reached */
    /* number of batches that the program has received; HANDED_NONE if it is unknown (the attribute
     * is then None in Python) */
    long long handed;
};

#define HANDED_NONE (-1)

struct queue_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct server_object *server;
    struct progress_object *progress;
    struct serving_ask next;    /* the next request */
    uint64_t end;               /* ordinal at which the pass ends */
    size_t batch_size, ahead;   /* samples, and batches that are being made at once */
    int drops_last;
    bool is_over;               /* no more batches begin */
    /* name of the field with the image; NULL if the library chooses the image field of each
     * sample */
    char *field;
    uint64_t first;             /* ordinal of the pass's first sample */
    struct crops_object *waiting[QUEUE_MOST];   /* a ring; the first is waiting[begin] */
    size_t begin, count;
};

/* An iterator over the batches of a pass. */
struct ready_object {
    PyObject_HEAD
    struct queue_object *queue; /* the queue whose complete batches are returned; or NULL */
    long long given;            /* number of batches that were returned */
    /* time in nanoseconds at which the program received its latest batch; 0 before the first
     * batch */
    unsigned long long left_ns;
};

static PyTypeObject *queue_type, *progress_type, *ready_type;

/* ---- Progress ------------------------------------------------------------------------------- */

static PyObject *progress_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *self = PyType_GenericNew(type, args, keywords);

    if (self != NULL)
        ((struct progress_object *)self)->handed = HANDED_NONE;
    return self;
}

static void progress_dealloc(struct progress_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    object_free(self);
    Py_DECREF(type);
}

static PyObject *progress_handed(struct progress_object *self, void *Py_UNUSED(ignored))
{
    return self->handed == HANDED_NONE ? Py_NewRef(Py_None) : PyLong_FromLongLong(self->handed);
}

static int progress_set_handed(struct progress_object *self, PyObject *value,
                               void *Py_UNUSED(ignored))
{
    const long long handed = value == NULL || value == Py_None ? HANDED_NONE
                                                               : PyLong_AsLongLong(value);

    if (PyErr_Occurred() != NULL)
        return -1;
    self->handed = handed;
    return 0;
}

/* ---- The queue ------------------------------------------------------------------------------ */

static int queue_init(struct queue_object *self, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *pool, *server, *progress;
    unsigned long long pass, first, count;
    Py_ssize_t batch_size, ahead;
    const char *field;

    if (self->pool != NULL ||
        !PyArg_ParseTuple(args, "O!O!O!KKKnnpz:PixelQueue", pixels_pool_type, &pool, server_type,
                          &server, progress_type, &progress, &pass, &first, &count, &batch_size,
                          &ahead, &self->drops_last, &field))
        return -1;
    if (batch_size < 1 || (uint64_t)batch_size > SERVING_ASK_MOST || ahead < 1 ||
        ahead > (Py_ssize_t)QUEUE_MOST || count > UINT64_MAX - first ||
        server_is_shared((struct server_object *)server)) {
        PyErr_SetString(PyExc_ValueError, "expected a server of this process alone, and samples");
        return -1;
    }
    self->field = field == NULL ? NULL : strdup(field);
    if (field != NULL && self->field == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->next = (struct serving_ask){ pass, first, 0 };
    self->first = first;
    self->end = first + count;
    self->batch_size = (size_t)batch_size;
    self->ahead = (size_t)ahead;
    self->pool = (struct pool_object *)Py_NewRef(pool);
    self->server = (struct server_object *)Py_NewRef(server);
    self->progress = (struct progress_object *)Py_NewRef(progress);
    return 0;
}

static struct crops_object *queue_pop(struct queue_object *self)
{
    struct crops_object *crops = self->waiting[self->begin];

    self->begin = (self->begin + 1) % QUEUE_MOST;
    self->count--;
    return crops;
}

static void queue_dealloc(struct queue_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    while (self->count != 0)
        Py_DECREF((PyObject *)queue_pop(self));
    Py_XDECREF((PyObject *)self->pool);
    Py_XDECREF((PyObject *)self->server);
    Py_XDECREF((PyObject *)self->progress);
    free(self->field);
    object_free(self);
    Py_DECREF(type);
}

/* Begins to make the next batch of the pass. Returns false without an exception if the memory for
 * all batches is in use, and false with an exception on failure. */
static bool queue_begin(struct queue_object *self)
{
    struct crops_object *crops = crops_read(self->pool, self->server, &self->next, self->field);

    if (crops == NULL)
        return false;
    self->waiting[(self->begin + self->count++) % QUEUE_MOST] = crops;
    self->next.first += self->next.count;
    self->progress->yielded = self->next.first - self->first;
    return true;
}

/* Begins further batches, up to the allowed number of batches in advance. Returns false without an
 * exception if the memory for all batches is in use, and false with an exception on failure. In a
 * forked child, it fails, because the child lacks the threads that make the crops. */
static bool queue_fill(struct queue_object *self)
{
    if (self->pool->forks != fork_count) {
        error_raise_state("the loader was opened before fork(), and its threads are in the parent: "
                          "open one in this process");
        return false;
    }
    while (self->count < self->ahead && !self->is_over) {
        const uint64_t left = self->end - self->next.first;

        self->next.count = left < self->batch_size ? left : self->batch_size;
        if (left == 0 || (left < self->batch_size && self->drops_last)) {
            self->is_over = true;
            self->progress->is_over = 1;
            return true;
        }
        if (!queue_begin(self))
            return false;
    }
    return true;
}

static PyObject *queue_first(struct queue_object *self, PyObject *Py_UNUSED(ignored))
{
    if (!queue_fill(self)) {
        if (PyErr_Occurred() != NULL)
            return NULL;
        Py_RETURN_FALSE;
    }
    if (self->count == 0)
        Py_RETURN_NONE;
    return Py_NewRef((PyObject *)self->waiting[self->begin]);
}

static PyObject *queue_remove(struct queue_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->count != 0)
        Py_DECREF((PyObject *)queue_pop(self));
    Py_RETURN_NONE;
}

/* Waits until the crops of the next batch are made, and returns this batch. Returns NULL if the
 * queue is empty, if the batch has fewer samples or crops than it should have, or if skipped
 * records have to be reported first. Returns NULL with an exception if a signal handler raises
 * it. */
static struct crops_object *queue_ready(struct queue_object *self)
{
    struct crops_object *first = self->count == 0 ? NULL : self->waiting[self->begin];
    size_t bad = 0;

    if (first == NULL || !crops_finish(first, &bad) || first->error != NULL || bad != 0 ||
        first->count != first->room || server_has_reports(self->server))
        return NULL;
    return queue_pop(self);
}

static PyMethodDef queue_methods[] = {
    { "first", (PyCFunction)queue_first, METH_NOARGS,
      "first(): Crops of the next batch, which stays; None: there are no more; False: the pool "
      "needs memory for another batch first." },
    { "remove", (PyCFunction)queue_remove, METH_NOARGS, "remove(): removes the next batch." },
    { NULL, NULL, 0, NULL },
};

/* ---- The iterator --------------------------------------------------------------------------- */

static void ready_dealloc(struct ready_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    Py_XDECREF((PyObject *)self->queue);
    object_free(self);
    Py_DECREF(type);
}

static PyObject *ready_queue(struct ready_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef(self->queue == NULL ? Py_None : (PyObject *)self->queue);
}

static int ready_set_queue(struct ready_object *self, PyObject *value, void *Py_UNUSED(ignored))
{
    PyObject *old = (PyObject *)self->queue;

    if (value != NULL && value != Py_None && !PyObject_TypeCheck(value, queue_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a PixelQueue, or None");
        return -1;
    }
    self->queue = value == NULL || value == Py_None ? NULL
                                                    : (struct queue_object *)Py_NewRef(value);
    Py_XDECREF(old);
    return 0;
}

/* Adds two times to `times`. The first is the time between the previous call and the present call,
 * while the program used its batch. The second is the time since `begun`, when the present call
 * began. */
static void ready_count(struct ready_object *self, struct ready_times *times, uint64_t begun)
{
    const uint64_t now = pixels_clock_ns();

    if (self->left_ns != 0)
        times->step_ns += begun - self->left_ns;
    times->wait_ns += now - begun;
    self->left_ns = now;
}

/* Returns the next batch of the queue if it is complete. Returns NULL without an exception if it is
 * not complete, and NULL with an exception on failure. */
static struct crops_object *ready_take(struct ready_object *self, struct queue_object *queue)
{
    struct ready_times *times = &queue->pool->ready;
    const uint64_t begun = pixels_clock_ns();
    const bool is_full = queue_fill(queue);
    struct crops_object *batch;

    times->handing_ns += pixels_clock_ns() - begun;
    batch = is_full ? queue_ready(queue) : NULL;
    ready_count(self, times, begun);
    if (batch == NULL)
        return NULL;
    times->batches++;
    queue->progress->handed = ++self->given;
    return batch;
}

static PyObject *ready_next(struct ready_object *self)
{
    struct queue_object *queue = self->queue;
    struct crops_object *batch = NULL;

    if (queue != NULL) {
        Py_INCREF((PyObject *)queue);   /* a signal handler may set another one meanwhile */
        batch = ready_take(self, queue);
        Py_DECREF((PyObject *)queue);
    }
    if (batch != NULL || PyErr_Occurred() != NULL)
        return (PyObject *)batch;
    return PyObject_CallMethod((PyObject *)self, "_next_other", NULL);
}

/* ---- Types ---------------------------------------------------------------------------------- */

static PyMemberDef progress_members[] = {
    { "yielded", T_ULONGLONG, offsetof(struct progress_object, yielded), 0,
      "The number of samples that were requested." },
    { "is_over", T_BOOL, offsetof(struct progress_object, is_over), 0,
      "Whether the end of the pass was reached." },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef progress_getset[] = {
    { "handed", (getter)progress_handed, (setter)progress_set_handed,
      "The number of batches that the program has received, or None if the pass does not go on "
      "after them.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot progress_slots[] = {
    { Py_tp_new, progress_new },
    { Py_tp_dealloc, progress_dealloc },
    { Py_tp_members, progress_members },
    { Py_tp_getset, progress_getset },
    { Py_tp_doc, "The progress of a pass." },
    { 0, NULL },
};

static PyType_Spec progress_spec = {
    .name = "sheaf._sheaf.Progress",
    .basicsize = sizeof(struct progress_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = progress_slots,
};

static PyMemberDef ready_members[] = {
    { "given", T_LONGLONG, offsetof(struct ready_object, given), 0,
      "The number of batches that were returned." },
    { "left_ns", T_ULONGLONG, offsetof(struct ready_object, left_ns), 0,
      "The time when the latest batch was returned." },
    { NULL, 0, 0, 0, NULL },
};

static PyGetSetDef ready_getset[] = {
    { "queue", (getter)ready_queue, (setter)ready_set_queue,
      "The PixelQueue whose complete batches are returned, or None.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot ready_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_dealloc, ready_dealloc },
    { Py_tp_iter, PyObject_SelfIter },
    { Py_tp_iternext, ready_next },
    { Py_tp_members, ready_members },
    { Py_tp_getset, ready_getset },
    { Py_tp_doc, "An iterator over the complete batches of `queue`. For any other batch, it calls "
                 "_next_other() of the derived type." },
    { 0, NULL },
};

static PyType_Spec ready_spec = {
    .name = "sheaf._sheaf.ReadyBatches",
    .basicsize = sizeof(struct ready_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = ready_slots,
};

static PyType_Slot queue_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, queue_init },
    { Py_tp_dealloc, queue_dealloc },
    { Py_tp_methods, queue_methods },
    { Py_tp_doc, "PixelQueue(pool, server, progress, pass, first, count, batch_size, ahead, "
                 "drops_last, field): the batches of one pass." },
    { 0, NULL },
};

static PyType_Spec queue_spec = {
    .name = "sheaf._sheaf.PixelQueue",
    .basicsize = sizeof(struct queue_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = queue_slots,
};

int pixels_queue_add(PyObject *module)
{
    queue_type = module_add_type(module, &queue_spec);
    progress_type = module_add_type(module, &progress_spec);
    ready_type = module_add_type(module, &ready_spec);
    return queue_type == NULL || progress_type == NULL || ready_type == NULL ? -1 : 0;
}
