/* SPDX-License-Identifier: MIT
 *
 * The Python type Packer: writes a data set from samples that a Python program makes. */
#include "borrowed.h"

#include <string.h>

struct packer_object {
    PyObject_HEAD
    struct guard guard;
    struct sheaf_packer *packer;
    PyObject *keywords;             /* own the callables and the options' texts */
    struct sheaf_pack_options options;
    struct calls calls;
    bool finished;
};

/* ---- Samples from Python -------------------------------------------------------------------- */

void borrowed_free(struct borrowed *b)
{
    for (size_t i = 0; i < b->buffer_count; i++)
        PyBuffer_Release(&b->buffers[i]);
    PyMem_Free(b->fields);
    PyMem_Free(b->names);
    PyMem_Free(b->buffers);
    PyMem_Free(b->labels);
    Py_XDECREF(b->items);
}

/* Names are suffixes in lower case. */
static int name_fields(struct borrowed *b)
{
    size_t size = 1;
    char *to;

    for (size_t i = 0; i < b->sample.field_count; i++)
        size += strlen(b->fields[i].suffix) + 1;
    b->names = to = PyMem_Malloc(size);
    if (to == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < b->sample.field_count; i++) {
        b->fields[i].name = to;
        for (const char *from = b->fields[i].suffix; *from != '\0'; from++)
            *to++ = *from >= 'A' && *from <= 'Z' ? (char)(*from + ('a' - 'A')) : *from;
        *to++ = '\0';
    }
    return 0;
}

/* Takes the name and the bytes of field number `i` from b->items. */
static int borrow_field(struct borrowed *b, Py_ssize_t i)
{
    PyObject *name, *data;
    Py_buffer *buffer = &b->buffers[i];

    if (!PyArg_ParseTuple(PyList_GetItem(b->items, i), "OO", &name, &data))
        return -1;
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "the name of a field is %R, expected a text, such as \"txt\"",
                     name);
        return -1;
    }
    if (PyObject_GetBuffer(data, buffer, PyBUF_SIMPLE) != 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "the field %R is of %R, expected bytes, such as those of "
                         "text.encode() or json.dumps(value).encode()", name,
                         (PyObject *)Py_TYPE(data));
        return -1;
    }
    b->buffer_count++;
    b->fields[i] = (struct sheaf_field){ .suffix = utf8_of(name, "the name of a field"),
                                         .data = buffer->buf, .size = (size_t)buffer->len };
    return b->fields[i].suffix == NULL ? -1 : 0;
}

int borrowed_fields(struct borrowed *b, PyObject *mapping)
{
    Py_ssize_t count;

    b->items = PyMapping_Items(mapping);
    if (b->items == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "the fields are of %R, expected a dict from names to bytes",
                     (PyObject *)Py_TYPE(mapping));
    count = b->items == NULL ? -1 : PyList_Size(b->items);
    if (count < 0)
        return -1;
    b->fields = PyMem_Calloc((size_t)count + 1, sizeof(b->fields[0]));
    b->buffers = PyMem_Calloc((size_t)count + 1, sizeof(b->buffers[0]));
    if (b->fields == NULL || b->buffers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (borrow_field(b, i) != 0)
            return -1;
    b->sample.fields = b->fields;
    b->sample.field_count = (size_t)count;
    return name_fields(b);
}

/* Converts the Python number `number`, a label of the sample `key`, to the double *label. Refuses
 * an integer that a double cannot represent exactly. The library could not notice this, because it
 * gets only the double. */
static int packer_take_label(const char *key, PyObject *number, double *label)
{
    PyObject *whole = PyFloat_Check(number) ? NULL : PyNumber_Index(number), *back;
    int same = 1;

    if (whole == NULL)
        PyErr_Clear();
    *label = PyFloat_AsDouble(whole != NULL ? whole : number);
    if (whole != NULL && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        same = 0;
    } else if (whole != NULL && !PyErr_Occurred()) {
        back = PyLong_FromDouble(*label);
        same = back == NULL ? -1 : PyObject_RichCompareBool(whole, back, Py_EQ);
        Py_XDECREF(back);
    }
    if (same == 0)
        error_raise_argument("%s: the label %S is neither an integer up to 2^53 nor a 32-bit float",
                             key, whole);
    Py_XDECREF(whole);
    return PyErr_Occurred() ? -1 : 0;
}

/* Accepts None, a number, or a sequence of numbers. */
static int borrow_labels(struct borrowed *b, PyObject *labels)
{
    PyObject *list;
    Py_ssize_t count;

    if (labels == Py_None)
        return 0;
    list = PyNumber_Check(labels) && !PySequence_Check(labels) ? Py_BuildValue("[O]", labels)
                                                               : PySequence_List(labels);
    count = list == NULL ? -1 : PyList_Size(list);
    b->labels = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof(b->labels[0]));
    if (count >= 0 && b->labels == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        (void)packer_take_label(b->sample.key, PyList_GetItem(list, i), &b->labels[i]);
    Py_XDECREF(list);
    b->sample.labels = b->labels;
    b->sample.label_count = (size_t)(count < 0 ? 0 : count);
    return PyErr_Occurred() ? -1 : 0;
}

static int borrow(struct borrowed *b, PyObject *key, PyObject *fields, PyObject *labels,
                  PyObject *class_name)
{
    b->sample.key = utf8_of(key, "the key");
    if (b->sample.key == NULL)
        return -1;
    if (class_name != Py_None) {
        b->sample.class_name = utf8_of(class_name, "class_name");
        if (b->sample.class_name == NULL)
            return -1;
    }
    return borrowed_fields(b, fields) == 0 ? borrow_labels(b, labels) : -1;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static bool packer_enter(struct packer_object *self)
{
    if (guard_enter(&self->guard, "packer") != 0)
        return false;
    if (self->packer != NULL)
        return true;
    guard_leave(&self->guard);
    error_raise_state(self->finished ? "the packer is finished" : "the packer is closed");
    return false;
}

/* Ends a call. Returns None, or raises the error. */
static PyObject *packer_leave(struct packer_object *self, int code)
{
    PyObject *result = NULL;

    if (code == SHEAF_OK && !PyErr_Occurred())
        result = Py_NewRef(Py_None);
    else
        calls_raise(sheaf_packer_error(self->packer));
    guard_leave(&self->guard);
    return result;
}

/* Ends the call that closes a Packer. Frees the C library's packer, so that the destination is
 * released when the call returns. Python may free the Packer object much later. */
static PyObject *leave_for_good(struct packer_object *self, int code)
{
    struct sheaf_packer *packer = self->packer;
    const struct sheaf_error error = *sheaf_packer_error(packer);

    self->packer = NULL;
    calls_begin(&self->calls);
    sheaf_packer_free(packer);
    calls_end(&self->calls);
    if (code != SHEAF_OK || PyErr_Occurred())
        calls_raise(&error);
    guard_leave(&self->guard);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *packer_append(struct packer_object *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "key", "fields", "labels", "class_name", NULL };
    struct borrowed b = { .fields = NULL };
    PyObject *key, *fields, *labels = Py_None, *class_name = Py_None, *result = NULL;
    int code;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OO:append", names, &key, &fields,
                                     &labels, &class_name))
        return NULL;
    if (borrow(&b, key, fields, labels, class_name) == 0 && packer_enter(self)) {
        calls_begin(&self->calls);
        code = sheaf_packer_append(self->packer, &b.sample);
        calls_end(&self->calls);
        result = packer_leave(self, code);
    }
    borrowed_free(&b);
    return result;
}

static PyObject *packer_cut(struct packer_object *self, PyObject *Py_UNUSED(ignored))
{
    int code;

    if (!packer_enter(self))
        return NULL;
    calls_begin(&self->calls);
    code = sheaf_packer_cut(self->packer);
    calls_end(&self->calls);
    return packer_leave(self, code);
}

static PyObject *packer_cut_at(struct packer_object *self, PyObject *place)
{
    const unsigned long long number = PyLong_AsUnsignedLongLong(place);
    int code;

    if (PyErr_Occurred() || !packer_enter(self))
        return NULL;
    calls_begin(&self->calls);
    code = sheaf_packer_cut_at(self->packer, number);
    calls_end(&self->calls);
    return packer_leave(self, code);
}

static PyObject *packer_skip(struct packer_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *none;
    uint64_t place;

    if (!packer_enter(self))
        return NULL;
    none = packer_leave(self, sheaf_packer_skip(self->packer, &place));
    if (none == NULL)
        return NULL;
    Py_DECREF(none);
    return PyLong_FromUnsignedLongLong(place);
}

static PyObject *packer_set_classes(struct packer_object *self, PyObject *names)
{
    PyObject *list = PySequence_List(names);
    const Py_ssize_t count = list == NULL ? -1 : PyList_Size(list);
    const char **texts = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof(texts[0]));
    PyObject *result = NULL;

    if (count >= 0 && texts == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); i++)
        texts[i] = utf8_of(PyList_GetItem(list, i), "the name of a class");
    if (!PyErr_Occurred() && packer_enter(self))
        result = packer_leave(self, sheaf_packer_set_classes(self->packer, texts, (size_t)count));
    PyMem_Free(texts);
    Py_XDECREF(list);
    return result;
}

static PyObject *packer_object_finish(struct packer_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_pack_result result = { 0 };
    PyObject *none;
    int code;

    if (!packer_enter(self))
        return NULL;
    calls_begin(&self->calls);
    code = sheaf_packer_finish(self->packer, &result);
    calls_end(&self->calls);
    self->finished = code == SHEAF_OK;
    none = leave_for_good(self, code);
    if (none == NULL)
        return NULL;
    Py_DECREF(none);
    return pack_result_dict(&result);
}

static PyObject *packer_abort(struct packer_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->guard.lock != NULL && self->packer == NULL)
        Py_RETURN_NONE;                 /* it has ended already */
    if (!packer_enter(self))
        return NULL;
    calls_begin(&self->calls);
    sheaf_packer_abort(self->packer);
    calls_end(&self->calls);
    return leave_for_good(self, SHEAF_OK);
}

static PyObject *packer_is_there(struct packer_object *self, void *Py_UNUSED(ignored))
{
    return PyBool_FromLong(self->packer != NULL && sheaf_packer_is_there(self->packer));
}

static PyObject *packer_is_finished(struct packer_object *self, void *Py_UNUSED(ignored))
{
    return PyBool_FromLong(self->finished);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static int packer_init(struct packer_object *self, PyObject *args, PyObject *keywords)
{
    struct sheaf_pack_options *options = &self->options;
    struct sheaf_error error = { 0 };
    PyObject *dest = NULL;
    int code;

    if (self->guard.lock != NULL) {
        error_raise_state("the packer is open already");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O&:Packer", PyUnicode_FSConverter, &dest))
        return -1;
    pack_options_free(options);
    sheaf_pack_options_init(options, sizeof(*options));
    if (options_set(options, pack_options_table, keywords) != 0)
        goto failed;
    if (guard_init(&self->guard) != 0)
        goto failed;
    self->keywords = Py_XNewRef(keywords);
    calls_take(&self->calls, keywords);
    options->progress = calls_progress;
    options->report = calls_report;
    options->context = &self->calls;
    options->interrupt = &self->calls.interrupt;
    calls_begin(&self->calls);
    code = sheaf_packer_open(PyBytes_AsString(dest), options, &self->packer, &error);
    calls_end(&self->calls);
    Py_DECREF(dest);
    if (code == SHEAF_OK && !PyErr_Occurred())
        return 0;
    calls_raise(&error);
    return -1;

failed:
    Py_DECREF(dest);
    return -1;
}

static int packer_traverse(struct packer_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->keywords);
    return 0;
}

static int packer_clear(struct packer_object *self)
{
    self->calls.progress = self->calls.report = NULL;
    Py_CLEAR(self->keywords);
    return 0;
}

static void packer_dealloc(struct packer_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    PyObject_GC_UnTrack(self);
    packer_clear(self);
    if (!guard_is_foreign(&self->guard)) {
        calls_begin(&self->calls);
        sheaf_packer_free(self->packer);
        calls_end(&self->calls);
    }
    guard_free(&self->guard);
    pack_options_free(&self->options);
    object_free(self);
    Py_DECREF(type);
}

static PyMethodDef packer_methods[] = {
    { "append", (PyCFunction)(void (*)(void))packer_append, METH_VARARGS | METH_KEYWORDS,
      "append(key, fields, labels=None, class_name=None): adds a sample.  `fields` maps names "
      "to bytes-like objects; labels are a number or a sequence of them." },
    { "cut", (PyCFunction)packer_cut, METH_NOARGS, "The next sample begins a new shard." },
    { "_cut_at", (PyCFunction)packer_cut_at, METH_O,
      "The same, and the shard that ends is noted with this number." },
    { "_skip", (PyCFunction)packer_skip, METH_NOARGS,
      "_skip() -> the number noted with the last finished shard; the samples of those are not to "
      "be appended again.  0: there are none." },
    { "set_classes", (PyCFunction)packer_set_classes, METH_O,
      "set_classes(names): of the labels label_base, label_base + 1, ...; before the first "
      "sample." },
    { "_finish", (PyCFunction)packer_object_finish, METH_NOARGS, "Writes the manifest." },
    { "abort", (PyCFunction)packer_abort, METH_NOARGS, "Leaves nothing behind." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef packer_getset[] = {
    { "_is_there", (getter)packer_is_there, NULL, "An earlier run has finished it.", NULL },
    { "finished", (getter)packer_is_finished, NULL, "Whether finish() has succeeded.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot packer_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, packer_init },
    { Py_tp_dealloc, packer_dealloc },
    { Py_tp_traverse, packer_traverse },
    { Py_tp_clear, packer_clear },
    { Py_tp_methods, packer_methods },
    { Py_tp_getset, packer_getset },
    { Py_tp_doc, "Packer(dest, **options): a data set of samples that the program makes." },
    { 0, NULL },
};

static PyType_Spec packer_spec = {
    .name = "sheaf._sheaf.Packer",
    .basicsize = sizeof(struct packer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = packer_slots,
};

int packer_add(PyObject *module)
{
    packer_type = module_add_type(module, &packer_spec);
    return packer_type == NULL ? -1 : 0;
}
