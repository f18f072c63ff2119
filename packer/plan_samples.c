/* SPDX-License-Identifier: MIT
 *
 * Implements sheaf_planned, which reads the samples of a stored plan as packing would, and returns
 * them to a program instead of encoding them.
 *
 * The samples are read block by block (about 4 MiB each). The keys, names and content of a block's
 * samples are copied to one buffer. The buffer has its full size from the start. So it does not
 * move, and pointers into it stay valid. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "packer/block.h"
#include "packer/plan/plan_file.h"

struct sheaf_planned {
    struct plan_file file;
    struct source source;
    bool source_open;
    struct block_setup setup;
    struct block block;
    struct plan_batch batch;    /* the shard that was requested last */
    size_t shard;               /* its index; plan.shard_count: none */
    struct buf bytes, fields, labels, samples;      /* content of the block that was read last */
};

/* ---- Life ------------------------------------------------------------------------------------ */

static int plan_samples_take(struct block *block, const struct sheaf_sample *sample,
                             struct sheaf_error *err);

static int open_plan(struct sheaf_planned *p, const char *url, struct sheaf_error *err)
{
    const struct plan_facts *facts = &p->file.facts;
    int code = plan_file_open(url, &p->file, err);

    if (code == SHEAF_OK && facts->fingerprint[0] != '\0')
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan of a conversion, expected one of "
                       "files", url);
    if (code == SHEAF_OK && (facts->options.fix_images || facts->options.resize != 0))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a plan that converts images, which only "
                       "packing does", url);
    if (code == SHEAF_OK)
        code = source_reopen(facts->source, facts->root, facts->is_remote, &p->source, err);
    if (code != SHEAF_OK)
        return code;
    p->source_open = true;
    p->shard = facts->plan.shard_count;
    p->setup = (struct block_setup){ .format = format_of(SHEAF_TFRECORD), .source = &p->source,
                                     .take = plan_samples_take };
    return block_open(&p->block, &p->setup, NULL, err);
}

int sheaf_planned_open(const char *plan, struct sheaf_planned **planned,
                       struct sheaf_planned_info *info, size_t size, struct sheaf_error *error)
{
    struct sheaf_planned *p = calloc(1, sizeof(*p));
    struct sheaf_planned_info all;
    struct sheaf_error found;
    const struct plan *whole;
    int code = p == NULL ? err_memory(&found, sizeof(*p)) : open_plan(p, plan, &found);

    if (code != SHEAF_OK) {
        sheaf_planned_free(p);
        if (error != NULL)
            *error = found;
        return code;
    }
    whole = &p->file.facts.plan;
    all = (struct sheaf_planned_info){
        .identity = whole->identity, .hash = whole->hash, .samples = whole->sample_count,
        .shards = whole->shard_count, .class_count = whole->class_count,
        .split_count = whole->split_count, .label_base = p->file.facts.options.label_base,
    };
    if (info != NULL)
        sized_give(info, size, &all, sizeof(all));
    *planned = p;
    return SHEAF_OK;
}

const char *sheaf_planned_class(const struct sheaf_planned *p, size_t index)
{
    return index < p->file.facts.plan.class_count ? p->file.facts.plan.classes[index] : NULL;
}

void sheaf_planned_free(struct sheaf_planned *p)
{
    if (p == NULL)
        return;
    block_close(&p->block);
    plan_batch_free(&p->batch);
    if (p->source_open)
        source_close(&p->source);
    plan_file_close(&p->file);
    buf_free(&p->bytes);
    buf_free(&p->fields);
    buf_free(&p->labels);
    buf_free(&p->samples);
    free(p);
}

/* ---- Which ----------------------------------------------------------------------------------- */

/* Loads the plan's shard that contains sample number `number` of the whole plan, unless it is
 * loaded already. Sets *first to the number of the shard's first sample. */
static int load_shard(struct sheaf_planned *p, uint64_t number, uint64_t *first,
                      struct sheaf_error *err)
{
    const struct plan *whole = &p->file.facts.plan;
    const struct plan_rows rows = plan_file_rows(&p->file);
    size_t low = 0, high = whole->shard_count;
    int code = SHEAF_OK;

    if (number >= whole->sample_count)
        return err_set(err, SHEAF_ERR_ARGUMENT, "sample %llu of a plan of %llu",
                       (unsigned long long)number, (unsigned long long)whole->sample_count);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (whole->shards[middle].sample <= number)
            low = middle;
        else
            high = middle;
    }
    *first = whole->shards[low].sample;
    if (low == p->shard)
        return SHEAF_OK;
    p->shard = whole->shard_count;
    code = plan_rows_load(&rows, low, low + 1, &p->batch, err);
    if (code == SHEAF_OK)
        p->shard = low;
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void *plan_samples_put(struct buf *to, const void *data, size_t size)
{
    void *place = to->data + to->size;

    buf_put(to, data, size);
    return place;
}

static const char *plan_samples_put_text(struct buf *to, const char *text)
{
    return text == NULL ? NULL : plan_samples_put(to, text, strlen(text) + 1);
}

/* Appends a copy of a sample's labels to p->labels. The number of labels is not known in advance,
 * because the plan does not contain labels that come from a field `cls`. So this buffer may
 * grow. */
static int plan_samples_put_labels(struct sheaf_planned *p, const struct sheaf_sample *from,
                                   struct sheaf_sample *to, struct sheaf_error *err)
{
    const size_t at = p->labels.size, size = from->label_count * sizeof(double);
    const int code = buf_append(&p->labels, from->labels, size, err);

    /* The buffer of labels may still move. So `labels` is an offset instead of a pointer until the
     * whole block is read. */
    to->labels = (const double *)(uintptr_t)at;
    return code;
}

static int plan_samples_take(struct block *block, const struct sheaf_sample *sample,
                             struct sheaf_error *err)
{
    struct sheaf_planned *p = (struct sheaf_planned *)((char *)block -
                                                       offsetof(struct sheaf_planned, block));
    struct sheaf_sample copy = *sample;
    struct sheaf_field *fields = (struct sheaf_field *)(void *)(p->fields.data + p->fields.size);

    for (size_t i = 0; i < sample->field_count; i++) {
        const struct sheaf_field *f = &sample->fields[i];
        const struct sheaf_field field = {
            plan_samples_put_text(&p->bytes, f->name), plan_samples_put_text(&p->bytes, f->suffix),
            plan_samples_put(&p->bytes, f->data, f->size), f->size,
        };

        buf_put(&p->fields, &field, sizeof(field));
    }
    copy.key = plan_samples_put_text(&p->bytes, sample->key);
    copy.class_name = plan_samples_put_text(&p->bytes, sample->class_name);
    copy.fields = fields;
    buf_put(&p->samples, &copy, sizeof(copy));
    return plan_samples_put_labels(p, sample, (struct sheaf_sample *)(void *)p->samples.data +
                                   p->samples.size / sizeof(copy) - 1, err);
}

/* Reserves room for the samples of a block. The plan shows how much room is needed, because keys
 * and names of fields are parts of the files' paths. */
static int plan_samples_make_room(struct sheaf_planned *p, struct sheaf_error *err)
{
    struct block *b = &p->block;
    struct block_need need = block_need_planned(b, BLOCK_USUAL);
    const struct plan *plan = b->plan;
    uint64_t bytes = 1, files = 0;
    int code;

    for (uint64_t i = b->first; i < b->end; i++) {
        const struct plan_sample *s = &plan->samples[i];
        const char *class_name = plan->labels[s->label].class_name;

        bytes += s->payload_bytes + (class_name == NULL ? 0 : strlen(class_name) + 1);
        files += s->file_count;
        for (uint32_t k = 0; k < s->file_count; k++)
            bytes += 3 * (strlen(plan->files[s->file + k].path) + 1);
    }
    need = (struct block_need){ .scratch = need.scratch };
    code = block_allow(b, &need, err);
    if (code == SHEAF_OK)
        code = buf_map(&p->bytes, bytes, err);
    p->fields.size = p->labels.size = p->samples.size = 0;
    p->fields.limit = p->labels.limit = p->samples.limit = SIZE_MAX / 4;
    if (code == SHEAF_OK)
        code = buf_reserve(&p->fields, files * sizeof(struct sheaf_field), err);
    if (code == SHEAF_OK)
        code = buf_reserve(&p->samples, (b->end - b->first) * sizeof(struct sheaf_sample), err);
    return code;
}

static int tell_problems(const struct block *b, sheaf_report_fn *report, void *context,
                         struct sheaf_error *err)
{
    const struct block_problem *problems = (const void *)b->problems.data;

    for (size_t i = 0; i < b->problems.size / sizeof(*problems); i++) {
        const char *path = (const char *)b->texts.data + problems[i].path;
        struct sheaf_error found;

        err_set(&found, problems[i].code, "%s", (const char *)b->texts.data + problems[i].reason);
        if (report == NULL) {
            *err = found;
            return err_prefix(err, "%s: ", path);
        }
        report(context, path, &found);
    }
    return SHEAF_OK;
}

static int plan_samples_read_block(struct sheaf_planned *p, struct sheaf_error *err)
{
    struct block *b = &p->block;
    struct sheaf_sample *samples;
    int code = plan_samples_make_room(p, err);

    if (code != SHEAF_OK)
        return code;
    block_run(&b->job);
    if (b->code != SHEAF_OK) {
        *err = b->error;
        return b->code;
    }
    samples = (struct sheaf_sample *)(void *)p->samples.data;
    for (size_t i = 0; i < p->samples.size / sizeof(*samples); i++)
        samples[i].labels = (const double *)(const void *)(p->labels.data +
                                                           (uintptr_t)samples[i].labels);
    return SHEAF_OK;
}

int sheaf_planned_read(struct sheaf_planned *p, uint64_t *at, const struct sheaf_sample **samples,
                       size_t *count, sheaf_report_fn *report, void *context,
                       struct sheaf_error *error)
{
    struct block *b = &p->block;
    struct sheaf_error own;
    const struct plan_shard *shard;
    uint64_t first = 0;
    int code;

    error = error != NULL ? error : &own;
    code = load_shard(p, *at, &first, error);
    if (code != SHEAF_OK)
        return code;
    shard = &p->batch.plan.shards[0];
    b->plan = &p->batch.plan;
    b->shard = shard;
    b->first = shard->sample + (*at - first);
    b->end = plan_block_end(b->plan, b->first, shard->sample + shard->sample_count);
    if (samples != NULL)
        code = plan_samples_read_block(p, error);
    if (code == SHEAF_OK && samples != NULL)
        code = tell_problems(b, report, context, error);
    if (code != SHEAF_OK)
        return code;
    *at += b->end - b->first;
    if (samples != NULL) {
        *samples = (const struct sheaf_sample *)(const void *)p->samples.data;
        *count = p->samples.size / sizeof(**samples);
    }
    return SHEAF_OK;
}
