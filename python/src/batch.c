/* SPDX-License-Identifier: MIT
 *
 * Batch: samples copied out of a reader, in one block of memory that belongs to the batch.
 *
 *     block: | samples | fields of all | labels of all | keys, names | bytes of the fields |
 *     bytes: | first field of every sample | second field of every sample | ...
 *
 * A reader's samples end with its next call, but a view that Python keeps may live for ever; and
 * bytes under a view cannot move.  So a batch is copied once, at memory speed and without the
 * GIL, and everything handed out from it holds a reference to it.  The block is written before
 * the batch is handed out and never again. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((size_t)16)      /* the most that a field's bytes are given */

/* ---- Copying -------------------------------------------------------------------------------- */

/* What so many samples take. */
struct layout {
    size_t samples, fields, labels;
    size_t text, data;          /* bytes, at most */
};

/* Where the next of each kind goes. */
struct places {
    struct sheaf_sample *sample;
    struct sheaf_field *field;
    double *label;
    char *text;
};

/* The next place for something that wants this alignment, a power of two. */
static size_t aligned(size_t place, size_t alignment)
{
    return (place + alignment - 1) & ~(alignment - 1);
}

/* A field of n-byte numbers has a size that n divides, so this is enough for them; and fields of
 * one size lie back to back. */
static size_t alignment_of(size_t size)
{
    const size_t power = size & (~size + 1);

    return power == 0 || power > ALIGNMENT ? ALIGNMENT : power;
}

/* Fields of one place in neighbouring samples nearly always have one name. */
static bool same_names(const struct sheaf_field *a, const struct sheaf_field *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->suffix, b->suffix) == 0;
}

static const struct sheaf_field *before(const struct sheaf_sample *previous, size_t field)
{
    return previous != NULL && field < previous->field_count ? &previous->fields[field] : NULL;
}

static void measure(struct layout *l, const struct sheaf_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];

        l->fields += s->field_count;
        l->labels += s->label_count;
        l->text += strlen(s->key) + 1;
        l->text += s->class_name != NULL ? strlen(s->class_name) + 1 : 0;
        for (size_t f = 0; f < s->field_count; f++) {
            const struct sheaf_field *previous = before(i > 0 ? s - 1 : NULL, f);

            l->data += s->fields[f].size + ALIGNMENT;
            if (previous == NULL || !same_names(previous, &s->fields[f]))
                l->text += strlen(s->fields[f].name) + strlen(s->fields[f].suffix) + 2;
        }
    }
    l->samples += count;
}

static const char *copy_text(struct places *to, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = memcpy(to->text, text, size);

    to->text += size;
    return copy;
}

static void copy_field(struct places *to, const struct sheaf_field *field,
                       const struct sheaf_field *previous_given,
                       const struct sheaf_field *previous)
{
    struct sheaf_field *copy = to->field++;

    *copy = *field;
    if (previous_given != NULL && same_names(previous_given, field)) {
        copy->name = previous->name;
        copy->suffix = previous->suffix;
    } else {
        copy->name = copy_text(to, field->name);
        copy->suffix = copy_text(to, field->suffix);
    }
}

static void copy_samples(struct places *to, const struct sheaf_sample *samples, size_t count)
{
    const struct sheaf_sample *previous = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];
        struct sheaf_sample *copy = to->sample++;

        *copy = *s;
        copy->key = copy_text(to, s->key);
        if (s->class_name != NULL)
            copy->class_name = copy_text(to, s->class_name);
        copy->labels = to->label;
        for (size_t l = 0; l < s->label_count; l++)
            *to->label++ = s->labels[l];
        copy->fields = to->field;
        for (size_t f = 0; f < s->field_count; f++)
            copy_field(to, &s->fields[f], before(i > 0 ? s - 1 : NULL, f), before(previous, f));
        previous = copy;
    }
}

/* Brings the bytes of the fields along, column by column. */
static void copy_data(struct sheaf_sample *samples, size_t count, char *data)
{
    size_t place = 0, last = 1;

    for (size_t f = 0; f < last; f++) {
        place = aligned(place, ALIGNMENT);
        for (size_t i = 0; i < count; i++) {
            struct sheaf_field *field = (struct sheaf_field *)(uintptr_t)samples[i].fields + f;

            if (f == 0 && samples[i].field_count > last)
                last = samples[i].field_count;
            if (f >= samples[i].field_count)
                continue;
            place = aligned(place, alignment_of(field->size));
            if (field->size != 0)
                memcpy(data + place, field->data, field->size);
            field->data = data + place;
            place += field->size;
        }
    }
}

bool batch_append(struct batch_object *batch, const struct sheaf_sample *samples, size_t count)
{
    struct layout l = { 0 };
    struct places to;
    size_t tables, text;
    char *block;

    measure(&l, batch->samples, batch->count);
    measure(&l, samples, count);
    tables = l.samples * sizeof(*to.sample) + l.fields * sizeof(*to.field)
             + l.labels * sizeof(*to.label);
    text = aligned(tables + l.text, ALIGNMENT);
    if (posix_memalign((void **)&block, ALIGNMENT, text + l.data + 1) != 0)
        return false;
    to.sample = (struct sheaf_sample *)(void *)block;
    to.field = (struct sheaf_field *)(void *)(to.sample + l.samples);
    to.label = (double *)(void *)(to.field + l.fields);
    to.text = block + tables;
    copy_samples(&to, batch->samples, batch->count);
    copy_samples(&to, samples, count);
    copy_data((struct sheaf_sample *)(void *)block, l.samples, block + text);
    free(batch->block);
    batch->block = block;
    batch->samples = (struct sheaf_sample *)(void *)block;
    batch->count = l.samples;
    return true;
}

size_t batch_payload(const struct sheaf_sample *samples, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < samples[i].field_count; f++)
            bytes += samples[i].fields[f].size;
    return bytes;
}

struct batch_object *batch_new(void)
{
    struct batch_object *batch = PyObject_New(struct batch_object, batch_type);

    if (batch != NULL) {
        batch->samples = NULL;
        batch->count = 0;
        batch->block = NULL;
    }
    return batch;
}

static void batch_dealloc(struct batch_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    free(self->block);
    PyObject_Free(self);
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

/* Whether a sample's fields are those of the one before it: then they share their names. */
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

/* The field of every sample; NULL and an exception if one lacks it. */
static const struct sheaf_field *column_field(struct batch_object *self, size_t index,
                                              const char *name)
{
    const struct sheaf_field *field = sample_field(&self->samples[index], name);

    if (field == NULL)
        PyErr_Format(PyExc_KeyError, "sample %s has no field %s", self->samples[index].key, name);
    return field;
}

static PyObject *batch_fields(struct batch_object *self, PyObject *name_object)
{
    const char *name = PyUnicode_AsUTF8AndSize(name_object, NULL);
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

/* A rows x size array over the bytes: exported by the object that stack() makes. */
struct stack {
    PyObject_HEAD
    struct batch_object *batch;
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

    Py_DECREF(self->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *stack_view(struct batch_object *batch, const void *first, size_t columns,
                            size_t row_bytes, size_t item_size, const char *format)
{
    struct stack *stack = PyObject_New(struct stack, stack_type);
    PyObject *view;

    if (stack == NULL)
        return NULL;
    stack->batch = (struct batch_object *)Py_NewRef((PyObject *)batch);
    stack->first = first;
    stack->shape[0] = (Py_ssize_t)batch->count;
    stack->shape[1] = (Py_ssize_t)columns;
    stack->strides[0] = (Py_ssize_t)row_bytes;
    stack->strides[1] = stack->item_size = (Py_ssize_t)item_size;
    stack->format = format;
    view = PyMemoryView_FromObject((PyObject *)stack);
    Py_DECREF(stack);
    return view;
}

/* Fields of one size whose samples look alike lie at equal distances. */
static PyObject *batch_stack(struct batch_object *self, PyObject *name_object)
{
    const char *name = PyUnicode_AsUTF8AndSize(name_object, NULL);
    const char *first = NULL, *place = NULL;
    size_t size = 0, step = 0;

    for (size_t i = 0; name != NULL && i < self->count; i++) {
        const struct sheaf_field *field = column_field(self, i, name);

        if (field == NULL)
            return NULL;
        if (i == 0) {
            first = field->data;
            size = field->size;
        } else if (i == 1) {
            step = (size_t)((const char *)field->data - first);
        }
        if (field->size != size || (i > 1 && (const char *)field->data != place + step)) {
            PyErr_Format(PyExc_ValueError, "%s does not make an array: sample %s is not like "
                         "the ones before it", name, self->samples[i].key);
            return NULL;
        }
        place = field->data;
    }
    return name == NULL ? NULL : stack_view(self, first, size, step, 1, "B");
}

static PyObject *batch_labels(struct batch_object *self, void *Py_UNUSED(ignored))
{
    const size_t columns = self->count == 0 ? 0 : self->samples[0].label_count;

    for (size_t i = 0; i < self->count; i++) {
        if (self->samples[i].label_count != columns) {
            PyErr_Format(PyExc_ValueError, "the labels do not make an array: sample %s has %zu, "
                         "the first one %zu", self->samples[i].key, self->samples[i].label_count,
                         columns);
            return NULL;
        }
    }
    return stack_view(self, self->count == 0 ? NULL : self->samples[0].labels, columns,
                      columns * sizeof(double), sizeof(double), "d");
}

static PyMethodDef batch_methods[] = {
    { "fields", (PyCFunction)batch_fields, METH_O,
      "fields(name): the bytes of a field, a memoryview a sample." },
    { "stack", (PyCFunction)batch_stack, METH_O,
      "stack(name): the bytes of a field that has one size in every sample, as one memoryview "
      "of samples x bytes; nothing is copied.  Else a ValueError." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef batch_getset[] = {
    { "keys", (getter)batch_keys, NULL, "The samples' keys.", NULL },
    { "names", (getter)batch_names, NULL, "The names of all fields that a sample has.", NULL },
    { "labels", (getter)batch_labels, NULL,
      "The labels as doubles, a memoryview of samples x labels.  A ValueError if samples differ "
      "in how many they have.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot batch_slots[] = {
    { Py_tp_dealloc, batch_dealloc },
    { Py_tp_methods, batch_methods },
    { Py_tp_getset, batch_getset },
    { Py_sq_length, batch_length },
    { Py_sq_item, batch_item },
    { Py_tp_doc, "Samples, as a sequence." },
    { 0, NULL },
};

static PyType_Spec batch_spec = {
    .name = "sheaf.Batch",
    .basicsize = sizeof(struct batch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
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
