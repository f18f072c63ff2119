/* SPDX-License-Identifier: MIT
 *
 * A plan that is put away comes back shard by shard, with all that it said, and is not kept beside
 * what was put away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "packer/plan/plan_stash.h"
#include "tests/common_plan.h"
#include "tests/common_random.h"

static struct sheaf_error err;

/* Samples of one to three files in a few classes, so many that a shard has several blocks. */
static void fill(struct catalog *c, struct rng *rng, unsigned count)
{
    static const char *const suffixes[] = { "jpg", "json", "txt" };

    for (unsigned i = 0; i < count; i++) {
        const uint64_t files = 1 + rng_below(rng, 3);
        char path[64];
        uint32_t label;

        snprintf(path, sizeof(path), "class%u", (unsigned)rng_below(rng, 5));
        assert_int_equal(catalog_class(c, path, strlen(path), &label, &err), SHEAF_OK);
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
        assert_int_equal(f->place, g->place);
    }
}

/* `kept`: what was put away, once more, as it was. */
static void same_shards(const struct plan_stash *stash, const struct plan *kept)
{
    for (size_t i = 0; i < kept->shard_count; i++) {
        const struct plan_shard *shard = &kept->shards[i];
        struct plan_batch batch = { .plan.file_count = 0 };

        assert_int_equal(plan_stash_take(stash, i, &batch, &err), SHEAF_OK);
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

static void make(struct catalog *c, struct rng rng, const struct sheaf_pack_options *options,
                 struct plan *made)
{
    fill(c, &rng, 6000);
    assert_int_equal(plan_make(c, options, &problems, made, &err), SHEAF_OK);
}

static void each_shard_comes_back(void **state)
{
    struct catalog again = { 0 };
    struct sheaf_pack_options options;
    struct plan_stash stash = { 0 };
    struct plan kept;
    struct rng rng;

    (void)state;
    plan_start_again();
    random_start(&rng);
    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_count = 3;
    options.split = "train=0.9,val=0.1";
    make(&catalog, rng, &options, &plan);
    make(&again, rng, &options, &kept);
    assert_int_equal(plan_stash_make(&stash, &plan, &catalog, &err), SHEAF_OK);
    assert_null(plan.samples);
    assert_null(catalog.files);
    assert_true(catalog_memory(&catalog) < catalog_memory(&again) / 2);
    assert_int_equal(catalog.label_count, again.label_count);
    same_shards(&stash, &kept);
    same_shards(&stash, &kept);     /* as often as need be */
    plan_stash_free(&stash);
    plan_free(&kept);
    catalog_free(&again);
    plan_start_again();
}

static void what_is_not_as_planned_is_noticed(void **state)
{
    struct plan_batch batch = { .plan.file_count = 0 };
    struct sheaf_pack_options options;
    struct plan_stash stash = { 0 };
    struct rng rng;

    (void)state;
    plan_start_again();
    random_start(&rng);
    sheaf_pack_options_init(&options, sizeof(options));
    make(&catalog, rng, &options, &plan);
    assert_int_equal(plan_stash_make(&stash, &plan, &catalog, &err), SHEAF_OK);
    stash.shards[0].files++;
    assert_int_equal(plan_stash_take(&stash, 0, &batch, &err), SHEAF_ERR_CORRUPT);
    plan_batch_free(&batch);
    plan_stash_free(&stash);
    plan_stash_free(&stash);
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
