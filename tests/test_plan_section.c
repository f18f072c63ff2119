/* SPDX-License-Identifier: MIT
 *
 * Tests that the sections of a plan give back each shard with all its samples, from memory and from
 * a temporary file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "packer/plan/plan_section.h"
#include "tests/common_model_plan.h"
#include "tests/common_plan.h"
#include "tests/common_random.h"

static struct sheaf_error err;

/* Adds samples of one to three files in a few classes, so many that a shard has several blocks. */
static void fill(struct catalog *c, struct rng *rng, unsigned count)
{
    static const char *const suffixes[] = { "jpg", "json", "txt" };

    for (unsigned i = 0; i < count; i++) {
        const uint64_t files = 1 + rng_below(rng, 3);
        char path[64];
        uint32_t label;

        snprintf(path, sizeof(path), "class%u", (unsigned)rng_below(rng, 5));
        assert_int_equal(catalog_class(c, path, strlen(path), NULL, &label, &err), SHEAF_OK);
        for (uint64_t k = 0; k < files; k++) {
            const struct catalog_stat stat = { .bytes = rng_below(rng, 100000),
                                               .mtime_ns = (int64_t)rng_next(rng) };

            snprintf(path, sizeof(path), "somewhere/sample-%06u.%s", i, suffixes[k]);
            assert_int_equal(catalog_add(c, &problems, path, &stat, label, &err), SHEAF_OK);
        }
    }
}

static void same_sample(const struct plan *a, const struct plan_sample *x, const struct plan *b,
                        const struct plan_sample *y)
{
    assert_int_equal(x->payload_bytes, y->payload_bytes);
    assert_int_equal(x->file_count, y->file_count);
    assert_int_equal(x->label, y->label);
    assert_int_equal(x->has_cls, y->has_cls);
    assert_int_equal(x->split, y->split);
    for (uint32_t i = 0; i < x->file_count; i++) {
        const struct catalog_file *f = &a->files[x->file + i], *g = &b->files[y->file + i];

        assert_string_equal(f->path, g->path);
        assert_int_equal(f->key_size, g->key_size);
        assert_int_equal(f->bytes, g->bytes);
        assert_int_equal(f->mtime_ns, g->mtime_ns);
        assert_int_equal(f->origin, g->origin);
    }
}

/* Compares the sections with `kept`, the plan whose samples were written to them. */
static void same_shards(const struct plan_sections *sections, const struct plan *kept)
{
    const struct plan_rows rows = plan_sections_rows(sections, kept);

    for (size_t i = 0; i < kept->shard_count; i++) {
        const struct plan_shard *shard = &kept->shards[i];
        struct plan_batch batch = { .plan.file_count = 0 };

        assert_int_equal(plan_rows_load(&rows, i, i + 1, &batch, &err), SHEAF_OK);
        assert_int_equal(batch.plan.shard_count, 1);
        assert_int_equal(batch.plan.sample_count, shard->sample_count);
        assert_int_equal(batch.plan.shards[0].sample, 0);
        assert_int_equal(batch.plan.shards[0].first, shard->first);
        for (uint64_t k = 0; k < shard->sample_count; k++)
            same_sample(kept, &kept->samples[shard->sample + k], &batch.plan,
                        &batch.plan.samples[k]);
        plan_batch_free(&batch);
    }
}

static void put_away(struct plan_sections *sections, size_t memory_bytes)
{
    assert_int_equal(plan_sections_open(sections, "/tmp", memory_bytes, &err), SHEAF_OK);
    assert_int_equal(plan_add_samples(sections, &err), SHEAF_OK);
    assert_int_equal(plan_sections_end(sections, &err), SHEAF_OK);
}

static void make(struct rng *rng)
{
    struct sheaf_pack_options options;

    plan_start_again();
    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_count = 3;
    options.split = "train=0.9,val=0.1";
    fill(&catalog, rng, 6000);
    assert_int_equal(model_plan(&catalog, &options, &problems, &plan, &err), SHEAF_OK);
}

static void each_shard_comes_back(void **state)
{
    static const size_t memories[] = { 1, 100000, 64 << 20 };
    struct plan_sections sections;
    struct rng rng;

    (void)state;
    random_start(&rng);
    make(&rng);
    for (size_t i = 0; i < COUNT_OF(memories); i++) {
        put_away(&sections, memories[i]);
        same_shards(&sections, &plan);
        same_shards(&sections, &plan);  /* the shards can be loaded any number of times */
        plan_sections_free(&sections);
    }
    plan_start_again();
}

static void load_damaged(const struct plan_sections *sections)
{
    const struct plan_rows rows = plan_sections_rows(sections, &plan);
    struct plan_batch batch = { .plan.file_count = 0 };

    assert_int_equal(plan_rows_load(&rows, 1, 2, &batch, &err), SHEAF_ERR_CORRUPT);
    plan_batch_free(&batch);
}

static void what_is_not_as_planned_is_noticed(void **state)
{
    struct plan_sections sections;
    struct plan_section *ended;
    struct rng rng;

    (void)state;
    random_start(&rng);
    make(&rng);
    put_away(&sections, 64 << 20);
    ended = (struct plan_section *)(void *)sections.ended.data;
    ended[1].files++;
    load_damaged(&sections);
    ended[1].files--;
    sections.blocks.buffer[ended[1].offset + ended[1].bytes / 2] ^= 1;
    load_damaged(&sections);
    plan_sections_free(&sections);
    plan_start_again();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shard_comes_back),
        cmocka_unit_test(what_is_not_as_planned_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
