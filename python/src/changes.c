/* SPDX-License-Identifier: MIT
 *
 * The Python functions that change a packed data set: edit and repair. */
#include "module.h"

/* ---- edit ----------------------------------------------------------------------------------- */

#define EDIT(name, kind) { #name, kind, offsetof(struct sheaf_edit_options, name) }

static const struct option edit_table[] = {
    EDIT(delete_keys, OPTION_TEXT), EDIT(labels, OPTION_TEXT), EDIT(replace, OPTION_TEXT),
    EDIT(on_unknown, OPTION_ON_ERROR), EDIT(resume, OPTION_BOOL), EDIT(overwrite, OPTION_BOOL),
    EDIT(purge, OPTION_BOOL), EDIT(dry_run, OPTION_BOOL), EDIT(jobs, OPTION_THREADS),
    EDIT(memory_bytes, OPTION_U64), EDIT(s3, OPTION_TEXTS), EDIT(progress, OPTION_CALL),
    EDIT(report, OPTION_CALL), EDIT(note, OPTION_CALL), { NULL, OPTION_CALL, 0 },
};

static PyObject *edit_result_dict(const struct sheaf_edit_result *r)
{
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:K}", COUNT(samples),
                         COUNT(deleted), COUNT(relabelled), COUNT(replaced), COUNT(unknown),
                         COUNT(shards), COUNT(shards_written), COUNT(shards_kept),
                         COUNT(stored_bytes), COUNT(memory_peak_bytes), "is_done",
                         PyBool_FromLong(r->is_done), COUNT(purged));
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
        o.note = calls_note;
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

/* ---- repair --------------------------------------------------------------------------------- */

#define REPAIR(name, kind) { #name, kind, offsetof(struct sheaf_repair_options, name) }

static const struct option repair_table[] = {
    REPAIR(files, OPTION_TEXTS), REPAIR(root, OPTION_TEXT), REPAIR(dry_run, OPTION_BOOL),
    REPAIR(jobs, OPTION_THREADS), REPAIR(memory_bytes, OPTION_U64), REPAIR(s3, OPTION_TEXTS),
    REPAIR(progress, OPTION_CALL), REPAIR(report, OPTION_CALL), REPAIR(note, OPTION_CALL),
    { NULL, OPTION_CALL, 0 },
};

static PyObject *repair_result_dict(const struct sheaf_repair_result *r)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:N}", "files", (unsigned long long)r->files,
                         "damaged", (unsigned long long)r->damaged, "repaired",
                         (unsigned long long)r->repaired, "memory_peak_bytes",
                         (unsigned long long)r->memory_peak_bytes, "is_copy",
                         PyBool_FromLong(r->is_copy));
}

static PyObject *changes_repair(const char *dataset, const struct sources *from,
                                struct sheaf_repair_options *o, PyObject *keywords)
{
    struct calls calls = { .interrupt = 0 };
    struct sheaf_repair_result result;
    struct sheaf_error error = { .code = SHEAF_OK };
    int code;

    while (o->files != NULL && o->files[o->file_count] != NULL)
        o->file_count++;
    calls_take(&calls, keywords);
    o->progress = calls_progress;
    o->report = calls_report;
    o->note = calls_note;
    o->context = &calls;
    o->interrupt = &calls.interrupt;
    calls_begin(&calls);
    code = sheaf_repair(dataset, from->texts, from->count, o, &result, sizeof(result), &error);
    calls_end(&calls);
    return code == SHEAF_OK && !PyErr_Occurred() ? repair_result_dict(&result)
                                                 : calls_raise(&error);
}

PyObject *action_repair(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_repair_options o;
    struct sources from = { 0 };
    PyObject *dataset = NULL, *given, *made = NULL;

    sheaf_repair_options_init(&o, sizeof(o));
    if (PyArg_ParseTuple(args, "O&O:repair", PyUnicode_FSConverter, &dataset, &given) &&
        options_set(&o, repair_table, keywords) == 0 && sources_take(given, &from) == 0) {
        made = changes_repair(PyBytes_AsString(dataset), &from, &o, keywords);
        sources_free(&from);
    }
    PyMem_Free((void *)(uintptr_t)o.files);
    PyMem_Free((void *)(uintptr_t)o.s3);
    Py_XDECREF(dataset);
    return made;
}
