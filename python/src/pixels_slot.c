/* SPDX-License-Identifier: MIT
 *
 * The Python type PixelSlot: memory of the program for the crops of one batch, and the Python
 * objects that the program gets with a batch.
 *
 * The slot's `arrays` have the pixels of one batch, and are used for one batch after another. The
 * slot's `parts` have a tuple of objects (pixels, labels, ...) for each of the next batches that
 * use the slot.
 *
 * The objects in these tuples refer to the arrays. The slot is free when nothing refers to the
 * arrays except the tuples for later batches. */
#include "pixels.h"

#include <string.h>

PyTypeObject *pixels_slot_type;

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Returns the address of the memory of `array`. Returns NULL with an exception if the array does
 * not have `needed` bytes. The array's buffer is released before the function returns. So the
 * memory must stay at this address as long as the array exists. */
static void *part_memory(PyObject *array, size_t needed)
{
    Py_buffer buffer;
    void *memory = NULL;

    if (PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE) != 0)
        return NULL;
    if ((size_t)buffer.len == needed)
        memory = buffer.buf;
    else
        PyErr_Format(PyExc_ValueError, "an array has %zd bytes, expected %zu", buffer.len, needed);
    PyBuffer_Release(&buffer);
    return memory;
}

static bool take_parts(const struct slot_object *self, PyObject *made, struct slot_parts *parts)
{
    const size_t boxes = self->samples * self->crops * sizeof(struct sheaf_crop_box);
    PyObject *tuple = PyTuple_Check(made) && PyTuple_Size(made) == 3 ? PyTuple_GetItem(made, 2)
                                                                     : NULL;

    *parts = (struct slot_parts){ .tuple = NULL };
    if (tuple == NULL || !PyTuple_Check(tuple) || PyTuple_Size(tuple) < CROPS_PARTS) {
        PyErr_SetString(PyExc_TypeError, "expected (labels, boxes, (pixels, masks, ...))");
        return false;
    }
    parts->tuple = Py_NewRef(tuple);
    parts->labels = part_memory(PyTuple_GetItem(made, 0), self->samples * sizeof(int64_t));
    if (parts->labels != NULL)
        parts->boxes = part_memory(PyTuple_GetItem(made, 1), boxes);
    return parts->boxes != NULL;
}

static void drop_parts(struct slot_object *self)
{
    while (self->part_count != 0)
        Py_XDECREF(self->parts[--self->part_count].tuple);
    PyMem_Free(self->parts);
    self->parts = NULL;
}

/* Makes the tuples of parts (labels, boxes, ...) for the next batches that use this slot. Returns
 * false with an exception on failure. */
static bool slot_make_parts(struct slot_object *self)
{
    PyObject *list = PyObject_CallFunctionObjArgs(self->make_parts, self->arrays, NULL);
    const Py_ssize_t count = list != NULL && PyList_Check(list) ? PyList_Size(list) : 0;
    bool is_made = count != 0;

    drop_parts(self);
    self->parts = PyMem_Calloc((size_t)count + 1, sizeof(self->parts[0]));
    if (self->parts == NULL)
        PyErr_NoMemory();
    else if (list != NULL && count == 0)
        PyErr_SetString(PyExc_TypeError, "expected a list of parts of batches");
    is_made = is_made && self->parts != NULL;
    for (Py_ssize_t i = 0; i < count && is_made; i++)
        is_made = take_parts(self, PyList_GetItem(list, i), &self->parts[self->part_count++]);
    Py_XDECREF(list);
    return is_made;
}

/* ---- The memory ------------------------------------------------------------------------------ */

static bool take_arrays(struct slot_object *self, const struct sheaf_pixels_pool *pool)
{
    const Py_ssize_t count = PyTuple_Size(self->arrays);

    for (; self->count < count; self->count++) {
        const size_t i = (size_t)self->count;
        const size_t needed = self->samples * sheaf_pixels_bytes(pool, i);
        Py_buffer *buffer = &self->buffers[i];

        if (PyObject_GetBuffer(PyTuple_GetItem(self->arrays, self->count), buffer,
                               PyBUF_WRITABLE) != 0)
            return false;
        self->out[i] = buffer->buf;
        if (needed == 0 || (size_t)buffer->len < needed) {
            PyErr_Format(PyExc_ValueError, "array %zu has %zd bytes, expected %zu", i, buffer->len,
                         needed);
            self->count++;
            return false;
        }
    }
    if (count != 0 && sheaf_pixels_bytes(pool, (size_t)count) == 0)
        return true;
    PyErr_Format(PyExc_ValueError, "%zd arrays: expected one for each view, and one for each view "
                 "of each mask", count);
    return false;
}

static int slot_init(struct slot_object *self, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    struct pool_object *pool;
    PyObject *list, *make;
    int is_once;
    size_t count;

    if (self->arrays != NULL ||
        !PyArg_ParseTuple(args, "O!O!nOp:PixelSlot", pixels_pool_type, &pool, &PyList_Type, &list,
                          &self->samples, &make, &is_once))
        return -1;
    count = (size_t)PyList_Size(list);
    self->arrays = PyList_AsTuple(list);
    self->make_parts = Py_NewRef(make);
    self->is_once = is_once != 0;
    self->crops = sheaf_pixels_crops(pool->pool);
    self->buffers = PyMem_Calloc(count + 1, sizeof(self->buffers[0]));
    self->out = PyMem_Calloc(count + 1, sizeof(self->out[0]));
    if (self->arrays == NULL || self->buffers == NULL || self->out == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return take_arrays(self, pool->pool) && slot_make_parts(self) ? 0 : -1;
}

static void slot_dealloc(struct slot_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    drop_parts(self);
    for (Py_ssize_t i = 0; i < self->count; i++)
        PyBuffer_Release(&self->buffers[i]);
    PyMem_Free(self->buffers);
    PyMem_Free(self->out);
    Py_XDECREF(self->arrays);
    Py_XDECREF(self->make_parts);
    object_free(self);
    Py_DECREF(type);
}

/* Returns whether this slot's arrays can be used for new crops. They cannot be used while crops are
 * being made in them, or while the program has a reference to an array.
 *
 * If the program has no reference to an array, the array has only these references: one from the
 * tuple self->arrays, one from its Py_buffer in self->buffers, and one from each tuple of parts. */
static bool slot_is_free(const struct slot_object *self)
{
    const Py_ssize_t own = 2 + (Py_ssize_t)self->part_count;

    for (Py_ssize_t i = 0; i < self->count && !self->is_once; i++)
        if (Py_REFCNT(PyTuple_GetItem(self->arrays, i)) != own)
            return false;
    return !self->is_used;
}

struct slot_object *slot_take(const struct pool_object *pool, size_t samples,
                              struct slot_parts *parts)
{
    const Py_ssize_t count = pool->slots == NULL ? 0 : PyList_Size(pool->slots);

    for (Py_ssize_t i = 0; i < count; i++) {
        struct slot_object *slot = (struct slot_object *)PyList_GetItem(pool->slots, i);

        if (slot->samples < samples || !slot_is_free(slot))
            continue;
        if (slot->part_count == 0 && !slot_make_parts(slot))
            return NULL;
        *parts = slot->parts[--slot->part_count];
        slot->is_used = true;
        Py_INCREF((PyObject *)slot);
        if (slot->is_once && PyList_SetSlice(pool->slots, i, i + 1, NULL) != 0)
            PyErr_Clear();          /* the slot stays in use */
        return slot;
    }
    return NULL;
}

static PyType_Slot slot_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, slot_init },
    { Py_tp_dealloc, slot_dealloc },
    { Py_tp_doc, "PixelSlot(pool, arrays, samples, make_parts, is_once): memory for one batch." },
    { 0, NULL },
};

static PyType_Spec slot_spec = {
    .name = "sheaf._sheaf.PixelSlot",
    .basicsize = sizeof(struct slot_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slot_slots,
};

int pixels_slot_add(PyObject *module)
{
    pixels_slot_type = module_add_type(module, &slot_spec);
    return pixels_slot_type == NULL ? -1 : 0;
}
