/* SPDX-License-Identifier: MIT
 *
 * The Python functions that copy existing data: convert (the whole data set or one part of a plan),
 * unpack and pipe. Two more functions show the state of a stored plan, and report the failure of a
 * job. */
#include "module.h"

#define COUNT(name) #name, (unsigned long long)r->name

/* ---- convert and unpack: both read ----------------------------------------------------------- */

/* A call that copies, and its result. */
struct copy {
    struct sheaf_reader_options reading;
    struct sheaf_pack_options packing;
    struct sheaf_unpack_options unpacking;
    struct sheaf_pack_result packed;
    struct sheaf_unpack_result unpacked;
    struct sheaf_reader_stats stats;
    struct sheaf_error error;
    struct calls calls;
    int code;
};

/* Initialises the state of a call that copies data. `reading` is a dict with options of the reader.
 * Returns -1 with an exception on failure. */
static int copy_init(struct copy *c, PyObject *reading, PyObject *keywords)
{
    *c = (struct copy){ .code = SHEAF_OK };
    sheaf_reader_options_init(&c->reading, sizeof(c->reading));
    sheaf_pack_options_init(&c->packing, sizeof(c->packing));
    sheaf_unpack_options_init(&c->unpacking, sizeof(c->unpacking));
    if (options_set(&c->reading, reader_options_table, reading) != 0)
        return -1;
    calls_take(&c->calls, keywords);
    c->reading.report = calls_report;
    c->reading.report_context = &c->calls;
    c->packing.progress = c->unpacking.progress = calls_progress;
    c->packing.note = calls_note;
    c->packing.context = c->unpacking.context = &c->calls;
    c->packing.interrupt = c->unpacking.interrupt = &c->calls.interrupt;
    return 0;
}

static PyObject *converted(const struct copy *c)
{
    const struct sheaf_pack_result *r = &c->packed;

    if (c->code != SHEAF_OK || PyErr_Occurred())
        return calls_raise(&c->error);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(samples),
                         COUNT(payload_bytes), COUNT(stored_bytes), COUNT(shards),
                         COUNT(shards_kept), COUNT(skipped), COUNT(converted), COUNT(resized),
                         COUNT(duplicates), "corrupt", (unsigned long long)c->stats.corrupt,
                         "lost_bytes", (unsigned long long)c->stats.lost_bytes,
                         "passed_over", (unsigned long long)c->stats.passed_over);
}

PyObject *action_convert(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *source, *reading, *dest = NULL, *dataset = NULL, *made = NULL;
    struct copy c = { .code = SHEAF_OK };

    if (PyArg_ParseTuple(args, "OO&O:convert", &source, PyUnicode_FSConverter, &dest, &reading) &&
        copy_init(&c, reading, keywords) == 0 &&
        options_set(&c.packing, pack_options_table, keywords) == 0 &&
        (dataset = dataset_of(source)) != NULL) {
        calls_begin(&c.calls);
        c.code = sheaf_convert(((struct dataset_object *)dataset)->dataset,
                               PyBytes_AsString(dest), &c.packing, &c.reading, &c.packed,
                               &c.stats, &c.error);
        calls_end(&c.calls);
        made = converted(&c);
    }
    pack_options_free(&c.packing);
    options_free_columns(&c.reading);
    Py_XDECREF(dataset);
    Py_XDECREF(dest);
    return made;
}

PyObject *action_convert_part(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *reading, *plan = NULL, *made = NULL;
    unsigned long part, parts;
    struct copy c = { .code = SHEAF_OK };

    if (PyArg_ParseTuple(args, "O&kkO:convert_part", PyUnicode_FSConverter, &plan, &part, &parts,
                         &reading) &&
        copy_init(&c, reading, keywords) == 0 &&
        options_set(&c.packing, pack_options_table, keywords) == 0) {
        calls_begin(&c.calls);
        c.code = sheaf_convert_part(PyBytes_AsString(plan), (uint32_t)part, (uint32_t)parts,
                                    &c.packing, &c.reading, &c.packed, &c.error);
        calls_end(&c.calls);
        made = converted(&c);
    }
    pack_options_free(&c.packing);
    options_free_columns(&c.reading);
    Py_XDECREF(plan);
    return made;
}

static const struct option unpack_table[] = {
    { "resume", OPTION_BOOL, offsetof(struct sheaf_unpack_options, resume) },
    { "duplicate_keys", OPTION_DUPLICATE_KEYS,
      offsetof(struct sheaf_unpack_options, duplicate_keys) },
    { "progress", OPTION_CALL, 0 }, { "report", OPTION_CALL, 0 }, { NULL, OPTION_CALL, 0 },
};

PyObject *action_unpack(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *source, *reading, *directory = NULL, *dataset = NULL, *made = NULL;
    const struct sheaf_unpack_result *r;
    struct copy c = { .code = SHEAF_OK };

    if (PyArg_ParseTuple(args, "OO&O:unpack", &source, PyUnicode_FSConverter, &directory,
                         &reading) &&
        copy_init(&c, reading, keywords) == 0 &&
        options_set(&c.unpacking, unpack_table, keywords) == 0 &&
        (dataset = dataset_of(source)) != NULL) {
        calls_begin(&c.calls);
        c.code = sheaf_unpack(((struct dataset_object *)dataset)->dataset,
                              PyBytes_AsString(directory), &c.unpacking, &c.reading, &c.unpacked,
                              &c.stats, &c.error);
        calls_end(&c.calls);
        r = &c.unpacked;
        if (c.code != SHEAF_OK || PyErr_Occurred())
            calls_raise(&c.error);
        else
            made = Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(samples), COUNT(files),
                                 COUNT(bytes), COUNT(duplicates),
                                 "corrupt", (unsigned long long)c.stats.corrupt,
                                 "lost_bytes", (unsigned long long)c.stats.lost_bytes,
                                 "passed_over", (unsigned long long)c.stats.passed_over);
    }
    options_free_columns(&c.reading);
    Py_XDECREF(dataset);
    Py_XDECREF(directory);
    return made;
}

/* ---- pipe ------------------------------------------------------------------------------------ */

#define FEED(name, kind) { #name, kind, offsetof(struct sheaf_feed_options, name) }

static const struct option feed_table[] = {
    FEED(channel, OPTION_TEXT), FEED(first_epoch, OPTION_U64), FEED(epochs, OPTION_U64),
    FEED(shuffle, OPTION_BOOL), FEED(seed, OPTION_U64), FEED(host, OPTION_U32),
    FEED(hosts, OPTION_U32), FEED(record_wrapper, OPTION_BOOL), FEED(gunzip, OPTION_BOOL),
    FEED(attributes, OPTION_TEXT), FEED(memory_bytes, OPTION_U64), FEED(progress, OPTION_CALL),
    { NULL, OPTION_CALL, 0 },
};

PyObject *action_pipe(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_feed_options options;
    struct sheaf_feed_result result = { 0 }, *r = &result;
    struct sheaf_error error = { 0 };
    PyObject *source = NULL, *directory = NULL, *made = NULL;
    struct calls calls;
    int code;

    sheaf_feed_options_init(&options, sizeof(options));
    if (PyArg_ParseTuple(args, "O&O&:pipe", PyUnicode_FSConverter, &source,
                         PyUnicode_FSConverter, &directory) &&
        options_set(&options, feed_table, keywords) == 0) {
        calls_take(&calls, keywords);
        options.progress = calls_progress;
        options.context = &calls;
        options.interrupt = &calls.interrupt;
        calls_begin(&calls);
        code = sheaf_feed(PyBytes_AsString(source), PyBytes_AsString(directory), &options, r,
                          &error);
        calls_end(&calls);
        if (code != SHEAF_OK || PyErr_Occurred())
            calls_raise(&error);
        else
            made = Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(epochs), COUNT(closed_early),
                                 COUNT(objects), COUNT(bytes), COUNT(left_out),
                                 COUNT(memory_peak_bytes));
    }
    Py_XDECREF(source);
    Py_XDECREF(directory);
    return made;
}

/* ---- A stored plan --------------------------------------------------------------------------- */

static PyObject *plan_dict(const struct sheaf_plan *plan)
{
    struct sheaf_plan_info info;
    const struct sheaf_plan_info *r = &info;

    sheaf_plan_get_info(plan, &info, sizeof(info));
    return Py_BuildValue("{s:N,s:s,s:N,s:z,s:z,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:O,s:I,s:K,"
                         "s:K,s:K,s:K}",
                         "dest", text_of(info.dest), "source", info.source,
                         "root", text_of(info.root),
                         "container", sheaf_container_name(info.container),
                         "codec", sheaf_codec_name(info.codec), "hash", info.hash,
                         COUNT(plan_bytes), COUNT(files), COUNT(samples), COUNT(payload_bytes),
                         COUNT(shards), COUNT(done_shards), COUNT(done_samples),
                         COUNT(done_payload_bytes), "committed",
                         info.committed ? Py_True : Py_False, "parts", (unsigned)info.parts,
                         COUNT(cls_looked), COUNT(cls_words), COUNT(duplicates), COUNT(dropped));
}

PyObject *action_plan_info(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct sheaf_plan *plan = NULL;
    struct sheaf_error error;
    PyObject *path = NULL, *made = NULL;
    PyThreadState *thread;
    bool is_plan;
    int code = SHEAF_OK;

    if (!PyArg_ParseTuple(args, "O&:plan_info", PyUnicode_FSConverter, &path))
        return NULL;
    thread = PyEval_SaveThread();
    is_plan = sheaf_is_plan(PyBytes_AsString(path)) != 0;
    if (is_plan)
        code = sheaf_plan_open(PyBytes_AsString(path), &plan, &error);
    PyEval_RestoreThread(thread);
    Py_DECREF(path);
    if (!is_plan)
        Py_RETURN_NONE;
    made = code == SHEAF_OK ? plan_dict(plan) : error_raise(&error);
    sheaf_plan_free(plan);
    return made;
}

/* ---- A job's failure ------------------------------------------------------------------------- */

PyObject *action_report_failure(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct sheaf_error error = { 0 };
    const char *root, *message;

    if (!PyArg_ParseTuple(args, "ys:report_failure", &root, &message))
        return NULL;
    if (sheaf_channel_report_failure(root, message, &error) != SHEAF_OK)
        return error_raise(&error);
    Py_RETURN_NONE;
}
