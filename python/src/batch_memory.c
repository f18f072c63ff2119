/* SPDX-License-Identifier: MIT
 *
 * The memory of a Batch: samples that the library has given away, and the holds that keep their
 * memory alive.
 *
 *     batch --samples--> tables of a hold, or, of more than one, a table of its own
 *           --holds----> [kept samples of the library] [an arena's piece] ...
 *
 * A reader's samples end with its next call, but a view that Python keeps may live for ever, and
 * the bytes of a view cannot move. So the library gives the samples away (sheaf_reader_keep), and
 * everything made of a batch holds a reference to it. The memory never changes. */
#include "module.h"

#include <string.h>

/* ---- What keeps samples alive --------------------------------------------------------------- */

struct hold *hold_new(hold_fn *release, void *what)
{
    struct hold *hold = PyMem_Malloc(sizeof(*hold));

    if (hold == NULL)
        return NULL;
    *hold = (struct hold){ .users = 1, .release = release, .what = what };
    return hold;
}

void hold_drop(struct hold *hold)
{
    if (hold == NULL || --hold->users != 0)
        return;
    hold->release(hold->what);
    PyMem_Free(hold);
}

/* ---- Making --------------------------------------------------------------------------------- */

/* Enlarges two tables of the batch: the table of samples to `samples` entries, and the table of
 * references to the memory of samples to `holds` entries. */
static bool batch_reserve(struct batch_object *batch, size_t samples, size_t holds)
{
    struct hold **more_holds = PyMem_Realloc(batch->holds, (batch->hold_count + holds + 1)
                                                           * sizeof(more_holds[0]));
    struct sheaf_sample *more;

    if (more_holds == NULL)
        return false;
    batch->holds = more_holds;
    if (batch->count == 0)
        return true;                /* the samples are used where they are */
    more = PyMem_Realloc(batch->own, (batch->count + samples) * sizeof(more[0]));
    if (more == NULL)
        return false;
    if (batch->own == NULL)
        memcpy(more, batch->samples, batch->count * sizeof(more[0]));
    batch->samples = batch->own = more;
    return true;
}

/* Once there is room. */
static void batch_do_add(struct batch_object *batch, const struct sheaf_sample *samples,
                         size_t count)
{
    if (batch->count == 0)
        batch->samples = samples;
    else
        memcpy(batch->own + batch->count, samples, count * sizeof(samples[0]));
    batch->count += count;
}

bool batch_extend(struct batch_object *batch, struct hold *hold,
                  const struct sheaf_sample *samples, size_t count)
{
    if (!batch_reserve(batch, count, 1))
        return false;
    batch->holds[batch->hold_count++] = hold;
    batch_do_add(batch, samples, count);
    return true;
}

struct batch_object *batch_part(const struct batch_object *whole, size_t first, size_t count)
{
    struct batch_object *batch = batch_new();

    if (batch == NULL)
        return NULL;
    if (whole->own != NULL) {       /* whose table may move */
        batch->own = PyMem_Malloc((count + 1) * sizeof(batch->own[0]));
        if (batch->own != NULL)
            memcpy(batch->own, whole->samples + first, count * sizeof(batch->own[0]));
    }
    if ((whole->own != NULL && batch->own == NULL) || !batch_reserve(batch, 0, whole->hold_count)) {
        Py_DECREF((PyObject *)batch);
        PyErr_NoMemory();
        return NULL;
    }
    batch->samples = batch->own != NULL ? batch->own : whole->samples + first;
    batch->count = count;
    for (size_t i = 0; i < whole->hold_count; i++) {
        whole->holds[i]->users++;
        batch->holds[batch->hold_count++] = whole->holds[i];
    }
    return batch;
}

struct batch_object *batch_new(void)
{
    struct batch_object *batch = PyObject_New(struct batch_object, batch_type);

    if (batch != NULL) {
        batch->samples = NULL;
        batch->own = NULL;
        batch->count = batch->hold_count = 0;
        batch->holds = NULL;
    }
    return batch;
}
