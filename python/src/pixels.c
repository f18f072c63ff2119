/* SPDX-License-Identifier: MIT
 *
 * PixelPool: threads of the library that make the crops of batches.
 * PixelSlot: memory of the program for one batch. It is used again when nothing else refers to its
 * arrays.
 * Crops: a batch whose crops are being made.
 *
 *     PixelPool.begin  samples ----------------------+--> sheaf_pixels_begin --> Crops.wait
 *     PixelPool.read   a thread reads the samples ---+
 */
#include "feeding.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VIEWS_MOST 1024
#define MASKS_MOST 64

struct pool_object {
    PyObject_HEAD
    struct sheaf_pixels_pool *pool;
    struct feeding *feeding;        /* the thread that reads; NULL before it is needed */
    PyObject *slots;                /* the list of its memory for batches */
    unsigned forks;                 /* fork_count when the pool was made */
    _Atomic uint64_t read_ns;       /* time that the thread has spent on reading */
};

struct slot_object {
    PyObject_HEAD
    /* a tuple with one array of image crops for each view (kind of crop) and, for each mask, one
     * array of mask crops for each view */
    PyObject *arrays;
    Py_buffer *buffers;             /* the memory of the arrays */
    void **out;
    Py_ssize_t count;
    size_t samples;                 /* number of samples for which there is room */
    bool is_used;                   /* crops are being made in it */
};

/* The crops of a batch. A thread reads the samples if necessary, and the threads of a pool make the
 * crops. */
struct crops_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct slot_object *slot;       /* NULL once the crops are made */
    PyObject *arrays;               /* the arrays of the slot */
    size_t room;                    /* number of samples for which there is room in the slot */
    /* the samples from which the crops are made; NULL if they are not read yet, or if there are
     * none */
    struct batch_object *samples;
    struct sheaf_crop_box *boxes;
    /* the label of each sample; NULL unless each sample has exactly one label, which is a whole
     * number */
    int64_t *labels;
    char *field;                    /* name of the field that has the image; or NULL */
    struct sheaf_pixels_batch *batch;
    /* the reason why the samples could not be read; NULL if there is no error */
    struct sheaf_error *error;
    uint64_t real;                  /* number of samples in this rank's part of the epoch */
    /* the server from which a thread reads the samples; NULL if the caller has passed the
     * samples */
    struct server_object *server;
    struct feeding_task feed;
    struct serving_ask ask;
    struct held_samples *read;      /* NULL once they belong to `samples` */
};

static PyTypeObject *pool_type, *slot_type, *crops_type;

/* ---- Options --------------------------------------------------------------------------------- */

/* Fills an array with the names of mask fields from a Python list. The list still owns the
 * strings. */
static bool take_masks(PyObject *list, const char **masks, size_t *count)
{
    const Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;

    if (size < 0 || size > MASKS_MOST) {
        PyErr_SetString(PyExc_ValueError, "expected a list of at most 64 masks");
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        masks[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        if (masks[i] == NULL)
            return false;
    }
    *count = (size_t)size;
    return true;
}

/* (count, width, height, scale, scale) of each view. */
static bool take_views(PyObject *list, struct sheaf_pixels_view *views, size_t *count)
{
    const Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;

    if (size < 1 || size > VIEWS_MOST) {
        PyErr_SetString(PyExc_ValueError, "expected a list of 1 to 1024 views");
        return false;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        struct sheaf_pixels_view *v = &views[i];

        if (!PyArg_ParseTuple(PyList_GetItem(list, i), "IIIdd", &v->count, &v->width, &v->height,
                              &v->scale[0], &v->scale[1]))
            return false;
    }
    *count = (size_t)size;
    return true;
}

static int pool_init(struct pool_object *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "views", "crop", "resize", "ratio", "flip", "filter", "layout",
                             "order", "masks", "threads", "memory_bytes", NULL };
    const char *masks[MASKS_MOST];
    struct sheaf_pixels_options o;
    struct sheaf_error error;
    unsigned long long memory_bytes;
    unsigned threads;
    PyObject *list, *names_list;
    int crop, filter, layout, order, code;
    struct sheaf_pixels_view *views = PyMem_Calloc(VIEWS_MOST, sizeof(views[0]));

    sheaf_pixels_options_init(&o, sizeof(o));
    self->forks = fork_count;
    if (views == NULL || self->pool != NULL ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "OiI(dd)diiiOIK:PixelPool", names, &list,
                                     &crop, &o.resize, &o.ratio[0], &o.ratio[1], &o.flip, &filter,
                                     &layout, &order, &names_list, &threads, &memory_bytes) ||
        !take_views(list, views, &o.view_count) ||
        !take_masks(names_list, masks, &o.mask_count)) {
        PyMem_Free(views);
        return -1;
    }
    o.crop = (enum sheaf_crop)crop;
    o.filter = (enum sheaf_resampling)filter;
    o.layout = (enum sheaf_layout)layout;
    o.order = (enum sheaf_pillow)order;
    o.masks = masks;
    o.width = views[0].width;
    o.height = views[0].height;
    memcpy(o.scale, views[0].scale, sizeof(o.scale));
    if (o.view_count != 1 || views[0].count != 1)
        o.views = views;
    else
        o.view_count = 0;
    Py_BEGIN_ALLOW_THREADS
    code = sheaf_pixels_pool_open(&o, threads, memory_bytes, &self->pool, &error);
    Py_END_ALLOW_THREADS
    PyMem_Free(views);
    if (code == SHEAF_OK)
        return 0;
    error_raise(&error);
    return -1;
}

static void pool_dealloc(struct pool_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    if (self->forks == fork_count) {    /* a forked child has no such threads */
        Py_BEGIN_ALLOW_THREADS
        feeding_stop(self->feeding);
        sheaf_pixels_pool_free(self->pool);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(self->slots);
    object_free(self);
    Py_DECREF(type);
}

/* ---- Memory for a batch ---------------------------------------------------------------------- */

static int slot_init(struct slot_object *self, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    struct pool_object *pool;
    Py_ssize_t count;
    PyObject *list;

    if (self->arrays != NULL ||
        !PyArg_ParseTuple(args, "O!O!n:PixelSlot", pool_type, &pool, &PyList_Type, &list,
                          &self->samples))
        return -1;
    count = PyList_Size(list);
    self->arrays = PyList_AsTuple(list);
    self->buffers = PyMem_Calloc((size_t)count + 1, sizeof(self->buffers[0]));
    self->out = PyMem_Calloc((size_t)count + 1, sizeof(self->out[0]));
    if (self->arrays == NULL || self->buffers == NULL || self->out == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->count < count; self->count++) {
        const size_t i = (size_t)self->count;
        const size_t needed = self->samples * sheaf_pixels_bytes(pool->pool, i);
        Py_buffer *buffer = &self->buffers[i];

        if (PyObject_GetBuffer(PyTuple_GetItem(self->arrays, self->count), buffer,
                               PyBUF_WRITABLE) != 0)
            return -1;
        self->out[i] = buffer->buf;
        if (needed == 0 || (size_t)buffer->len < needed) {
            PyErr_Format(PyExc_ValueError, "array %zu has %zd bytes, expected %zu", i, buffer->len,
                         needed);
            self->count++;
            return -1;
        }
    }
    if (count != 0 && sheaf_pixels_bytes(pool->pool, (size_t)count) == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "%zd arrays: expected one for each view, and one for each view "
                 "of each mask", count);
    return -1;
}

static void slot_dealloc(struct slot_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    for (Py_ssize_t i = 0; i < self->count; i++)
        PyBuffer_Release(&self->buffers[i]);
    PyMem_Free(self->buffers);
    PyMem_Free(self->out);
    Py_XDECREF(self->arrays);
    object_free(self);
    Py_DECREF(type);
}

/* Returns whether this slot's arrays can be used for new crops. No crops may be under way, and the
 * program may not have a reference to an array. An unused array has exactly two references: one
 * from the tuple self->arrays, and one from its Py_buffer in self->buffers. */
static bool slot_is_free(const struct slot_object *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++)
        if (Py_REFCNT(PyTuple_GetItem(self->arrays, i)) != 2)
            return false;
    return !self->is_used;
}

static PyObject *pool_add(struct pool_object *self, PyObject *args)
{
    PyObject *slot;

    if (!PyArg_ParseTuple(args, "O!:add", slot_type, &slot))
        return NULL;
    if (self->slots == NULL)
        self->slots = PyList_New(0);
    if (self->slots == NULL || PyList_Append(self->slots, slot) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Returns memory with room for this number of samples (a borrowed reference), or NULL. */
static struct slot_object *free_slot(const struct pool_object *self, size_t samples)
{
    const Py_ssize_t count = self->slots == NULL ? 0 : PyList_Size(self->slots);

    for (Py_ssize_t i = 0; i < count; i++) {
        struct slot_object *slot = (struct slot_object *)PyList_GetItem(self->slots, i);

        if (slot->samples >= samples && slot_is_free(slot))
            return slot;
    }
    return NULL;
}

/* ---- Crops ----------------------------------------------------------------------------------- */

static void leave_slot(struct crops_object *self)
{
    if (self->slot != NULL)
        self->slot->is_used = false;
    Py_XDECREF((PyObject *)self->slot);
    self->slot = NULL;
}

static void crops_dealloc(struct crops_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    /* Waits for the threads only in the process that started them. A forked child does not have
     * these threads. */
    if (self->pool->forks == fork_count) {
        Py_BEGIN_ALLOW_THREADS
        if (self->server != NULL)
            feeding_leave(self->pool->feeding, &self->feed);
        sheaf_pixels_batch_free(self->batch);
        held_samples_free(self->read);
        Py_END_ALLOW_THREADS
    }
    leave_slot(self);
    Py_XDECREF(self->arrays);
    free(self->boxes);
    free(self->labels);
    free(self->field);
    free(self->error);
    Py_XDECREF((PyObject *)self->samples);
    Py_XDECREF((PyObject *)self->server);
    Py_DECREF((PyObject *)self->pool);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Stores the labels of the samples if each sample has exactly one label, and it is a whole number.
 * Otherwise self->labels stays NULL. */
static void pixels_take_labels(struct crops_object *self, const struct sheaf_sample *samples,
                               size_t count)
{
    int64_t *labels = malloc((count + 1) * sizeof(labels[0]));

    for (size_t i = 0; i < count && labels != NULL; i++) {
        if (samples[i].label_count == 1 && label_is_whole(samples[i].labels[0])) {
            labels[i] = (int64_t)samples[i].labels[0];
        } else {
            free(labels);
            labels = NULL;
        }
    }
    self->labels = labels;
}

/* Begins to make the crops of these samples. Needs no GIL. Returns an error code. */
static int pixels_begin(struct crops_object *self, const struct sheaf_sample *samples, size_t count,
                        struct sheaf_error *error)
{
    struct sheaf_pixels_pool *pool = self->pool->pool;

    if (count > self->room) {
        *error = (struct sheaf_error){ .code = SHEAF_ERR_ARGUMENT,
                                       .message = "more samples than there is memory for" };
        return error->code;
    }
    self->boxes = calloc(count * sheaf_pixels_crops(pool) + 1, sizeof(self->boxes[0]));
    if (self->boxes == NULL) {
        *error = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY, .message = "out of memory" };
        return error->code;
    }
    pixels_take_labels(self, samples, count);
    return sheaf_pixels_begin(pool, samples, count, self->field, self->slot->out, self->boxes,
                              &self->batch, error);
}

/* Returns a new crops_object. Returns NULL with an exception if memory is exhausted. */
static struct crops_object *crops_new(struct pool_object *pool, struct slot_object *slot,
                                      const char *field)
{
    struct crops_object *crops = PyObject_New(struct crops_object, crops_type);

    if (crops == NULL)
        return NULL;
    memset((char *)crops + sizeof(PyObject), 0, sizeof(*crops) - sizeof(PyObject));
    crops->pool = (struct pool_object *)Py_NewRef((PyObject *)pool);
    crops->slot = (struct slot_object *)Py_NewRef((PyObject *)slot);
    crops->arrays = Py_NewRef(slot->arrays);
    crops->room = slot->samples;
    slot->is_used = true;
    crops->field = field == NULL ? NULL : strdup(field);
    if (field == NULL || crops->field != NULL)
        return crops;
    Py_DECREF((PyObject *)crops);
    PyErr_NoMemory();
    return NULL;
}

static PyObject *pool_begin(struct pool_object *self, PyObject *args)
{
    PyObject *samples;
    struct slot_object *slot;
    const char *field;
    struct crops_object *crops;
    struct sheaf_error error;

    if (!PyArg_ParseTuple(args, "O!z:begin", batch_type, &samples, &field))
        return NULL;
    slot = free_slot(self, ((struct batch_object *)samples)->count);
    if (slot == NULL)
        Py_RETURN_NONE;
    crops = crops_new(self, slot, field);
    if (crops == NULL)
        return NULL;
    crops->samples = (struct batch_object *)Py_NewRef(samples);
    if (pixels_begin(crops, crops->samples->samples, crops->samples->count, &error) == SHEAF_OK)
        return (PyObject *)crops;
    Py_DECREF((PyObject *)crops);
    return error_raise(&error);
}

/* ---- Crops of samples that a thread reads ---------------------------------------------------- */

static void set_error(struct crops_object *self, int code, const char *message)
{
    self->error = calloc(1, sizeof(*self->error));
    if (self->error == NULL)
        return;                     /* there are no samples either */
    self->error->code = code;
    snprintf(self->error->message, sizeof(self->error->message), "%s", message);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Runs on the thread that reads. */
static void read_and_begin(struct feeding_task *feed)
{
    struct crops_object *self = (struct crops_object *)(void *)
                                ((char *)feed - offsetof(struct crops_object, feed));
    struct serving_reply reply = { .message = NULL };
    struct sheaf_error error;
    const uint64_t begun = clock_ns();
    const bool is_read = server_read(self->server, &self->ask, &feed->is_left, &reply);

    self->pool->read_ns += clock_ns() - begun;
    if (!is_read) {
        set_error(self, SHEAF_ERR_STATE, "the loader is closed");
        return;
    }
    self->real = reply.answer.real;
    if (reply.answer.code != SHEAF_OK) {
        set_error(self, reply.answer.code, reply.message == NULL ? "" : reply.message);
    } else if (reply.answer.samples != 0) {
        self->read = reply.samples;
        reply.samples = NULL;
        if (pixels_begin(self, self->read->samples, self->read->count, &error) != SHEAF_OK)
            set_error(self, error.code, error.message);
    }
    serving_reply_free(&reply);
}

static PyObject *pool_read(struct pool_object *self, PyObject *args)
{
    struct slot_object *slot;
    struct server_object *server;
    const char *field;
    struct crops_object *crops;
    unsigned long long pass, first, count;

    if (!PyArg_ParseTuple(args, "O!KKKz:read", server_type, &server, &pass, &first, &count,
                          &field))
        return NULL;
    slot = free_slot(self, count);
    if (slot == NULL)
        Py_RETURN_NONE;
    if (self->feeding == NULL)
        self->feeding = feeding_start();
    if (self->feeding == NULL)
        return PyErr_SetFromErrno(PyExc_OSError);
    if (server_is_shared(server) || count == 0) {
        PyErr_SetString(PyExc_ValueError, "expected a server of this process alone, and samples");
        return NULL;
    }
    crops = crops_new(self, slot, field);
    if (crops == NULL)
        return NULL;
    crops->server = (struct server_object *)Py_NewRef((PyObject *)server);
    crops->ask = (struct serving_ask){ pass, first, count };
    crops->feed.run = read_and_begin;
    feeding_add(self->feeding, &crops->feed);
    return (PyObject *)crops;
}

/* Waits until the samples are read, and lets Python handle signals meanwhile. Returns false with an
 * exception on failure. */
static bool wait_for_samples(struct crops_object *self)
{
    struct held_samples *read;
    bool is_done = false;

    while (!is_done) {
        Py_BEGIN_ALLOW_THREADS
        is_done = feeding_wait(self->pool->feeding, &self->feed);
        Py_END_ALLOW_THREADS
        if (!is_done && PyErr_CheckSignals() != 0)
            return false;
    }
    if (self->error != NULL) {
        error_raise(self->error);
        return false;
    }
    read = self->read;
    self->read = NULL;
    if (read != NULL)
        self->samples = (struct batch_object *)server_batch(NULL, read);
    return read == NULL || self->samples != NULL;
}

/* ---- What has been made ---------------------------------------------------------------------- */

static PyObject *pool_busy_ns(struct pool_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->pool == NULL ? 0 : sheaf_pixels_busy_ns(self->pool));
}

static PyObject *pool_read_ns(struct pool_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->read_ns);
}

static PyGetSetDef pool_getset[] = {
    { "read_ns", (getter)pool_read_ns, NULL, "Time that its thread has spent on reading.", NULL },
    { "busy_ns", (getter)pool_busy_ns, NULL, "Processor time that its threads have used.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyObject *crops_wait(struct crops_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list;
    size_t bad = 0;

    if (self->server != NULL && self->samples == NULL && !wait_for_samples(self))
        return NULL;
    if (self->batch != NULL) {
        Py_BEGIN_ALLOW_THREADS
        bad = sheaf_pixels_wait(self->batch);
        Py_END_ALLOW_THREADS
    }
    leave_slot(self);
    if (bad == 0 && self->samples != NULL && self->samples->count == self->room)
        Py_RETURN_NONE;
    list = PyList_New(0);
    for (size_t i = 0; i < self->samples->count && bad != 0 && list != NULL; i++) {
        const struct sheaf_error *error = sheaf_pixels_error(self->batch, i);
        PyObject *item;

        if (error == NULL)
            continue;
        item = Py_BuildValue("(nisN)", (Py_ssize_t)i, error->code, error_name(error->code),
                             text_of(error->message));
        if (item == NULL || PyList_Append(list, item) != 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *crops_samples(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef(self->samples == NULL ? Py_None : (PyObject *)self->samples);
}

static PyObject *crops_arrays(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef(self->arrays);
}

static PyObject *crops_asked(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return Py_BuildValue("(KK)", (unsigned long long)self->ask.first,
                         (unsigned long long)self->ask.count);
}

static PyObject *crops_real(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->real);
}

static PyObject *crops_boxes(struct crops_object *self, PyObject *Py_UNUSED(ignored))
{
    const size_t count = self->samples == NULL ? 0 : self->samples->count;

    return PyByteArray_FromStringAndSize((const char *)self->boxes,
                                         (Py_ssize_t)(count * sheaf_pixels_crops(self->pool->pool)
                                                      * sizeof(self->boxes[0])));
}

static PyObject *crops_labels(struct crops_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->samples == NULL || self->labels == NULL)
        Py_RETURN_NONE;
    return PyByteArray_FromStringAndSize((const char *)self->labels,
                                         (Py_ssize_t)(self->samples->count
                                                      * sizeof(self->labels[0])));
}

/* ---- Types ----------------------------------------------------------------------------------- */

static PyMethodDef pool_methods[] = {
    { "add", (PyCFunction)pool_add, METH_VARARGS, "add(slot): memory for one more batch." },
    { "begin", (PyCFunction)pool_begin, METH_VARARGS,
      "begin(batch, field): Crops; None: there is no free memory." },
    { "read", (PyCFunction)pool_read, METH_VARARGS,
      "read(server, pass, first, count, field): Crops of samples that a thread reads; None: there "
      "is no free memory." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef crops_methods[] = {
    { "wait", (PyCFunction)crops_wait, METH_NOARGS,
      "Waits until they are made: None if the memory is full of them, else a list of (index, code, "
      "its name, message) of each sample without them." },
    { "boxes", (PyCFunction)crops_boxes, METH_NOARGS, "The boxes, five int32 for each crop." },
    { "labels", (PyCFunction)crops_labels, METH_NOARGS,
      "The labels, an int64 for each sample, or None unless each has one that is a whole number." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef crops_getset[] = {
    { "samples", (getter)crops_samples, NULL, "The samples, after wait; None: there are none.",
      NULL },
    { "arrays", (getter)crops_arrays, NULL, "The arrays with the crops.", NULL },
    { "asked", (getter)crops_asked, NULL, "(first, count) of the samples that were to be read.",
      NULL },
    { "real", (getter)crops_real, NULL, "The number of samples that this rank has, after wait.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot pool_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, pool_init },
    { Py_tp_dealloc, pool_dealloc },
    { Py_tp_methods, pool_methods },
    { Py_tp_getset, pool_getset },
    { Py_tp_doc, "Threads that make the crops of batches." },
    { 0, NULL },
};

static PyType_Spec pool_spec = {
    .name = "sheaf._sheaf.PixelPool",
    .basicsize = sizeof(struct pool_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = pool_slots,
};

static PyType_Slot slot_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, slot_init },
    { Py_tp_dealloc, slot_dealloc },
    { Py_tp_doc, "PixelSlot(pool, arrays, samples): memory for one batch." },
    { 0, NULL },
};

static PyType_Spec slot_spec = {
    .name = "sheaf._sheaf.PixelSlot",
    .basicsize = sizeof(struct slot_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slot_slots,
};

static PyType_Slot crops_slots[] = {
    { Py_tp_dealloc, crops_dealloc },
    { Py_tp_methods, crops_methods },
    { Py_tp_getset, crops_getset },
    { Py_tp_doc, "Crops that are under way." },
    { 0, NULL },
};

static PyType_Spec crops_spec = {
    .name = "sheaf._sheaf.Crops",
    .basicsize = sizeof(struct crops_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = crops_slots,
};

int pixels_add(PyObject *module)
{
    pool_type = module_add_type(module, &pool_spec);
    slot_type = module_add_type(module, &slot_spec);
    crops_type = module_add_type(module, &crops_spec);
    return pool_type == NULL || slot_type == NULL || crops_type == NULL ? -1 : 0;
}
