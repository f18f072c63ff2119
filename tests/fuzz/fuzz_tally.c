/* SPDX-License-Identifier: MIT
 *
 * Fuzzes tallies of fields. The input is read as samples. However they are divided (here by the
 * last byte), they must give the same tally, and so must the tally's text. The input is also read
 * as such a text, and as edits to an intact text. An accepted tally can be written again, queried
 * and merged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tally.h"
#include "tests/fuzz/patch.h"

#define SAMPLES_MOST 64u
#define FIELDS_MOST  8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct drawn_sample {
    char key[8], names[FIELDS_MOST][8];
    struct sheaf_field fields[FIELDS_MOST];
    struct sheaf_sample sample;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Draws a sample. The input chooses which of eight names the sample has, a group of names, and the
 * size of each field, of any magnitude. Most samples are of one group. All groups together have
 * more names than a tally keeps, which makes a run slow. The names of one group are not UTF-8. */
static size_t draw_sample(const uint8_t *data, size_t size, size_t number, struct drawn_sample *d)
{
    const unsigned group = data[1] < 192 ? 0 : data[1] - 191u;
    size_t at = 2;

    snprintf(d->key, sizeof(d->key), "k/%zu", number);
    d->sample = (struct sheaf_sample){ .key = d->key, .fields = d->fields };
    for (unsigned i = 0; i < FIELDS_MOST && at < size; i++) {
        struct sheaf_field *field = &d->fields[d->sample.field_count];

        if ((data[0] & (1u << i)) == 0)
            continue;
        snprintf(d->names[i], sizeof(d->names[i]), "%c%u%s", 'a' + (int)i, group,
                 group == 64 ? "\xff" : "");
        *field = (struct sheaf_field){ .name = d->names[i],
                                       .size = (size_t)data[at] << (data[at] % 40) };
        d->sample.field_count++;
        at++;
    }
    return at;
}

static size_t draw_samples(const uint8_t *data, size_t size, struct drawn_sample *samples)
{
    size_t count = 0;

    for (size_t at = 0; at + 2 < size && count < SAMPLES_MOST; count++)
        at += draw_sample(data + at, size - at, count, &samples[count]);
    return count;
}

static struct tally count_samples(const struct drawn_sample *samples, size_t count)
{
    struct tally t = { .samples = 0 };

    for (size_t i = 0; i < count; i++)
        require(tally_add(&t, &samples[i].sample, NULL) == SHEAF_OK);
    return t;
}

/* ---- What holds of every tally --------------------------------------------------------------- */

static void ask(const struct tally *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tally_field *f = &t->fields[i];
        uint64_t decades[SHEAF_SURVEY_DECADES], sum = 0;
        const uint64_t median = tally_median(f);

        tally_decades(f, decades);
        for (size_t d = 0; d < SHEAF_SURVEY_DECADES; d++)
            sum += decades[d];
        require(sum == f->samples);
        require(median >= f->least && median <= f->most);
    }
}

static struct buf text_of(const struct tally *t)
{
    struct buf text = BUF_INIT(SIZE_MAX / 4);

    require(tally_write(t, &text, NULL) == SHEAF_OK);
    return text;
}

static void require_same(const struct tally *a, const struct tally *b)
{
    const char *name;

    require(a->samples == b->samples);
    require(tally_difference(a, b, false, &name) == NULL);
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static void read_text(const void *data, size_t size)
{
    struct tally t, same;
    struct buf text;

    if (tally_parse(data, size, &t, NULL) != SHEAF_OK)
        return;
    ask(&t);
    text = text_of(&t);
    require(tally_parse(text.data, text.size, &same, NULL) == SHEAF_OK);
    require_same(&t, &same);
    require(tally_merge(&t, &same, NULL) == SHEAF_OK);
    tally_clear(&same);
    tally_clear(&t);
    buf_free(&text);
}

static void read_edited(const struct buf *text, const uint8_t *edits, size_t edits_size)
{
    size_t size;
    uint8_t *copy = patched(text->data, text->size, edits, edits_size, &size);

    read_text(copy, size);
    free(copy);
}

/* ---- Divided --------------------------------------------------------------------------------- */

static void divide(const struct drawn_sample *samples, size_t count, size_t cut,
                   const struct tally *whole)
{
    struct tally before = count_samples(samples, cut);
    struct tally behind = count_samples(samples + cut, count - cut);

    require(tally_merge(&before, &behind, NULL) == SHEAF_OK);
    require_same(&before, whole);
    tally_clear(&before);
    tally_clear(&behind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct drawn_sample samples[SAMPLES_MOST];
    const size_t count = draw_samples(data, size, samples);
    struct tally whole = count_samples(samples, count);
    struct buf text = text_of(&whole);

    ask(&whole);
    if (size != 0)
        divide(samples, count, data[size - 1] % (count + 1), &whole);
    read_text(text.data, text.size);
    read_text(data, size);
    if (text.size != 0)
        read_edited(&text, data, size);
    tally_clear(&whole);
    buf_free(&text);
    return 0;
}
