/* SPDX-License-Identifier: MIT
 *
 * Divides the samples of a data set among splits for sheaf_convert. A sample goes to the same split
 * as a file with the same key and label in sheaf_pack. For this purpose, the samples of each class
 * are sorted by a hash of their keys. The first samples in this order go to the first split. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "copy/convert.h"
#include "packer/field_map.h"
#include "reader/reader_features.h"

/* Position of a sample in the order in which samples are divided. */
struct split_place {
    bool has_label;
    double label;               /* the first label */
    uint64_t labels;            /* hash of all labels */
    uint64_t rank;              /* split_rank of the key */
    uint64_t number;
};

struct split_dealing {
    struct convert *convert;
    struct split_place *places;
    uint64_t count, room;
    uint64_t *bytes;            /* of each sample, by its number */
    struct split_small small;   /* classes without samples for "=rest" */
};

static int compare_class(const struct split_place *a, const struct split_place *b)
{
    if (a->has_label != b->has_label)
        return a->has_label ? 1 : -1;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return a->labels == b->labels ? 0 : a->labels < b->labels ? -1 : 1;
}

static int compare_split_places(const void *first, const void *second)
{
    const struct split_place *a = first, *b = second;
    const int class = compare_class(a, b);

    if (class != 0)
        return class;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Adds the place of sample `s`. Its label may come from the field map of the conversion. If the map
 * cannot be applied, the function returns an error, unless the conversion skips bad samples. A bad
 * sample gets no place, but it is assigned to the last split, so that exactly one split skips
 * it. */
static int add_place(struct split_dealing *d, const struct copying *in,
                     const struct sheaf_sample *s, struct sheaf_error *err)
{
    struct convert *c = d->convert;
    struct kept_features none = { .count = 0 };
    struct sheaf_sample mapped = *s;

    if (s->number >= d->room || d->count >= d->room)
        return err_set(err, SHEAF_ERR_CHANGED, "the data set has more than the %llu sample%s that "
                       "it had when it was opened", (unsigned long long)d->room, plural(d->room));
    if (field_map_apply(c->map, &mapped, &none, err) != SHEAF_OK) {
        c->split.of[s->number] = (uint8_t)(c->split.spec.count - 1);
        return c->reading.on_corrupt == SHEAF_SKIP ? SHEAF_OK : copying_place(in, s, err);
    }
    d->places[d->count] = (struct split_place){
        .has_label = mapped.label_count != 0,
        .label = mapped.label_count == 0 ? 0 : mapped.labels[0],
        .labels = XXH3_64bits(mapped.labels, mapped.label_count * sizeof(mapped.labels[0])),
        .rank = split_rank(s->key, strlen(s->key), c->packing.seed),
        .number = s->number,
    };
    for (size_t i = 0; i < s->field_count; i++)
        d->bytes[s->number] += s->fields[i].size;
    d->count++;
    return SHEAF_OK;
}

/* Reads the labels, keys and sizes of all samples. */
static int read_places(struct split_dealing *d, struct sheaf_error *err)
{
    struct sheaf_reader_options reading = d->convert->reading;
    const struct copying *from = &d->convert->in;
    const struct sheaf_sample *samples;
    struct copying in;
    size_t count;
    int code;

    reading.report = NULL;      /* bad records are reported when the samples are copied */
    copying_init(&in, from->dataset, &from->watch, "divide");
    code = copying_open(&in, &reading, err);
    while (code == SHEAF_OK && (code = copying_next(&in, 0, &samples, &count, err)) == SHEAF_OK)
        for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
            code = add_place(d, &in, &samples[i], err);
            copying_done(&in, &samples[i]);
        }
    copying_close(&in, NULL);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Dividing -------------------------------------------------------------------------------- */

/* Records a class for a notice. A split such as "val=rest" gets no sample of this class, because
 * the other splits take all of them. `place` is the place of one sample of the class. */
static void note_small_class(struct split_dealing *d, const struct split_place *place,
                             uint64_t samples)
{
    const struct convert *c = d->convert;
    const double class = place->label - c->in.info.label_base;
    const char *name = NULL;

    if (place->has_label && place->labels == XXH3_64bits(&place->label, sizeof(place->label)) &&
        class >= 0 && class < (double)c->in.info.class_count && class == (double)(size_t)class)
        name = sheaf_dataset_class(c->in.dataset, (size_t)class);
    split_small_add(&d->small, name, place->has_label, place->label, samples);
}

/* Divides the samples of one class among the splits. The samples have the places places[first] to
 * places[end - 1]. */
static void deal_class(struct split_dealing *d, uint64_t first, uint64_t end,
                       struct split_carry *carry)
{
    struct convert *c = d->convert;
    uint64_t counts[SPLIT_LIMIT];

    split_class(&c->split.spec, end - first, carry, counts);
    if (c->split.spec.per_class && counts[split_rest(&c->split.spec)] == 0)
        note_small_class(d, &d->places[first], end - first);
    for (uint32_t s = 0; s < c->split.spec.count; s++)
        for (uint64_t i = 0; i < counts[s]; i++, first++) {
            const uint64_t number = d->places[first].number;

            c->split.of[number] = (uint8_t)s;
            c->split.samples[s]++;
            c->split.bytes[s] += d->bytes[number];
        }
}

static void deal_classes(struct split_dealing *d)
{
    struct split_carry carry = { { 0 } };

    qsort(d->places, d->count, sizeof(d->places[0]), compare_split_places);
    for (uint64_t first = 0, end; first < d->count; first = end) {
        for (end = first + 1; end < d->count; end++)
            if (compare_class(&d->places[first], &d->places[end]) != 0)
                break;
        deal_class(d, first, end, &carry);
    }
}

/* Reports the classes that are only in some splits, because they have few samples. */
static void tell_small(const struct split_dealing *d)
{
    const struct convert *c = d->convert;
    struct sheaf_error note = { .code = SHEAF_OK };
    char text[1000];

    if (d->small.classes == 0 || c->note == NULL)
        return;
    split_small_text(&d->small, &c->split.spec, text, sizeof(text));
    sheaf_show(text, note.message, sizeof(note.message));
    c->note(c->in.watch.context, "", &note);
}

/* Checks that the data set can be divided, and that the options allow it. */
static int split_check_source(const struct convert *c, struct sheaf_error *err)
{
    const struct sheaf_dataset_info *info = &c->in.info;

    if (info->is_view)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a view cannot be divided among splits: "
                       "convert it to a data set, and divide that", info->url);
    if (info->is_stream || !info->has_manifest)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: only a data set with a manifest can be "
                       "divided among splits: sheaf index makes a data set of it", info->url);
    if (c->packing.resume)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a run that divides samples among splits cannot be "
                       "resumed: begin anew with overwrite");
    if (c->packing.duplicate_keys != SHEAF_DUPLICATE_FAIL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "samples with repeated keys cannot be divided "
                       "among splits: convert with duplicate_keys first, and divide the result");
    if (c->shard_bytes == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the shard size is 0 bytes, expected at least 1");
    return SHEAF_OK;
}

int convert_split_deal(struct convert *c, struct sheaf_error *err)
{
    struct split_dealing d = { .convert = c, .room = c->in.info.samples };
    int code = split_parse(c->packing.split, &c->split.spec, err);

    if (code == SHEAF_OK)
        code = split_check_source(c, err);
    if (code != SHEAF_OK)
        return code;
    c->split.total = d.room;
    c->split.of = calloc(d.room + 1, sizeof(c->split.of[0]));
    d.bytes = calloc(d.room + 1, sizeof(d.bytes[0]));
    d.places = calloc(d.room + 1, sizeof(d.places[0]));
    if (c->split.of == NULL || d.bytes == NULL || d.places == NULL)
        code = err_memory(err, d.room * sizeof(d.places[0]));
    if (code == SHEAF_OK)
        code = read_places(&d, err);
    if (code == SHEAF_OK) {
        deal_classes(&d);
        code = split_check_counts(&c->split.spec, c->split.samples, err);
    }
    if (code == SHEAF_OK)
        tell_small(&d);
    free(d.places);
    free(d.bytes);
    return code;
}

bool convert_split_wants(const struct convert *c, const struct sheaf_sample *sample)
{
    return c->split.spec.count == 0 || c->split.of[sample->number] == c->split.current;
}
