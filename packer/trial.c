/* SPDX-License-Identifier: MIT
 *
 * Tests whether a sample can be packed; see trial.h. trial_try() packs the sample into a block in
 * memory exactly as a run does, so that the result is the same. */
#include "packer/trial.h"

#include "packer/pack_options.h"
#include "packer/plan/plan_record.h"

int trial_open(struct trial *t, const struct sheaf_pack_options *options,
               const struct source *source, struct sheaf_error *err)
{
    int code;

    pack_options_setup(options, &t->setup);
    t->setup.codec = NULL;
    t->setup.source = source;
    t->setup.interrupt = options->interrupt;
    image_memory_open(&t->images, setup_image_bytes(&t->setup, options->memory_bytes));
    code = block_open(&t->block, &t->setup, &t->images.room, err);
    if (code != SHEAF_OK)
        image_memory_close(&t->images);
    return code;
}

void trial_close(struct trial *t)
{
    block_close(&t->block);
    image_memory_close(&t->images);
}

/* Packs a plan that has only one sample, and sets *good to whether this worked. If a buffer of the
 * block is too small, the sample still counts as good, because a run would try again with more
 * memory. */
static int trial_run(struct block *b, const struct plan *plan, const struct plan_shard *shard,
                     bool *good, struct sheaf_error *err)
{
    struct block_need need;
    int code;

    b->plan = plan;
    b->shard = shard;
    b->first = 0;
    b->end = 1;
    b->at_worst = true;
    need = block_need_planned(b, BLOCK_WORST);
    block_need_total(&need, b->setup);
    code = block_allow(b, &need, err);
    if (code != SHEAF_OK)
        return code;
    block_run(&b->job);
    *good = b->problems.size == 0;
    if (b->code == SHEAF_OK || b->outgrown)
        return SHEAF_OK;
    *err = b->error;
    return b->code;
}

int trial_try(void *context, const struct plan *plan, const uint8_t *record, size_t size,
              uint32_t label, bool *good, struct sheaf_error *err)
{
    struct trial *t = context;
    struct catalog files = { .file_count = 0 };
    const struct plan_shard shard = { .sample_count = 1 };
    struct plan_sample sample;
    struct plan one = *plan;
    int code = plan_record_read(&record, record + size, &files, &sample, err);

    *good = true;
    if (code == SHEAF_OK) {
        sample.label = label;
        one.files = files.files;
        one.file_count = files.file_count;
        one.samples = &sample;
        one.sample_count = 1;
        t->setup.context.classes = plan->classes;
        t->setup.context.class_count = plan->class_count;
        code = trial_run(&t->block, &one, &shard, good, err);
    }
    catalog_free(&files);
    return code;
}
