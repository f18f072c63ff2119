/* SPDX-License-Identifier: MIT
 *
 * PixelPool: threads of the library that make the crops of batches.
 * Crops: a batch whose crops are being made.
 *
 *     PixelPool.begin  samples ----------------------+--> sheaf_pixels_begin --> Crops._wait
 *     PixelQueue       a thread reads the samples ---+
 */
#include "pixels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VIEWS_MOST 1024
#define MASKS_MOST 64

PyTypeObject *pixels_pool_type, *pixels_crops_type;

/* ---- Options --------------------------------------------------------------------------------- */

/* Stores the strings of a Python list in the array `masks`. The strings are names of mask fields:
 * fields with images that are cropped like the sample's image. The list still owns the strings. */
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
    Py_XDECREF((PyObject *)self->batch_type);
    object_free(self);
    Py_DECREF(type);
}

/* ---- The list of its memory ------------------------------------------------------------------ */

static PyObject *pool_add(struct pool_object *self, PyObject *args)
{
    PyObject *slot;

    if (!PyArg_ParseTuple(args, "O!:add", pixels_slot_type, &slot))
        return NULL;
    if (self->slots == NULL)
        self->slots = PyList_New(0);
    if (self->slots == NULL || PyList_Append(self->slots, slot) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- Crops ----------------------------------------------------------------------------------- */

static void leave_slot(struct crops_object *self)
{
    if (self->slot != NULL)
        self->slot->is_used = false;
    Py_XDECREF((PyObject *)self->slot);
    self->slot = NULL;
}

/* The memory of a batch that the program no longer uses. Another thread frees this memory. */
struct crops_rest {
    struct feeding_task task;
    struct sheaf_pixels_batch *batch;
    struct held_samples *read;
};

static void crops_rest_free(struct feeding_task *task)
{
    struct crops_rest *rest = (struct crops_rest *)(void *)task;    /* its first member */

    sheaf_pixels_batch_free(rest->batch);
    held_samples_free(rest->read);
    free(rest);
}

/* Lets the thread that reads samples free the memory of the batch, because freeing it would delay
 * the program's thread. Returns false if the crops are not made yet, if there is no such thread, or
 * if memory is exhausted. */
static bool leave_rest(struct crops_object *self)
{
    struct crops_rest *rest = self->is_made && self->server != NULL ? malloc(sizeof(*rest)) : NULL;

    if (rest == NULL)
        return false;
    *rest = (struct crops_rest){ .task = { .run = crops_rest_free, .frees_itself = true },
                                 .batch = self->batch, .read = self->read };
    feeding_add_later(self->pool->feeding, &rest->task);
    return true;
}

static void crops_dealloc(struct crops_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    /* Only the process that started the threads waits for them, because a forked child does not
     * have these threads. */
    if (self->pool->forks == fork_count && !leave_rest(self)) {
        Py_BEGIN_ALLOW_THREADS
        if (self->server != NULL)
            feeding_leave(self->pool->feeding, &self->feed);
        sheaf_pixels_batch_free(self->batch);
        held_samples_free(self->read);
        Py_END_ALLOW_THREADS
    }
    Py_DECREF(self->parts.tuple);
    for (size_t i = 0; i < CROPS_PARTS; i++)
        Py_XDECREF(self->replaced[i]);
    leave_slot(self);
    free(self->field);
    free(self->error);
    Py_XDECREF((PyObject *)self->samples);
    Py_XDECREF((PyObject *)self->server);
    Py_DECREF((PyObject *)self->pool);
    object_free(self);
    Py_DECREF(type);
}

/* Stores the labels of the samples, if each sample has exactly one label that is a whole number. */
static void pixels_take_labels(struct crops_object *self, const struct sheaf_sample *samples,
                               size_t count)
{
    int64_t *labels = self->parts.labels;
    size_t i;

    for (i = 0; i < count; i++) {
        if (samples[i].label_count != 1 || !label_is_whole(samples[i].labels[0]))
            break;
        labels[i] = (int64_t)samples[i].labels[0];
    }
    self->has_labels = i == count;
}

/* Begins to make the crops of these samples on other threads. Does not need the GIL. Returns an
 * error code. */
static int pixels_begin(struct crops_object *self, const struct sheaf_sample *samples, size_t count,
                        struct sheaf_error *error)
{
    struct sheaf_pixels_pool *pool = self->pool->pool;

    if (count > self->room) {
        *error = (struct sheaf_error){ .code = SHEAF_ERR_ARGUMENT,
                                       .message = "more samples than there is memory for" };
        return error->code;
    }
    self->count = count;
    pixels_take_labels(self, samples, count);
    return sheaf_pixels_begin(pool, samples, count, self->field, self->slot->out,
                              self->parts.boxes, &self->batch, error);
}

/* Returns a new crops_object (the crops of a batch) for this number of samples. Returns NULL
 * without an exception if the memory for all batches is in use, and NULL with an exception on
 * failure. */
static struct crops_object *crops_new(struct pool_object *pool, size_t samples, const char *field)
{
    PyTypeObject *type = pool->batch_type != NULL ? pool->batch_type : pixels_crops_type;
    struct slot_parts parts;
    struct slot_object *slot = slot_take(pool, samples, &parts);
    struct crops_object *crops = slot == NULL ? NULL : (struct crops_object *)
                                 ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);

    if (crops == NULL) {
        if (slot != NULL) {
            slot->is_used = false;
            Py_DECREF(parts.tuple);
            Py_DECREF((PyObject *)slot);
        }
        return NULL;
    }
    crops->pool = (struct pool_object *)Py_NewRef((PyObject *)pool);
    crops->slot = slot;
    crops->parts = parts;
    crops->room = slot->samples;
    crops->field = field == NULL ? NULL : strdup(field);
    if (field == NULL || crops->field != NULL)
        return crops;
    Py_DECREF((PyObject *)crops);
    PyErr_NoMemory();
    return NULL;
}

/* Returns `crops` to Python if it is not NULL. Otherwise passes on the exception, if an exception
 * is set. If none is set, the memory for all batches is in use, and the function returns None. */
static PyObject *crops_or_none(struct crops_object *crops)
{
    return crops != NULL || PyErr_Occurred() != NULL ? (PyObject *)crops : Py_NewRef(Py_None);
}

static PyObject *pool_begin(struct pool_object *self, PyObject *args)
{
    PyObject *samples;
    const char *field;
    struct crops_object *crops;
    struct sheaf_error error;

    if (!PyArg_ParseTuple(args, "O!z:begin", batch_type, &samples, &field))
        return NULL;
    crops = crops_new(self, ((struct batch_object *)samples)->count, field);
    if (crops == NULL)
        return crops_or_none(crops);
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

uint64_t pixels_clock_ns(void)
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
    const uint64_t begun = pixels_clock_ns();
    const bool is_read = server_read(self->server, &self->ask, &feed->is_left, &reply);

    self->pool->read_ns += pixels_clock_ns() - begun;
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
    held_reply_free(&reply);
}

struct crops_object *crops_read(struct pool_object *pool, struct server_object *server,
                                const struct serving_ask *ask, const char *field)
{
    struct crops_object *crops;

    if (pool->feeding == NULL)
        pool->feeding = feeding_start();
    if (pool->feeding == NULL) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    crops = crops_new(pool, ask->count, field);
    if (crops == NULL)
        return NULL;
    crops->server = (struct server_object *)Py_NewRef((PyObject *)server);
    crops->ask = *ask;
    crops->feed.run = read_and_begin;
    feeding_add(pool->feeding, &crops->feed);
    return crops;
}

/* Waits until another thread has read the samples of the batch. Lets Python handle signals
 * meanwhile. Returns false with an exception if a signal handler raises it. */
static bool wait_for_samples(struct crops_object *self)
{
    bool is_done = feeding_is_done(self->pool->feeding, &self->feed);

    while (!is_done) {
        Py_BEGIN_ALLOW_THREADS
        is_done = feeding_wait(self->pool->feeding, &self->feed);
        Py_END_ALLOW_THREADS
        if (!is_done && PyErr_CheckSignals() != 0)
            return false;
    }
    return true;
}

bool crops_finish(struct crops_object *self, size_t *bad)
{
    const uint64_t tick_ns = 100000000;
    bool is_made = self->is_made;

    if (self->server != NULL && !wait_for_samples(self))
        return false;
    if (self->error != NULL)
        return true;
    while (self->batch != NULL && !is_made) {
        Py_BEGIN_ALLOW_THREADS
        is_made = sheaf_pixels_wait_for(self->batch, tick_ns) != 0;
        Py_END_ALLOW_THREADS
        if (!is_made && PyErr_CheckSignals() != 0)
            return false;
    }
    self->is_made = true;
    leave_slot(self);
    *bad = self->batch == NULL ? 0 : sheaf_pixels_wait(self->batch);
    return true;
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

static PyObject *pool_ready_times(struct pool_object *self, void *Py_UNUSED(ignored))
{
    const struct ready_times *t = &self->ready;

    return Py_BuildValue("(KKKK)", (unsigned long long)t->batches, (unsigned long long)t->wait_ns,
                         (unsigned long long)t->step_ns, (unsigned long long)t->handing_ns);
}

static PyObject *pool_batch_type(struct pool_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef((PyObject *)(self->batch_type != NULL ? self->batch_type : pixels_crops_type));
}

static int pool_set_batch_type(struct pool_object *self, PyObject *type, void *Py_UNUSED(ignored))
{
    PyObject *old = (PyObject *)self->batch_type;

    if (type == NULL || !PyType_Check(type) ||
        !PyType_IsSubtype((PyTypeObject *)type, pixels_crops_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a type that is derived from Crops");
        return -1;
    }
    self->batch_type = (PyTypeObject *)Py_NewRef(type);
    Py_XDECREF(old);
    return 0;
}

static PyGetSetDef pool_getset[] = {
    { "read_ns", (getter)pool_read_ns, NULL, "Time that its thread has spent on reading.", NULL },
    { "busy_ns", (getter)pool_busy_ns, NULL, "Processor time that its threads have used.", NULL },
    { "ready_times", (getter)pool_ready_times, NULL,
      "(batches, ns of waiting, ns of steps, ns of handing over) of the batches of ReadyBatches.",
      NULL },
    { "batch_type", (getter)pool_batch_type, (setter)pool_set_batch_type,
      "The type of its batches, which is derived from Crops.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyObject *crops_wait(struct crops_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list;
    size_t bad = 0;

    if (!crops_finish(self, &bad))
        return NULL;
    if (self->error != NULL)
        return error_raise(self->error);
    if (bad == 0 && self->count != 0 && self->count == self->room)
        Py_RETURN_NONE;
    list = PyList_New(0);
    for (size_t i = 0; i < self->count && bad != 0 && list != NULL; i++) {
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

/* Implements a property that returns the samples of the batch as a Batch. The Batch is made when
 * the property is first used. */
static PyObject *crops_samples(struct crops_object *self, void *Py_UNUSED(ignored))
{
    struct held_samples *read = self->read;

    if (self->samples == NULL && self->is_made && read != NULL) {
        self->read = NULL;
        self->samples = (struct batch_object *)server_batch(NULL, read);
        if (self->samples == NULL)
            return NULL;
    }
    return Py_NewRef(self->samples == NULL ? Py_None : (PyObject *)self->samples);
}

static PyObject *crops_parts(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return Py_NewRef(self->parts.tuple);
}

/* Returns the value of an attribute. `which` is its enum crops_part. */
static PyObject *crops_attribute(struct crops_object *self, void *which)
{
    const size_t part = (size_t)(uintptr_t)which;

    return Py_NewRef(self->replaced[part] != NULL ? self->replaced[part]
                     : PyTuple_GetItem(self->parts.tuple, (Py_ssize_t)part));
}

static int crops_replace(struct crops_object *self, PyObject *value, void *which)
{
    const size_t part = (size_t)(uintptr_t)which;
    PyObject *old = self->replaced[part];

    if (value == NULL) {
        PyErr_SetString(PyExc_AttributeError, "this attribute of a batch cannot be deleted");
        return -1;
    }
    self->replaced[part] = Py_NewRef(value);
    Py_XDECREF(old);
    return 0;
}

/* Returns the labels. If each sample has one label that is a whole number, they are already there.
 * Otherwise the method _other_labels makes them when the program first asks for them. */
static PyObject *crops_labels(struct crops_object *self, void *which)
{
    if (!self->has_labels && self->replaced[CROPS_LABELS] == NULL) {
        PyObject *labels = PyObject_CallMethod((PyObject *)self, "_other_labels", NULL);

        if (labels == NULL)
            return NULL;
        (void)crops_replace(self, labels, which);
        Py_DECREF(labels);
    }
    return crops_attribute(self, which);
}

static PyObject *crops_given(struct crops_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromSize_t(self->count);
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

/* ---- Types ----------------------------------------------------------------------------------- */

static PyMethodDef pool_methods[] = {
    { "add", (PyCFunction)pool_add, METH_VARARGS, "add(slot): memory for one more batch." },
    { "begin", (PyCFunction)pool_begin, METH_VARARGS,
      "begin(batch, field): Crops; None: there is no free memory." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef crops_methods[] = {
    { "_wait", (PyCFunction)crops_wait, METH_NOARGS,
      "Waits until they are made: None if the memory is full of them, else a list of (index, code, "
      "its name, message) of each sample without them." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef crops_getset[] = {
    { "pixels", (getter)crops_attribute, (setter)crops_replace,
      "The pixels, uint8 [samples, ...], or a list for several views.", (void *)CROPS_PIXELS },
    { "masks", (getter)crops_attribute, (setter)crops_replace, "A dict with the masks.",
      (void *)CROPS_MASKS },
    { "labels", (getter)crops_labels, (setter)crops_replace, "The labels, or None.",
      (void *)CROPS_LABELS },
    { "crops", (getter)crops_attribute, (setter)crops_replace,
      "The boxes: top, left, height, width, flipped.", (void *)CROPS_BOXES },
    { "given", (getter)crops_given, NULL,
      "The number of samples, including those without crops.", NULL },
    { "_read", (getter)crops_samples, NULL,
      "The samples, including those without crops, after _wait; None: there are none.", NULL },
    { "_parts", (getter)crops_parts, NULL, "The tuple (pixels, masks, labels, boxes, ...).",
      NULL },
    { "_asked", (getter)crops_asked, NULL, "(first, count) of the samples that were to be read.",
      NULL },
    { "_real", (getter)crops_real, NULL, "The number of samples that this rank has, after _wait.",
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

static PyType_Slot crops_slots[] = {
    { Py_tp_dealloc, crops_dealloc },
    { Py_tp_methods, crops_methods },
    { Py_tp_getset, crops_getset },
    { Py_tp_doc, "A batch whose crops are under way or made." },
    { 0, NULL },
};

static PyType_Spec crops_spec = {
    .name = "sheaf._sheaf.Crops",
    .basicsize = sizeof(struct crops_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = crops_slots,
};

int pixels_add(PyObject *module)
{
    pixels_pool_type = module_add_type(module, &pool_spec);
    pixels_crops_type = module_add_type(module, &crops_spec);
    return pixels_pool_type == NULL || pixels_crops_type == NULL ? -1 : 0;
}
