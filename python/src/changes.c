/* SPDX-License-Identifier: MIT
 *
 * Changes of a data set that was packed: edit. */
#include "module.h"

#define EDIT(name, kind) { #name, kind, offsetof(struct sheaf_edit_options, name) }

static const struct option edit_table[] = {
    EDIT(delete_keys, OPTION_TEXT), EDIT(labels, OPTION_TEXT), EDIT(replace, OPTION_TEXT),
    EDIT(on_unknown, OPTION_ON_ERROR), EDIT(resume, OPTION_BOOL), EDIT(overwrite, OPTION_BOOL),
    EDIT(purge, OPTION_BOOL), EDIT(dry_run, OPTION_BOOL), EDIT(jobs, OPTION_U32),
    EDIT(memory_bytes, OPTION_U64), EDIT(s3, OPTION_TEXTS), EDIT(progress, OPTION_CALL),
    EDIT(report, OPTION_CALL), { NULL, OPTION_CALL, 0 },
};

static PyObject *edit_result_dict(const struct sheaf_edit_result *r)
{
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N}", COUNT(samples),
                         COUNT(deleted), COUNT(relabelled), COUNT(replaced), COUNT(unknown),
                         COUNT(shards), COUNT(shards_written), COUNT(shards_kept),
                         COUNT(stored_bytes), COUNT(memory_peak_bytes), "is_done",
                         PyBool_FromLong(r->is_done));
#undef COUNT
}

PyObject *action_edit(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_edit_options o;
    struct sheaf_edit_result result;
    struct sheaf_error error = { .code = SHEAF_OK };
    PyObject *dataset = NULL, *made = NULL;
    struct calls calls = { .interrupt = 0 };
    int code;

    sheaf_edit_options_init(&o, sizeof(o));
    if (PyArg_ParseTuple(args, "O&:edit", PyUnicode_FSConverter, &dataset) &&
        options_set(&o, edit_table, keywords) == 0) {
        calls_take(&calls, keywords);
        o.progress = calls_progress;
        o.report = calls_report;
        o.context = &calls;
        o.interrupt = &calls.interrupt;
        calls_begin(&calls);
        code = sheaf_edit(PyBytes_AsString(dataset), &o, &result, sizeof(result), &error);
        calls_end(&calls);
        made = code == SHEAF_OK && !PyErr_Occurred() ? edit_result_dict(&result)
                                                     : calls_raise(&error);
    }
    PyMem_Free((void *)(uintptr_t)o.s3);
    Py_XDECREF(dataset);
    return made;
}
