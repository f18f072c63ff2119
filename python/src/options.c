/* SPDX-License-Identifier: MIT
 *
 * Converts keyword arguments of Python functions to the options structs of the C library, with
 * tables of options. Also converts sources to arrays of paths. */
#include "module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option *options_find(const struct option *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* Returns -1 with a TypeError that names the argument. */
static int refuse_type(const struct option *option, const char *expected, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s, not %R", option->name, expected, value);
    return -1;
}

static int options_set_number(void *member, const struct option *option, PyObject *value)
{
    const unsigned long long most = option->kind == OPTION_THREADS ? SHEAF_THREADS_MOST
                                    : option->kind == OPTION_U32 ? UINT32_MAX : UINT64_MAX;
    PyObject *index = PyNumber_Index(value);
    unsigned long long number;

    if (index == NULL)
        return refuse_type(option, "an integer", value);
    number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if ((number == (unsigned long long)-1 && PyErr_Occurred()) || number > most) {
        error_raise_argument("%s=%R: expected an integer from 0 to %llu", option->name, value,
                             most);
        return -1;
    }
    if (option->kind == OPTION_U64)
        *(uint64_t *)member = number;
    else
        *(uint32_t *)member = (uint32_t)number;
    return 0;
}

static int set_bool(void *member, PyObject *value)
{
    const int truth = PyObject_IsTrue(value);

    if (truth < 0)
        return -1;
    *(int *)member = truth;
    return 0;
}

static const char *word_name(const struct option *option, int value)
{
    /* words[kind] has the words that a program may give for an option of this kind. The words are
     * in the order of the enum's values, which begin with 0. */
    static const char *const words[][5] = {
        [OPTION_ON_ERROR] = { "fail", "skip" },
        [OPTION_REMAINDER] = { "auto", "keep", "drop", "pad" },
        [OPTION_KEY_END] = { "first-dot", "last-dot" },
        [OPTION_CHECK_IMAGES] = { "markers", "decode", "none" },
        [OPTION_RESIZE_MODE] = { "shorter", "longer", "exact" },
        [OPTION_DUPLICATE_KEYS] = { "fail", "number", "drop" },
        [OPTION_MISSING] = { "fail", "skip", "none" },
    };

    return option->kind == OPTION_CONTAINER ? sheaf_container_name((enum sheaf_container)value)
         : option->kind == OPTION_CODEC ? sheaf_codec_name((enum sheaf_codec)value)
         : words[option->kind][value];
}

/* Writes to `list` the words that an option accepts, as in "none, gzip or lz4". */
static void options_list_names(const struct option *option, int first, char *list, size_t room)
{
    size_t size = 0;

    for (int i = first; word_name(option, i) != NULL && size < room; i++)
        size += (size_t)snprintf(list + size, room - size, "%s%s", i == first ? ""
                                 : word_name(option, i + 1) == NULL ? " or " : ", ",
                                 word_name(option, i));
}

/* Sets an enum by the name of its value. */
static int set_named(void *member, const struct option *option, PyObject *value)
{
    const char *name = PyUnicode_AsUTF8AndSize(value, NULL), *word;
    const int first = option->kind == OPTION_CONTAINER ? SHEAF_TFRECORD : 0;
    int found = -1;
    char names[200];

    if (name == NULL)
        return refuse_type(option, "a str", value);
    if (option->kind == OPTION_CONTAINER)       /* which has other names, too */
        found = sheaf_container_of(name);
    for (int i = first; found < 0 && (word = word_name(option, i)) != NULL; i++)
        found = strcmp(name, word) == 0 ? i : -1;
    if (found < 0) {
        options_list_names(option, first, names, sizeof(names));
        error_raise_argument("%s=%R: expected %s", option->name, value, names);
        return -1;
    }
    *(int *)member = found;      /* the enums are ints */
    return 0;
}

/* Sets pairs of a pattern and whether it packs. */
static int set_filters(struct sheaf_pack_options *options, PyObject *value)
{
    const Py_ssize_t count = PySequence_Size(value);
    struct sheaf_filter *filters = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1,
                                                                   sizeof(*filters));

    if (filters == NULL)
        return count < 0 ? -1 : (PyErr_NoMemory(), -1);
    options->filters = filters;
    options->filter_count = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = PySequence_GetItem(value, i);
        const int fits = pair != NULL && PyArg_ParseTuple(pair, "sp:filter", &filters[i].pattern,
                                                          &filters[i].packs);

        Py_XDECREF(pair);       /* the sequence has it */
        if (!fits)
            return -1;
    }
    return 0;
}

/* Texts, and a NULL. */
static int set_texts(void *member, const struct option *option, PyObject *value)
{
    const Py_ssize_t count = PySequence_Size(value);
    const char **texts = count < 0 ? NULL : PyMem_Calloc((size_t)count + 1, sizeof(*texts));

    if (texts == NULL)
        return count < 0 ? -1 : (PyErr_NoMemory(), -1);
    *(const char ***)member = texts;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *text = PySequence_GetItem(value, i);

        texts[i] = text == NULL ? NULL : utf8_of(text, option->name);
        Py_XDECREF(text);       /* the sequence has it */
        if (texts[i] == NULL)
            return -1;
    }
    return 0;
}

/* Copies the names of columns into memory that belongs to the options. The Python objects may be
 * freed while the reader is still being opened, because the caller may stop waiting. */
static int options_set_columns(struct sheaf_reader_options *options, PyObject *value)
{
    PyObject *list = PyUnicode_Check(value) ? Py_BuildValue("[O]", value) : PySequence_List(value);
    const Py_ssize_t count = list == NULL ? -1 : PyList_Size(list);
    size_t size = ((size_t)count + 1) * sizeof(char *);
    const char **names;
    char *text;

    if (count < 0)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *name = utf8_of(PyList_GetItem(list, i), "the name of a column");

        if (name == NULL) {
            Py_DECREF(list);
            return -1;
        }
        size += strlen(name) + 1;
    }
    names = malloc(size);
    text = (char *)(names + count + 1);
    for (Py_ssize_t i = 0; i < count && names != NULL; i++) {
        names[i] = text;
        text = stpcpy(text, PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL)) + 1;
    }
    Py_DECREF(list);
    if (names == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    options_free_columns(options);
    options->columns = names;
    options->column_count = (size_t)count;
    return 0;
}

void options_free_columns(struct sheaf_reader_options *options)
{
    free((void *)(uintptr_t)options->columns);
    options->columns = NULL;
    options->column_count = 0;
}

static int options_do_set(void *options, const struct option *option, PyObject *value)
{
    void *member = (char *)options + option->offset;

    switch (option->kind) {
    case OPTION_U64:
    case OPTION_U32:
    case OPTION_THREADS:
        return options_set_number(member, option, value);
    case OPTION_BOOL:
        return set_bool(member, value);
    case OPTION_TEXT:
        *(const char **)member = utf8_of(value, option->name);
        return *(const char **)member == NULL ? -1 : 0;
    case OPTION_TEXTS:
        return set_texts(member, option, value);
    case OPTION_COLUMNS:
        return options_set_columns(options, value);
    case OPTION_FILTERS:
        return set_filters(options, value);
    case OPTION_CALL:
        if (PyCallable_Check(value))
            return 0;
        return refuse_type(option, "callable", value);
    default:
        return set_named(member, option, value);
    }
}

void pack_options_free(struct sheaf_pack_options *options)
{
    PyMem_Free((void *)(uintptr_t)options->field_aliases);
    options->field_aliases = NULL;
    PyMem_Free((void *)(uintptr_t)options->s3);
    options->s3 = NULL;
    PyMem_Free((void *)(uintptr_t)options->filters);
    options->filters = NULL;
    PyMem_Free((void *)(uintptr_t)options->sources);
    options->sources = NULL;
}

int options_set(void *options, const struct option *table, PyObject *keywords)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;

    while (keywords != NULL && PyDict_Next(keywords, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        const struct option *option = name == NULL ? NULL : options_find(table, name);

        if (option == NULL) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_TypeError, "%R is not an option here", key);
            return -1;
        }
        if (value != Py_None && options_do_set(options, option, value) != 0)
            return -1;
    }
    return 0;
}

PyObject *options_call(PyObject *keywords, const char *name)
{
    PyObject *value = keywords == NULL ? NULL : PyDict_GetItemString(keywords, name);

    return value == Py_None ? NULL : value;
}

#define READER(name, kind) { #name, kind, offsetof(struct sheaf_reader_options, name) }

const struct option reader_options_table[] = {
    READER(seed, OPTION_U64), READER(epoch, OPTION_U64), READER(no_shuffle, OPTION_BOOL),
    READER(shuffle_buffer, OPTION_U64), READER(lanes, OPTION_U32), READER(rank, OPTION_U32),
    READER(world_size, OPTION_U32), READER(worker, OPTION_U32), READER(workers, OPTION_U32),
    READER(remainder, OPTION_REMAINDER), READER(memory_bytes, OPTION_U64),
    READER(threads, OPTION_THREADS), READER(on_corrupt, OPTION_ON_ERROR),
    READER(max_corrupt, OPTION_U64), READER(cache_directory, OPTION_TEXT),
    READER(cache_bytes, OPTION_U64), READER(report, OPTION_CALL),
    READER(columns, OPTION_COLUMNS), READER(missing, OPTION_MISSING), { NULL, OPTION_CALL, 0 },
};

#define PACK(name, kind) { #name, kind, offsetof(struct sheaf_pack_options, name) }

const struct option pack_options_table[] = {
    { "format", OPTION_CONTAINER, offsetof(struct sheaf_pack_options, container) },
    PACK(codec, OPTION_CODEC), PACK(shard_bytes, OPTION_U64),
    PACK(shard_count, OPTION_U64), PACK(prefix, OPTION_TEXT), PACK(root, OPTION_TEXT),
    PACK(no_shuffle, OPTION_BOOL), PACK(seed, OPTION_U64), PACK(label_base, OPTION_U32),
    PACK(split, OPTION_TEXT), PACK(on_error, OPTION_ON_ERROR), PACK(resume, OPTION_BOOL),
    PACK(overwrite, OPTION_BOOL), PACK(dry_run, OPTION_BOOL), PACK(index, OPTION_TEXT),
    PACK(jobs, OPTION_THREADS), PACK(memory_bytes, OPTION_U64), PACK(progress, OPTION_CALL),
    PACK(report, OPTION_CALL), PACK(note, OPTION_CALL), PACK(plan, OPTION_CALL),
    PACK(filters, OPTION_FILTERS), PACK(field_aliases, OPTION_TEXTS),
    PACK(key_end, OPTION_KEY_END), PACK(identity, OPTION_TEXT), PACK(origin, OPTION_TEXT),
    PACK(sources, OPTION_TEXTS), PACK(source_count, OPTION_U64), PACK(fix_images, OPTION_BOOL),
    PACK(check_images, OPTION_CHECK_IMAGES), PACK(quality, OPTION_U32),
    PACK(resize, OPTION_U32), PACK(resize_mode, OPTION_RESIZE_MODE), PACK(s3, OPTION_TEXTS),
    PACK(reshard, OPTION_BOOL), PACK(reshuffle, OPTION_BOOL),
    PACK(on_change, OPTION_ON_ERROR), PACK(max_skipped, OPTION_TEXT),
    PACK(class_depth, OPTION_U32), PACK(classes, OPTION_TEXT),
    PACK(field_map, OPTION_TEXT), PACK(duplicate_keys, OPTION_DUPLICATE_KEYS),
    { NULL, OPTION_CALL, 0 },
};

/* ---- Sources -------------------------------------------------------------------------------- */

static bool is_path(PyObject *object)
{
    return PyUnicode_Check(object) || PyBytes_Check(object) ||
           PyObject_HasAttrString(object, "__fspath__");
}

void sources_free(struct sources *sources)
{
    Py_CLEAR(sources->list);
    PyMem_Free(sources->texts);
    sources->texts = NULL;
}

int sources_take(PyObject *object, struct sources *sources)
{
    PyObject *given = is_path(object) ? Py_BuildValue("[O]", object) : PySequence_List(object);
    const Py_ssize_t count = given == NULL ? -1 : PyList_Size(given);

    if (given == NULL && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "a source must be a path or URL, or several of them, not %R",
                     object);
    *sources = (struct sources){ .list = PyList_New(0) };
    if (count < 0 || sources->list == NULL)
        goto failed;
    sources->texts = PyMem_Calloc((size_t)count + 1, sizeof(sources->texts[0]));
    if (sources->texts == NULL) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *bytes = NULL;

        if (!is_path(PyList_GetItem(given, i))) {
            PyErr_Format(PyExc_TypeError, "a source must be a path or URL, not %R",
                         PyList_GetItem(given, i));
            goto failed;
        }
        if (!PyUnicode_FSConverter(PyList_GetItem(given, i), &bytes))
            goto failed;
        sources->texts[i] = PyBytes_AsString(bytes);
        if (PyList_Append(sources->list, bytes) != 0) {
            Py_DECREF(bytes);
            goto failed;
        }
        Py_DECREF(bytes);
    }
    sources->count = (size_t)count;
    Py_DECREF(given);
    return 0;

failed:
    Py_XDECREF(given);
    sources_free(sources);
    return -1;
}
