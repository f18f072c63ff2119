/* SPDX-License-Identifier: MIT
 *
 * A DataLoader's worker sends batches to the main process through an arena, which is memory that
 * both processes share. First, the worker copies the bytes of the fields into a piece (an allocated
 * range) of the arena, unless they are already in the arena. Then it sends a small message, which
 * says where in the arena the fields are. The main process makes a Batch from the message.
 *
 * Each batch that was sent has a WORD: a number in the arena, which the main process sets when it
 * no longer uses any part of the batch. Until the word is set, the worker keeps the batch and the
 * piece. Neither process releases memory that a forked child may still use. */
#include "arena.h"
#include "module.h"

#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MOST ((uint64_t)1 << 46)
#define WORDS      ((size_t)256)        /* most batches under way at once */
#define WORD_BYTES ((size_t)64)         /* each word has a cache line of its own */

enum { WORD_FREE, WORD_TAKEN };

/* ---- The worker ----------------------------------------------------------------------------- */

/* A batch that the program has or will get. */
struct sent {
    bool is_used;
    PyObject *batch;            /* NULL if the piece contains everything */
    void *piece;
    size_t piece_bytes;
    unsigned forks;             /* forks_begun when it was sent */
};

struct arena_object {
    PyObject_HEAD
    struct shared_arena *arena;        /* NULL if the arena is not open */
    char *words;                /* words of the batches: the first piece */
    struct sent sent[WORDS];
};

static uint32_t *word(const struct arena_object *self, size_t number)
{
    return (uint32_t *)(void *)(self->words + number * WORD_BYTES);
}

static PyTypeObject *arena_type;

static int arena_init(struct arena_object *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "piece_bytes", "reader_bytes", NULL };
    unsigned long long piece_bytes, reader_bytes = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "K|K:Arena", names, &piece_bytes,
                                     &reader_bytes))
        return -1;
    if (self->arena != NULL) {
        error_raise_state("the arena is open already");
        return -1;
    }
    if (piece_bytes <= BYTES_MOST && reader_bytes <= BYTES_MOST)
        self->arena = arena_open((size_t)piece_bytes, (size_t)reader_bytes);
    if (self->arena != NULL)
        self->words = arena_take_piece(self->arena, WORDS * WORD_BYTES);
    if (self->words != NULL)
        return 0;
    PyErr_SetString(PyExc_OSError, "there is no memory to be shared");
    return -1;
}

static void end_sending(struct arena_object *self, struct sent *sent)
{
    PyObject *batch = sent->batch;

    arena_give_piece(self->arena, sent->piece, sent->piece_bytes);
    *sent = (struct sent){ 0 };
    Py_XDECREF(batch);
}

/* Takes back batches that the program has released. */
static void look_at_words(struct arena_object *self)
{
    for (size_t i = 0; i < WORDS; i++)
        if (self->sent[i].is_used && self->sent[i].forks == forks_begun &&
            __atomic_load_n(word(self, i), __ATOMIC_ACQUIRE) == WORD_FREE)
            end_sending(self, &self->sent[i]);
}

/* Writes the message for the main process that describes a batch. Returns -1 if the arena (shared
 * memory) has no room for the bytes of the fields. */
static int write_message(struct arena_object *self, struct batch_object *batch,
                         const struct layout *l, struct sent *sent, PyObject *message)
{
    const struct packed_extent there = { self->arena->base, self->arena->bytes };
    char *base = PyBytes_AsString(message);

    if (l->data != 0) {
        sent->piece = arena_take_piece(self->arena, l->data);
        sent->piece_bytes = l->data;
        if (sent->piece == NULL)
            return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    packed_put(batch->samples, batch->count, l, base, &there, self->arena->base,
               sent->piece == NULL ? 0 : (size_t)((char *)sent->piece - self->arena->base));
    Py_END_ALLOW_THREADS
    return 0;
}

static PyObject *arena_send(struct arena_object *self, PyObject *object)
{
    struct batch_object *batch = (struct batch_object *)object;
    struct layout l;
    struct sent *sent = self->sent;
    PyObject *message;

    if (self->arena == NULL || !PyObject_TypeCheck(object, batch_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch, and an arena that is open");
        return NULL;
    }
    look_at_words(self);
    while (sent < self->sent + WORDS && sent->is_used)
        sent++;
    if (sent == self->sent + WORDS || self->arena->forks != fork_count)
        Py_RETURN_NONE;
    l = packed_measure(batch->samples, batch->count,
                       &(struct packed_extent){ self->arena->base, self->arena->bytes });
    message = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)packed_bytes(batch->count, &l));
    if (message == NULL)
        return NULL;
    *sent = (struct sent){ .is_used = true, .forks = forks_begun };
    __atomic_store_n(word(self, (size_t)(sent - self->sent)), WORD_TAKEN, __ATOMIC_RELEASE);
    if (write_message(self, batch, &l, sent, message) != 0) {
        *sent = (struct sent){ 0 };
        Py_DECREF(message);
        Py_RETURN_NONE;
    }
    if (l.refers)
        sent->batch = Py_NewRef(object);
    return Py_BuildValue("nN", (Py_ssize_t)(sent - self->sent), message);
}

struct shared_arena *arena_of(PyObject *object)
{
    struct arena_object *self = (struct arena_object *)object;

    if (PyObject_TypeCheck(object, arena_type) && self->arena != NULL)
        return self->arena;
    PyErr_SetString(PyExc_TypeError, "expected an arena that is open");
    return NULL;
}

static PyObject *arena_name(struct arena_object *self, void *Py_UNUSED(ignored))
{
    struct stat st;

    if (self->arena == NULL || fstat(self->arena->descriptor, &st) != 0)
        return error_raise_state("the arena is not open");
    return Py_BuildValue("iiKn", (int)getpid(), self->arena->descriptor,
                         (unsigned long long)st.st_ino, (Py_ssize_t)self->arena->bytes);
}

static void arena_dealloc(struct arena_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    struct shared_arena *a = self->arena;

    for (size_t i = 0; i < WORDS && a != NULL; i++)
        if (self->sent[i].is_used)
            end_sending(self, &self->sent[i]);
    if (a != NULL)
        arena_give_piece(a, self->words, WORDS * WORD_BYTES);
    arena_close(a);
    object_free(self);
    Py_DECREF(type);
}

/* ---- The program ---------------------------------------------------------------------------- */

/* Points to the word of a batch in the main program's mapping of the arena (shared memory). The
 * word is a number by which the program tells the worker that it no longer uses the batch. */
struct use {
    Py_buffer view;
    uint32_t *word;
    unsigned forks;             /* forks_begun when it came */
};

static void end_use(void *what)
{
    struct use *use = what;

    if (use->forks == forks_begun)
        __atomic_store_n(use->word, WORD_FREE, __ATOMIC_RELEASE);
    PyBuffer_Release(&use->view);
    PyMem_Free(use);
}

PyObject *batch_receive(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *memory, *message, *batch = NULL;
    Py_ssize_t number;
    struct use *use;

    if (!PyArg_ParseTuple(args, "OnO:receive", &memory, &number, &message))
        return NULL;
    use = PyMem_Malloc(sizeof(*use));
    if (use == NULL)
        return PyErr_NoMemory();
    if (PyObject_GetBuffer(memory, &use->view, PyBUF_WRITABLE) != 0) {
        PyMem_Free(use);
        return NULL;
    }
    if (number >= 0 && (size_t)number < WORDS && (size_t)use->view.len >= ARENA_GRAIN) {
        use->word = (uint32_t *)(void *)((char *)use->view.buf + (size_t)number * WORD_BYTES);
        use->forks = forks_begun;
        batch = packed_get(message, &(struct packed_extent){ use->view.buf, (size_t)use->view.len },
                           end_use, use);
    } else {
        PyErr_SetString(PyExc_ValueError, "this is no arena");
    }
    if (batch == NULL) {
        PyBuffer_Release(&use->view);
        PyMem_Free(use);
    }
    return batch;
}

static PyMethodDef arena_methods[] = {
    { "send", (PyCFunction)arena_send, METH_O,
      "send(batch): (word, message) for receive(); None if there is no room." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef arena_getset[] = {
    { "name", (getter)arena_name, NULL, "(process, descriptor, inode, bytes)", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot arena_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, arena_init },
    { Py_tp_dealloc, arena_dealloc },
    { Py_tp_methods, arena_methods },
    { Py_tp_getset, arena_getset },
    { Py_tp_doc, "Arena(piece_bytes, reader_bytes=0): memory to be shared, so much at most." },
    { 0, NULL },
};

static PyType_Spec arena_spec = {
    .name = "sheaf._sheaf.Arena",
    .basicsize = sizeof(struct arena_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = arena_slots,
};

int arena_add(PyObject *module)
{
    arena_type = module_add_type(module, &arena_spec);
    return arena_type == NULL ? -1 : 0;
}
