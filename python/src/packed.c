/* SPDX-License-Identifier: MIT
 *
 * Batches as bytes that mean the same wherever they lie: what is pickled, and what a DataLoader's
 * worker tells its program of a batch.
 *
 *     head | samples | fields of all | labels of all | keys, names [| bytes of the fields]
 *
 * All places are offsets: of tables and texts from the head, of the fields' bytes from the head
 * too, or from the start of an arena (arena.c) that both processes have.  Bytes that are not in
 * the arena yet are copied column by column, the first field of every sample, then the second, so
 * that fields of one size make an array. */
#include "module.h"

#include <string.h>

#define MAGIC      0x7461626661656873u      /* "sheafbat" */
#define ALIGNMENT  ((size_t)16)
#define NOTHING    UINT64_MAX               /* the offset of what there is none of */

struct packed_head {
    uint64_t magic;
    uint64_t samples, fields, labels;
};

struct packed_sample {
    uint64_t key, class_name;               /* offsets of texts */
    uint64_t fields, labels;                /* of it; they follow those of the sample before */
    uint64_t number, record;
    uint64_t shard, repeated;
};

struct packed_field {
    uint64_t name, suffix, data;            /* offsets */
    uint64_t size;
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

static bool is_in(const struct extent *there, const struct sheaf_field *field)
{
    const uintptr_t from = (uintptr_t)field->data - (uintptr_t)there->base;

    return from < there->bytes && field->size <= there->bytes - from;
}

/* Whether field f of sample i has the names that the sample before has there; they are told
 * once. */
static bool is_named_alike(const struct sheaf_sample *samples, size_t i, size_t f)
{
    const struct sheaf_field *own = &samples[i].fields[f], *before;

    if (i == 0 || f >= samples[i - 1].field_count)
        return false;
    before = &samples[i - 1].fields[f];
    return (own->name == before->name && own->suffix == before->suffix) ||
           (strcmp(own->name, before->name) == 0 && strcmp(own->suffix, before->suffix) == 0);
}

struct layout packed_measure(const struct sheaf_sample *samples, size_t count,
                             const struct extent *there)
{
    struct layout l = { 0 };

    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];

        l.fields += s->field_count;
        l.labels += s->label_count;
        l.text += strlen(s->key) + 1;
        l.text += s->class_name != NULL ? strlen(s->class_name) + 1 : 0;
        for (size_t f = 0; f < s->field_count; f++) {
            if (!is_named_alike(samples, i, f))
                l.text += strlen(s->fields[f].name) + strlen(s->fields[f].suffix) + 2;
            if (is_in(there, &s->fields[f]))
                l.refers = true;
            else
                l.data += s->fields[f].size + ALIGNMENT;
        }
    }
    l.data += l.data != 0 ? ALIGNMENT : 0;
    return l;
}

static size_t tables_bytes(size_t samples, size_t fields, size_t labels)
{
    return sizeof(struct packed_head) + samples * sizeof(struct packed_sample)
           + fields * sizeof(struct packed_field) + labels * sizeof(double);
}

size_t packed_bytes(size_t count, const struct layout *l)
{
    return aligned(tables_bytes(count, l->fields, l->labels) + l->text, ALIGNMENT);
}

static uint64_t put_text(char *base, size_t *at, const char *text)
{
    const size_t place = *at, size = strlen(text) + 1;

    memcpy(base + place, text, size);
    *at += size;
    return place;
}

/* Says where the bytes of the fields are, once those that are not `there` are copied to `at`.
 * Returns their end. */
static size_t put_data(const struct sheaf_sample *samples, size_t count,
                       struct packed_field *fields,
                       const struct extent *there, char *base, size_t at)
{
    size_t last = 1;

    for (size_t f = 0; f < last; f++) {
        struct packed_field *own = fields;      /* of each sample in turn */

        at = aligned(at, ALIGNMENT);
        for (size_t i = 0; i < count; own += samples[i++].field_count) {
            const struct sheaf_sample *s = &samples[i];

            last = s->field_count > last ? s->field_count : last;
            if (f >= s->field_count)
                continue;
            own[f].size = s->fields[f].size;
            if (is_in(there, &s->fields[f])) {
                own[f].data = (uint64_t)((const char *)s->fields[f].data - there->base);
                continue;
            }
            at = aligned(at, alignment_of(s->fields[f].size));
            own[f].data = at;
            if (s->fields[f].size != 0)
                memcpy(base + at, s->fields[f].data, s->fields[f].size);
            at += s->fields[f].size;
        }
    }
    return at;
}

/* Names of one sample's fields, or what the sample before says of them. */
static void put_names(const struct sheaf_sample *samples, size_t i, struct packed_field *field,
                      char *base, size_t *at)
{
    const struct sheaf_sample *s = &samples[i];

    for (size_t f = 0; f < s->field_count; f++) {
        if (is_named_alike(samples, i, f)) {
            const struct packed_field *before = &field[f] - samples[i - 1].field_count;

            field[f].name = before->name;
            field[f].suffix = before->suffix;
        } else {
            field[f].name = put_text(base, at, s->fields[f].name);
            field[f].suffix = put_text(base, at, s->fields[f].suffix);
        }
    }
}

size_t packed_put(const struct sheaf_sample *samples, size_t count, const struct layout *l,
                  char *base,
                  const struct extent *there, char *data, size_t data_at)
{
    struct packed_head *head = (struct packed_head *)(void *)base;
    struct packed_sample *sample = (struct packed_sample *)(void *)(head + 1);
    struct packed_field *fields = (struct packed_field *)(void *)(sample + count);
    struct packed_field *field = fields;
    double *label = (double *)(void *)(fields + l->fields);
    size_t at = tables_bytes(count, l->fields, l->labels);

    *head = (struct packed_head){ .magic = MAGIC, .samples = count, .fields = l->fields,
                                  .labels = l->labels };
    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];

        *sample++ = (struct packed_sample){
            .key = put_text(base, &at, s->key),
            .class_name = s->class_name == NULL ? NOTHING : put_text(base, &at, s->class_name),
            .fields = s->field_count, .labels = s->label_count,
            .number = s->number, .record = s->record, .shard = s->shard,
            .repeated = (uint64_t)s->repeated,
        };
        put_names(samples, i, field, base, &at);
        field += s->field_count;
        for (size_t n = 0; n < s->label_count; n++)
            *label++ = s->labels[n];
    }
    return put_data(samples, count, fields, there, data, data_at);
}

PyObject *batch_pack(struct batch_object *self, PyObject *Py_UNUSED(ignored))
{
    const struct extent nowhere = { 0 };
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

    if (span->bytes < sizeof(*head) || head->magic != MAGIC || head->samples > most ||
        head->fields > most || head->labels > most ||
        tables_bytes(head->samples, head->fields, head->labels) > span->bytes)
        return NULL;
    return head;
}

static bool get(struct span *span, struct span *data, const struct packed_head *head,
                struct sheaf_sample *samples)
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
            .repeated = p->repeated != 0,
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

/* What a batch that was unpacked lies in. */
struct source {
    Py_buffer view;
    hold_fn *release;           /* of `what`, in whose memory the fields are; NULL: in the view */
    void *what;
    /* struct sheaf_sample[], struct sheaf_field[] */
};

static void release_source(void *what)
{
    struct source *source = what;

    if (source->release != NULL)
        source->release(source->what);
    PyBuffer_Release(&source->view);
    PyMem_Free(source);
}

/* The batch that the view tells of; takes over the view if all is well. */
static PyObject *unpack(const Py_buffer *view, const struct extent *there, hold_fn *release,
                        void *what)
{
    struct span span = { .base = view->buf, .bytes = (uint64_t)view->len }, data = span;
    const struct packed_head *head = head_of(&span);
    struct batch_object *batch = batch_new();
    struct source *source = NULL;
    struct hold *hold = NULL;

    if (there != NULL)
        data = (struct span){ .base = there->base, .bytes = there->bytes };
    if (head != NULL && batch != NULL)
        source = PyMem_Malloc(sizeof(*source) + head->samples * sizeof(struct sheaf_sample)
                              + head->fields * sizeof(struct sheaf_field) + 1);
    if (source != NULL) {
        *source = (struct source){ .view = *view, .release = release, .what = what };
        hold = hold_new(release_source, source);
    }
    if (hold != NULL && get(&span, &data, head, (struct sheaf_sample *)(void *)(source + 1)) &&
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

PyObject *packed_get(PyObject *buffer, const struct extent *there, hold_fn *release, void *what)
{
    Py_buffer view;
    PyObject *batch;

    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    batch = unpack(&view, there, release, what);
    if (batch == NULL)
        PyBuffer_Release(&view);
    return batch;
}

PyObject *batch_unpack(PyObject *Py_UNUSED(module), PyObject *object)
{
    return packed_get(object, NULL, NULL, NULL);
}
