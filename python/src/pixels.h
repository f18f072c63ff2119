/* SPDX-License-Identifier: MIT
 *
 * The Python types that make batches of image crops, which pixels.c, pixels_slot.c and
 * pixels_queue.c implement. */
#ifndef PYTHON_PIXELS_H
#define PYTHON_PIXELS_H

#include "feeding.h"
#include "server.h"

/* Statistics of a ReadyBatches (an iterator over batches of crops): the number of batches that it
 * has returned, and three times in nanoseconds. The program's thread has spent these times on
 * waiting for batches, on using batches, and on beginning later batches. */
struct ready_times {
    uint64_t batches, wait_ns, step_ns, handing_ns;
};

struct pool_object {
    PyObject_HEAD
    struct sheaf_pixels_pool *pool;
    struct feeding *feeding;        /* the thread that reads; NULL before it is needed */
    PyObject *slots;                /* the list of its memory for batches */
    unsigned forks;                 /* fork_count when the pool was made */
    _Atomic uint64_t read_ns;       /* time that the thread has spent on reading */
    PyTypeObject *batch_type;       /* type of the batches; NULL means Crops */
    struct ready_times ready;
};

/* Index of an attribute of a batch (such as its labels) in the tuple of Python objects that the
 * program gets with the batch. */
enum crops_part { CROPS_PIXELS, CROPS_MASKS, CROPS_LABELS, CROPS_BOXES, CROPS_PARTS };

/* The Python objects that the program gets with one batch of crops. `tuple` has an item for each
 * attribute of the batch (enum crops_part), and perhaps further items. `labels` and `boxes` point
 * to the memory of two of these items, to which the library writes. */
struct slot_parts {
    PyObject *tuple;
    int64_t *labels;
    struct sheaf_crop_box *boxes;
};

/* Arrays for the crops of one batch, in memory that belongs to the Python program. When the program
 * no longer needs the batch, the same arrays are used for another batch. */
struct slot_object {
    PyObject_HEAD
    /* A tuple of arrays. There is one array of image crops for each view (kind of crop). For each
     * mask, there is one array of mask crops for each view. */
    PyObject *arrays;
    /* A Python function for the objects of several later batches. make_parts(arrays) returns a list
     * with one tuple for each batch. The tuple has three items: the memory of the labels, the
     * memory of the boxes, and the tuple of objects that the program gets. */
    PyObject *make_parts;
    Py_buffer *buffers;             /* the memory of the arrays */
    void **out;
    Py_ssize_t count;
    /* samples: number of samples for which the slot has room; crops: number of crops of these
     * samples */
    size_t samples, crops;
    struct slot_parts *parts;       /* objects for later batches */
    size_t part_count;
    bool is_used;                   /* crops are being made in it */
    bool is_once;                   /* the memory is for one batch only */
};

/* The crops of a batch. One thread reads the samples, unless the caller has passed them. The
 * threads of a pool make the crops. */
struct crops_object {
    PyObject_HEAD
    struct pool_object *pool;
    struct slot_object *slot;       /* NULL once the crops are made */
    struct slot_parts parts;        /* the objects of this batch */
    /* for each attribute of the batch (enum crops_part): the value with which the program has
     * replaced the attribute, or NULL if the program has not replaced it */
    PyObject *replaced[CROPS_PARTS];
    /* number of samples for which the memory of the batch has room */
    size_t room;
    /* the samples from which the crops are made, as a Python Batch; NULL until the program uses the
     * samples */
    struct batch_object *samples;
    size_t count;                   /* number of samples, once they are read */
    /* whether each sample of the batch has exactly one label that is a whole number */
    bool has_labels;
    bool is_made;                   /* the threads no longer use this batch */
    /* name of the field with the image; NULL if the library chooses the image field of each
     * sample */
    char *field;
    struct sheaf_pixels_batch *batch;
    /* the error that occurred when the samples were read; NULL if no error occurred */
    struct sheaf_error *error;
    /* number of samples in this rank's part of the epoch (the samples that this rank reads) */
    uint64_t real;
    /* the server from which a thread reads the samples; NULL if the caller has passed the
     * samples */
    struct server_object *server;
    struct feeding_task feed;
    struct serving_ask ask;
    struct held_samples *read;      /* NULL once they belong to `samples` */
};

extern PyTypeObject *pixels_pool_type, *pixels_slot_type, *pixels_crops_type;

/* ---- pixels_slot.c -------------------------------------------------------------------------- */

/* Returns free memory for the crops of `samples` samples, as a borrowed reference. Sets *parts to
 * the objects that the program will get with these crops. Returns NULL without an exception if the
 * memory for all batches is in use, and NULL with an exception on failure. */
struct slot_object *slot_take(const struct pool_object *pool, size_t samples,
                              struct slot_parts *parts);

/* ---- pixels.c ------------------------------------------------------------------------------- */

/* Begins to read samples from `server` and to make their crops. Returns NULL without an exception
 * if the memory for all batches is in use, and NULL with an exception on failure. */
struct crops_object *crops_read(struct pool_object *pool, struct server_object *server,
                                const struct serving_ask *ask, const char *field);
/* Waits until the crops of the batch are made, and lets Python handle signals meanwhile. Sets *bad
 * to the number of samples without crops, whose images could not be decoded. If the samples could
 * not be read, returns at once, and crops->error is set. Returns false with an exception if a
 * signal handler raises it. */
bool crops_finish(struct crops_object *crops, size_t *bad);
/* Returns the present time, as Python's time.monotonic_ns() does. */
uint64_t pixels_clock_ns(void);

#endif
