/* SPDX-License-Identifier: MIT
 *
 * Divides samples among splits, in bounded memory. split.c computes how many samples of each class
 * a split gets.
 *
 * First, the samples are sorted by label, then by a hash, then by key. In this order, each sample
 * is assigned to a split. Then the assignments are sorted by the position of their sample in the
 * stream. So they can be read together with the stream, sample by sample. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_sort.h"
#include "packer/source/problems.h"
#include "publish/class_counts.h"

/* Limit for the difference between the size of a split and its exact share, in units of 1 /
 * SPLIT_WHOLE samples (see struct split_carry). With this limit, sums of differences do not
 * overflow. */
#define OWED_MOST ((__int128)SPLIT_WHOLE << 20)

struct dealing {
    struct plan_sort *sort;
    struct sample_stream *all;
    struct plan *plan;
    struct split_spec spec;
    bool tries;                 /* whether samples of N/class splits are checked first */
    /* One entry for each sample, sorted by label, hash and key. The entry's value is the sample's
     * position in the stream, followed by its record if samples are tested before they are
     * assigned. */
    struct sort *strata;
    struct sort *positions;        /* by position; value: the split, a byte */
    uint64_t *counts;           /* samples of each label of the plan */
    /* Used for an append if splits get a fixed number of samples of each class. before[s] has the
     * number of samples of each class that split s already has. before[s] is NULL if these numbers
     * are unknown. */
    uint64_t *before[SPLIT_LIMIT];
    struct split_small small;   /* classes that are missing from the split `rest` */
};

/* Big-endian, so that byte order is numerical order. */
static void put_hash(uint8_t *at, uint64_t hash)
{
    hash = htobe64(hash);
    memcpy(at, &hash, sizeof(hash));
}

static int add_stratum(struct dealing *d, const struct buf *record, uint64_t position,
                       struct sheaf_error *err)
{
    struct plan_record_head head;
    uint8_t *key, *value;
    uint32_t label;
    int code = plan_record_head(record->data, record->size, &head, err);

    if (code != SHEAF_OK)
        return code;
    label = d->sort->renamed[head.label];
    code = sort_add(d->strata, label, sizeof(uint64_t) + head.key_size,
                    sizeof(position) + (d->tries ? record->size : 0), &key, &value, err);
    if (code != SHEAF_OK)
        return code;
    d->counts[label]++;
    put_hash(key, split_rank(head.key, head.key_size, d->sort->options->seed));
    memcpy(key + sizeof(uint64_t), head.key, head.key_size);
    store64(value, position);
    if (d->tries)
        memcpy(value + sizeof(position), record->data, record->size);
    return SHEAF_OK;
}

static int sort_strata(struct dealing *d, struct buf *record, struct sheaf_error *err)
{
    uint64_t payload;
    int code = samples_rewind(d->all, err);

    for (uint64_t i = 0; i < d->all->count && code == SHEAF_OK; i++) {
        code = samples_get(d->all, record, &payload, err);
        if (code == SHEAF_OK)
            code = add_stratum(d, record, i, err);
        if (code == SHEAF_OK)
            code = watch_check(d->sort->watch, err);
    }
    return code == SHEAF_OK ? sort_finish(d->strata, err) : code;
}

static int next_of(struct dealing *d, struct sort_entry *e, struct sheaf_error *err)
{
    const int code = sort_next(d->strata, e, err);

    if (code == SHEAF_END || (code == SHEAF_OK && e->value_size < sizeof(uint64_t)))
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file has fewer samples than were "
                       "written");
    return code;
}

/* Gives an entry of the strata to split s. */
static int plan_sort_split_give(struct dealing *d, const struct sort_entry *e, uint8_t s,
                                struct sheaf_error *err)
{
    uint8_t *key, *value;
    const int code = sort_add(d->positions, load64(e->value), 0, 1, &key, &value, err);

    if (code == SHEAF_OK)
        *value = s;
    return code;
}

/* Assigns the next sample, in the order of label, hash and key, to split number s. */
static int deal_one(struct dealing *d, uint8_t s, struct sheaf_error *err)
{
    struct sort_entry e;
    const int code = next_of(d, &e, err);

    return code == SHEAF_OK ? plan_sort_split_give(d, &e, s, err) : code;
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* For an append, sets carry->owed[s] for each split s: the number of samples by which the split is
 * now smaller than its exact share. The split then gets these samples in addition. Without this
 * correction, rounding would change the proportions if few samples are appended at a time. */
static void owe_before(const struct dealing *d, struct split_carry *carry)
{
    const struct plan_grow *grow = d->sort->grow;

    for (uint32_t s = 0; grow != NULL && s < d->spec.count; s++) {
        const __int128 owed = (__int128)grow->samples * d->spec.splits[s].value -
                              (__int128)grow->splits[s].samples * SPLIT_WHOLE;

        carry->owed[s] = (int64_t)MAX(MIN(owed, OWED_MOST), -OWED_MOST);
    }
}

/* For each split, counts the samples of each class that the split already has. Some samples may
 * have been packed before the data set had a list of classes. They count for the class whose number
 * is their label. */
static int count_existing_classes(struct dealing *d, struct sheaf_error *err)
{
    const struct plan_grow *grow = d->sort->grow;
    int code = SHEAF_OK;

    for (uint32_t s = 0; grow != NULL && d->spec.per_class && s < d->spec.count && code == SHEAF_OK;
         s++)
        code = class_counts_all(grow->splits[s].manifest, grow->splits[s].directory,
                                d->plan->class_count, &d->before[s], err);
    return code;
}

/* Returns the index of a label among the classes. The label must have a class name. */
static size_t class_of(const struct dealing *d, const struct plan_label *l)
{
    return (size_t)(l->values - d->plan->class_values);
}

/* Used for an append if splits get a fixed number of samples of each class. Reduces this number,
 * for one class, by the number of samples of the class that each split already has. */
static int subtract_class(const struct dealing *d, uint32_t label, struct split_spec *spec,
                          struct sheaf_error *err)
{
    const struct plan_grow *grow = d->sort->grow;
    const struct plan_label *l = &d->plan->labels[label];

    for (uint32_t s = 0; grow != NULL && s < spec->count; s++) {
        uint32_t *value = &spec->splits[s].value;

        if (spec->splits[s].is_rest)
            continue;
        if (l->class_name == NULL || (d->before[s] == NULL && grow->splits[s].samples != 0))
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "split: it is unknown how many samples of "
                           "each label %s has already, because labels have no names: append to "
                           "each split", spec->splits[s].name);
        if (d->before[s] != NULL)
            *value -= (uint32_t)MIN(d->before[s][class_of(d, l)], *value);
    }
    return SHEAF_OK;
}

/* ---- Dealing --------------------------------------------------------------------------------- */

/* Assigns the samples of one class if splits get a fixed number of good samples. Tests each sample
 * first. Bad samples go to the split that gets the rest, where packing skips them. Sets counts[s]
 * to the number of samples that split s gets. Samples that failed the test do not count. */
static int deal_good(struct dealing *d, const struct split_spec *spec, uint32_t label,
                     uint64_t counts[SPLIT_LIMIT], struct sheaf_error *err)
{
    const uint32_t rest = split_rest(spec);
    uint64_t left = d->counts[label], wanted = 0;
    uint32_t s = 0, next = 0;
    int code = SHEAF_OK;

    memset(counts, 0, SPLIT_LIMIT * sizeof(counts[0]));
    for (; left > 0 && code == SHEAF_OK; left--) {
        struct sort_entry e;
        bool good = false;

        for (; wanted == 0 && next < spec->count; next++)
            if (next != rest) {
                s = next;
                wanted = spec->splits[next].value;
            }
        code = next_of(d, &e, err);
        counts[rest] += wanted == 0;
        if (code == SHEAF_OK && wanted != 0)
            code = d->sort->try(d->sort->try_context, d->plan, e.value + sizeof(uint64_t),
                                e.value_size - sizeof(uint64_t), label, &good, err);
        if (code == SHEAF_OK)
            code = plan_sort_split_give(d, &e, (uint8_t)(good ? s : rest), err);
        counts[s] += good;
        wanted -= good;
        if (code == SHEAF_OK)
            code = watch_check(d->sort->watch, err);
    }
    return code;
}

/* Assigns the samples of one class by counts. */
static int deal_counted(struct dealing *d, const uint64_t counts[SPLIT_LIMIT],
                        struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < d->spec.count; s++)
        for (uint64_t left = counts[s]; left > 0 && code == SHEAF_OK; left--)
            code = deal_one(d, (uint8_t)s, err);
    return code;
}

/* Adds a class to d->small if the split `rest` does not get any sample of this class. */
static void note_small_label(struct dealing *d, uint32_t label, const uint64_t counts[SPLIT_LIMIT])
{
    const struct plan_label *l = &d->plan->labels[label];
    uint64_t all[SPLIT_LIMIT], samples = 0;

    for (uint32_t s = 0; s < d->spec.count; s++) {
        all[s] = counts[s];
        if (d->before[s] != NULL && l->class_name != NULL)
            all[s] += d->before[s][class_of(d, l)];
        samples += all[s];
    }
    if (all[split_rest(&d->spec)] == 0 && samples != 0)
        split_small_add(&d->small, l->class_name, l->value_count != 0,
                        l->value_count == 0 ? 0 : l->values[0], samples);
}

static int deal(struct dealing *d, struct sheaf_error *err)
{
    struct split_carry carry = { { 0 } };
    int code = SHEAF_OK;

    owe_before(d, &carry);
    code = count_existing_classes(d, err);
    for (uint32_t label = 0; label < d->plan->label_count && code == SHEAF_OK; label++) {
        struct split_spec spec = d->spec;
        uint64_t counts[SPLIT_LIMIT];

        if (d->counts[label] == 0)
            continue;
        if (spec.per_class)
            code = subtract_class(d, label, &spec, err);
        if (code != SHEAF_OK)
            return code;
        if (d->tries) {
            code = deal_good(d, &spec, label, counts, err);
        } else {
            split_class(&spec, d->counts[label], &carry, counts);
            code = deal_counted(d, counts, err);
        }
        if (spec.per_class && code == SHEAF_OK)
            note_small_label(d, label, counts);
    }
    return code == SHEAF_OK ? sort_finish(d->positions, err) : code;
}

static int distribute(struct dealing *d, struct buf *record, struct sheaf_error *err)
{
    struct plan_sort *g = d->sort;
    int code = samples_rewind(d->all, err);

    for (uint32_t s = 0; s < d->spec.count && code == SHEAF_OK; s++) {
        g->stream_count = s + 1;
        code = samples_open(&g->streams[s], g->directory, g->memory_bytes / d->spec.count, err);
    }
    for (uint64_t i = 0; i < d->all->count && code == SHEAF_OK; i++) {
        struct plan_record_head head;
        struct sort_entry e;
        uint64_t payload;

        code = samples_get(d->all, record, &payload, err);
        if (code == SHEAF_OK)
            code = sort_next(d->positions, &e, err);
        if (code == SHEAF_OK)
            code = plan_record_head(record->data, record->size, &head, err);
        if (code == SHEAF_OK)
            code = samples_put(&g->streams[e.value[0] % d->spec.count], record->data, record->size,
                              payload, head.has_cls, err);
    }
    return code;
}

/* Returns an error if a split of a new data set would be empty. Otherwise reports the classes that
 * are only in some splits, because they have few samples. */
static int check_splits(const struct dealing *d, struct sheaf_error *err)
{
    uint64_t counts[SPLIT_LIMIT];
    char text[1000];
    int code;

    for (uint32_t s = 0; s < d->spec.count; s++)
        counts[s] = d->sort->streams[s].count;
    code = d->sort->grow == NULL ? split_check_counts(&d->spec, counts, err) : SHEAF_OK;
    if (code == SHEAF_OK && d->small.classes != 0) {
        split_small_text(&d->small, &d->spec, text, sizeof(text));
        problems_note(d->sort->problems, SHEAF_REASON_NONE, "", "%s", text);
    }
    return code;
}

int plan_sort_split(struct plan_sort *g, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err)
{
    struct dealing d = { .sort = g, .all = all, .plan = plan };
    struct buf record = BUF_INIT(SIZE_MAX / 4);
    int code = split_parse(g->options->split, &d.spec, err);

    d.tries = d.spec.per_class && g->try != NULL;
    d.counts = calloc(plan->label_count, sizeof(d.counts[0]));
    if (code == SHEAF_OK && d.counts == NULL)
        code = err_memory(err, plan->label_count * sizeof(d.counts[0]));
    if (code == SHEAF_OK)
        code = sort_open(&d.strata, g->directory, g->memory_bytes, err);
    if (code == SHEAF_OK)
        code = sort_open(&d.positions, g->directory, g->memory_bytes, err);
    if (code == SHEAF_OK)
        code = sort_strata(&d, &record, err);
    if (code == SHEAF_OK)
        code = deal(&d, err);
    if (code == SHEAF_OK)
        code = distribute(&d, &record, err);
    if (code == SHEAF_OK)
        code = check_splits(&d, err);
    plan->split_count = d.spec.count;
    for (uint32_t s = 0; s < d.spec.count; s++)
        memcpy(plan->splits[s].name, d.spec.splits[s].name, SPLIT_NAME_BYTES);
    sort_close(d.strata);
    sort_close(d.positions);
    samples_close(all);
    for (uint32_t s = 0; s < SPLIT_LIMIT; s++)
        free(d.before[s]);
    free(d.counts);
    buf_free(&record);
    return code;
}
