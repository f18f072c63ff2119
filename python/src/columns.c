/* SPDX-License-Identifier: MIT
 *
 * The Python functions for columns (fields that are added to a packed data set): adding, listing
 * and dropping a column, and writing a column sample by sample. */
#include "borrowed.h"

#define COLUMN(name, kind) { #name, kind, offsetof(struct sheaf_column_options, name) }

static const struct option column_table[] = {
    COLUMN(only_missing, OPTION_BOOL), COLUMN(resume, OPTION_BOOL),
    COLUMN(on_unknown, OPTION_ON_ERROR), COLUMN(on_repeated, OPTION_ON_ERROR),
    COLUMN(memory_bytes, OPTION_U64), COLUMN(jobs, OPTION_THREADS), COLUMN(version, OPTION_TEXT),
    COLUMN(s3, OPTION_TEXTS), COLUMN(progress, OPTION_CALL), COLUMN(report, OPTION_CALL),
    { NULL, OPTION_CALL, 0 },
};

/* A call about a column, and its results. */
struct column_call {
    struct sheaf_column_options options;
    struct sheaf_column_result result;
    struct sheaf_error error;
    struct calls calls;
    int code;
};

/* Returns -1 with an exception on failure. */
static int column_init(struct column_call *c, PyObject *keywords)
{
    sheaf_column_options_init(&c->options, sizeof(c->options));
    if (options_set(&c->options, column_table, keywords) != 0)
        return -1;
    calls_take(&c->calls, keywords);
    c->options.progress = calls_progress;
    c->options.report = calls_report;
    c->options.context = &c->calls;
    c->options.interrupt = &c->calls.interrupt;
    return 0;
}

static void column_free(struct column_call *c)
{
    PyMem_Free((void *)(uintptr_t)c->options.s3);
    c->options.s3 = NULL;
}

static PyObject *result_dict(const struct sheaf_column_result *r)
{
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(samples),
                         COUNT(with_values), COUNT(missing), COUNT(values), COUNT(payload_bytes),
                         COUNT(unknown), COUNT(repeated), COUNT(present), COUNT(stored_bytes),
                         COUNT(shards), COUNT(shards_kept), COUNT(memory_peak_bytes),
                         COUNT(elsewhere));
#undef COUNT
}

PyObject *action_column_add(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *dataset = NULL, *source = NULL, *made = NULL;
    struct column_call c = { .code = SHEAF_OK };
    const char *name;

    if (PyArg_ParseTuple(args, "O&sO&:column_add", PyUnicode_FSConverter, &dataset, &name,
                         PyUnicode_FSConverter, &source) && column_init(&c, keywords) == 0) {
        calls_begin(&c.calls);
        c.code = sheaf_column_add(PyBytes_AsString(dataset), name, PyBytes_AsString(source),
                                  &c.options, &c.result, &c.error);
        calls_end(&c.calls);
        made = c.code == SHEAF_OK && !PyErr_Occurred() ? result_dict(&c.result)
                                                       : calls_raise(&c.error);
    }
    column_free(&c);
    Py_XDECREF(dataset);
    Py_XDECREF(source);
    return made;
}

PyObject *action_column_plan(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *dataset = NULL, *source, *source_path = NULL, *plan = NULL, *made = NULL;
    struct column_call c = { .code = SHEAF_OK };
    const char *name;

    if (PyArg_ParseTuple(args, "O&sOO&:column_plan", PyUnicode_FSConverter, &dataset, &name,
                         &source, PyUnicode_FSConverter, &plan) &&
        (source == Py_None || PyUnicode_FSConverter(source, &source_path) != 0) &&
        column_init(&c, keywords) == 0) {
        calls_begin(&c.calls);
        c.code = sheaf_column_plan(PyBytes_AsString(dataset), name,
                                   source_path == NULL ? NULL : PyBytes_AsString(source_path),
                                   PyBytes_AsString(plan), &c.options, &c.result, &c.error);
        calls_end(&c.calls);
        made = c.code == SHEAF_OK && !PyErr_Occurred() ? result_dict(&c.result)
                                                       : calls_raise(&c.error);
    }
    column_free(&c);
    Py_XDECREF(dataset);
    Py_XDECREF(source_path);
    Py_XDECREF(plan);
    return made;
}

PyObject *action_column_add_part(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct column_call c = { .code = SHEAF_OK };
    PyObject *plan = NULL, *made = NULL;
    unsigned long part, parts;

    if (PyArg_ParseTuple(args, "O&kk:column_add_part", PyUnicode_FSConverter, &plan, &part,
                         &parts) && column_init(&c, keywords) == 0) {
        calls_begin(&c.calls);
        c.code = sheaf_column_add_part(PyBytes_AsString(plan), (uint32_t)part, (uint32_t)parts,
                                       &c.options, &c.result, &c.error);
        calls_end(&c.calls);
        made = c.code == SHEAF_OK && !PyErr_Occurred() ? result_dict(&c.result)
                                                       : calls_raise(&c.error);
    }
    column_free(&c);
    Py_XDECREF(plan);
    return made;
}

PyObject *action_column_drop(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct calls calls = { .interrupt = 0 };
    struct sheaf_error error = { .code = SHEAF_OK };
    PyObject *dataset = NULL;
    const char *name;
    int code = SHEAF_ERR_ARGUMENT;

    if (!PyArg_ParseTuple(args, "O&s:column_drop", PyUnicode_FSConverter, &dataset, &name))
        return NULL;
    calls_begin(&calls);
    code = sheaf_column_drop(PyBytes_AsString(dataset), name, &error);
    calls_end(&calls);
    Py_DECREF(dataset);
    return code == SHEAF_OK && !PyErr_Occurred() ? Py_NewRef(Py_None) : calls_raise(&error);
}

/* Appends the description of one column to the Python list that is the result of the call. The GIL
 * must be held. */
static void add_to_list(void *context, const struct sheaf_column_info *i)
{
    PyObject *each = PyErr_Occurred() ? NULL
        : Py_BuildValue("{s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:N}", "name", text_of(i->name),
                        "samples", (unsigned long long)i->samples,
                        "missing", (unsigned long long)i->missing,
                        "uncovered", (unsigned long long)i->uncovered,
                        "stored_bytes", (unsigned long long)i->stored_bytes,
                        "shards", (unsigned long long)i->shards,
                        "layers", (unsigned long long)i->layers, "fields", text_of(i->fields),
                        "error", i->code == SHEAF_OK ? Py_NewRef(Py_None)
                                                     : text_of(i->error->message));

    if (each != NULL)
        (void)PyList_Append(context, each);
    Py_XDECREF(each);
}

PyObject *action_column_list(PyObject *Py_UNUSED(module), PyObject *source)
{
    PyObject *dataset = dataset_of(source), *list = dataset == NULL ? NULL : PyList_New(0);
    struct sheaf_error error = { .code = SHEAF_OK };

    if (list != NULL &&
        sheaf_column_list(((struct dataset_object *)dataset)->dataset, add_to_list, list,
                          &error) != SHEAF_OK)
        error_raise(&error);
    Py_XDECREF(dataset);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

/* ---- The writer ------------------------------------------------------------------------------ */

struct column_writer_object {
    PyObject_HEAD
    struct guard guard;
    struct sheaf_column_writer *writer;
    PyObject *keywords;             /* own the callables and the options' texts */
    struct column_call call;
};

static bool columns_enter(struct column_writer_object *self)
{
    if (guard_enter(&self->guard, "writer of a column") != 0)
        return false;
    if (self->writer != NULL)
        return true;
    guard_leave(&self->guard);
    error_raise_state("the writer of the column is closed");
    return false;
}

static int writer_init(struct column_writer_object *self, PyObject *args, PyObject *keywords)
{
    struct column_call *c = &self->call;
    const bool is_part = PyTuple_Size(args) == 3;
    PyObject *url = NULL;       /* of the data set, or of the plan */
    unsigned long part = 0, parts = 0;
    const char *name = NULL;

    if (self->guard.lock != NULL) {
        error_raise_state("the writer of the column is open already");
        return -1;
    }
    if (is_part ? !PyArg_ParseTuple(args, "O&kk:ColumnWriter", PyUnicode_FSConverter, &url, &part,
                                    &parts)
                : !PyArg_ParseTuple(args, "O&s:ColumnWriter", PyUnicode_FSConverter, &url, &name))
        return -1;
    if (column_init(c, keywords) != 0 || guard_init(&self->guard) != 0) {
        Py_DECREF(url);
        return -1;
    }
    self->keywords = Py_XNewRef(keywords);
    calls_begin(&c->calls);
    c->code = is_part ? sheaf_column_open_part(PyBytes_AsString(url), (uint32_t)part,
                                               (uint32_t)parts, &c->options, &self->writer,
                                               &c->error)
                      : sheaf_column_open(PyBytes_AsString(url), name, &c->options, &self->writer,
                                          &c->error);
    calls_end(&c->calls);
    Py_DECREF(url);
    if (c->code == SHEAF_OK && !PyErr_Occurred())
        return 0;
    calls_raise(&c->error);
    return -1;
}

static PyObject *writer_next(struct column_writer_object *self, void *Py_UNUSED(ignored))
{
    PyObject *number;

    if (!columns_enter(self))
        return NULL;
    number = PyLong_FromUnsignedLongLong(sheaf_column_next(self->writer));
    guard_leave(&self->guard);
    return number;
}

static PyObject *writer_end(struct column_writer_object *self, void *Py_UNUSED(ignored))
{
    PyObject *number;

    if (!columns_enter(self))
        return NULL;
    number = PyLong_FromUnsignedLongLong(sheaf_column_end(self->writer));
    guard_leave(&self->guard);
    return number;
}

static PyObject *writer_append(struct column_writer_object *self, PyObject *fields)
{
    struct borrowed b = { .fields = NULL };
    struct column_call *c = &self->call;
    PyObject *result = NULL;

    if ((fields == Py_None || borrowed_fields(&b, fields) == 0) && columns_enter(self)) {
        calls_begin(&c->calls);
        c->code = sheaf_column_append(self->writer, b.fields, b.sample.field_count, &c->error);
        calls_end(&c->calls);
        result = c->code == SHEAF_OK && !PyErr_Occurred() ? Py_NewRef(Py_None)
                                                          : calls_raise(&c->error);
        guard_leave(&self->guard);
    }
    borrowed_free(&b);
    return result;
}

static void close_writer(struct column_writer_object *self)
{
    struct sheaf_column_writer *writer = self->writer;

    self->writer = NULL;
    calls_begin(&self->call.calls);
    sheaf_column_free(writer);
    calls_end(&self->call.calls);
}

static PyObject *writer_finish(struct column_writer_object *self, PyObject *Py_UNUSED(ignored))
{
    struct column_call *c = &self->call;
    PyObject *result;

    if (!columns_enter(self))
        return NULL;
    calls_begin(&c->calls);
    c->code = sheaf_column_finish(self->writer, &c->result, &c->error);
    calls_end(&c->calls);
    result = c->code == SHEAF_OK && !PyErr_Occurred() ? result_dict(&c->result)
                                                      : calls_raise(&c->error);
    guard_leave(&self->guard);
    return result;
}

static PyObject *writer_close(struct column_writer_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->writer == NULL)
        Py_RETURN_NONE;
    if (!columns_enter(self))
        return NULL;
    close_writer(self);
    guard_leave(&self->guard);
    Py_RETURN_NONE;
}

static int writer_traverse(struct column_writer_object *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->keywords);
    return 0;
}

static int writer_clear(struct column_writer_object *self)
{
    self->call.calls.progress = self->call.calls.report = NULL;
    Py_CLEAR(self->keywords);
    return 0;
}

static void writer_dealloc(struct column_writer_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    PyObject_GC_UnTrack(self);
    writer_clear(self);
    if (!guard_is_foreign(&self->guard))
        close_writer(self);
    guard_free(&self->guard);
    column_free(&self->call);
    object_free(self);
    Py_DECREF(type);
}

static PyMethodDef writer_methods[] = {
    { "append", (PyCFunction)writer_append, METH_O,
      "append(fields): the values of the next sample, or None." },
    { "finish", (PyCFunction)writer_finish, METH_NOARGS, "Publishes the column.  Returns a dict." },
    { "close", (PyCFunction)writer_close, METH_NOARGS, "Leaves finished shards for resume." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef writer_getset[] = {
    { "next", (getter)writer_next, NULL, "The number of the next sample.", NULL },
    { "end", (getter)writer_end, NULL, "The end of the range that begins with the next sample.",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot writer_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, writer_init },
    { Py_tp_dealloc, writer_dealloc },
    { Py_tp_traverse, writer_traverse },
    { Py_tp_clear, writer_clear },
    { Py_tp_methods, writer_methods },
    { Py_tp_getset, writer_getset },
    { Py_tp_doc, "ColumnWriter(dataset, name, **options), or ColumnWriter(plan, part, parts, "
                 "**options): a column, or a part of a plan, sample by sample." },
    { 0, NULL },
};

static PyType_Spec writer_spec = {
    .name = "sheaf._sheaf.ColumnWriter",
    .basicsize = sizeof(struct column_writer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = writer_slots,
};

int columns_add(PyObject *module)
{
    return module_add_type(module, &writer_spec) == NULL ? -1 : 0;
}
