/* SPDX-License-Identifier: MIT
 *
 * Random access to samples: returns the samples with given numbers, or with given keys, as a Batch.
 * Several threads may do this at the same time. */
#include "module.h"

#include <string.h>

/* Keeps samples that were read by number alive. The struct owns the memory of their bytes, and has
 * a reference to the data set, which owns the names of their classes. */
struct numbered {
    struct sheaf_kept *kept;
    PyObject *dataset;
};

static void release_numbered(void *what)
{
    struct numbered *n = what;

    sheaf_kept_free(n->kept);
    Py_DECREF(n->dataset);
    PyMem_Free(n);
}

uint64_t *numbers_of(PyObject *list, size_t *count)
{
    PyObject *items = PySequence_List(list);
    const Py_ssize_t size = items == NULL ? -1 : PyList_Size(items);
    uint64_t *numbers = size < 0 ? NULL : PyMem_Calloc((size_t)size + 1, sizeof(numbers[0]));

    if (size >= 0 && numbers == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; numbers != NULL && i < size; i++) {
        PyObject *number = PyNumber_Index(PyList_GetItem(items, i));

        if (number != NULL)
            numbers[i] = PyLong_AsUnsignedLongLong(number);
        if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_OverflowError)) {
            PyErr_Clear();
            error_raise_argument("there is no sample %R", number);
        }
        Py_XDECREF(number);
        if (PyErr_Occurred()) {
            PyMem_Free(numbers);
            numbers = NULL;
        }
    }
    Py_XDECREF(items);
    *count = size < 0 ? 0 : (size_t)size;
    return numbers;
}

/* Takes over `kept`. */
static PyObject *numbered_batch_of(PyObject *dataset, const struct sheaf_sample *samples,
                                   size_t count, struct sheaf_kept *kept)
{
    struct batch_object *batch = batch_new();
    struct numbered *n = batch == NULL ? NULL : PyMem_Malloc(sizeof(*n));
    struct hold *hold = n == NULL ? NULL : hold_new(release_numbered, n);

    if (hold == NULL) {
        sheaf_kept_free(kept);
        PyMem_Free(n);
        Py_XDECREF((PyObject *)batch);
        return batch == NULL ? NULL : PyErr_NoMemory();
    }
    *n = (struct numbered){ kept, Py_NewRef(dataset) };
    if (batch_extend(batch, hold, samples, count))
        return (PyObject *)batch;
    hold_drop(hold);
    Py_DECREF((PyObject *)batch);
    return PyErr_NoMemory();
}

static const struct option column_options_table[] = {
    { "columns", OPTION_COLUMNS, offsetof(struct sheaf_reader_options, columns) },
    { "missing", OPTION_MISSING, offsetof(struct sheaf_reader_options, missing) },
    { NULL, OPTION_CALL, 0 },
};

/* Sets the options for reading samples by number. The dict `reading` has the options about columns.
 * Their values are stored in `columns`, which the caller frees. Returns -1 with an exception on
 * failure. */
static int options_take(struct sheaf_read_options *options, struct calls *calls,
                        unsigned long long memory_bytes, PyObject *reading,
                        struct sheaf_reader_options *columns)
{
    sheaf_reader_options_init(columns, sizeof(*columns));
    if (options_set(columns, column_options_table, reading) != 0) {
        options_free_columns(columns);
        return -1;
    }
    sheaf_read_options_init(options, sizeof(*options));
    options->memory_bytes = memory_bytes;
    options->progress = calls_progress;
    options->context = calls;
    options->interrupt = &calls->interrupt;
    options->columns = columns->columns;
    options->column_count = columns->column_count;
    options->missing = columns->missing;
    return 0;
}

PyObject *dataset_read(struct dataset_object *self, PyObject *args)
{
    struct calls calls = { 0 };
    const struct sheaf_sample *samples = NULL;
    struct sheaf_kept *kept = NULL;
    struct sheaf_reader_options columns;
    struct sheaf_read_options options;
    struct sheaf_error error;
    unsigned long long memory_bytes;
    uint64_t *numbers;
    PyObject *list, *reading;
    size_t count;
    int code;

    if (!PyArg_ParseTuple(args, "OKO!:_read", &list, &memory_bytes, &PyDict_Type, &reading))
        return NULL;
    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    numbers = numbers_of(list, &count);
    if (numbers == NULL)
        return NULL;
    if (options_take(&options, &calls, memory_bytes, reading, &columns) != 0) {
        PyMem_Free(numbers);
        return NULL;
    }
    calls_begin(&calls);
    code = sheaf_dataset_read(self->dataset, numbers, count, &options, &samples, &kept, &error);
    calls_end(&calls);
    options_free_columns(&columns);
    PyMem_Free(numbers);
    if (code != SHEAF_OK)
        return calls_raise(&error);
    return numbered_batch_of((PyObject *)self, samples, count, kept);
}

/* ---- Keys ----------------------------------------------------------------------------------- */

/* Returns an array of pointers to the keys in a Python list of str. The strings stay in the memory
 * of the list. The caller frees the array with PyMem_Free. Returns NULL with an exception on
 * failure. */
static const char **keys_of(PyObject *list)
{
    const Py_ssize_t size = PyList_Size(list);
    const char **keys = PyMem_Calloc((size_t)size + 1, sizeof(keys[0]));

    if (keys == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; keys != NULL && i < size; i++) {
        PyObject *key = PyList_GetItem(list, i);
        Py_ssize_t bytes;

        keys[i] = PyUnicode_AsUTF8AndSize(key, &bytes);
        if (keys[i] != NULL && strlen(keys[i]) == (size_t)bytes)
            continue;
        if (keys[i] != NULL)        /* no sample has a key with a zero byte */
            PyErr_SetObject(PyExc_KeyError, key);
        PyMem_Free(keys);
        keys = NULL;
    }
    return keys;
}

/* Returns a Batch with the samples that were found by their keys. Raises a KeyError for a key that
 * no sample has. */
static PyObject *batch_of_found(struct dataset_object *self, PyObject *list,
                                const struct sheaf_sample *samples, const size_t *firsts,
                                struct sheaf_kept *kept)
{
    const Py_ssize_t size = PyList_Size(list);

    for (Py_ssize_t i = 0; i < size; i++) {
        if (firsts[i] != firsts[i + 1])
            continue;
        PyErr_SetObject(PyExc_KeyError, PyList_GetItem(list, i));
        sheaf_kept_free(kept);
        return NULL;
    }
    return numbered_batch_of((PyObject *)self, samples, firsts[size], kept);
}

PyObject *dataset_find(struct dataset_object *self, PyObject *args)
{
    struct calls calls = { 0 };
    const struct sheaf_sample *samples = NULL;
    struct sheaf_kept *kept = NULL;
    struct sheaf_reader_options columns;
    struct sheaf_read_options options;
    struct sheaf_error error;
    unsigned long long memory_bytes;
    const size_t *firsts = NULL;
    const char **keys;
    PyObject *list, *reading;
    int code;

    if (!PyArg_ParseTuple(args, "O!KO!:_find", &PyList_Type, &list, &memory_bytes, &PyDict_Type,
                          &reading))
        return NULL;
    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    list = PyList_GetSlice(list, 0, PyList_Size(list));     /* which nobody else can change */
    keys = list == NULL ? NULL : keys_of(list);
    if (keys == NULL || options_take(&options, &calls, memory_bytes, reading, &columns) != 0) {
        PyMem_Free(keys);
        Py_XDECREF(list);
        return NULL;
    }
    calls_begin(&calls);
    code = sheaf_dataset_find(self->dataset, keys, (size_t)PyList_Size(list), &options, &samples,
                              &firsts, &kept, &error);
    calls_end(&calls);
    options_free_columns(&columns);
    PyMem_Free(keys);
    args = code != SHEAF_OK ? calls_raise(&error)
                            : batch_of_found(self, list, samples, firsts, kept);
    Py_DECREF(list);
    return args;
}
