/* SPDX-License-Identifier: MIT
 *
 * The Python exceptions, one for each error code of the C library. Each exception derives from
 * sheaf.Error, and also from the built-in exception that a Python program would expect. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CODES (-SHEAF_ERROR_CODES_END)

static PyObject *error_type;
static PyObject *error_types[CODES];    /* index: minus the error code */

struct error_kind {
    int code;
    const char *name;
    PyObject **also;            /* the built-in exception; or NULL */
    const char *doc;
};

static const struct error_kind kinds[] = {
    { SHEAF_ERR_MEMORY, "OutOfMemoryError", &PyExc_MemoryError, "Out of memory." },
    { SHEAF_ERR_ARGUMENT, "ArgumentError", &PyExc_ValueError, "An argument is not valid." },
    { SHEAF_ERR_STATE, "StateError", &PyExc_RuntimeError, "The call is not allowed now." },
    { SHEAF_ERR_IO, "StoreError", &PyExc_OSError, "Reading or writing failed." },
    { SHEAF_ERR_NETWORK, "NetworkError", &PyExc_ConnectionError, "The network failed." },
    { SHEAF_ERR_ACCESS, "AccessError", &PyExc_PermissionError, "Access was denied." },
    { SHEAF_ERR_NOT_FOUND, "NotFoundError", &PyExc_FileNotFoundError, "There is no such thing." },
    { SHEAF_ERR_EXISTS, "ExistsError", &PyExc_FileExistsError, "It is there already." },
    { SHEAF_ERR_CORRUPT, "CorruptError", NULL, "The data are damaged." },
    { SHEAF_ERR_TRUNCATED, "TruncatedError", NULL, "The data end too early." },
    { SHEAF_ERR_UNSUPPORTED, "UnsupportedError", NULL, "This is not supported." },
    { SHEAF_ERR_LIMIT, "LimitError", NULL, "A limit is exceeded." },
    { SHEAF_ERR_INTERRUPTED, "InterruptedError", &PyExc_InterruptedError, "Interrupted." },
    { SHEAF_ERR_CHANGED, "ChangedError", NULL, "The data changed while they were in use." },
    { SHEAF_ERR_MISMATCH, "MismatchError", NULL, "Counts do not agree." },
};

const char *error_name(int code)
{
    switch (code) {
#define NAME(name, value, sentence) case SHEAF_ERR_##name: return #name;
    SHEAF_ERRORS(NAME)
#undef NAME
    default: return "ERROR";
    }
}

const char *utf8_of(PyObject *value, const char *what)
{
    Py_ssize_t size;
    const char *text;

    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, value);
        return NULL;
    }
    text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        error_raise_argument("%s must not have a zero byte: %R", what, value);
        return NULL;
    }
    return text;
}

PyObject *text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

/* Returns a text to add to an error message. It names the Python option that would help, because
 * the C library's messages do not name options. */
static const char *advice_of(const struct sheaf_error *error)
{
    switch (error->reason) {
    case SHEAF_REASON_DATASET:
        return " (overwrite=True replaces it)";
    case SHEAF_REASON_UNFINISHED:
        return error->code != SHEAF_ERR_EXISTS ? ""
               : " (resume=True continues it, overwrite=True starts again)";
    case SHEAF_REASON_STORED_PLAN:
        return " (sheaf.pack_part(PLAN) or sheaf.convert(plan=PLAN) packs it, sheaf.commit(PLAN) "
               "publishes it, and overwrite=True starts again)";
    case SHEAF_REASON_FILE_EXISTS:
        return " (resume=True keeps what is there already, if it is the same)";
    default:
        return "";
    }
}

PyObject *error_raise(const struct sheaf_error *error)
{
    PyObject *type = error->code < 0 && error->code > SHEAF_ERROR_CODES_END
                     ? error_types[-error->code] : NULL;
    PyObject *text = text_of(error->message[0] != '\0' ? error->message
                                                       : sheaf_strerror(error->code));
    PyObject *message = text == NULL ? NULL : PyUnicode_FromFormat("%S%s", text, advice_of(error));

    Py_XDECREF(text);
    if (message != NULL)
        PyErr_SetObject(type != NULL ? type : error_type, message);
    Py_XDECREF(message);
    return NULL;
}

PyObject *error_raise_code(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct sheaf_error error = { 0 };
    const char *message;

    if (!PyArg_ParseTuple(args, "is:raise_error", &error.code, &message))
        return NULL;
    snprintf(error.message, sizeof(error.message), "%s", message);
    return error_raise(&error);
}

PyObject *error_raise_argument(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    PyErr_FormatV(error_types[-SHEAF_ERR_ARGUMENT], format, args);
    va_end(args);
    return NULL;
}

PyObject *error_raise_state(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    PyErr_FormatV(error_types[-SHEAF_ERR_STATE], format, args);
    va_end(args);
    return NULL;
}

/* Adds the exception for one error code to the Python module. The exception for truncated data
 * derives from the exception for corrupt data. */
static int add_kind(PyObject *module, const struct error_kind *kind)
{
    PyObject *base = kind->code == SHEAF_ERR_TRUNCATED ? error_types[-SHEAF_ERR_CORRUPT]
                                                       : error_type;
    PyObject *bases = kind->also != NULL ? PyTuple_Pack(2, base, *kind->also)
                                         : PyTuple_Pack(1, base);
    PyObject *code = PyUnicode_FromString(error_name(kind->code));
    PyObject *values = code != NULL ? Py_BuildValue("{s:O}", "code", code) : NULL;
    char name[64];
    int result = -1;

    snprintf(name, sizeof(name), "sheaf.%s", kind->name);
    if (bases != NULL && values != NULL)
        error_types[-kind->code] = PyErr_NewExceptionWithDoc(name, kind->doc, bases, values);
    if (error_types[-kind->code] != NULL)
        result = PyModule_AddObjectRef(module, kind->name, error_types[-kind->code]);
    Py_XDECREF(bases);
    Py_XDECREF(code);
    Py_XDECREF(values);
    return result;
}

int errors_add(PyObject *module)
{
    PyObject *values = Py_BuildValue("{s:s}", "code", "ERROR");

    if (values == NULL)
        return -1;
    error_type = PyErr_NewExceptionWithDoc("sheaf.Error", "What the library found wrong: a "
                                           "sentence that says where, what was found and what "
                                           "was expected; `code` is its kind.", NULL, values);
    Py_DECREF(values);
    if (error_type == NULL || PyModule_AddObjectRef(module, "Error", error_type) != 0)
        return -1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (add_kind(module, &kinds[i]) != 0)
            return -1;
    return 0;
}
