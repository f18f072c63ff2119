/* SPDX-License-Identifier: MIT
 *
 * The Python type Sample: a read-only mapping from field names to the bytes of the fields. It
 * consists of a reference to a batch and an index in the batch. Python objects for fields, labels
 * and so on are made only when the program uses them. */
#include "module.h"

#include <math.h>
#include <string.h>

#define INTEGER_LIMIT 9007199254740992.0    /* 2^53 */

struct sample_object {
    PyObject_HEAD
    struct batch_object *batch;
    const struct sheaf_sample *sample;
};

struct field_object {
    PyObject_HEAD
    struct batch_object *batch;
    const struct sheaf_field *field;
};

/* ---- The bytes of a field ------------------------------------------------------------------- */

static int field_getbuffer(struct field_object *self, Py_buffer *view, int flags)
{
    return PyBuffer_FillInfo(view, (PyObject *)self, (void *)(uintptr_t)self->field->data,
                             (Py_ssize_t)self->field->size, 1, flags);
}

static void field_dealloc(struct field_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    Py_DECREF(self->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *field_view(struct batch_object *batch, const struct sheaf_field *field)
{
    struct field_object *object = PyObject_New(struct field_object, field_type);
    PyObject *view;

    if (object == NULL)
        return NULL;
    object->batch = (struct batch_object *)Py_NewRef((PyObject *)batch);
    object->field = field;
    view = PyMemoryView_FromObject((PyObject *)object);
    Py_DECREF(object);
    return view;
}

static PyObject *field_bytes(const struct sheaf_field *field)
{
    return PyBytes_FromStringAndSize(field->data, (Py_ssize_t)field->size);
}

/* ---- Sample --------------------------------------------------------------------------------- */

PyObject *sample_new(struct batch_object *batch, size_t index)
{
    struct sample_object *self = PyObject_New(struct sample_object, sample_type);

    if (self == NULL)
        return NULL;
    self->batch = (struct batch_object *)Py_NewRef((PyObject *)batch);
    self->sample = &batch->samples[index];
    return (PyObject *)self;
}

static void sample_dealloc(struct sample_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    Py_DECREF(self->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

const struct sheaf_field *sample_field(const struct sheaf_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->field_count; i++)
        if (strcmp(sample->fields[i].name, name) == 0)
            return &sample->fields[i];
    return NULL;
}

/* Finds the field with the name `key`. Returns 1 if the sample has this field, 0 if it does not,
 * and -1 with an exception on failure. */
static int sample_find(struct sample_object *self, PyObject *key, const struct sheaf_field **field)
{
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL) : "";

    if (name == NULL)
        return -1;
    *field = sample_field(self->sample, name);
    return *field != NULL;
}

static Py_ssize_t sample_length(struct sample_object *self)
{
    return (Py_ssize_t)self->sample->field_count;
}

static int sample_contains(struct sample_object *self, PyObject *key)
{
    const struct sheaf_field *field;

    return sample_find(self, key, &field);
}

static PyObject *sample_get(struct sample_object *self, PyObject *args)
{
    const struct sheaf_field *field;
    PyObject *key, *otherwise = Py_None;
    int found;

    if (!PyArg_ParseTuple(args, "O|O:get", &key, &otherwise))
        return NULL;
    found = sample_find(self, key, &field);
    if (found > 0)
        return field_view(self->batch, field);
    return found < 0 ? NULL : Py_NewRef(otherwise);
}

/* ---- Lists of what it holds ----------------------------------------------------------------- */

typedef PyObject *make_fn(struct sample_object *self, const struct sheaf_field *field);

static PyObject *make_name(struct sample_object *Py_UNUSED(self), const struct sheaf_field *field)
{
    return text_of(field->name);
}

static PyObject *make_view(struct sample_object *self, const struct sheaf_field *field)
{
    return field_view(self->batch, field);
}

static PyObject *make_item(struct sample_object *self, const struct sheaf_field *field)
{
    return Py_BuildValue("(NN)", text_of(field->name), field_view(self->batch, field));
}

static PyObject *make_suffix(struct sample_object *Py_UNUSED(self),
                             const struct sheaf_field *field)
{
    return text_of(field->suffix);
}

static PyObject *sample_list_of(struct sample_object *self, make_fn *make)
{
    PyObject *list = PyList_New((Py_ssize_t)self->sample->field_count);

    for (size_t i = 0; list != NULL && i < self->sample->field_count; i++) {
        PyObject *item = make(self, &self->sample->fields[i]);

        if (item == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, item);
    }
    return list;
}

/* Raises the exception for a sample that does not have the requested field. The message names the
 * sample and lists its fields. */
static void raise_no_field(struct sample_object *self, PyObject *key)
{
    PyObject *names = sample_list_of(self, make_name), *own = text_of(self->sample->key);

    if (names != NULL && own != NULL)
        PyErr_Format(PyExc_KeyError, "the sample %R has no field %R, but %S", own, key, names);
    Py_XDECREF(names);
    Py_XDECREF(own);
}

static PyObject *sample_subscript(struct sample_object *self, PyObject *key)
{
    const struct sheaf_field *field;
    const int found = sample_find(self, key, &field);

    if (found > 0)
        return field_view(self->batch, field);
    if (found == 0)
        raise_no_field(self, key);
    return NULL;
}

static PyObject *sample_keys(struct sample_object *self, PyObject *Py_UNUSED(ignored))
{
    return sample_list_of(self, make_name);
}

static PyObject *sample_values(struct sample_object *self, PyObject *Py_UNUSED(ignored))
{
    return sample_list_of(self, make_view);
}

static PyObject *sample_items(struct sample_object *self, PyObject *Py_UNUSED(ignored))
{
    return sample_list_of(self, make_item);
}

static PyObject *sample_iter(struct sample_object *self)
{
    PyObject *names = sample_list_of(self, make_name);
    PyObject *iterator = names == NULL ? NULL : PyObject_GetIter(names);

    Py_XDECREF(names);
    return iterator;
}

static PyObject *sample_to_bytes(struct sample_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < self->sample->field_count; i++) {
        PyObject *bytes = field_bytes(&self->sample->fields[i]);

        if (bytes == NULL ||
            PyDict_SetItemString(dict, self->sample->fields[i].name, bytes) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(bytes);
    }
    return dict;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

bool label_is_whole(double label)
{
    return fabs(label) <= INTEGER_LIMIT && trunc(label) == label;
}

PyObject *label_object(double label)
{
    return label_is_whole(label)
           ? PyLong_FromLongLong((long long)label) : PyFloat_FromDouble(label);
}

static PyObject *sample_key(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return text_of(self->sample->key);
}

static PyObject *sample_labels(struct sample_object *self, void *Py_UNUSED(ignored))
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)self->sample->label_count);

    for (size_t i = 0; tuple != NULL && i < self->sample->label_count; i++) {
        PyObject *label = label_object(self->sample->labels[i]);

        if (label == NULL) {
            Py_DECREF(tuple);
            return NULL;
        }
        PyTuple_SetItem(tuple, (Py_ssize_t)i, label);
    }
    return tuple;
}

static PyObject *sample_label(struct sample_object *self, void *Py_UNUSED(ignored))
{
    if (self->sample->label_count == 0)
        return Py_NewRef(Py_None);
    return label_object(self->sample->labels[0]);
}

static PyObject *sample_class_name(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return self->sample->class_name == NULL ? Py_NewRef(Py_None)
                                            : text_of(self->sample->class_name);
}

static PyObject *sample_suffixes(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return sample_list_of(self, make_suffix);
}

static PyObject *sample_number(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->sample->number);
}

static PyObject *sample_shard(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLong(self->sample->shard);
}

static PyObject *sample_record(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->sample->record);
}

static PyObject *sample_repeated(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return PyBool_FromLong(self->sample->repeated);
}

static PyObject *sample_seed(struct sample_object *self, void *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(self->sample->seed);
}

static PyObject *sample_repr(struct sample_object *self)
{
    PyObject *key = text_of(self->sample->key);
    PyObject *names = sample_list_of(self, make_name);
    PyObject *text = NULL;

    if (key != NULL && names != NULL)
        text = PyUnicode_FromFormat("<sheaf.Sample %R %R>", key, names);
    Py_XDECREF(key);
    Py_XDECREF(names);
    return text;
}

/* Returns a packed batch of this sample alone. */
static PyObject *sample_reduce(struct sample_object *self, PyObject *Py_UNUSED(ignored))
{
    struct batch_object *part = batch_part(self->batch,
                                           (size_t)(self->sample - self->batch->samples), 1);
    PyObject *module = PyImport_ImportModule("sheaf._sheaf");
    PyObject *unpack = module == NULL ? NULL : PyObject_GetAttrString(module, "unpack_sample");
    PyObject *packed = part == NULL || unpack == NULL ? NULL : batch_pack(part, NULL);

    Py_XDECREF((PyObject *)part);
    Py_XDECREF(module);
    if (packed == NULL) {
        Py_XDECREF(unpack);
        return NULL;
    }
    return Py_BuildValue("N(N)", unpack, packed);
}

PyObject *sample_unpack(PyObject *module, PyObject *object)
{
    PyObject *batch = batch_unpack(module, object);
    PyObject *sample = batch == NULL ? NULL : PySequence_GetItem(batch, 0);

    Py_XDECREF(batch);
    return sample;
}

static PyMethodDef sample_methods[] = {
    { "keys", (PyCFunction)sample_keys, METH_NOARGS, "The names of the fields." },
    { "values", (PyCFunction)sample_values, METH_NOARGS, "The bytes of the fields." },
    { "items", (PyCFunction)sample_items, METH_NOARGS, "(name, bytes) of the fields." },
    { "get", (PyCFunction)sample_get, METH_VARARGS,
      "get(name, default=None): the bytes of a field, or the default." },
    { "to_bytes", (PyCFunction)sample_to_bytes, METH_NOARGS,
      "A dict of the fields' bytes, copied: plain objects that can be kept and pickled." },
    { "__reduce__", (PyCFunction)sample_reduce, METH_NOARGS, "A copy is pickled." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef sample_getset[] = {
    { "key", (getter)sample_key, NULL, "The sample's key.", NULL },
    { "label", (getter)sample_label, NULL, "The first label; None without labels.", NULL },
    { "labels", (getter)sample_labels, NULL, "All labels: ints, or floats.", NULL },
    { "class_name", (getter)sample_class_name, NULL, "The label's class, or None.", NULL },
    { "suffixes", (getter)sample_suffixes, NULL, "The fields' names as the files had them.",
      NULL },
    { "number", (getter)sample_number, NULL, "Place in the data set, from 0.", NULL },
    { "shard", (getter)sample_shard, NULL, "Number of its shard, from 0.", NULL },
    { "record", (getter)sample_record, NULL, "Place in its shard, from 0.", NULL },
    { "repeated", (getter)sample_repeated, NULL,
      "Whether it came before in this epoch, and only makes the ranks' shares equal.", NULL },
    { "seed", (getter)sample_seed, NULL,
      "A 64-bit number for what is drawn at random for it: the same for any workers, ranks and "
      "restarts, another one each epoch.  0 of a sample that was read by its number.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot sample_slots[] = {
    { Py_tp_dealloc, sample_dealloc },
    { Py_tp_methods, sample_methods },
    { Py_tp_getset, sample_getset },
    { Py_tp_iter, sample_iter },
    { Py_tp_repr, sample_repr },
    { Py_mp_length, sample_length },
    { Py_mp_subscript, sample_subscript },
    { Py_sq_contains, sample_contains },
    { Py_tp_doc, "A sample: a read-only mapping from field names to memoryviews." },
    { 0, NULL },
};

static PyType_Spec sample_spec = {
    .name = "sheaf.Sample",
    .basicsize = sizeof(struct sample_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = sample_slots,
};

static PyType_Slot field_slots[] = {
    { Py_tp_dealloc, field_dealloc },
    { Py_bf_getbuffer, field_getbuffer },
    { 0, NULL },
};

static PyType_Spec field_spec = {
    .name = "sheaf._sheaf.Field",
    .basicsize = sizeof(struct field_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = field_slots,
};

int sample_add(PyObject *module)
{
    sample_type = module_add_type(module, &sample_spec);
    field_type = module_add_type(module, &field_spec);
    return sample_type == NULL || field_type == NULL ? -1 : 0;
}
