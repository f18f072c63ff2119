/* SPDX-License-Identifier: MIT
 *
 * The objects by which Python makes batches of pixels: the types of pixels.c, pixels_slot.c and
 * pixels_queue.c. */
#ifndef PYTHON_PIXELS_H
#define PYTHON_PIXELS_H

#include "feeding.h"
#include "server.h"

struct pool_object {
    PyObject_HEAD
    struct sheaf_pixels_pool *pool;
    struct feeding *feeding;        /* the thread that reads; NULL before it is needed */
    PyObject *slots;                /* the list of its memory for batches */
    unsigned forks;                 /* fork_count when the pool was made */
    _Atomic uint64_t read_ns;       /* time that the thread has spent on reading */
};

/* The parts of one batch, which the program gets: a tuple (labels, boxes, ...). The first two are
 * arrays, to which the library writes. */
struct slot_parts {
    PyObject *tuple;
    Py_buffer labels, boxes;
};

/* Memory of the program for the crops of one batch. It is used for one batch after another. The
 * objects for several batches are made at once, because that takes much less time for each
 * batch. */
struct slot_object {
    PyObject_HEAD
    /* a tuple with one array of image crops for each view (kind of crop) and, for each mask, one
     * array of mask crops for each view */
    PyObject *arrays;
    PyObject *make_parts;           /* make_parts(arrays) returns a list of tuples */
    Py_buffer *buffers;             /* the memory of the arrays */
    void **out;
    Py_ssize_t count;
    size_t samples, crops;          /* number of samples for which there is room; their crops */
    struct slot_parts *parts;       /* for later batches */
    size_t part_count;
    bool is_used;                   /* crops are being made in it */
    bool is_once;                   /* the memory is for one batch only */
};

/* The crops of a batch. A thread reads the samples if necessary, and the threads of a pool make the
 * crops. */
struct crops_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct slot_object *slot;       /* NULL once the crops are made */
    struct slot_parts parts;        /* of this batch */
    size_t room;                    /* number of samples for which there is room in the slot */
    /* the samples from which the crops are made, as an object; NULL if nobody has asked for it */
    struct batch_object *samples;
    size_t count;                   /* number of samples, once they are read */
    bool has_labels;                /* each sample has one label, which is a whole number */
    bool is_made;                   /* the threads no longer use this batch */
    char *field;                    /* name of the field that has the image; or NULL */
    struct sheaf_pixels_batch *batch;
    /* the reason why the samples could not be read; NULL if there is no error */
    struct sheaf_error *error;
    uint64_t real;                  /* number of samples in this rank's part of the epoch */
    /* the server from which a thread reads the samples; NULL if the caller has passed the
     * samples */
    struct server_object *server;
    struct feeding_task feed;
    struct serving_ask ask;
    struct held_samples *read;      /* NULL once they belong to `samples` */
};

extern PyTypeObject *pixels_pool_type, *pixels_slot_type, *pixels_crops_type;

/* ---- pixels_slot.c -------------------------------------------------------------------------- */

/* Returns memory with room for this number of samples (a borrowed reference), and the parts of the
 * batch. Returns NULL if all memory is in use, or with an exception. */
struct slot_object *slot_take(const struct pool_object *pool, size_t samples,
                              struct slot_parts *parts);
void slot_parts_free(struct slot_parts *parts);
int pixels_slot_add(PyObject *module);

/* ---- pixels.c ------------------------------------------------------------------------------- */

/* Begins to read samples and to make their crops. Returns NULL if all memory is in use, or with an
 * exception. */
struct crops_object *crops_read(struct pool_object *pool, struct server_object *server,
                                const struct serving_ask *ask, const char *field);
/* Waits until the crops are made, and lets Python handle signals meanwhile. Sets *bad to the number
 * of samples without crops. Returns false with an exception on failure. */
bool crops_finish(struct crops_object *crops, size_t *bad);

/* ---- pixels_queue.c ------------------------------------------------------------------------- */

int pixels_queue_add(PyObject *module);

#endif
