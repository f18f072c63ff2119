/* SPDX-License-Identifier: MIT
 *
 * Writes batches as bytes; see packing.h. If the bytes of fields are not in the arena (memory that
 * is shared with the receiver), they are copied field by field: the first field of every sample,
 * then the second field, and so on. So if a field has the same size in every sample, its bytes form
 * an array. */
#include "packing.h"

#include <string.h>

#define ALIGNMENT ((size_t)16)

size_t packed_payload(const struct sheaf_sample *samples, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < samples[i].field_count; f++)
            bytes += samples[i].fields[f].size;
    return bytes;
}

static size_t packing_aligned(size_t place, size_t alignment)
{
    return (place + alignment - 1) & ~(alignment - 1);
}

/* Returns the alignment of a field of `size` bytes: the largest power of two that divides the size,
 * but at most ALIGNMENT. For example, a field of 24 bytes is aligned to 8 bytes. This alignment
 * suits an array of numbers, and needs no gaps between fields of the same size. */
static size_t packing_alignment_of(size_t size)
{
    const size_t power = size & (~size + 1);

    return power == 0 || power > ALIGNMENT ? ALIGNMENT : power;
}

static bool packing_is_in(const struct packed_extent *there, const struct sheaf_field *field)
{
    const uintptr_t from = (uintptr_t)field->data - (uintptr_t)there->base;

    return from < there->bytes && field->size <= there->bytes - from;
}

/* Returns whether field number f has the same name and suffix in sample i as in the previous
 * sample. If so, name and suffix are not written again for sample i. */
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
                             const struct packed_extent *there)
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
            if (packing_is_in(there, &s->fields[f]))
                l.refers = true;
            else
                l.data += s->fields[f].size + ALIGNMENT;
        }
    }
    l.data += l.data != 0 ? ALIGNMENT : 0;
    return l;
}

size_t packed_bytes(size_t count, const struct layout *l)
{
    return packing_aligned(packed_tables(count, l->fields, l->labels) + l->text, ALIGNMENT);
}

static uint64_t packing_put_text(char *base, size_t *at, const char *text)
{
    const size_t place = *at, size = strlen(text) + 1;

    memcpy(base + place, text, size);
    *at += size;
    return place;
}

/* Copies to `base`, from offset `at` on, the bytes of all fields that are not in the shared memory
 * that `there` describes. Records the position of each field's bytes. Returns the offset after the
 * copied bytes. */
static size_t packing_put_data(const struct sheaf_sample *samples, size_t count,
                               struct packed_field *fields,
                               const struct packed_extent *there, char *base, size_t at)
{
    size_t last = 1;

    for (size_t f = 0; f < last; f++) {
        struct packed_field *own = fields;      /* of each sample in turn */

        at = packing_aligned(at, ALIGNMENT);
        for (size_t i = 0; i < count; own += samples[i++].field_count) {
            const struct sheaf_sample *s = &samples[i];

            last = s->field_count > last ? s->field_count : last;
            if (f >= s->field_count)
                continue;
            own[f].size = s->fields[f].size;
            if (packing_is_in(there, &s->fields[f])) {
                own[f].data = (uint64_t)((const char *)s->fields[f].data - there->base);
                continue;
            }
            at = packing_aligned(at, packing_alignment_of(s->fields[f].size));
            own[f].data = at;
            if (s->fields[f].size != 0)
                memcpy(base + at, s->fields[f].data, s->fields[f].size);
            at += s->fields[f].size;
        }
    }
    return at;
}

/* Writes the names of the fields of sample i. A name that is the same as in the previous sample is
 * not written again; the field then refers to the earlier text. */
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
            field[f].name = packing_put_text(base, at, s->fields[f].name);
            field[f].suffix = packing_put_text(base, at, s->fields[f].suffix);
        }
    }
}

size_t packed_put(const struct sheaf_sample *samples, size_t count, const struct layout *l,
                  char *base,
                  const struct packed_extent *there, char *data, size_t data_at)
{
    struct packed_head *head = (struct packed_head *)(void *)base;
    struct packed_sample *sample = (struct packed_sample *)(void *)(head + 1);
    struct packed_field *fields = (struct packed_field *)(void *)(sample + count);
    struct packed_field *field = fields;
    double *label = (double *)(void *)(fields + l->fields);
    size_t at = packed_tables(count, l->fields, l->labels);

    *head = (struct packed_head){ .magic = PACKED_MAGIC, .samples = count, .fields = l->fields,
                                  .labels = l->labels };
    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];

        *sample++ = (struct packed_sample){
            .key = packing_put_text(base, &at, s->key),
            .class_name = s->class_name == NULL ? PACKED_NOTHING
                                                : packing_put_text(base, &at, s->class_name),
            .fields = s->field_count, .labels = s->label_count,
            .number = s->number, .record = s->record, .shard = s->shard,
            .repeated = (uint64_t)s->repeated, .seed = s->seed,
        };
        put_names(samples, i, field, base, &at);
        field += s->field_count;
        for (size_t n = 0; n < s->label_count; n++)
            *label++ = s->labels[n];
    }
    return packing_put_data(samples, count, fields, there, data, data_at);
}
