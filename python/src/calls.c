/* SPDX-License-Identifier: MIT
 *
 * Code for long calls of the C library, during which the GIL is released. During such a call, the
 * GIL is taken again to call the program's Python functions and, about ten times a second, to
 * handle signals. */
#include "module.h"

void calls_take(struct calls *calls, PyObject *keywords)
{
    *calls = (struct calls){
        .progress = options_call(keywords, "progress"),
        .report = options_call(keywords, "report"),
        .note = options_call(keywords, "note"),
        .plan = options_call(keywords, "plan"),
    };
}

void calls_begin(struct calls *calls)
{
    calls->thread = PyEval_SaveThread();
}

void calls_end(struct calls *calls)
{
    PyEval_RestoreThread(calls->thread);
}

PyObject *calls_raise(const struct sheaf_error *error)
{
    return PyErr_Occurred() ? NULL : error_raise(error);
}

/* Calls a Python callable with `args`, and then releases the reference to `args`. If the callable
 * raises an exception, interrupts the running call of the C library. */
static void call(struct calls *calls, PyObject *callable, PyObject *args)
{
    PyObject *result = args == NULL ? NULL : PyObject_Call(callable, args, NULL);

    if (result == NULL)
        calls->interrupt = 1;
    Py_XDECREF(result);
    Py_XDECREF(args);
}

void calls_progress(void *context, const struct sheaf_progress *progress)
{
    struct calls *calls = context;

    if (calls->interrupt != 0)
        return;
    calls_end(calls);
    if (PyErr_CheckSignals() != 0)
        calls->interrupt = 1;
    else if (calls->progress != NULL)
        call(calls, calls->progress,
             Py_BuildValue("(sKKKK)", progress->stage,
                           (unsigned long long)progress->done_bytes,
                           (unsigned long long)progress->total_bytes,
                           (unsigned long long)progress->done_count,
                           (unsigned long long)progress->total_count));
    calls_begin(calls);
}

void calls_report(void *context, const char *where, const struct sheaf_error *error)
{
    struct calls *calls = context;

    if (calls->interrupt != 0 || calls->report == NULL)
        return;
    calls_end(calls);
    call(calls, calls->report, Py_BuildValue("(NsN)", text_of(where), error_name(error->code),
                                             text_of(error->message)));
    calls_begin(calls);
}

void calls_note(void *context, const char *about, const struct sheaf_error *note)
{
    struct calls *calls = context;

    if (calls->interrupt != 0 || calls->note == NULL)
        return;
    calls_end(calls);
    call(calls, calls->note, Py_BuildValue("(NN)", text_of(about), text_of(note->message)));
    calls_begin(calls);
}

void calls_plan(void *context, const struct sheaf_plan_shard *shard)
{
    struct calls *calls = context;

    if (calls->interrupt != 0 || calls->plan == NULL)
        return;
    calls_end(calls);
    call(calls, calls->plan,
         Py_BuildValue("(NNKK)", text_of(shard->split), text_of(shard->name),
                       (unsigned long long)shard->samples,
                       (unsigned long long)shard->payload_bytes));
    calls_begin(calls);
}
