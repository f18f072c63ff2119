/* SPDX-License-Identifier: MIT
 *
 * Server: the reader of a rank, and the thread that serves its samples to workers (serving.h), as
 * an object of the program.  Workers talk to it in Python (sheaf/_served.py). */
#include "module.h"
#include "serving.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REPORTS_MOST 1000u
#define ARENA_PART   8u             /* of the memory, for what does not lie in it already */

/* What the reader skips, until the program asks for it. */
struct reports {
    pthread_mutex_t lock;
    struct {
        struct skipped { char *where; struct sheaf_error error; } *skipped;
        size_t count;
    } locked;
};

struct server_object {
    PyObject_HEAD
    PyObject *dataset;
    struct serving *serving;        /* NULL: closed */
    struct reports *reports;
    unsigned forks;                 /* fork_count when it was made */
};

/* ---- Reports -------------------------------------------------------------------------------- */

static void note_skipped(void *context, const char *where, const struct sheaf_error *error)
{
    struct reports *r = context;
    struct skipped *more;

    pthread_mutex_lock(&r->lock);
    more = r->locked.count >= REPORTS_MOST ? NULL
         : realloc(r->locked.skipped, (r->locked.count + 1) * sizeof(more[0]));
    if (more != NULL) {
        r->locked.skipped = more;
        more[r->locked.count].where = strdup(where);
        more[r->locked.count++].error = *error;
    }
    pthread_mutex_unlock(&r->lock);
}

static void reports_free(struct reports *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->locked.count; i++)
        free(r->locked.skipped[i].where);
    free(r->locked.skipped);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static PyObject *server_reports(struct server_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);
    struct skipped *skipped = NULL;
    size_t count = 0;

    if (list == NULL || self->reports == NULL || self->forks != fork_count)
        return list;
    pthread_mutex_lock(&self->reports->lock);
    skipped = self->reports->locked.skipped;
    count = self->reports->locked.count;
    self->reports->locked.skipped = NULL;
    self->reports->locked.count = 0;
    pthread_mutex_unlock(&self->reports->lock);
    for (size_t i = 0; i < count; i++) {
        const struct skipped *s = &skipped[i];
        PyObject *told = list == NULL ? NULL
                       : Py_BuildValue("(NsN)", text_of(s->where != NULL ? s->where : ""),
                                       error_name(s->error.code), text_of(s->error.message));

        if (told == NULL || PyList_Append(list, told) != 0)
            Py_CLEAR(list);
        Py_XDECREF(told);
        free(skipped[i].where);
    }
    free(skipped);
    return list;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* May outlive the call that wanted it; the data set is then kept for good. */
struct opening {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    char *cache_directory;
    struct arena *arena;            /* that serves the reader; NULL: none could be had */
    struct reports *reports;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    int code;
};

static void opening_run(void *what)
{
    struct opening *o = what;

    o->code = sheaf_reader_open(o->dataset, &o->options, &o->reader, &o->error);
}

static void opening_discard(void *what)
{
    struct opening *o = what;

    sheaf_reader_free(o->reader);
    arena_leave(o->arena);
    arena_close(o->arena);
    reports_free(o->reports);
    free(o->cache_directory);
    free(o);
}

static struct opening *opening_new(const struct sheaf_dataset *dataset,
                                   const struct sheaf_reader_options *options)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return NULL;
    o->dataset = dataset;
    o->options = *options;
    o->reports = calloc(1, sizeof(*o->reports));
    if (options->cache_directory != NULL)
        o->options.cache_directory = o->cache_directory = strdup(options->cache_directory);
    if (o->reports == NULL || (options->cache_directory != NULL && o->cache_directory == NULL)) {
        free(o->reports);
        free(o->cache_directory);
        free(o);
        return NULL;
    }
    pthread_mutex_init(&o->reports->lock, NULL);
    o->options.report = note_skipped;
    o->options.report_context = o->reports;
    o->options.memory_bytes -= options->memory_bytes / ARENA_PART;
    o->arena = arena_open((size_t)(options->memory_bytes / ARENA_PART),
                          (size_t)o->options.memory_bytes);
    if (o->arena != NULL && !arena_serve(o->arena, &o->options)) {
        arena_close(o->arena);
        o->arena = NULL;
    }
    return o;
}

static const struct option server_options_table[] = {
#define READER(name, kind) { #name, kind, offsetof(struct sheaf_reader_options, name) }
    READER(seed, OPTION_U64), READER(epoch, OPTION_U64), READER(no_shuffle, OPTION_BOOL),
    READER(shuffle_buffer, OPTION_U64), READER(lanes, OPTION_U32), READER(rank, OPTION_U32),
    READER(world_size, OPTION_U32), READER(memory_bytes, OPTION_U64),
    READER(threads, OPTION_U32), READER(on_corrupt, OPTION_ON_ERROR),
    READER(max_corrupt, OPTION_U64), READER(cache_directory, OPTION_TEXT),
    READER(cache_bytes, OPTION_U64), { NULL, OPTION_CALL, 0 },
#undef READER
};

/* ---- Life ----------------------------------------------------------------------------------- */

static int server_init(struct server_object *self, PyObject *args, PyObject *keywords)
{
    struct sheaf_reader_options options;
    struct opening *o;
    PyObject *source;
    const char *name;

    sheaf_reader_options_init(&options, sizeof(options));
    if (!PyArg_ParseTuple(args, "Os:Server", &source, &name) ||
        options_set(&options, server_options_table, keywords) != 0)
        return -1;
    if (self->dataset != NULL) {
        error_raise_state("the server is open already");
        return -1;
    }
    options.remainder = SHEAF_KEEP;     /* what pads is the program's to say, by ordinals */
    self->forks = fork_count;
    self->dataset = dataset_of(source);
    if (self->dataset == NULL)
        return -1;
    o = opening_new(((struct dataset_object *)self->dataset)->dataset, &options);
    if (o == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_INCREF(self->dataset);           /* for an opening that is left */
    if (aside_run(opening_run, opening_discard, o) != 0)
        return -1;
    Py_DECREF(self->dataset);
    if (o->code != SHEAF_OK) {
        error_raise(&o->error);
    } else {
        self->serving = serving_start(name, o->reader, options.epoch, o->arena);
        if (self->serving == NULL)
            PyErr_SetFromErrno(PyExc_OSError);
    }
    if (self->serving == NULL) {
        opening_discard(o);
        return -1;
    }
    self->reports = o->reports;
    free(o->cache_directory);
    free(o);
    return 0;
}

static void release(struct server_object *self)
{
    struct serving *serving = self->serving;

    self->serving = NULL;
    if (serving == NULL || self->forks != fork_count)
        return;                         /* it is the parent's */
    Py_BEGIN_ALLOW_THREADS
    serving_stop(serving);
    Py_END_ALLOW_THREADS
    reports_free(self->reports);
    self->reports = NULL;
}

static PyObject *server_close(struct server_object *self, PyObject *Py_UNUSED(ignored))
{
    release(self);
    Py_RETURN_NONE;
}

static void server_dealloc(struct server_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    release(self);
    Py_XDECREF(self->dataset);
    object_free(self);
    Py_DECREF(type);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static PyObject *server_begin(struct server_object *self, PyObject *args)
{
    unsigned long long number, epoch, first;

    if (!PyArg_ParseTuple(args, "KKK:begin", &number, &epoch, &first))
        return NULL;
    if (self->serving == NULL || self->forks != fork_count)
        return error_raise_state("the server is closed, or of the program that this one was "
                                 "forked from");
    serving_begin(self->serving, &(struct serving_pass){ number, epoch, first });
    Py_RETURN_NONE;
}

static PyObject *server_stats(struct server_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_reader_stats s = { 0 };
    bool failed = false;

    if (self->serving == NULL || self->forks != fork_count)
        return error_raise_state("the server is closed");
    serving_get_stats(self->serving, &s, &failed);
    return Py_BuildValue("(ON)", failed ? Py_True : Py_False, reader_stats_dict(&s));
}

static PyMethodDef server_methods[] = {
    { "begin", (PyCFunction)server_begin, METH_VARARGS,
      "begin(pass, epoch, first): where a pass begins, before its samples are asked for." },
    { "reports", (PyCFunction)server_reports, METH_NOARGS,
      "What was skipped since the last call: [(where, code, message)]." },
    { "stats", (PyCFunction)server_stats, METH_NOARGS,
      "(whether the reader has failed, its counts)." },
    { "close", (PyCFunction)server_close, METH_NOARGS, "Ends its threads, frees its memory." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot server_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, server_init },
    { Py_tp_dealloc, server_dealloc },
    { Py_tp_methods, server_methods },
    { Py_tp_doc, "Server(dataset, name, **options): serves samples at the abstract address." },
    { 0, NULL },
};

static PyType_Spec server_spec = {
    .name = "sheaf._sheaf.Server",
    .basicsize = sizeof(struct server_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = server_slots,
};

int server_add(PyObject *module)
{
    return module_add_type(module, &server_spec) == NULL ? -1 : 0;
}
