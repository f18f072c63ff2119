/* SPDX-License-Identifier: MIT
 *
 * Batches in one piece of memory that means the same wherever it lies: what is pickled, and what
 * goes from a DataLoader's worker to its program through shared memory.
 *
 *     head | samples | fields of all | labels of all | keys, names | bytes of the fields
 *
 * All places are offsets from the head.  The bytes go column by column, the first field of every
 * sample, then the second, so that fields of one size make an array.
 *
 * A SLOT is shared memory with a word before the head that says whose it is: the worker's, or the
 * program's, which gives it back when nothing of the batch is left.  What a child of a fork may
 * see is never given back. */
#include "module.h"

#include <string.h>

#define MAGIC      0x7461626661656873u      /* "sheafbat" */
#define ALIGNMENT  ((size_t)16)
#define SLOT_HEAD  ((size_t)64)             /* the word has a cache line of its own */
#define NOTHING    UINT64_MAX               /* the offset of what there is none of */

enum { SLOT_FREE, SLOT_TAKEN };

struct packed_head {
    uint64_t magic, bytes;                  /* of all, this head too */
    uint64_t samples, fields, labels;
};

struct packed_sample {
    uint64_t key, class_name;               /* offsets of texts */
    uint64_t fields, labels;                /* of it; they follow those of the sample before */
    uint64_t number, record;
    uint64_t shard;
};

struct packed_field {
    uint64_t name, suffix, data;            /* offsets */
    uint64_t size;
};

struct layout {
    size_t fields, labels;
    size_t text;                            /* bytes */
    size_t data;                            /* bytes, at most */
};

static size_t aligned(size_t place, size_t alignment)
{
    return (place + alignment - 1) & ~(alignment - 1);
}

/* As sheaf_reader_keep has it: enough for numbers, and fields of one size lie back to back. */
static size_t alignment_of(size_t size)
{
    const size_t power = size & (~size + 1);

    return power == 0 || power > ALIGNMENT ? ALIGNMENT : power;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static struct layout measure(const struct batch_object *batch)
{
    struct layout l = { 0 };

    for (size_t i = 0; i < batch->count; i++) {
        const struct sheaf_sample *s = &batch->samples[i];

        l.fields += s->field_count;
        l.labels += s->label_count;
        l.text += strlen(s->key) + 1;
        l.text += s->class_name != NULL ? strlen(s->class_name) + 1 : 0;
        for (size_t f = 0; f < s->field_count; f++) {
            l.text += strlen(s->fields[f].name) + strlen(s->fields[f].suffix) + 2;
            l.data += s->fields[f].size + ALIGNMENT;
        }
    }
    return l;
}

static size_t tables_bytes(size_t samples, size_t fields, size_t labels)
{
    return sizeof(struct packed_head) + samples * sizeof(struct packed_sample)
           + fields * sizeof(struct packed_field) + labels * sizeof(double);
}

static size_t packed_bytes(const struct batch_object *batch, const struct layout *l)
{
    return aligned(tables_bytes(batch->count, l->fields, l->labels) + l->text, ALIGNMENT)
           + l->data + ALIGNMENT;
}

static uint64_t put_text(char *base, size_t *at, const char *text)
{
    const size_t place = *at, size = strlen(text) + 1;

    memcpy(base + place, text, size);
    *at += size;
    return place;
}

/* The bytes of the fields, from `at` on; returns their end. */
static size_t put_data(const struct batch_object *batch, char *base, struct packed_field *fields,
                       size_t at)
{
    size_t last = 1;

    for (size_t f = 0; f < last; f++) {
        struct packed_field *own = fields;      /* of each sample in turn */

        at = aligned(at, ALIGNMENT);
        for (size_t i = 0; i < batch->count; i++) {
            const struct sheaf_sample *s = &batch->samples[i];

            last = s->field_count > last ? s->field_count : last;
            if (f < s->field_count) {
                at = aligned(at, alignment_of(s->fields[f].size));
                own[f].data = at;
                own[f].size = s->fields[f].size;
                if (s->fields[f].size != 0)
                    memcpy(base + at, s->fields[f].data, s->fields[f].size);
                at += s->fields[f].size;
            }
            own += s->field_count;
        }
    }
    return at;
}

/* Writes the batch to memory of packed_bytes() bytes; needs no GIL.  Returns its size. */
static size_t put(const struct batch_object *batch, const struct layout *l, char *base)
{
    struct packed_head *head = (struct packed_head *)(void *)base;
    struct packed_sample *sample = (struct packed_sample *)(void *)(head + 1);
    struct packed_field *fields = (struct packed_field *)(void *)(sample + batch->count);
    struct packed_field *field = fields;
    double *label = (double *)(void *)(fields + l->fields);
    size_t at = tables_bytes(batch->count, l->fields, l->labels);

    *head = (struct packed_head){ .magic = MAGIC, .samples = batch->count, .fields = l->fields,
                                  .labels = l->labels };
    for (size_t i = 0; i < batch->count; i++) {
        const struct sheaf_sample *s = &batch->samples[i];

        *sample++ = (struct packed_sample){
            .key = put_text(base, &at, s->key),
            .class_name = s->class_name == NULL ? NOTHING : put_text(base, &at, s->class_name),
            .fields = s->field_count, .labels = s->label_count,
            .number = s->number, .record = s->record, .shard = s->shard,
        };
        for (size_t f = 0; f < s->field_count; f++, field++) {
            field->name = put_text(base, &at, s->fields[f].name);
            field->suffix = put_text(base, &at, s->fields[f].suffix);
        }
        for (size_t n = 0; n < s->label_count; n++)
            *label++ = s->labels[n];
    }
    head->bytes = put_data(batch, base, fields, at);
    return (size_t)head->bytes;
}

PyObject *batch_pack(struct batch_object *self, PyObject *Py_UNUSED(ignored))
{
    const struct layout l = measure(self);
    const size_t bytes = packed_bytes(self, &l);
    PyObject *result = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);

    if (result == NULL)
        return NULL;
    if (PyByteArray_Resize(result, (Py_ssize_t)put(self, &l, PyByteArray_AsString(result))) != 0)
        Py_CLEAR(result);
    return result;
}

PyObject *batch_slot_bytes(struct batch_object *self, PyObject *Py_UNUSED(ignored))
{
    const struct layout l = measure(self);

    return PyLong_FromSize_t(SLOT_HEAD + packed_bytes(self, &l));
}

PyObject *batch_put_into_slot(struct batch_object *self, PyObject *slot)
{
    const struct layout l = measure(self);
    Py_buffer view;

    if (PyObject_GetBuffer(slot, &view, PyBUF_WRITABLE) != 0)
        return NULL;
    if ((size_t)view.len < SLOT_HEAD + packed_bytes(self, &l)) {
        PyErr_Format(PyExc_ValueError, "a slot of %zd bytes for a batch of %zu", view.len,
                     SLOT_HEAD + packed_bytes(self, &l));
        PyBuffer_Release(&view);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    put(self, &l, (char *)view.buf + SLOT_HEAD);
    Py_END_ALLOW_THREADS
    __atomic_store_n((uint32_t *)view.buf, SLOT_TAKEN, __ATOMIC_RELEASE);
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

PyObject *slot_is_free(PyObject *Py_UNUSED(module), PyObject *slot)
{
    Py_buffer view;
    bool is_free;

    if (PyObject_GetBuffer(slot, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    is_free = (size_t)view.len >= SLOT_HEAD &&
              __atomic_load_n((const uint32_t *)view.buf, __ATOMIC_ACQUIRE) == SLOT_FREE;
    PyBuffer_Release(&view);
    return PyBool_FromLong(is_free);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* The memory of a batch that was unpacked. */
struct source {
    Py_buffer view;
    bool is_slot;
    unsigned forks;             /* forks_begun when it came */
    /* struct sheaf_sample[], struct sheaf_field[] */
};

static void release_source(void *what)
{
    struct source *source = what;

    if (source->is_slot && source->forks == forks_begun)
        __atomic_store_n((uint32_t *)source->view.buf, SLOT_FREE, __ATOMIC_RELEASE);
    PyBuffer_Release(&source->view);
    PyMem_Free(source);
}

/* Memory to be read, with its end. */
struct span {
    const char *base;
    uint64_t bytes;
    bool bad;
};

static const char *text_at(struct span *span, uint64_t offset)
{
    if (offset >= span->bytes || memchr(span->base + offset, '\0', span->bytes - offset) == NULL) {
        span->bad = true;
        return "";
    }
    return span->base + offset;
}

static const void *data_at(struct span *span, uint64_t offset, uint64_t size)
{
    if (offset > span->bytes || size > span->bytes - offset) {
        span->bad = true;
        return "";
    }
    return span->base + offset;
}

/* The head, if the tables that it speaks of are there. */
static const struct packed_head *head_of(const struct span *span)
{
    const struct packed_head *head = (const struct packed_head *)(const void *)span->base;
    const uint64_t most = span->bytes / sizeof(double);

    if (span->bytes < sizeof(*head) || head->magic != MAGIC || head->bytes > span->bytes ||
        head->samples > most || head->fields > most || head->labels > most ||
        tables_bytes(head->samples, head->fields, head->labels) > head->bytes)
        return NULL;
    return head;
}

static bool get(struct span *span, const struct packed_head *head, struct sheaf_sample *samples)
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
            .class_name = p->class_name == NOTHING ? NULL : text_at(span, p->class_name),
            .fields = field, .field_count = p->fields, .labels = label, .label_count = p->labels,
            .number = p->number, .record = p->record, .shard = (uint32_t)p->shard,
        };
        label += p->labels;
        for (size_t f = 0; f < p->fields; f++, pf++)
            *field++ = (struct sheaf_field){ .name = text_at(span, pf->name),
                                             .suffix = text_at(span, pf->suffix),
                                             .data = data_at(span, pf->data, pf->size),
                                             .size = pf->size };
    }
    return !span->bad;
}

/* The batch in the source's memory, which it takes over if all is well. */
static PyObject *unpack(const Py_buffer *view, bool is_slot)
{
    const size_t begin = is_slot ? SLOT_HEAD : 0;
    struct span span = { .base = (const char *)view->buf + begin,
                         .bytes = (size_t)view->len < begin ? 0 : (size_t)view->len - begin };
    const struct packed_head *head = head_of(&span);
    struct batch_object *batch = batch_new();
    struct source *source = NULL;
    struct hold *hold = NULL;

    if (head != NULL && batch != NULL)
        source = PyMem_Malloc(sizeof(*source) + head->samples * sizeof(struct sheaf_sample)
                              + head->fields * sizeof(struct sheaf_field) + 1);
    if (source != NULL) {
        *source = (struct source){ .view = *view, .is_slot = is_slot, .forks = forks_begun };
        hold = hold_new(release_source, source);
    }
    if (hold != NULL && get(&span, head, (struct sheaf_sample *)(void *)(source + 1)) &&
        batch_extend(batch, hold, (struct sheaf_sample *)(void *)(source + 1), head->samples))
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

static PyObject *unpack_object(PyObject *object, bool is_slot)
{
    Py_buffer view;
    PyObject *batch;

    if (PyObject_GetBuffer(object, &view, is_slot ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
        return NULL;
    batch = unpack(&view, is_slot);
    if (batch == NULL)
        PyBuffer_Release(&view);
    return batch;
}

PyObject *batch_unpack(PyObject *Py_UNUSED(module), PyObject *object)
{
    return unpack_object(object, false);
}

PyObject *batch_of_slot(PyObject *Py_UNUSED(module), PyObject *object)
{
    return unpack_object(object, true);
}
