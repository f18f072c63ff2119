/* SPDX-License-Identifier: MIT
 *
 * The calls that run to their end: pack, verify, index. */
#include "module.h"

/* ---- pack ----------------------------------------------------------------------------------- */

PyObject *pack_result_dict(const struct sheaf_pack_result *r)
{
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(files),
                         COUNT(samples), COUNT(payload_bytes), COUNT(stored_bytes),
                         COUNT(shards), COUNT(shards_kept), COUNT(skipped),
                         COUNT(multipart_records), COUNT(memory_peak_bytes), COUNT(plan_bytes));
#undef COUNT
}

PyObject *action_pack(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_pack_options options;
    struct sheaf_pack_result result = { 0 };
    struct sheaf_error error = { 0 };
    PyObject *source = NULL, *dest = NULL;
    struct calls calls;
    int code;

    sheaf_pack_options_init(&options, sizeof(options));
    if (!PyArg_ParseTuple(args, "O&O&:pack", PyUnicode_FSConverter, &source,
                          PyUnicode_FSConverter, &dest) ||
        options_set(&options, pack_options_table, keywords) != 0) {
        Py_XDECREF(source);
        Py_XDECREF(dest);
        return NULL;
    }
    calls_take(&calls, keywords);
    options.progress = calls_progress;
    options.report = calls_report;
    options.plan = calls_plan;
    options.context = &calls;
    options.interrupt = &calls.interrupt;
    calls_begin(&calls);
    code = sheaf_pack(PyBytes_AsString(source), PyBytes_AsString(dest), &options, &result,
                      &error);
    calls_end(&calls);
    Py_DECREF(source);
    Py_DECREF(dest);
    return code == SHEAF_OK && !PyErr_Occurred() ? pack_result_dict(&result)
                                                 : calls_raise(&error);
}

/* ---- verify and index ----------------------------------------------------------------------- */

#define VERIFY(name, kind) { #name, kind, offsetof(struct sheaf_verify_options, name) }

static const struct option verify_options_table[] = {
    VERIFY(memory_bytes, OPTION_U64), VERIFY(threads, OPTION_U32),
    VERIFY(progress, OPTION_CALL), VERIFY(report, OPTION_CALL), { NULL, OPTION_CALL, 0 },
};

static int verify_options(struct sheaf_verify_options *options, struct calls *calls,
                          PyObject *keywords)
{
    sheaf_verify_options_init(options, sizeof(*options));
    if (options_set(options, verify_options_table, keywords) != 0)
        return -1;
    calls_take(calls, keywords);
    options->progress = calls_progress;
    options->report = calls_report;
    options->context = calls;
    options->interrupt = &calls->interrupt;
    return 0;
}

static PyObject *verify_result(int code, const struct sheaf_verify_result *result,
                               const struct sheaf_error *error)
{
    if (code != SHEAF_OK || PyErr_Occurred())
        return calls_raise(error);
    return Py_BuildValue("{s:K,s:K,s:K,s:K}", "shards", (unsigned long long)result->shards,
                         "samples", (unsigned long long)result->samples,
                         "bytes", (unsigned long long)result->bytes,
                         "problem_count", (unsigned long long)result->problems);
}

PyObject *action_verify(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_verify_options options;
    struct sheaf_verify_result result = { 0 };
    struct sheaf_error error = { 0 };
    PyObject *source, *dataset, *made = NULL;
    struct calls calls;
    int code;

    if (!PyArg_ParseTuple(args, "O:verify", &source) ||
        verify_options(&options, &calls, keywords) != 0)
        return NULL;
    dataset = dataset_of(source);
    if (dataset == NULL)
        return NULL;
    calls_begin(&calls);
    code = sheaf_verify(((struct dataset_object *)dataset)->dataset, &options, &result, &error);
    calls_end(&calls);
    made = verify_result(code, &result, &error);
    Py_DECREF(dataset);
    return made;
}

PyObject *action_index(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_verify_options options;
    struct sheaf_verify_result result = { 0 };
    struct sheaf_error error = { 0 };
    PyObject *directory = NULL;
    struct calls calls;
    const char *peers;
    int overwrite, code;

    if (!PyArg_ParseTuple(args, "O&zp:index", PyUnicode_FSConverter, &directory, &peers,
                          &overwrite) ||
        verify_options(&options, &calls, keywords) != 0) {
        Py_XDECREF(directory);
        return NULL;
    }
    calls_begin(&calls);
    code = sheaf_index(PyBytes_AsString(directory), peers, overwrite, &options, &result, &error);
    calls_end(&calls);
    Py_DECREF(directory);
    return verify_result(code, &result, &error);
}
