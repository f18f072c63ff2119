/* SPDX-License-Identifier: MIT
 *
 * The Python type PixelQueue: the batches of one pass (iteration over a loader) that are being
 * made, in order. Its two main methods return the next batch:
 *
 *     PixelQueue.first  next batch, which may not be made yet
 *     PixelQueue.ready  next batch, made and removed from the queue; None if the program must look
 *                       at more than the batch
 *
 * Both begin new batches before they return, up to the allowed number of batches in advance. A
 * training loop needs little time to get a batch from ready(), because no other code of this
 * package runs. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_MOST 64u          /* batches */

struct queue_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct server_object *server;
    PyObject *progress;         /* its attributes `yielded` and `is_over` are set */
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

static PyTypeObject *queue_type;

static int queue_init(struct queue_object *self, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *pool, *server, *progress;
    unsigned long long pass, first, count;
    Py_ssize_t batch_size, ahead;
    const char *field;

    if (self->pool != NULL ||
        !PyArg_ParseTuple(args, "O!O!OKKKnnpz:PixelQueue", pixels_pool_type, &pool, server_type,
                          &server, &progress, &pass, &first, &count, &batch_size, &ahead,
                          &self->drops_last, &field))
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
    self->progress = Py_NewRef(progress);
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
    Py_XDECREF(self->progress);
    free(self->field);
    object_free(self);
    Py_DECREF(type);
}

static bool queue_note(struct queue_object *self, const char *name, PyObject *value)
{
    const bool is_noted = value != NULL &&
                          PyObject_SetAttrString(self->progress, name, value) == 0;

    Py_XDECREF(value);
    return is_noted;
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
    return queue_note(self, "yielded", PyLong_FromUnsignedLongLong(self->next.first - self->first));
}

/* Begins further batches, up to the allowed number of batches in advance. Returns false without an
 * exception if the memory for all batches is in use, and false with an exception on failure. */
static bool queue_fill(struct queue_object *self)
{
    while (self->count < self->ahead && !self->is_over) {
        const uint64_t left = self->end - self->next.first;

        self->next.count = left < self->batch_size ? left : self->batch_size;
        if (left == 0 || (left < self->batch_size && self->drops_last)) {
            self->is_over = true;
            return queue_note(self, "is_over", Py_NewRef(Py_True));
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

static PyObject *queue_ready(struct queue_object *self, PyObject *Py_UNUSED(ignored))
{
    struct crops_object *first;
    size_t bad = 0;

    if (!queue_fill(self) || self->count == 0) {
        if (PyErr_Occurred() != NULL)
            return NULL;
        Py_RETURN_NONE;
    }
    first = self->waiting[self->begin];
    if (!crops_finish(first, &bad))
        return NULL;
    if (bad != 0 || first->count != first->room || server_has_reports(self->server))
        Py_RETURN_NONE;
    return (PyObject *)queue_pop(self);
}

static PyMethodDef queue_methods[] = {
    { "first", (PyCFunction)queue_first, METH_NOARGS,
      "first(): Crops of the next batch, which stays; None: there are no more; False: the pool "
      "needs memory for another batch first." },
    { "remove", (PyCFunction)queue_remove, METH_NOARGS, "remove(): removes the next batch." },
    { "ready", (PyCFunction)queue_ready, METH_NOARGS,
      "ready(): Crops of the next batch, which are made and fill their memory. None: first() says "
      "what there is, or skipped records have to be reported." },
    { NULL, NULL, 0, NULL },
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
    return queue_type == NULL ? -1 : 0;
}
