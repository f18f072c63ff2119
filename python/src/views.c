/* SPDX-License-Identifier: MIT
 *
 * The Python functions for views, which choose and mix samples of data sets. One function writes
 * the JSON document that defines a view. Another function writes the file with the numbers of the
 * samples that a Python condition has chosen. The third function finds the training steps in which
 * given samples are used. */
#include "module.h"

#include <stdlib.h>

PyObject *dataset_write_numbers(struct dataset_object *self, PyObject *args)
{
    PyObject *list, *path = NULL;
    struct sheaf_error error;
    struct calls calls = { 0 };
    uint64_t *numbers;
    char name[48];
    size_t count;
    int code;

    if (!PyArg_ParseTuple(args, "OO&:_write_numbers", &list, PyUnicode_FSConverter, &path))
        return NULL;
    numbers = self->dataset == NULL ? NULL : numbers_of(list, &count);
    if (numbers == NULL) {
        Py_DECREF(path);
        return PyErr_Occurred() ? NULL : error_raise_state("the data set is not open");
    }
    calls_begin(&calls);
    code = sheaf_view_write_numbers(self->dataset, numbers, count, PyBytes_AsString(path), name,
                                    &error);
    calls_end(&calls);
    PyMem_Free(numbers);
    Py_DECREF(path);
    return code == SHEAF_OK ? text_of(name) : error_raise(&error);
}

PyObject *action_view_write(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path = NULL;
    struct sheaf_error error;
    struct calls calls = { 0 };
    struct sheaf_read_options options;
    const char *document;
    int overwrite, code;

    if (!PyArg_ParseTuple(args, "sO&p:view_write", &document, PyUnicode_FSConverter, &path,
                          &overwrite))
        return NULL;
    sheaf_read_options_init(&options, sizeof(options));
    options.progress = calls_progress;
    options.context = &calls;
    options.interrupt = &calls.interrupt;
    calls_begin(&calls);
    code = sheaf_view_write(document, PyBytes_AsString(path), overwrite, &options, &error);
    calls_end(&calls);
    Py_DECREF(path);
    return code == SHEAF_OK ? Py_NewRef(Py_None) : calls_raise(&error);
}

/* ---- Locate ---------------------------------------------------------------------------------- */

struct found_comings {
    struct sheaf_coming *list;
    size_t count, capacity;
    bool failed;
};

/* Without the GIL. */
static void add_coming(void *context, const struct sheaf_coming *coming)
{
    struct found_comings *c = context;

    if (c->count == c->capacity) {
        const size_t capacity = 2 * c->capacity + 16;
        struct sheaf_coming *grown = realloc(c->list, capacity * sizeof(*grown));

        c->failed |= grown == NULL;
        if (grown == NULL)
            return;
        c->list = grown;
        c->capacity = capacity;
    }
    c->list[c->count++] = *coming;
}

static PyObject *coming_tuples(const struct found_comings *c)
{
    PyObject *list = PyList_New((Py_ssize_t)c->count);

    for (size_t i = 0; list != NULL && i < c->count; i++) {
        const struct sheaf_coming *coming = &c->list[i];
        PyObject *tuple = Py_BuildValue("(nKIK)", (Py_ssize_t)coming->asked,
                                        (unsigned long long)coming->sample, coming->rank,
                                        (unsigned long long)coming->ordinal);

        if (tuple == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, tuple);
    }
    return list;
}

PyObject *dataset_locate(struct dataset_object *self, PyObject *args, PyObject *keywords)
{
    struct sheaf_reader_options options;
    struct found_comings comings = { 0 };
    struct sheaf_error error;
    struct calls calls = { 0 };
    PyObject *list, *found;
    uint64_t *numbers;
    size_t count;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    if (!PyArg_ParseTuple(args, "O:_locate", &list) ||
        options_set(&options, reader_options_table, keywords) != 0)
        return NULL;
    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    numbers = numbers_of(list, &count);
    if (numbers == NULL)
        return NULL;
    calls_begin(&calls);
    code = sheaf_dataset_locate(self->dataset, &options, numbers, count, add_coming, &comings,
                                &error);
    calls_end(&calls);
    PyMem_Free(numbers);
    found = code != SHEAF_OK ? error_raise(&error)
          : comings.failed ? PyErr_NoMemory() : coming_tuples(&comings);
    free(comings.list);
    return found;
}
