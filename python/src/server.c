/* SPDX-License-Identifier: MIT
 *
 * The Python type Server: the reader of a rank, and the thread that serves its samples to worker
 * processes (serving.h). The workers use Python code to send requests to this thread
 * (sheaf/_served.py). */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPORTS_MOST 1000u
/* The memory limit is divided by this number. One part is for bytes that are copied into the arena
 * (the memory that is shared with the workers). The reader gets the other parts. */
#define ARENA_PART   8u

/* Reports about skipped records, which are stored until the program asks for them. */
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
    struct serving *_Atomic serving;    /* NULL if the server is closed */
    bool is_shared;                 /* other processes use the samples as well */
    PyThread_type_lock lock;        /* held by the thread that makes a request */
    struct reports *reports;
    unsigned forks;                 /* fork_count when it was made */
};

PyTypeObject *server_type;

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

/* The state of opening a server's reader on a separate thread. If the program stops waiting for
 * this thread, the thread still finishes its work and discards the reader. In this case, the data
 * set is not freed until the process ends. */
struct server_opening {
    const struct sheaf_dataset *dataset;
    struct sheaf_reader_options options;
    char *cache_directory;
    struct shared_arena *arena;            /* serves the reader; NULL if there is none */
    struct reports *reports;
    struct sheaf_reader *reader;
    struct sheaf_error error;
    int code;
};

static void server_opening_run(void *what)
{
    struct server_opening *o = what;

    o->code = sheaf_reader_open(o->dataset, &o->options, &o->reader, &o->error);
}

static void server_opening_discard(void *what)
{
    struct server_opening *o = what;

    sheaf_reader_free(o->reader);
    arena_leave(o->arena);
    arena_close(o->arena);
    reports_free(o->reports);
    free(o->cache_directory);
    options_free_columns(&o->options);
    free(o);
}

/* `is_shared` says whether other processes will use the samples. */
static struct server_opening *server_opening_new(const struct sheaf_dataset *dataset,
                                                 const struct sheaf_reader_options *options,
                                                 bool is_shared)
{
    struct server_opening *o = calloc(1, sizeof(*o));

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
    if (!is_shared)
        return o;
    o->options.memory_bytes -= options->memory_bytes / ARENA_PART;
    o->arena = arena_open((size_t)(options->memory_bytes / ARENA_PART),
                          (size_t)o->options.memory_bytes);
    if (o->arena != NULL && !arena_serve(o->arena, &o->options)) {
        arena_close(o->arena);
        o->arena = NULL;
    }
    return o;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static int server_init(struct server_object *self, PyObject *args, PyObject *keywords)
{
    struct sheaf_reader_options options;
    struct server_opening *o;
    PyObject *source;
    unsigned long long wait_seconds;
    unsigned ranks;
    int is_shared;

    sheaf_reader_options_init(&options, sizeof(options));
    /* The reader must not repeat samples to make the parts of all ranks equally long, because
     * Python code does it. If each host has only some of the shards, the Python code passes another
     * value for the option `remainder`, and options_set below replaces SHEAF_KEEP by this value. */
    options.remainder = SHEAF_KEEP;
    if (!PyArg_ParseTuple(args, "OIKp:Server", &source, &ranks, &wait_seconds, &is_shared) ||
        options_set(&options, reader_options_table, keywords) != 0) {
        options_free_columns(&options);
        return -1;
    }
    if (self->dataset != NULL) {
        error_raise_state("the server is open already");
        return -1;
    }
    self->forks = fork_count;
    self->is_shared = is_shared != 0;
    self->dataset = dataset_of(source);
    self->lock = PyThread_allocate_lock();
    if (self->dataset == NULL || self->lock == NULL)
        return -1;
    o = server_opening_new(((struct dataset_object *)self->dataset)->dataset, &options,
                           self->is_shared);
    if (o == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_INCREF(self->dataset);           /* for an opening that is left */
    if (aside_run(server_opening_run, server_opening_discard, o) != 0)
        return -1;
    Py_DECREF(self->dataset);
    if (o->code != SHEAF_OK) {
        error_raise(&o->error);
    } else {
        self->serving = serving_start(o->reader, options.epoch, ranks, wait_seconds, o->arena);
        if (self->serving == NULL)
            PyErr_SetFromErrno(PyExc_OSError);
    }
    if (self->serving == NULL) {
        server_opening_discard(o);
        return -1;
    }
    self->reports = o->reports;
    free(o->cache_directory);
    options_free_columns(&o->options);
    free(o);
    return 0;
}

static void server_release(struct server_object *self)
{
    struct serving *serving = self->serving;

    self->serving = NULL;
    if (serving == NULL || self->forks != fork_count)
        return;                         /* it belongs to the parent */
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);       /* a later request sees that it is closed */
    serving_stop(serving);
    PyThread_release_lock(self->lock);
    Py_END_ALLOW_THREADS
    reports_free(self->reports);
    self->reports = NULL;
}

static PyObject *server_close(struct server_object *self, PyObject *Py_UNUSED(ignored))
{
    server_release(self);
    Py_RETURN_NONE;
}

static void server_dealloc(struct server_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    server_release(self);
    if (self->lock != NULL)
        PyThread_free_lock(self->lock);
    Py_XDECREF(self->dataset);
    object_free(self);
    Py_DECREF(type);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static bool server_is_open(const struct server_object *self)
{
    if (self->serving != NULL && self->forks == fork_count)
        return true;
    error_raise_state("the server is closed, or of the program that this one was forked from");
    return false;
}

static PyObject *server_listen(struct server_object *self, PyObject *args)
{
    const char *name;

    if (!PyArg_ParseTuple(args, "s:listen", &name) || !server_is_open(self))
        return NULL;
    if (!serving_listen(self->serving, name))
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *server_begin(struct server_object *self, PyObject *args)
{
    unsigned long long number, epoch, first;

    if (!PyArg_ParseTuple(args, "KKK:begin", &number, &epoch, &first) || !server_is_open(self))
        return NULL;
    serving_begin(self->serving, &(struct serving_pass){ number, epoch, first });
    Py_RETURN_NONE;
}

static PyObject *server_stats(struct server_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_reader_stats s = { 0 };
    bool failed = false;

    if (!server_is_open(self))
        return NULL;
    serving_get_stats(self->serving, &s, &failed);
    return Py_BuildValue("(ON)", failed ? Py_True : Py_False, reader_stats_dict(&s));
}

static PyObject *server_skipped(struct server_object *self, PyObject *args)
{
    unsigned long long number, end;

    if (!PyArg_ParseTuple(args, "KK:skipped", &number, &end) || !server_is_open(self))
        return NULL;
    return PyLong_FromUnsignedLongLong(serving_skipped(self->serving, number, end));
}

static PyObject *server_is_over(struct server_object *self, PyObject *args)
{
    unsigned long long number;
    uint32_t missing = 0;
    bool is;

    if (!PyArg_ParseTuple(args, "K:is_over", &number) || !server_is_open(self))
        return NULL;
    is = serving_is_over(self->serving, number, &missing);
    return Py_BuildValue("(OI)", is ? Py_True : Py_False, (unsigned)missing);
}

/* ---- Samples, without a socket -------------------------------------------------------------- */

/* Samples that this process uses. */
struct own_use {
    struct held_samples *samples;
    struct shared_arena *arena;     /* the arena in which the samples lie, or NULL */
    unsigned forks;                 /* number of forks when the samples came */
};

/* Frees samples that this process no longer uses. A forked child does not free samples that it has
 * inherited, because they belong to its parent. If samples are in an arena (shared memory) and the
 * process has forked since it received them, the process does not free them either, because the
 * child may use the same memory. */
static void end_own_use(void *what)
{
    struct own_use *use = what;

    if (use->forks == (use->arena == NULL ? fork_count : forks_begun)) {
        held_samples_free(use->samples);
        arena_leave(use->arena);
    }
    PyMem_Free(use);
}

PyObject *server_batch(struct shared_arena *arena, struct held_samples *samples)
{
    struct own_use *use = PyMem_Malloc(sizeof(*use));
    struct hold *hold = use == NULL ? NULL : hold_new(end_own_use, use);
    struct batch_object *batch = hold == NULL ? NULL : batch_new();

    if (batch != NULL && batch_extend(batch, hold, samples->samples, samples->count)) {
        *use = (struct own_use){ samples, arena, arena == NULL ? fork_count : forks_begun };
        if (arena != NULL)
            arena_use(arena);
        return (PyObject *)batch;
    }
    Py_XDECREF((PyObject *)batch);
    PyMem_Free(hold);
    PyMem_Free(use);
    held_samples_free(samples);
    return PyErr_NoMemory();
}

/* Makes a Batch of the samples in a reply, and takes over the content of the reply. Returns None if
 * the reply has no samples. */
static PyObject *server_batch_of(struct serving *serving, struct serving_reply *reply)
{
    struct held_samples *samples = reply->samples;

    if (reply->answer.code != SHEAF_OK) {
        struct sheaf_error error = { .code = reply->answer.code };

        if (reply->message != NULL)
            strncpy(error.message, reply->message, sizeof(error.message) - 1);
        held_reply_free(reply);
        return error_raise(&error);
    }
    if (reply->answer.samples != 0)
        return server_batch(serving_arena(serving), samples);
    held_reply_free(reply);
    Py_RETURN_NONE;
}

/* Waits until the serving thread has answered the request of this process. Lets Python handle
 * signals meanwhile. Returns false with an exception on failure. */
static bool wait_for_answer(struct server_object *self, struct serving *serving,
                            const struct serving_ask *ask, struct serving_reply *reply)
{
    bool posted = false, done = false;

    while (!done) {
        if (self->serving != serving)
            return server_is_open(self);
        Py_BEGIN_ALLOW_THREADS
        posted = posted || serving_post(serving, ask);
        done = posted && serving_collect(serving, reply);
        Py_END_ALLOW_THREADS
        if (!done && PyErr_CheckSignals() != 0) {
            if (posted)
                serving_leave(serving);
            return false;
        }
    }
    return true;
}

bool server_is_shared(const struct server_object *self)
{
    return self->is_shared;
}

bool server_has_reports(const struct server_object *self)
{
    bool has = false;

    if (self->reports == NULL || self->forks != fork_count)
        return false;
    pthread_mutex_lock(&self->reports->lock);
    has = self->reports->locked.count != 0;
    pthread_mutex_unlock(&self->reports->lock);
    return has;
}

bool server_read(struct server_object *self, const struct serving_ask *ask,
                 const _Atomic bool *is_left, struct serving_reply *reply)
{
    bool posted = false, done = false;
    struct serving *serving;

    /* the server stays until the lock is released */
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    serving = self->serving;
    while (serving != NULL && !done && self->serving == serving && !*is_left) {
        posted = posted || serving_post(serving, ask);
        done = posted && serving_collect(serving, reply);
    }
    if (posted && !done)
        serving_leave(serving);
    PyThread_release_lock(self->lock);
    return done;
}

static PyObject *server_get(struct server_object *self, PyObject *args)
{
    struct serving *serving = self->serving;
    struct serving_ask ask;
    struct serving_reply reply = { .message = NULL };
    unsigned long long pass, first, count;
    PyObject *batch = NULL;

    if (!PyArg_ParseTuple(args, "KKK:get", &pass, &first, &count) || !server_is_open(self))
        return NULL;
    ask = (struct serving_ask){ pass, first, count };
    if (!serving_ask_is_valid(&ask))
        return PyErr_Format(PyExc_ValueError, "%llu samples: expected 1 to %llu", count,
                            (unsigned long long)SERVING_ASK_MOST);
    Py_BEGIN_ALLOW_THREADS
    PyThread_acquire_lock(self->lock, WAIT_LOCK);
    Py_END_ALLOW_THREADS
    if (wait_for_answer(self, serving, &ask, &reply))
        batch = server_batch_of(serving, &reply);
    PyThread_release_lock(self->lock);
    return batch == NULL ? NULL
         : Py_BuildValue("(NK)", batch, (unsigned long long)reply.answer.real);
}

static PyMethodDef server_methods[] = {
    { "listen", (PyCFunction)server_listen, METH_VARARGS,
      "listen(name): workers may come to this abstract address." },
    { "get", (PyCFunction)server_get, METH_VARARGS,
      "get(pass, first, count): (a Batch, or None without samples; how many this rank has)." },
    { "is_over", (PyCFunction)server_is_over, METH_VARARGS,
      "is_over(pass): (whether all ranks that share it are done with it; how many did not come)." },
    { "skipped", (PyCFunction)server_skipped, METH_VARARGS,
      "skipped(pass, end): how many ordinals below `end` were skipped as corrupt." },
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
    { Py_tp_doc, "Server(dataset, ranks, wait_seconds, is_shared, **options): one reader for all "
                 "who ask." },
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
    server_type = module_add_type(module, &server_spec);
    return server_type == NULL ? -1 : 0;
}
