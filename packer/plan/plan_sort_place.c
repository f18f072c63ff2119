/* SPDX-License-Identifier: MIT
 *
 * Plans existing shards that are made again. The caller knows the place of each of their samples
 * (its position in these shards), so the samples are sorted by their places. All other samples of
 * the source are left out. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_sort.h"

struct placing {
    struct plan_sort *sort;
    /* The samples that were found, sorted by their places in the shards. The value of each entry is
     * a payload size and a record. */
    struct sort *sorted;
    uint64_t places[SAMPLE_BATCH];
    struct buf record;
};

/* Called for a sample of an existing shard that is made again. `place` is the sample's position in
 * the existing shards. *record has the sample's label from the source. If places->labels has
 * another label for this position, puts that label into the record instead. */
static int place_label(struct placing *p, uint64_t place, const uint8_t **record, size_t *size,
                       const struct plan_record_head *head, struct sheaf_error *err)
{
    const uint32_t *labels = p->sort->places->labels;
    int code;

    if (labels == NULL || labels[place] == LABEL_NONE)
        return SHEAF_OK;
    p->record.size = 0;
    code = plan_record_relabel(*record, *size, labels[place], &p->record, err);
    *plan_sort_count(p->sort, labels[place], head->has_cls) += 1;
    *record = p->record.data;
    *size = p->record.size;
    return code;
}

static int place_sample(struct placing *p, uint64_t place, const uint8_t *record, size_t size,
                        uint64_t payload, struct sheaf_error *err)
{
    struct plan_record_head head;
    uint8_t *key, *value;
    int code = plan_record_head(record, size, &head, err);

    if (code == SHEAF_OK && place == PLAN_PLACE_NONE) {
        p->sort->unplaced += head.file_count;
        return SHEAF_OK;
    }
    if (code == SHEAF_OK)
        code = place_label(p, place, &record, &size, &head, err);
    if (code == SHEAF_OK)
        code = sort_add(p->sorted, place, 0, sizeof(payload) + size, &key, &value, err);
    if (code != SHEAF_OK)
        return code;
    store64(value, payload);
    memcpy(value + sizeof(payload), record, size);
    return SHEAF_OK;
}

static int place_batch(void *context, const struct sample_batch *batch, struct sheaf_error *err)
{
    struct placing *p = context;
    const struct plan_places *places = p->sort->places;
    size_t begin = 0;
    int code = places->find(places->context, (const char *const *)batch->keys, batch->count,
                            p->places, err);

    for (size_t i = 0; i < batch->count && code == SHEAF_OK; begin = batch->ends[i++])
        code = place_sample(p, p->places[i], batch->records.data + begin, batch->ends[i] - begin,
                            batch->payloads[i], err);
    return code;
}

/* Writes the sorted samples to the stream, and counts the samples of each shard. */
static int place_sorted(struct placing *p, struct sample_stream *out, struct plan *plan,
                        struct sheaf_error *err)
{
    const struct plan_places *places = p->sort->places;
    struct plan_record_head head;
    struct sort_entry e;
    size_t k = 0;
    int code = sort_finish(p->sorted, err);

    while (code == SHEAF_OK && (code = sort_next(p->sorted, &e, err)) == SHEAF_OK) {
        const uint8_t *record = e.value + sizeof(uint64_t);
        const size_t size = e.value_size - sizeof(uint64_t);

        while (e.order >= places->shards[k].sample + places->shards[k].sample_count)
            k++;
        plan->shards[k].sample_count++;
        code = plan_record_head(record, size, &head, err);
        if (code == SHEAF_OK)
            code = samples_put(out, record, size, load64(e.value), head.has_cls, err);
    }
    for (size_t i = 1; i < places->shard_count; i++)
        plan->shards[i].sample = plan->shards[i - 1].sample + plan->shards[i - 1].sample_count;
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int place_add_shards(const struct plan_places *places, struct plan *plan,
                            struct sheaf_error *err)
{
    plan->shards = calloc(places->shard_count + 1, sizeof(plan->shards[0]));
    if (plan->shards == NULL)
        return err_memory(err, places->shard_count * sizeof(plan->shards[0]));
    plan->shard_count = places->shard_count;
    for (size_t i = 0; i < places->shard_count; i++) {
        plan->shards[i] = places->shards[i];
        plan->shards[i].sample = plan->shards[i].sample_count = 0;
    }
    return SHEAF_OK;
}

int plan_sort_place(struct plan_sort *x, struct sample_stream *all, struct plan *plan,
                    struct sheaf_error *err)
{
    struct placing p = { .sort = x, .record = BUF_INIT(SIZE_MAX / 4) };
    struct sample_stream placed;
    int code = samples_open(&placed, x->directory, x->memory_bytes, err);

    if (code == SHEAF_OK)
        code = place_add_shards(x->places, plan, err);
    if (code == SHEAF_OK)
        code = sort_open(&p.sorted, x->directory, x->memory_bytes, err);
    if (code == SHEAF_OK)
        code = samples_each_batch(all, x->watch, place_batch, &p, err);
    if (code == SHEAF_OK)
        code = place_sorted(&p, &placed, plan, err);
    sort_close(p.sorted);
    buf_free(&p.record);
    samples_close(all);
    *all = placed;
    return code;
}
