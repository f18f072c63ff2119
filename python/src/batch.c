/* SPDX-License-Identifier: MIT
 *
 * The Python type Batch: a sequence of samples, which also has the bytes of a field or the labels
 * of all samples as arrays. batch_memory.c makes batches and keeps their memory. */
#include "module.h"

#include <string.h>

/* ---- The object ------------------------------------------------------------------------------ */

static PyObject *batch_names(struct batch_object *self, void *ignored);

/* Implements the constructor Batch(batch), which derived classes use. The new object has the same
 * samples as `batch`, in the same memory. */
static PyObject *batch_of_batch(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "batch", NULL };
    struct batch_object *whole, *batch, *part;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!:Batch", names, batch_type, &whole))
        return NULL;
    batch = (struct batch_object *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    part = batch == NULL ? NULL : batch_part(whole, 0, whole->count);
    if (part == NULL) {
        Py_XDECREF((PyObject *)batch);
        return NULL;
    }
    batch->samples = part->samples;
    batch->own = part->own;
    batch->count = part->count;
    batch->holds = part->holds;
    batch->hold_count = part->hold_count;
    part->own = NULL;
    part->holds = NULL;
    part->hold_count = 0;
    Py_DECREF((PyObject *)part);
    return (PyObject *)batch;
}

static PyObject *batch_repr(struct batch_object *self)
{
    PyObject *names = batch_names(self, NULL), *comma = PyUnicode_FromString(", ");
    PyObject *joined = names == NULL || comma == NULL ? NULL : PyUnicode_Join(comma, names);
    PyObject *text = joined == NULL ? NULL
        : PyUnicode_FromFormat("<sheaf.Batch of %zu sample%s: %U>", self->count,
                               self->count == 1 ? "" : "s", joined);

    Py_XDECREF(names);
    Py_XDECREF(comma);
    Py_XDECREF(joined);
    return text;
}

static void batch_dealloc(struct batch_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    for (size_t i = 0; i < self->hold_count; i++)
        hold_drop(self->holds[i]);
    PyMem_Free(self->holds);
    PyMem_Free(self->own);
    object_free(self);
    Py_DECREF(type);
}

/* ---- A sequence of samples ------------------------------------------------------------------ */

static Py_ssize_t batch_length(struct batch_object *self)
{
    return (Py_ssize_t)self->count;
}

static PyObject *batch_item(struct batch_object *self, Py_ssize_t index)
{
    if (index < 0 || (size_t)index >= self->count) {
        PyErr_Format(PyExc_IndexError, "sample %zd of a batch of %zu", index, self->count);
        return NULL;
    }
    return sample_new(self, (size_t)index);
}

static PyObject *batch_keys(struct batch_object *self, void *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New((Py_ssize_t)self->count);

    for (size_t i = 0; list != NULL && i < self->count; i++) {
        PyObject *key = text_of(self->samples[i].key);

        if (key == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, key);
    }
    return list;
}

static PyObject *batch_repeated(struct batch_object *self, void *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New((Py_ssize_t)self->count);

    for (size_t i = 0; list != NULL && i < self->count; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyBool_FromLong(self->samples[i].repeated));
    return list;
}

static PyObject *batch_seeds(struct batch_object *self, void *Py_UNUSED(ignored))
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(self->count * sizeof(uint64_t)));
    PyObject *view = bytes == NULL ? NULL : PyMemoryView_FromObject(bytes), *numbers = NULL;

    for (size_t i = 0; view != NULL && i < self->count; i++)
        memcpy(PyBytes_AsString(bytes) + i * sizeof(uint64_t), &self->samples[i].seed,
               sizeof(uint64_t));
    if (view != NULL)
        numbers = PyObject_CallMethod(view, "cast", "s", "Q");
    Py_XDECREF(bytes);
    Py_XDECREF(view);
    return numbers;
}

/* Returns whether two samples have the same field names, so that both can share the Python objects
 * for the names. */
static bool is_like(const struct sheaf_sample *a, const struct sheaf_sample *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (size_t f = 0; f < a->field_count; f++)
        if (a->fields[f].name != b->fields[f].name)
            return false;
    return true;
}

static PyObject *batch_names(struct batch_object *self, void *Py_UNUSED(ignored))
{
    PyObject *names = PyDict_New(), *list = NULL;

    for (size_t i = 0; names != NULL && i < self->count; i++) {
        const struct sheaf_sample *s = &self->samples[i];

        if (i > 0 && is_like(s, s - 1))
            continue;
        for (size_t f = 0; names != NULL && f < s->field_count; f++)
            if (PyDict_SetItemString(names, s->fields[f].name, Py_None) != 0)
                Py_CLEAR(names);
    }
    if (names != NULL)
        list = PyDict_Keys(names);
    Py_XDECREF(names);
    return list;
}

/* ---- Columns -------------------------------------------------------------------------------- */

/* Raises the exception for a sample that does not have the requested field. The message names the
 * sample and lists its fields. */
static void raise_no_column(const struct sheaf_sample *sample, const char *name)
{
    PyObject *key = text_of(sample->key), *names = PyList_New(0);

    for (size_t i = 0; names != NULL && i < sample->field_count; i++) {
        PyObject *own = text_of(sample->fields[i].name);

        if (own == NULL || PyList_Append(names, own) != 0)
            Py_CLEAR(names);
        Py_XDECREF(own);
    }
    if (key != NULL && names != NULL)
        PyErr_Format(PyExc_KeyError, "the sample %R has no field '%s', but %S", key, name, names);
    Py_XDECREF(key);
    Py_XDECREF(names);
}

/* Returns the field of the sample, or NULL with an exception if the sample does not have it. */
static const struct sheaf_field *column_field(struct batch_object *self, size_t index,
                                              const char *name)
{
    const struct sheaf_field *field = sample_field(&self->samples[index], name);

    if (field == NULL)
        raise_no_column(&self->samples[index], name);
    return field;
}

static PyObject *batch_fields(struct batch_object *self, PyObject *name_object)
{
    const char *name = utf8_of(name_object, "the name of a field");
    PyObject *list = name == NULL ? NULL : PyList_New((Py_ssize_t)self->count);

    for (size_t i = 0; list != NULL && i < self->count; i++) {
        const struct sheaf_field *field = column_field(self, i, name);
        PyObject *view = field == NULL ? NULL : field_view(self, field);

        if (view == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, view);
    }
    return list;
}

/* The Python object that the method stack() returns. It exports a two-dimensional array by Python's
 * buffer protocol. */
struct stack {
    PyObject_HEAD
    struct batch_object *batch;
    char *copy;                 /* NULL if the rows are where they were */
    const char *first;
    Py_ssize_t shape[2], strides[2];
    Py_ssize_t item_size;
    const char *format;
};

static PyTypeObject *stack_type;

static int stack_getbuffer(struct stack *self, Py_buffer *view, int flags)
{
    const bool is_flat = self->strides[0] == self->shape[1] * self->strides[1];

    if ((flags & PyBUF_WRITABLE) != 0 || (flags & PyBUF_FORMAT) == 0 ||
        (!is_flat && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)) {
        PyErr_SetString(PyExc_BufferError, "the fields of a batch are read-only, and need not "
                        "lie back to back");
        return -1;
    }
    *view = (Py_buffer){
        .buf = (void *)(uintptr_t)self->first, .obj = Py_NewRef((PyObject *)self),
        .len = self->shape[0] * self->shape[1] * self->item_size, .itemsize = self->item_size,
        .readonly = 1, .ndim = 2, .format = (char *)(uintptr_t)self->format,
        .shape = self->shape, .strides = self->strides,
    };
    return 0;
}

static void stack_dealloc(struct stack *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    PyMem_Free(self->copy);
    Py_DECREF(self->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Describes a two-dimensional array whose rows need not be adjacent in memory, by the address of
 * each row and the type of the items. */
struct rows {
    const char **at;            /* an entry for each sample of the batch */
    char *made;                 /* memory made for the rows, or NULL */
    size_t columns, item_size;
    const char *format;
};

static bool rows_begin(struct rows *rows, const struct batch_object *batch)
{
    rows->at = PyMem_Calloc(batch->count + 1, sizeof(rows->at[0]));
    if (rows->at == NULL)
        PyErr_NoMemory();
    return rows->at != NULL;
}

/* Chooses the memory of the array. If the rows are at equal distances, this is the memory of the
 * rows. Otherwise it is a copy of the rows. */
static bool place_rows(struct stack *stack, const struct rows *rows)
{
    const size_t count = stack->batch->count, size = rows->columns * rows->item_size;
    size_t step = size, i;

    if (count > 1 && (uintptr_t)rows->at[1] >= (uintptr_t)rows->at[0] + size)
        step = (uintptr_t)rows->at[1] - (uintptr_t)rows->at[0];
    stack->first = rows->at[0];
    for (i = 1; i < count && (uintptr_t)rows->at[i] - (uintptr_t)rows->at[i - 1] == step; i++)
        ;
    if (i < count) {
        step = size;
        stack->first = stack->copy = PyMem_Malloc(count * size + 1);
        if (stack->copy == NULL) {
            PyErr_NoMemory();
            return false;
        }
        Py_BEGIN_ALLOW_THREADS
        for (i = 0; i < count && size != 0; i++)
            memcpy(stack->copy + i * size, rows->at[i], size);
        Py_END_ALLOW_THREADS
    }
    stack->strides[0] = (Py_ssize_t)step;
    return true;
}

/* Returns a two-dimensional memoryview of the rows, and frees the memory of `rows`. */
static PyObject *rows_view(struct rows *rows, struct batch_object *batch)
{
    struct stack *stack = PyObject_New(struct stack, stack_type);
    PyObject *view = NULL;

    if (stack != NULL) {
        stack->batch = (struct batch_object *)Py_NewRef((PyObject *)batch);
        stack->copy = rows->made;
        rows->made = NULL;
        stack->shape[0] = (Py_ssize_t)batch->count;
        stack->shape[1] = (Py_ssize_t)rows->columns;
        stack->strides[1] = stack->item_size = (Py_ssize_t)rows->item_size;
        stack->format = rows->format;
        if (place_rows(stack, rows))
            view = PyMemoryView_FromObject((PyObject *)stack);
        Py_DECREF((PyObject *)stack);
    }
    PyMem_Free(rows->made);
    PyMem_Free(rows->at);
    return view;
}

static PyObject *batch_stack(struct batch_object *self, PyObject *name_object)
{
    const char *name = utf8_of(name_object, "the name of a field");
    struct rows rows = { .item_size = 1, .format = "B" };

    if (name == NULL || !rows_begin(&rows, self))
        return NULL;
    for (size_t i = 0; i < self->count; i++) {
        const struct sheaf_field *field = column_field(self, i, name);

        if (field != NULL && i > 0 && field->size != rows.columns) {
            PyErr_Format(PyExc_ValueError, "%s does not make an array: sample %s has %zu bytes, "
                         "the first one %zu", name, self->samples[i].key, field->size,
                         rows.columns);
            field = NULL;
        }
        if (field == NULL) {
            PyMem_Free(rows.at);
            return NULL;
        }
        rows.columns = field->size;
        rows.at[i] = field->data;
    }
    return rows_view(&rows, self);
}

/* Implements a method that copies the bytes of one field of all samples, one sample after another,
 * to a buffer that the caller provides. The buffer must have the total size of these bytes. */
static PyObject *batch_join(struct batch_object *self, PyObject *args)
{
    unsigned long long address, size, at = 0;
    PyObject *name_object;
    const char *name;

    if (!PyArg_ParseTuple(args, "OKK:_join", &name_object, &address, &size))
        return NULL;
    name = utf8_of(name_object, "the name of a field");
    for (size_t i = 0; name != NULL && i < self->count; i++) {
        const struct sheaf_field *field = column_field(self, i, name);

        if (field == NULL)
            return NULL;
        if (field->size > size - at)
            return error_raise_argument("the field %s has more than %llu bytes", name, size);
        if (field->size != 0)
            memcpy((char *)(uintptr_t)address + at, field->data, field->size);
        at += field->size;
    }
    return name == NULL ? NULL : Py_NewRef(Py_None);
}

/* Returns whether all labels of the batch are integers, so that the array can consist of
 * integers. */
static bool labels_are_whole(const struct batch_object *self)
{
    for (size_t i = 0; i < self->count; i++)
        for (size_t n = 0; n < self->samples[i].label_count; n++)
            if (!label_is_whole(self->samples[i].labels[n]))
                return false;
    return true;
}

/* The rows as integers. */
static bool make_whole(struct rows *rows, const struct batch_object *self)
{
    int64_t *made = PyMem_Malloc(self->count * rows->columns * sizeof(*made) + 1);

    if (made == NULL) {
        PyErr_NoMemory();
        return false;
    }
    rows->made = (char *)made;
    rows->format = "q";
    for (size_t i = 0; i < self->count; i++, made += rows->columns) {
        for (size_t n = 0; n < rows->columns; n++)
            made[n] = (int64_t)self->samples[i].labels[n];
        rows->at[i] = (const char *)made;
    }
    return true;
}

static PyObject *batch_labels(struct batch_object *self, void *Py_UNUSED(ignored))
{
    struct rows rows = { .item_size = sizeof(double), .format = "d" };

    if (!rows_begin(&rows, self))
        return NULL;
    rows.columns = self->count == 0 ? 0 : self->samples[0].label_count;
    for (size_t i = 0; i < self->count; i++) {
        if (self->samples[i].label_count != rows.columns) {
            PyErr_Format(PyExc_ValueError, "the labels do not make an array: sample %s has %zu, "
                         "the first one %zu", self->samples[i].key, self->samples[i].label_count,
                         rows.columns);
            PyMem_Free(rows.at);
            return NULL;
        }
        rows.at[i] = (const char *)self->samples[i].labels;
    }
    if (labels_are_whole(self) && !make_whole(&rows, self)) {
        PyMem_Free(rows.at);
        return NULL;
    }
    return rows_view(&rows, self);
}

static PyMethodDef batch_methods[] = {
    { "fields", (PyCFunction)batch_fields, METH_O,
      "fields(name): the bytes of a field, a memoryview a sample." },
    { "stack", (PyCFunction)batch_stack, METH_O,
      "stack(name): the bytes of a field that has one size in every sample, as one memoryview "
      "of samples x bytes; small ones lie so already, and are not copied.  Else a ValueError." },
    { "_join", (PyCFunction)batch_join, METH_VARARGS,
      "_join(name, address, size): copies the bytes of a field, back to back, to this memory." },
    { "_pack", (PyCFunction)batch_pack, METH_NOARGS, "A copy of it as bytes, for unpack()." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef batch_getset[] = {
    { "keys", (getter)batch_keys, NULL, "The samples' keys.", NULL },
    { "names", (getter)batch_names, NULL, "The names of all fields that a sample has.", NULL },
    { "repeated", (getter)batch_repeated, NULL,
      "Of each sample, whether it only makes the ranks' shares equal: a mask for evaluation.",
      NULL },
    { "seeds", (getter)batch_seeds, NULL, "The samples' seeds, a memoryview of uint64.", NULL },
    { "labels", (getter)batch_labels, NULL,
      "The labels, a memoryview of samples x labels: int64 if all of the batch are whole numbers, "
      "else float64.  A ValueError if samples differ in how many they have.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot batch_slots[] = {
    { Py_tp_new, batch_of_batch },
    { Py_tp_repr, batch_repr },
    { Py_tp_dealloc, batch_dealloc },
    { Py_tp_methods, batch_methods },
    { Py_tp_getset, batch_getset },
    { Py_sq_length, batch_length },
    { Py_sq_item, batch_item },
    { Py_tp_doc, "Batch(batch): samples, as a sequence." },
    { 0, NULL },
};

static PyType_Spec batch_spec = {
    .name = "sheaf.Batch",
    .basicsize = sizeof(struct batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = batch_slots,
};

static PyType_Slot stack_slots[] = {
    { Py_tp_dealloc, stack_dealloc },
    { Py_bf_getbuffer, stack_getbuffer },
    { 0, NULL },
};

static PyType_Spec stack_spec = {
    .name = "sheaf._sheaf.Stack",
    .basicsize = sizeof(struct stack),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = stack_slots,
};

int batch_add(PyObject *module)
{
    batch_type = module_add_type(module, &batch_spec);
    stack_type = module_add_type(module, &stack_spec);
    return batch_type == NULL || stack_type == NULL ? -1 : 0;
}
