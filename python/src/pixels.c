/* SPDX-License-Identifier: MIT
 *
 * PixelPool: threads of the library that make the crops of batches; and the batches whose crops are
 * being made. */
#include "module.h"

#include <string.h>

#define VIEWS_MOST 1024
#define MASKS_MOST 64

struct pool_object {
    PyObject_HEAD
    struct sheaf_pixels_pool *pool;
};

/* The crops of a batch, which are being made or were made, in memory of the program. */
struct crops_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct batch_object *samples;
    Py_buffer *buffers;             /* the views' memory, and the places' */
    Py_ssize_t buffer_count;
    struct sheaf_pixels_batch *batch;
};

static PyTypeObject *pool_type, *crops_type;

/* ---- Options --------------------------------------------------------------------------------- */

/* Takes the names of mask fields from a list. The strings stay owned by the list. */
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
    struct sheaf_pixels_pool *pool = self->pool;

    Py_BEGIN_ALLOW_THREADS
    sheaf_pixels_pool_free(pool);
    Py_END_ALLOW_THREADS
    object_free(self);
    Py_DECREF(type);
}

/* ---- Crops ----------------------------------------------------------------------------------- */

static void crops_dealloc(struct crops_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    struct sheaf_pixels_batch *batch = self->batch;

    Py_BEGIN_ALLOW_THREADS
    sheaf_pixels_batch_free(batch);
    Py_END_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < self->buffer_count; i++)
        PyBuffer_Release(&self->buffers[i]);
    PyMem_Free(self->buffers);
    Py_XDECREF((PyObject *)self->samples);
    Py_XDECREF((PyObject *)self->pool);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Takes the buffers for the crops of each view and, as the last one, the buffer for the boxes.
 * Returns false with an exception on failure. */
static bool take_buffers(struct crops_object *self, PyObject *list, void **out)
{
    const size_t samples = self->samples->count;
    const struct sheaf_pixels_pool *pool = self->pool->pool;
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;

    self->buffers = PyMem_Calloc((size_t)count + 1, sizeof(self->buffers[0]));
    if (self->buffers == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (; self->buffer_count < count; self->buffer_count++) {
        const size_t i = (size_t)self->buffer_count;
        Py_buffer *buffer = &self->buffers[i];
        const bool is_last = self->buffer_count + 1 == count;
        const size_t each = is_last
            ? sheaf_pixels_crops(pool) * sizeof(struct sheaf_crop_box)
            : sheaf_pixels_bytes(pool, i);

        if (PyObject_GetBuffer(PyList_GetItem(list, self->buffer_count), buffer,
                               PyBUF_WRITABLE) != 0)
            return false;
        if (each == 0 || (size_t)buffer->len < samples * each) {
            PyErr_Format(PyExc_ValueError, "buffer %zu has %zd bytes, expected %zu", i, buffer->len,
                         samples * each);
            self->buffer_count++;
            return false;
        }
        out[i] = buffer->buf;
    }
    if (count < 2 || sheaf_pixels_bytes(pool, (size_t)count - 1) != 0) {
        PyErr_Format(PyExc_ValueError, "%zd buffers: expected one for each view, one for each view "
                     "of each mask, and one for the places", count);
        return false;
    }
    return true;
}

static PyObject *pool_begin(struct pool_object *self, PyObject *args)
{
    PyObject *samples, *list;
    const char *field;
    struct crops_object *crops;
    struct sheaf_error error;
    void **out;
    int code = SHEAF_OK;

    if (!PyArg_ParseTuple(args, "O!zO!:begin", batch_type, &samples, &field, &PyList_Type, &list))
        return NULL;
    crops = PyObject_New(struct crops_object, crops_type);
    if (crops == NULL)
        return NULL;
    crops->pool = (struct pool_object *)Py_NewRef((PyObject *)self);
    crops->samples = (struct batch_object *)Py_NewRef(samples);
    crops->buffers = NULL;
    crops->buffer_count = 0;
    crops->batch = NULL;
    out = PyMem_Calloc((size_t)PyList_Size(list) + 1, sizeof(out[0]));
    if (out == NULL)
        PyErr_NoMemory();
    else if (take_buffers(crops, list, out))
        code = sheaf_pixels_begin(self->pool, crops->samples->samples, crops->samples->count, field,
                                  out, out[crops->buffer_count - 1], &crops->batch, &error);
    PyMem_Free(out);
    if (code != SHEAF_OK)
        error_raise(&error);
    if (crops->batch != NULL)
        return (PyObject *)crops;
    Py_DECREF((PyObject *)crops);
    return NULL;
}

static PyObject *pool_busy_ns(struct pool_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->pool == NULL ? 0 : sheaf_pixels_busy_ns(self->pool));
}

static PyGetSetDef pool_getset[] = {
    { "busy_ns", (getter)pool_busy_ns, NULL, "Processor time that its threads have used.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyObject *crops_wait(struct crops_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    size_t bad;

    if (list == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    bad = sheaf_pixels_wait(self->batch);
    Py_END_ALLOW_THREADS
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

/* ---- Types ----------------------------------------------------------------------------------- */

static PyMethodDef pool_methods[] = {
    { "begin", (PyCFunction)pool_begin, METH_VARARGS,
      "begin(batch, field, [memory of each view, ..., of each view of each mask, ..., of the "
      "places]): Crops." },
    { NULL, NULL, 0, NULL },
};

static PyMethodDef crops_methods[] = {
    { "wait", (PyCFunction)crops_wait, METH_NOARGS,
      "Waits until they are made: (index, code, its name, message) of each sample without them." },
    { NULL, NULL, 0, NULL },
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
    crops_type = module_add_type(module, &crops_spec);
    return pool_type == NULL || crops_type == NULL ? -1 : 0;
}
