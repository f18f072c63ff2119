/* SPDX-License-Identifier: MIT
 *
 * Detaches samples from a reader. Detached samples stay valid after the next call of the reader.
 * They are in one block of memory. The block contains, in this order:
 * - a struct sheaf_kept,
 * - a table of the pieces of memory that the reader lends to the program,
 * - the samples, the fields of all samples, and the labels of all samples,
 * - keys and names,
 * - the bytes of fields that were copied.
 *
 * The bytes of a sample are in its frame (its record as it is stored). A frame lies in a piece (an
 * allocated range) of the reader's heap. The piece of a frame with at least MOVE_LEAST bytes is
 * lent to the program, up to a limit for all lent memory. Its bytes are not copied.
 *
 * All other bytes are copied: the first field of every sample, then the second field of every
 * sample, and so on. So fields of equal size form an array. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/load/kept.h"
#include "reader/epoch.h"

#define MOVE_LEAST ((size_t)4096)   /* smallest frame that is lent and not copied */
#define ALIGNMENT  ((size_t)16)     /* largest alignment of a field's bytes */

struct detached {
    struct sheaf_kept base;
    struct heap *heap;
    size_t piece_count;
    uint8_t *pieces[];
};

/* Sizes of the block that holds the detached samples. */
struct detach_layout {
    size_t pieces, fields, labels;
    size_t text, data;          /* upper bounds in bytes */
};

/* The positions in the block for detached samples at which the next sample, field, label and text
 * are written. */
struct detach_copy {
    struct sheaf_sample *sample;
    struct sheaf_field *field;
    double *label;
    char *text;
};

/* Selects the frames (stored records) whose memory the heap lends to the program. Frames that lie
 * in one piece of the heap are adjacent in the batch. */
static void choose_frames(struct sheaf_reader *r)
{
    uint64_t bytes = r->load.heap->lent_bytes;
    const uint8_t *last = NULL;
    bool lends = false;

    for (size_t i = 0; i < r->out_count; i++) {
        struct out *out = &r->out[i];
        uint8_t *piece = loader_piece(&out->ref);
        const bool is_worth_it = piece != NULL && out->ref.item->size >= MOVE_LEAST;

        if (is_worth_it && piece != last) {
            const uint64_t more = heap_is_lent(piece) ? 0 : heap_piece_bytes(piece);

            last = piece;
            lends = bytes + more <= r->load.lend_bytes;
            bytes += lends ? more : 0;
        }
        out->lent = is_worth_it && lends;
    }
}

/* Returns true if the bytes of the field lie in a frame (stored record) that is lent to the
 * program. The bytes of other fields must be copied. */
static bool moves_along(const struct out *out, const struct sheaf_field *field)
{
    const struct item *item = out->ref.item;
    const uintptr_t data = (uintptr_t)field->data, frame = (uintptr_t)item->data;

    return out->lent && data >= frame && data < frame + item->size;
}

/* Rounds `offset` up to the next multiple of `alignment`, which must be a power of two. */
static size_t detach_aligned(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* Returns the alignment for a field of `size` bytes: the largest power of two that divides the
 * size. If the field consists of numbers of n bytes, n divides the size, so the numbers are
 * aligned. Fields of the same size need no gaps between them. */
static size_t detach_alignment_of(size_t size)
{
    const size_t power = size & (~size + 1);

    return power == 0 || power > ALIGNMENT ? ALIGNMENT : power;
}

/* Returns true if two fields have the same name and the same suffix (the file extension as it is
 * stored). It is enough to compare the suffixes, because the name of a field is its suffix in lower
 * case.
 *
 * The suffixes of different samples often point to the same string in memory. So their addresses
 * are compared first, which is fast. */
static bool same_names(const struct sheaf_field *a, const struct sheaf_field *b)
{
    return a->suffix == b->suffix || strcmp(a->suffix, b->suffix) == 0;
}

static const struct sheaf_field *before(const struct sheaf_sample *previous, size_t field)
{
    return previous != NULL && field < previous->field_count ? &previous->fields[field] : NULL;
}

/* Computes the sizes of the parts of the block of memory for detached samples. All these samples
 * are in memory, so the sums of their sizes cannot overflow. */
static struct detach_layout detach_measure(const struct sheaf_reader *r)
{
    struct detach_layout l = { 0 };

    for (size_t i = 0; i < r->out_count; i++) {
        const struct sheaf_sample *s = &r->samples[i];

        l.pieces += r->out[i].lent;
        l.fields += s->field_count;
        l.labels += s->label_count;
        l.text += strlen(s->key) + 1;
        l.text += s->class_name != NULL ? strlen(s->class_name) + 1 : 0;
        for (size_t f = 0; f < s->field_count; f++) {
            const struct sheaf_field *previous = before(i > 0 ? s - 1 : NULL, f);

            if (!moves_along(&r->out[i], &s->fields[f]))
                l.data += s->fields[f].size + ALIGNMENT;
            if (previous == NULL || !same_names(previous, &s->fields[f]))
                l.text += strlen(s->fields[f].name) + strlen(s->fields[f].suffix) + 2;
        }
    }
    return l;
}

static const char *copy_text(struct detach_copy *to, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = memcpy(to->text, text, size);

    to->text += size;
    return copy;
}

static void copy_field(struct detach_copy *to, const struct sheaf_field *field,
                       const struct sheaf_field *previous_given,
                       const struct sheaf_field *previous)
{
    struct sheaf_field *copy = to->field++;

    *copy = *field;
    if (previous_given != NULL && same_names(previous_given, field)) {
        copy->name = previous->name;
        copy->suffix = previous->suffix;
    } else {
        copy->name = copy_text(to, field->name);
        copy->suffix = copy_text(to, field->suffix);
    }
}

static void detach_copy_samples(struct detach_copy *to, const struct sheaf_sample *samples,
                                size_t count)
{
    const struct sheaf_sample *previous = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct sheaf_sample *s = &samples[i];
        struct sheaf_sample *copy = to->sample++;

        *copy = *s;
        copy->key = copy_text(to, s->key);
        if (s->class_name != NULL)
            copy->class_name = copy_text(to, s->class_name);
        copy->labels = to->label;
        for (size_t l = 0; l < s->label_count; l++)
            *to->label++ = s->labels[l];
        copy->fields = to->field;
        for (size_t f = 0; f < s->field_count; f++)
            copy_field(to, &s->fields[f], before(i > 0 ? s - 1 : NULL, f), before(previous, f));
        previous = copy;
    }
}

/* Copies the bytes of fields that are not lent to the program, in the order of columns: the first
 * field of every sample, then the second field, and so on. */
static void copy_data(const struct sheaf_reader *r, const struct sheaf_sample *samples, char *data)
{
    size_t offset = 0, last = 1;

    for (size_t f = 0; f < last; f++) {
        offset = detach_aligned(offset, ALIGNMENT);
        for (size_t i = 0; i < r->out_count; i++) {
            /* The cast removes `const`. This is allowed because the field is in the block for
             * detached samples, which this function fills. */
            struct sheaf_field *field = (struct sheaf_field *)(uintptr_t)samples[i].fields + f;

            last = MAX(last, samples[i].field_count);
            if (f >= samples[i].field_count || moves_along(&r->out[i], field))
                continue;
            offset = detach_aligned(offset, detach_alignment_of(field->size));
            if (field->size != 0)
                memcpy(data + offset, field->data, field->size);
            field->data = data + offset;
            offset += field->size;
        }
    }
}

static void lend_pieces(const struct sheaf_reader *r, struct detached *kept)
{
    kept->heap = r->load.heap;
    kept->piece_count = 0;
    for (size_t i = 0; i < r->out_count; i++) {
        uint8_t *piece = loader_piece(&r->out[i].ref);

        if (!r->out[i].lent || (kept->piece_count != 0
                                && piece == kept->pieces[kept->piece_count - 1]))
            continue;
        heap_lend(kept->heap, piece);
        kept->pieces[kept->piece_count++] = piece;
    }
}

static void detach_release(struct sheaf_kept *kept)
{
    struct detached *k = (struct detached *)(void *)kept;

    for (size_t i = 0; i < k->piece_count; i++)
        heap_return(k->heap, k->pieces[i]);
    free(k);
}

int sheaf_reader_keep(struct sheaf_reader *r, const struct sheaf_sample **samples, size_t *count,
                      struct sheaf_kept **kept)
{
    struct detach_layout l;
    struct detach_copy to;
    size_t head, tables, text, total;
    struct detached *k;

    if (r->out_count == 0)
        return err_set(&r->error, SHEAF_ERR_STATE, "no samples to keep");
    choose_frames(r);
    l = detach_measure(r);
    head = detach_aligned(sizeof(*k) + l.pieces * sizeof(k->pieces[0]), ALIGNMENT);
    tables = r->out_count * sizeof(*to.sample) + l.fields * sizeof(*to.field)
             + l.labels * sizeof(*to.label);
    text = detach_aligned(head + tables + l.text, ALIGNMENT);
    total = text + l.data + 1;
    k = aligned_alloc(ALIGNMENT, detach_aligned(total, ALIGNMENT));
    if (k == NULL)
        return err_memory(&r->error, total);
    k->base.release = detach_release;
    lend_pieces(r, k);
    to.sample = (struct sheaf_sample *)(void *)((char *)k + head);
    to.field = (struct sheaf_field *)(void *)(to.sample + r->out_count);
    to.label = (double *)(void *)(to.field + l.fields);
    to.text = (char *)k + head + tables;
    *samples = to.sample;
    *count = r->out_count;
    detach_copy_samples(&to, r->samples, r->out_count);
    copy_data(r, *samples, (char *)k + text);
    epoch_release(r);
    *kept = &k->base;
    return SHEAF_OK;
}

void sheaf_kept_free(struct sheaf_kept *kept)
{
    if (kept != NULL)
        kept->release(kept);
}
