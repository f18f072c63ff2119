/* SPDX-License-Identifier: MIT
 *
 * The Python type Planned: the samples of a plan. A plan is a file that lists the samples that a
 * packing run will write. sheaf.pack with a transform function uses this type: its processes read
 * the planned samples, and transform them before they are packed. Programs of users do not use this
 * type. Only one thread at a time may use a Planned. */
#include "module.h"

struct planned_object {
    PyObject_HEAD
    struct sheaf_planned *planned;
    struct sheaf_planned_info info;
};

static PyObject *planned_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    struct planned_object *self = (struct planned_object *)PyType_GenericNew(type, NULL, NULL);
    struct sheaf_error error = { 0 };
    PyObject *path = NULL;
    int code = SHEAF_ERR_ARGUMENT;

    if (self != NULL && PyArg_ParseTuple(args, "O&:Planned", PyUnicode_FSConverter, &path)) {
        Py_BEGIN_ALLOW_THREADS
        code = sheaf_planned_open(PyBytes_AsString(path), &self->planned, &self->info,
                                  sizeof(self->info), &error);
        Py_END_ALLOW_THREADS
        Py_DECREF(path);
        if (code != SHEAF_OK)
            error_raise(&error);
    }
    if (code != SHEAF_OK)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void planned_dealloc(struct planned_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    sheaf_planned_free(self->planned);
    object_free(self);
    Py_DECREF(type);
}

static PyObject *planned_info(struct planned_object *self, PyObject *Py_UNUSED(ignored))
{
    const struct sheaf_planned_info *info = &self->info;
    PyObject *classes = PyList_New(0);

    for (size_t i = 0; classes != NULL && i < info->class_count; i++) {
        PyObject *name = text_of(sheaf_planned_class(self->planned, i));

        if (name == NULL || PyList_Append(classes, name) != 0)
            Py_CLEAR(classes);
        Py_XDECREF(name);
    }
    return classes == NULL ? NULL
        : Py_BuildValue("{s:s,s:s,s:K,s:K,s:N,s:i}", "identity", info->identity,
                        "hash", info->hash, "samples", (unsigned long long)info->samples,
                        "shards", (unsigned long long)info->shards, "classes", classes,
                        "label_base", info->label_base);
}

static PyObject *planned_end(struct planned_object *self, PyObject *first)
{
    struct sheaf_error error = { 0 };
    uint64_t at = PyLong_AsUnsignedLongLong(first);

    if (PyErr_Occurred())
        return NULL;
    if (sheaf_planned_read(self->planned, &at, NULL, NULL, NULL, NULL, &error) != SHEAF_OK)
        return error_raise(&error);
    return PyLong_FromUnsignedLongLong(at);
}

/* Returns a Batch with bytes of its own. */
static PyObject *planned_batch_of(const struct sheaf_sample *samples, size_t count)
{
    const struct packed_extent nowhere = { 0 };
    const struct layout l = packed_measure(samples, count, &nowhere);
    const size_t tables = packed_bytes(count, &l);
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(tables + l.data));
    PyObject *batch;
    char *base;

    if (bytes == NULL)
        return NULL;
    base = PyByteArray_AsString(bytes);
    packed_put(samples, count, &l, base, &nowhere, base, tables);
    batch = packed_get(bytes, NULL, NULL, NULL);
    Py_DECREF(bytes);
    return batch;
}

static PyObject *planned_read(struct planned_object *self, PyObject *args)
{
    const struct sheaf_sample *samples = NULL;
    struct sheaf_error error = { 0 };
    unsigned long long first;
    struct calls calls = { 0 };
    PyObject *report;
    size_t count = 0;
    uint64_t at;
    int code;

    if (!PyArg_ParseTuple(args, "KO:read", &first, &report))
        return NULL;
    at = first;
    calls.report = report == Py_None ? NULL : report;
    calls_begin(&calls);
    code = sheaf_planned_read(self->planned, &at, &samples, &count,
                              report == Py_None ? NULL : calls_report, &calls, &error);
    calls_end(&calls);
    return code == SHEAF_OK && !PyErr_Occurred() ? planned_batch_of(samples, count)
        : calls_raise(&error);
}

static PyMethodDef planned_methods[] = {
    { "info", (PyCFunction)planned_info, METH_NOARGS, "info() -> dict" },
    { "end", (PyCFunction)planned_end, METH_O,
      "end(first): the number after the samples that read(first) gives." },
    { "read", (PyCFunction)planned_read, METH_VARARGS,
      "read(first, report) -> Batch: some 4 MiB of samples from number first on.  report is called "
      "for each bad file; None: the first one is an error." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot planned_slots[] = {
    { Py_tp_new, planned_new },
    { Py_tp_dealloc, planned_dealloc },
    { Py_tp_methods, planned_methods },
    { Py_tp_doc, "Planned(path): the samples of a stored plan." },
    { 0, NULL },
};

static PyType_Spec planned_spec = {
    .name = "sheaf._sheaf.Planned",
    .basicsize = sizeof(struct planned_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = planned_slots,
};

int planned_add(PyObject *module)
{
    return module_add_type(module, &planned_spec) == NULL ? -1 : 0;
}
