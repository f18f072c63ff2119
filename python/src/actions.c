/* SPDX-License-Identifier: MIT
 *
 * The Python functions that do a whole task in one call: packing a data set or one part of a plan,
 * verifying, indexing and fetching. */
#include "module.h"

/* ---- pack ----------------------------------------------------------------------------------- */

PyObject *pack_result_dict(const struct sheaf_pack_result *r)
{
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:K,s:K,"
                         "s:K,s:K}",
                         COUNT(files),
                         COUNT(files_packed), COUNT(samples), COUNT(payload_bytes),
                         COUNT(stored_bytes),
                         COUNT(shards), COUNT(shards_kept), COUNT(skipped),
                         COUNT(multipart_records), COUNT(memory_peak_bytes), COUNT(plan_bytes),
                         COUNT(passed_over), COUNT(left_out), COUNT(unlabelled),
                         "first_unlabelled", text_of(r->first_unlabelled), COUNT(filtered),
                         COUNT(converted), COUNT(resized), COUNT(duplicates));
#undef COUNT
}

/* A call that packs or is related to packing. */
struct packing {
    struct sheaf_pack_options options;
    struct sheaf_pack_result result;
    struct sheaf_error error;
    struct calls calls;
    int code;
};

/* -1 with an exception. */
static int packing_init(struct packing *p, PyObject *keywords)
{
    *p = (struct packing){ 0 };
    sheaf_pack_options_init(&p->options, sizeof(p->options));
    if (options_set(&p->options, pack_options_table, keywords) != 0)
        return -1;
    calls_take(&p->calls, keywords);
    p->options.progress = calls_progress;
    p->options.report = calls_report;
    p->options.note = calls_note;
    p->options.plan = calls_plan;
    p->options.context = &p->calls;
    p->options.interrupt = &p->calls.interrupt;
    return 0;
}

static PyObject *packing_result(const struct packing *p)
{
    return p->code == SHEAF_OK && !PyErr_Occurred() ? pack_result_dict(&p->result)
                                                    : calls_raise(&p->error);
}

/* sheaf_pack_sources or sheaf_append. */
typedef int pack_fn(const char *const *sources, size_t count, const char *dest,
                    const struct sheaf_pack_options *options, struct sheaf_pack_result *result,
                    struct sheaf_error *error);

static PyObject *pack_by(pack_fn *run, PyObject *args, PyObject *keywords)
{
    PyObject *given, *dest = NULL, *made = NULL;
    struct sources sources = { 0 };
    struct packing p = { 0 };

    if (PyArg_ParseTuple(args, "OO&:pack", &given, PyUnicode_FSConverter, &dest) &&
        packing_init(&p, keywords) == 0 && sources_take(given, &sources) == 0) {
        calls_begin(&p.calls);
        p.code = run(sources.texts, sources.count, PyBytes_AsString(dest), &p.options, &p.result,
                     &p.error);
        calls_end(&p.calls);
        if (p.code == SHEAF_OK && p.options.dry_run && p.error.code != SHEAF_OK)
            (void)PyErr_WarnEx(PyExc_UserWarning, p.error.message, 1);
        made = packing_result(&p);
        sources_free(&sources);
    }
    pack_options_free(&p.options);
    Py_XDECREF(dest);
    return made;
}

PyObject *action_pack(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    return pack_by(sheaf_pack_sources, args, keywords);
}

PyObject *action_append(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    return pack_by(sheaf_append, args, keywords);
}

struct found_classes {
    struct calls calls;
    PyObject *list;             /* of tuples; NULL after an exception */
};

static void add_class(void *context, const struct sheaf_class_count *one)
{
    struct found_classes *f = context;
    PyObject *pair;

    if (f->list == NULL)
        return;
    calls_end(&f->calls);
    pair = Py_BuildValue("(NL)", text_of(one->name), (long long)one->number);
    if (pair == NULL || PyList_Append(f->list, pair) != 0)
        Py_CLEAR(f->list);
    Py_XDECREF(pair);
    calls_begin(&f->calls);
}

PyObject *action_class_list(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct found_classes found = { .list = NULL };
    struct sheaf_error error;
    PyObject *path = NULL;
    int label_base, code;

    if (!PyArg_ParseTuple(args, "O&i:class_list", PyUnicode_FSConverter, &path, &label_base))
        return NULL;
    found.list = PyList_New(0);
    calls_begin(&found.calls);
    code = sheaf_class_list(PyBytes_AsString(path), label_base, add_class, &found, &error);
    calls_end(&found.calls);
    Py_DECREF(path);
    if (code != SHEAF_OK)
        Py_CLEAR(found.list);
    return code == SHEAF_OK ? found.list : calls_raise(&error);
}

/* ---- plan and its parts ---------------------------------------------------------------------- */

PyObject *action_plan(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *given, *dest = NULL, *plan = NULL, *made = NULL;
    struct sources sources = { 0 };
    struct packing p = { 0 };

    if (PyArg_ParseTuple(args, "OO&O&:plan", &given, PyUnicode_FSConverter, &dest,
                         PyUnicode_FSConverter, &plan) &&
        packing_init(&p, keywords) == 0 && sources_take(given, &sources) == 0) {
        calls_begin(&p.calls);
        p.code = sheaf_plan_make(sources.texts, sources.count, PyBytes_AsString(dest),
                                 PyBytes_AsString(plan), &p.options, &p.result, &p.error);
        calls_end(&p.calls);
        made = packing_result(&p);
        sources_free(&sources);
    }
    pack_options_free(&p.options);
    Py_XDECREF(dest);
    Py_XDECREF(plan);
    return made;
}

PyObject *action_pack_part(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *plan = NULL, *made = NULL;
    unsigned long part, parts;
    struct packing p = { 0 };

    if (PyArg_ParseTuple(args, "O&kk:pack_part", PyUnicode_FSConverter, &plan, &part, &parts) &&
        packing_init(&p, keywords) == 0) {
        calls_begin(&p.calls);
        p.code = sheaf_pack_part(PyBytes_AsString(plan), (uint32_t)part, (uint32_t)parts,
                                 &p.options, &p.result, &p.error);
        calls_end(&p.calls);
        made = packing_result(&p);
    }
    pack_options_free(&p.options);
    Py_XDECREF(plan);
    return made;
}

PyObject *action_commit(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    PyObject *plan = NULL, *made = NULL;
    struct packing p = { 0 };

    if (PyArg_ParseTuple(args, "O&:commit", PyUnicode_FSConverter, &plan) &&
        packing_init(&p, keywords) == 0) {
        calls_begin(&p.calls);
        p.code = sheaf_commit(PyBytes_AsString(plan), &p.options, &p.result, &p.error);
        calls_end(&p.calls);
        made = packing_result(&p);
    }
    pack_options_free(&p.options);
    Py_XDECREF(plan);
    return made;
}

PyObject *action_part(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct sheaf_error error = { 0 };
    uint32_t part, parts;
    const int code = sheaf_part_from_environment(NULL, &part, &parts, NULL, &error);

    if (code == SHEAF_END)
        Py_RETURN_NONE;
    return code == SHEAF_OK ? Py_BuildValue("kk", (unsigned long)part, (unsigned long)parts)
                            : error_raise(&error);
}

PyObject *action_world(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    struct sheaf_error error = { 0 };
    const char *source;
    uint32_t rank, world_size;
    const int code = sheaf_world_from_environment(NULL, &rank, &world_size, &source, &error);

    if (code == SHEAF_END)
        Py_RETURN_NONE;
    return code == SHEAF_OK ? Py_BuildValue("kks", (unsigned long)rank, (unsigned long)world_size,
                                            source)
                            : error_raise(&error);
}

/* ---- verify and index ----------------------------------------------------------------------- */

#define VERIFY(name, kind) { #name, kind, offsetof(struct sheaf_verify_options, name) }

static const struct option verify_options_table[] = {
    VERIFY(memory_bytes, OPTION_U64), VERIFY(threads, OPTION_THREADS),
    VERIFY(progress, OPTION_CALL), VERIFY(report, OPTION_CALL), VERIFY(part, OPTION_U32),
    VERIFY(parts, OPTION_U32), { NULL, OPTION_CALL, 0 },
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
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:K,s:N,s:K}",
                         "shards", (unsigned long long)result->shards,
                         "samples", (unsigned long long)result->samples,
                         "bytes", (unsigned long long)result->bytes,
                         "passed_over", (unsigned long long)result->passed_over,
                         "unused_classes", (unsigned long long)result->unused_classes,
                         "labelled", (unsigned long long)result->labelled,
                         "unread_labels", (unsigned long long)result->unread_labels,
                         "unlabelled", text_of(result->unlabelled),
                         "repeated_keys", (unsigned long long)result->repeated_keys,
                         "repeated_key", text_of(result->repeated_key),
                         "problem_count", (unsigned long long)result->problems);
}

/* Verifies the data set and then its columns (fields that are stored in data sets of their own).
 * Adds the counts for the columns to *result. The number of samples does not grow, because each
 * record of a column belongs to a sample that was already counted. */
static int verify_all(const struct sheaf_dataset *dataset,
                      const struct sheaf_reader_options *reading,
                      const struct sheaf_verify_options *options,
                      struct sheaf_verify_result *result, struct sheaf_error *error)
{
    int code = sheaf_verify(dataset, options, result, error);
    const uint64_t samples = result->samples;

    for (size_t i = 0; i < reading->column_count && code == SHEAF_OK; i++)
        code = sheaf_column_verify(dataset, reading->columns[i], options, result, error);
    result->samples = samples;
    return code;
}

PyObject *action_verify(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_verify_options options;
    struct sheaf_verify_result result = { 0 };
    struct sheaf_reader_options reading;
    struct sheaf_error error = { 0 };
    PyObject *source, *columns, *dataset = NULL, *made = NULL;
    struct calls calls;
    int code;

    sheaf_reader_options_init(&reading, sizeof(reading));
    if (PyArg_ParseTuple(args, "OO:verify", &source, &columns) &&
        options_set(&reading, reader_options_table, columns) == 0 &&
        verify_options(&options, &calls, keywords) == 0)
        dataset = dataset_of(source);
    if (dataset != NULL) {
        calls_begin(&calls);
        code = verify_all(((struct dataset_object *)dataset)->dataset, &reading, &options, &result,
                          &error);
        calls_end(&calls);
        made = verify_result(code, &result, &error);
        Py_DECREF(dataset);
    }
    options_free_columns(&reading);
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
    int overwrite, keys, join, code;

    if (!PyArg_ParseTuple(args, "O&zppp:index", PyUnicode_FSConverter, &directory, &peers,
                          &overwrite, &keys, &join) ||
        verify_options(&options, &calls, keywords) != 0) {
        Py_XDECREF(directory);
        return NULL;
    }
    options.join = join;
    calls_begin(&calls);
    code = keys ? sheaf_index_keys(PyBytes_AsString(directory), &options, &result, &error)
                : sheaf_index(PyBytes_AsString(directory), peers, overwrite, &options, &result,
                              &error);
    calls_end(&calls);
    Py_DECREF(directory);
    return verify_result(code, &result, &error);
}

/* ---- fetch ---------------------------------------------------------------------------------- */

#define FETCH(name, kind) { #name, kind, offsetof(struct sheaf_fetch_options, name) }

static const struct option fetch_options_table[] = {
    FETCH(host, OPTION_U32), FETCH(hosts, OPTION_U32), FETCH(memory_bytes, OPTION_U64),
    FETCH(threads, OPTION_THREADS), FETCH(progress, OPTION_CALL), { NULL, OPTION_CALL, 0 },
};

static PyObject *fetch_result(int code, const struct sheaf_fetch_result *r,
                              const struct sheaf_error *error)
{
    if (code != SHEAF_OK || PyErr_Occurred())
        return calls_raise(error);
#define COUNT(name) #name, (unsigned long long)r->name
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", COUNT(objects),
                         COUNT(bytes), COUNT(kept), COUNT(kept_bytes), COUNT(fetched),
                         COUNT(fetched_bytes), COUNT(verified), COUNT(repeated),
                         COUNT(unfinished), COUNT(memory_peak_bytes));
#undef COUNT
}

PyObject *action_fetch(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    struct sheaf_fetch_options options;
    struct sheaf_fetch_result result = { 0 };
    struct sheaf_error error = { 0 };
    PyObject *source = NULL, *directory = NULL, *made = NULL;
    struct calls calls;
    int code;

    sheaf_fetch_options_init(&options, sizeof(options));
    if (PyArg_ParseTuple(args, "O&O&:fetch", PyUnicode_FSConverter, &source,
                         PyUnicode_FSConverter, &directory) &&
        options_set(&options, fetch_options_table, keywords) == 0) {
        calls_take(&calls, keywords);
        options.progress = calls_progress;
        options.context = &calls;
        options.interrupt = &calls.interrupt;
        calls_begin(&calls);
        code = sheaf_fetch(PyBytes_AsString(source), PyBytes_AsString(directory), &options,
                           &result, &error);
        calls_end(&calls);
        made = fetch_result(code, &result, &error);
    }
    Py_XDECREF(source);
    Py_XDECREF(directory);
    return made;
}
