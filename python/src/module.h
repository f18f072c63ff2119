/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of the extension module sheaf._sheaf share. Each section below has
 * the functions of one file, and the comment at the head of that file says what it does.
 *
 * The module calls only the functions in sheaf.h. Types and exceptions are made once per process.
 * The module does not support subinterpreters. */
#ifndef PYTHON_MODULE_H
#define PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <sheaf.h>

#include "packing.h"
#include "process.h"

extern PyTypeObject *dataset_type, *reader_type, *batch_type, *sample_type, *field_type,
                    *packer_type;

/* Makes a Python type from `spec` and adds it to the Python module. Returns NULL with an exception
 * on failure. */
PyTypeObject *module_add_type(PyObject *module, PyType_Spec *spec);

/* Frees the memory of a Python object, as the last step of its deallocation. The object may belong
 * to a derived class. */
void object_free(void *object);

/* Each of these functions adds the types and functions of one source file to the Python module.
 * Each function returns -1 on failure. */
int errors_add(PyObject *module);
int dataset_add(PyObject *module);
int arena_add(PyObject *module);
int batch_add(PyObject *module);
int sample_add(PyObject *module);
int reader_add(PyObject *module);
int packer_add(PyObject *module);
int columns_add(PyObject *module);
int server_add(PyObject *module);
int planned_add(PyObject *module);
int pixels_add(PyObject *module);
int pixels_slot_add(PyObject *module);
int pixels_queue_add(PyObject *module);

/* ---- errors.c ----------------------------------------------------------------------------- */

/* Raises the Python exception for an error of the C library. Returns NULL, so that a function can
 * use `return error_raise(...)`. */
PyObject *error_raise(const struct sheaf_error *error);
/* Raises a StateError. */
PyObject *error_raise_state(const char *format, ...);
PyObject *error_raise_argument(const char *format, ...);
/* Implements a Python function that raises the exception for an error code and a message, which
 * another process has sent. */
PyObject *error_raise_code(PyObject *module, PyObject *args);
/* The name of a code: "CORRUPT". */
const char *error_name(int code);
/* Returns the text of a Python str for the C library. Returns NULL with a TypeError if `value` is
 * not a str, and with an ArgumentError if it has a zero byte, at which the C library would end the
 * text. `what` names the value in messages. */
const char *utf8_of(PyObject *value, const char *what);
/* Makes a Python str of a text from the C library. The text may contain the name of a file, in any
 * encoding. */
PyObject *text_of(const char *text);

/* ---- options.c ---------------------------------------------------------------------------- */

enum option_kind { OPTION_U64, OPTION_U32, OPTION_THREADS, OPTION_BOOL, OPTION_TEXT,
                   OPTION_CONTAINER, OPTION_CODEC, OPTION_ON_ERROR, OPTION_REMAINDER, OPTION_CALL,
                   OPTION_FILTERS, OPTION_TEXTS, OPTION_KEY_END, OPTION_CHECK_IMAGES,
                   OPTION_RESIZE_MODE, OPTION_DUPLICATE_KEYS, OPTION_COLUMNS, OPTION_MISSING };

/* Describes a keyword argument of a Python function: its name, its kind, and the offset at which
 * its value is stored in an options struct. An argument of the kind OPTION_CALL is not stored in
 * the struct. The caller gets it from options_call. */
struct option {
    const char *name;
    enum option_kind kind;
    size_t offset;
};

/* Stores the values of the keyword arguments in the struct `options`. The value None keeps the
 * default. Texts are borrowed from `keywords`. The last row of `table` has a NULL name. Returns -1
 * with an exception if a keyword is unknown or a value is invalid. */
int options_set(void *options, const struct option *table, PyObject *keywords);

/* Frees the names of columns, which options_set copies. */
void options_free_columns(struct sheaf_reader_options *options);

/* Returns the value of a keyword argument (a borrowed reference), or NULL if it is missing or
 * None. */
PyObject *options_call(PyObject *keywords, const char *name);

extern const struct option pack_options_table[], reader_options_table[];
/* Frees the memory that was allocated for the values of `options` while the keyword arguments were
 * parsed. */
void pack_options_free(struct sheaf_pack_options *options);

/* Paths as C strings, which were made from a Python path or from a sequence of paths. */
struct sources {
    PyObject *list;             /* Python list of bytes objects with the texts */
    const char **texts;
    size_t count;
};

int sources_take(PyObject *object, struct sources *sources);
void sources_free(struct sources *sources);

/* ---- dataset.c ---------------------------------------------------------------------------- */

struct dataset_object {
    PyObject_HEAD
    struct sheaf_dataset *dataset;
    PyObject *source;           /* the source as given, for pickling */
    /* rank and world size at the time when a channel of pipes (Amazon SageMaker's Pipe mode) was
     * opened; both are 0 if the source is not such a channel, or if they are unknown */
    uint32_t rank, world_size;
    /* name of the setting from which rank and world size were taken, such as "RANK and
     * WORLD_SIZE" */
    const char *world_by;
    char *description;          /* one line that describes a channel */
    bool is_pipe;               /* true for a channel of pipes */
    struct sheaf_reader_options order;  /* the defaults, or the order of a channel's job */
};

/* Returns a new reference to a Dataset: to `source` itself if it is a Dataset, and otherwise to a
 * new Dataset that opens `source`. */
PyObject *dataset_of(PyObject *source);

/* ---- numbered.c --------------------------------------------------------------------------- */

PyObject *dataset_read(struct dataset_object *self, PyObject *args);
PyObject *dataset_find(struct dataset_object *self, PyObject *args);
/* Returns the numbers in a list as an array, which the caller frees with PyMem_Free. Returns NULL
 * with an exception on failure. */
uint64_t *numbers_of(PyObject *list, size_t *count);

/* ---- views.c ------------------------------------------------------------------------------- */

PyObject *dataset_locate(struct dataset_object *self, PyObject *args, PyObject *keywords);
PyObject *dataset_write_numbers(struct dataset_object *self, PyObject *args);
PyObject *action_view_write(PyObject *module, PyObject *args);

/* ---- batch_memory.c ----------------------------------------------------------------------- */

/* A function that releases the memory `what`, in which samples lie. A struct hold counts the users
 * of this memory, and calls the function when the last user is gone. */
typedef void hold_fn(void *what);
struct hold {
    size_t users;
    hold_fn *release;
    void *what;
};

/* Makes a hold, which counts the users of the memory `what`, with one user. After the last user,
 * release(what) is called. Returns NULL, without an exception, if memory is exhausted. */
struct hold *hold_new(hold_fn *release, void *what);
void hold_drop(struct hold *hold);

/* A batch of samples. The samples never change. The batch keeps their memory alive as long as any
 * sample or view of the batch exists. */
struct batch_object {
    PyObject_HEAD
    const struct sheaf_sample *samples;
    /* The array that this batch has allocated for `samples`, which is needed if the samples are in
     * several blocks of memory (`holds`). NULL if `samples` points into the array of a block. */
    struct sheaf_sample *own;
    size_t count;
    struct hold **holds;
    size_t hold_count;
};

/* A batch with no samples. */
struct batch_object *batch_new(void);
/* Appends samples to a batch that the program has not received yet. The batch takes over `hold`,
 * which keeps the memory of the samples alive. If memory is exhausted, returns false without an
 * exception, and the caller still owns `hold`. */
bool batch_extend(struct batch_object *batch, struct hold *hold,
                  const struct sheaf_sample *samples, size_t count);
/* Returns a new batch with `count` samples of `whole`, beginning with sample `first`, in the same
 * memory. Returns NULL with an exception if memory is exhausted. */
struct batch_object *batch_part(const struct batch_object *whole, size_t first, size_t count);

/* ---- packed.c ----------------------------------------------------------------------------- */

/* Returns the Batch that the packed bytes in `buffer` describe (packing.h). The bytes of the fields
 * are in the same buffer, or in the shared memory that `there` describes. release(what) is called
 * when no part of the batch is used any more. On failure, returns NULL with an exception, and does
 * not call release. */
PyObject *packed_get(PyObject *buffer, const struct packed_extent *there, hold_fn *release,
                     void *what);

PyObject *batch_pack(struct batch_object *self, PyObject *ignored);
PyObject *batch_unpack(PyObject *module, PyObject *object);

/* ---- sending.c ---------------------------------------------------------------------------- */

/* Returns the arena (shared memory, arena.h) of a Python object, or NULL with an exception if the
 * object does not have an arena. */
struct shared_arena;
struct shared_arena *arena_of(PyObject *object);

PyObject *batch_receive(PyObject *module, PyObject *args);

/* ---- sample.c ----------------------------------------------------------------------------- */

/* Sample number `index` of the batch. */
PyObject *sample_new(struct batch_object *batch, size_t index);
/* Returns a Python memoryview of the bytes of a field. The memoryview keeps the batch alive. */
PyObject *field_view(struct batch_object *batch, const struct sheaf_field *field);
/* Returns the field of the sample with this name. Returns NULL without an exception if the sample
 * does not have this field. */
const struct sheaf_field *sample_field(const struct sheaf_sample *sample, const char *name);
/* label_is_whole returns whether a label is an integer. label_object returns an integer label as an
 * int, and any other label as a float. */
bool label_is_whole(double label);
PyObject *label_object(double label);
/* Returns the single sample of a packed batch. */
PyObject *sample_unpack(PyObject *module, PyObject *object);

/* ---- watch.c ------------------------------------------------------------------------------ */

/* Interrupts a reader about ten times a second while a call waits, so that the call can let Python
 * handle signals. The functions must be called without the GIL. */
struct signal_watch;

struct signal_watch *watch_new(struct sheaf_reader *reader);  /* NULL if no thread can be started */
void watch_enter(struct signal_watch *watch);
void watch_leave(struct signal_watch *watch);
void watch_free(struct signal_watch *watch);

/* ---- calls.c ------------------------------------------------------------------------------ */

/* The state of a long call of the C library, during which the GIL is released. It has the Python
 * callables that the library calls during the call. */
struct calls {
    PyThreadState *thread;      /* saved while the library runs */
    PyObject *progress, *report, *note, *plan;      /* borrowed; NULL: none */
    /* set when a callable or a signal handler has raised an exception; the library then ends the
     * call */
    volatile int interrupt;
};

/* Takes the callables from the keywords of a call. */
void calls_take(struct calls *calls, PyObject *keywords);
void calls_begin(struct calls *calls);      /* releases the GIL */
void calls_end(struct calls *calls);
/* Raises the exception that one of the program's callables has raised during the call. If no
 * callable has raised one, raises the exception for `error`. Must be called after calls_end.
 * Returns NULL. */
PyObject *calls_raise(const struct sheaf_error *error);

/* Callback functions for the library's options structs. The C library calls them during a long
 * call, and they call the program's Python callables. Their argument `context` is a struct
 * calls. */
void calls_progress(void *context, const struct sheaf_progress *progress);
void calls_report(void *context, const char *where, const struct sheaf_error *error);
void calls_note(void *context, const char *about, const struct sheaf_error *note);
void calls_plan(void *context, const struct sheaf_plan_shard *shard);

/* ---- aside.c ------------------------------------------------------------------------------ */

typedef void aside_fn(void *what);

/* Runs run(what) on another thread. Meanwhile the calling thread lets Python handle signals.
 * Returns 0 when run() has returned. If a signal handler raises an exception, returns -1 with this
 * exception, without waiting for run(). After a return of -1, `what` belongs to the other thread.
 * When run() has returned, the other thread calls discard(what). This may happen after Python has
 * ended. So neither run() nor discard() may use Python. */
int aside_run(aside_fn *run, aside_fn *discard, void *what);

/* ---- guard.c ------------------------------------------------------------------------------ */

/* A guard allows only one thread at a time to use an object, and only in the process that made the
 * object. */
struct guard {
    PyThread_type_lock lock;
    unsigned long owner;        /* the thread that holds the lock, or 0 */
    unsigned forks;             /* fork_count when the object was made */
};

int guard_init(struct guard *guard);
/* Waits until no other thread uses the guarded object, and enters the guard. Returns -1 with a
 * StateError in a forked child. Also returns -1 if this thread already uses the object, which
 * happens if a callable uses the object that calls it. */
int guard_enter(struct guard *guard, const char *what);
void guard_leave(struct guard *guard);
/* returns whether the calling thread is the thread that has entered the guard */
bool guard_is_own(const struct guard *guard);
/* returns whether this process is a forked child of the process that made the guarded object */
bool guard_is_foreign(const struct guard *guard);
void guard_free(struct guard *guard);

/* ---- packer.c ----------------------------------------------------------------------------- */

/* As a dict, for sheaf.PackResult. */
PyObject *pack_result_dict(const struct sheaf_pack_result *result);

/* ---- changes.c ---------------------------------------------------------------------------- */

PyObject *action_edit(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_repair(PyObject *module, PyObject *args, PyObject *keywords);

/* ---- actions.c ---------------------------------------------------------------------------- */

PyObject *action_pack(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_column_add(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_column_plan(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_column_add_part(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_column_drop(PyObject *module, PyObject *args);
PyObject *action_column_list(PyObject *module, PyObject *source);
PyObject *action_append(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_class_list(PyObject *module, PyObject *args);
PyObject *action_plan(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_pack_part(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_commit(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_part(PyObject *module, PyObject *ignored);
PyObject *action_world(PyObject *module, PyObject *ignored);
PyObject *action_fetch(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_verify(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_index(PyObject *module, PyObject *args, PyObject *keywords);

/* ---- copies.c ----------------------------------------------------------------------------- */

PyObject *action_convert(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_convert_part(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_unpack(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_pipe(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *action_report_failure(PyObject *module, PyObject *args);
PyObject *action_plan_info(PyObject *module, PyObject *args);

/* ---- python/src/reader.c, also for the server ----------------------------------------------- */

/* Returns the statistics of a reader as a Python dict, or NULL with an exception. */
PyObject *reader_stats_dict(const struct sheaf_reader_stats *stats);

#endif
