/* SPDX-License-Identifier: MIT
 *
 * Converts a Batch to bytes, and bytes back to a Batch, for pickles and for messages between
 * processes. packing.c writes the bytes. */
#include "module.h"

#include <string.h>

PyObject *batch_pack(struct batch_object *self, PyObject *Py_UNUSED(ignored))
{
    const struct packed_extent nowhere = { 0 };
    const struct layout l = packed_measure(self->samples, self->count, &nowhere);
    const size_t tables = packed_bytes(self->count, &l);
    PyObject *result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(tables + l.data));
    char *base;

    if (result == NULL)
        return NULL;
    base = PyByteArray_AsString(result);
    if (PyByteArray_Resize(result, (Py_ssize_t)packed_put(self->samples, self->count, &l, base,
                                                          &nowhere, base, tables)) != 0)
        Py_CLEAR(result);
    return result;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Memory to be read, and its end. */
struct packed_span {
    const char *base;
    uint64_t bytes;
    bool bad;
};

static const char *text_at(struct packed_span *span, uint64_t offset)
{
    if (offset >= span->bytes || memchr(span->base + offset, '\0', span->bytes - offset) == NULL) {
        span->bad = true;
        return "";
    }
    return span->base + offset;
}

static const void *data_at(struct packed_span *span, uint64_t offset, uint64_t size)
{
    if (offset > span->bytes || size > span->bytes - offset) {
        span->bad = true;
        return "";
    }
    return span->base + offset;
}

/* Returns the head of a packed batch, or NULL if the bytes are too short for the tables that the
 * head describes. */
static const struct packed_head *head_of(const struct packed_span *span)
{
    const struct packed_head *head = (const struct packed_head *)(const void *)span->base;
    const uint64_t most = span->bytes / sizeof(double);

    if (span->bytes < sizeof(*head) || head->magic != PACKED_MAGIC || head->samples > most ||
        head->fields > most || head->labels > most ||
        packed_tables(head->samples, head->fields, head->labels) > span->bytes)
        return NULL;
    return head;
}

static bool packed_do_get(struct packed_span *span, struct packed_span *data,
                          const struct packed_head *head, struct sheaf_sample *samples)
{
    const struct packed_sample *packed = (const struct packed_sample *)(const void *)(head + 1);
    const struct packed_field *pf = (const struct packed_field *)(const void *)(packed
                                                                              + head->samples);
    const double *label = (const double *)(const void *)(pf + head->fields);
    struct sheaf_field *field = (struct sheaf_field *)(void *)(samples + head->samples);
    uint64_t fields = 0, labels = 0;

    for (size_t i = 0; i < head->samples; i++) {
        const struct packed_sample *p = &packed[i];

        if (p->fields > head->fields - fields || p->labels > head->labels - labels)
            return false;
        fields += p->fields;
        labels += p->labels;
        samples[i] = (struct sheaf_sample){
            .key = text_at(span, p->key),
            .class_name = p->class_name == PACKED_NOTHING ? NULL : text_at(span, p->class_name),
            .fields = field, .field_count = p->fields, .labels = label, .label_count = p->labels,
            .number = p->number, .record = p->record, .shard = (uint32_t)p->shard,
            .repeated = p->repeated != 0, .seed = p->seed,
        };
        label += p->labels;
        for (size_t f = 0; f < p->fields; f++, pf++)
            *field++ = (struct sheaf_field){ .name = text_at(span, pf->name),
                                             .suffix = text_at(span, pf->suffix),
                                             .data = data_at(data, pf->data, pf->size),
                                             .size = pf->size };
    }
    return !span->bad && !data->bad;
}

/* The memory of a batch that was unpacked. */
struct packed_source {
    Py_buffer view;
    /* function that releases the memory with the bytes of the batch's fields, called as
     * release(what); NULL if these bytes are in the packed batch itself, which is `view` */
    hold_fn *release;
    void *what;
    /* struct sheaf_sample[], struct sheaf_field[] */
};

static void release_source(void *what)
{
    struct packed_source *source = what;

    if (source->release != NULL)
        source->release(source->what);
    PyBuffer_Release(&source->view);
    PyMem_Free(source);
}

/* Makes a batch from the packed bytes in the buffer `view`. On success, the batch owns `view`. */
static PyObject *packed_unpack(const Py_buffer *view, const struct packed_extent *there,
                               hold_fn *release, void *what)
{
    struct packed_span span = { .base = view->buf, .bytes = (uint64_t)view->len }, data = span;
    const struct packed_head *head = head_of(&span);
    struct batch_object *batch = batch_new();
    struct packed_source *source = NULL;
    struct hold *hold = NULL;

    if (there != NULL)
        data = (struct packed_span){ .base = there->base, .bytes = there->bytes };
    if (head != NULL && batch != NULL)
        source = PyMem_Malloc(sizeof(*source) + head->samples * sizeof(struct sheaf_sample)
                              + head->fields * sizeof(struct sheaf_field) + 1);
    if (source != NULL) {
        *source = (struct packed_source){ .view = *view, .release = release, .what = what };
        hold = hold_new(release_source, source);
    }
    if (hold != NULL && packed_do_get(&span, &data, head,
                                      (struct sheaf_sample *)(void *)(source + 1))
        && batch_extend(batch, hold, (struct sheaf_sample *)(void *)(source + 1), head->samples))
        return (PyObject *)batch;
    PyMem_Free(hold);
    PyMem_Free(source);
    Py_XDECREF((PyObject *)batch);
    if (head != NULL && hold == NULL)
        PyErr_NoMemory();
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "this is no packed batch");
    return NULL;
}

PyObject *packed_get(PyObject *buffer, const struct packed_extent *there, hold_fn *release,
                     void *what)
{
    Py_buffer view;
    PyObject *batch;

    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    batch = packed_unpack(&view, there, release, what);
    if (batch == NULL)
        PyBuffer_Release(&view);
    return batch;
}

PyObject *batch_unpack(PyObject *Py_UNUSED(module), PyObject *object)
{
    return packed_get(object, NULL, NULL, NULL);
}
