/* SPDX-License-Identifier: MIT
 *
 * Tests stored plans. A plan that was written must be read back shard by shard. A plan that is
 * damaged, truncated or of another version must be refused. A plan that was made with temporary
 * files must equal that of the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "packer/plan/plan_file.h"
#include "packer/plan/plan_sort.h"
#include "tests/common_model_plan.h"
#include "tests/common_plan.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct sheaf_pack_options options;
static struct sheaf_error err;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    tree_text(&tree, "here", "");
    plan_start_again();
    sheaf_pack_options_init(&options, sizeof(options));
    options.memory_bytes = (uint64_t)64 << 20;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plan_start_again();
    tree_remove(&tree);
    return 0;
}

/* ---- Files of all kinds ---------------------------------------------------------------------- */

static void add(struct catalog *c, const char *path, const struct catalog_stat *stat,
                uint32_t label)
{
    assert_int_equal(catalog_add(c, &problems, path, stat, label, &err), SHEAF_OK);
}

static void add_kind(struct catalog *c, struct rng *rng, const char *path, uint32_t label)
{
    static const char text[] = "[1, 2, {\"a\": \"text of a manifest's line\"}]";
    struct catalog_stat stat = { .bytes = rng_below(rng, 100000),
                                 .mtime_ns = (int64_t)rng_next(rng) };
    char url[200], named[100];

    switch (rng_below(rng, 4)) {
    case 0:
        snprintf(url, sizeof(url), "s3://bucket/%s", path);
        stat.stamp = rng_next(rng) | 1;
        stat.url = url;
        break;
    case 1:
        stat.bytes = rng_below(rng, sizeof(text));
        stat.text = text;
        /* Two texts of one name would be merged, which test_labels.py tests. */
        snprintf(named, sizeof(named), "%s%u", path, (unsigned)rng_below(rng, 1u << 30));
        path = named;
        break;
    }
    add(c, path, &stat, label);
}

/* Adds samples of one to three files, with classes, numbers or no label, and some files that cannot
 * form a sample. */
static void fill(struct catalog *c, struct rng *rng, int count)
{
    for (int i = 0; i < count; i++) {
        const double values[2] = { (double)rng_below(rng, 5), 0.5 };
        uint32_t label = LABEL_NONE;
        char path[80], class[20];

        snprintf(class, sizeof(class), "c%u", (unsigned)rng_below(rng, 7));
        if (i % 3 == 0)
            assert_int_equal(catalog_class(c, class, strlen(class), NULL, &label, &err), SHEAF_OK);
        else if (i % 3 == 1)
            assert_int_equal(catalog_numbers(c, values, 1 + i % 2, &label, &err), SHEAF_OK);
        snprintf(path, sizeof(path), "%s/%u.jpg", class, (unsigned)rng_below(rng, 2 * count));
        add_kind(c, rng, path, label);
        if (i % 5 == 0) {
            memcpy(path + strlen(path) - 3, i % 2 ? "cls" : "txt", 3);
            add_kind(c, rng, path, LABEL_NONE);
        }
    }
    assert_int_equal(catalog_add_bad(c, &problems, "c1/bad.jpg", "c1/bad.jpg", SHEAF_ERR_IO, "bad",
                                     &err),
                     SHEAF_OK);
}

static void assert_same_file(const struct catalog_file *a, const struct catalog_file *b)
{
    assert_string_equal(a->path, b->path);
    assert_int_equal(a->key_size, b->key_size);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->origin, b->origin);
    if (a->origin == CATALOG_TEXT) {
        assert_memory_equal(a->text, b->text, a->bytes);
    } else if (a->origin == CATALOG_OBJECT) {
        assert_int_equal(a->object->stamp, b->object->stamp);
        assert_string_equal(a->object->url, b->object->url);
    } else {
        assert_int_equal(a->stamp, b->stamp);
    }
}

static void assert_same_sample(const struct plan *a, const struct plan_sample *x,
                               const struct plan *b, const struct plan_sample *y)
{
    assert_int_equal(x->file_count, y->file_count);
    assert_int_equal(x->label, y->label);
    assert_int_equal(x->has_cls, y->has_cls);
    assert_int_equal(x->payload_bytes, y->payload_bytes);
    for (uint32_t f = 0; f < x->file_count; f++)
        assert_same_file(&a->files[x->file + f], &b->files[y->file + f]);
}

/* ---- Writing and reading --------------------------------------------------------------------- */

static void write_plan(const char *url, struct plan_facts *facts)
{
    struct plan_sections sections;
    struct store_writer *out;

    assert_int_equal(plan_sections_open(&sections, "/tmp", 1, &err), SHEAF_OK);
    assert_int_equal(plan_add_samples(&sections, &err), SHEAF_OK);
    assert_int_equal(plan_sections_end(&sections, &err), SHEAF_OK);
    assert_int_equal(plan_file_create(url, &out, &err), SHEAF_OK);
    assert_int_equal(plan_file_write(out, facts, &sections, &err), SHEAF_OK);
    plan_sections_free(&sections);
}

/* Stores a plan of random files. Returns its path. */
static const char *make_stored(struct rng *rng, int count)
{
    struct plan_facts facts = {
        .dest = "/data/out", .root = "/data/in", .source = "tree", .fingerprint = "",
        .libraries = "",
        .is_remote = true,
        .options = { .container = SHEAF_RECORDIO, .codec = SHEAF_CODEC_LZ4, .label_base = 1,
                     .on_error = SHEAF_SKIP, .prefix = "shard", .index = "" },
        .skipped = "a\tb\n", .skipped_bytes = 4, .found = 12345,
    };
    const char *url = tree_path(&tree, "plan");

    options.label_base = facts.options.label_base;
    fill(&catalog, rng, count);
    assert_int_equal(model_plan(&catalog, &options, &problems, &plan, &err), SHEAF_OK);
    plan_identify(&plan, facts.root, true);
    facts.plan = plan;
    for (uint32_t s = 0; s < plan.split_count; s++)
        facts.options_json[s] = s == 0 ? "{\"a\":1}" : "{}";
    write_plan(url, &facts);
    return url;
}

static void check_facts(const struct plan_file *file)
{
    const struct plan_facts *f = &file->facts;

    assert_string_equal(f->dest, "/data/out");
    assert_string_equal(f->root, "/data/in");
    assert_string_equal(f->options_json[0], "{\"a\":1}");
    assert_string_equal(f->plan.hash, plan.hash);
    assert_string_equal(f->plan.identity, plan.identity);
    assert_string_not_equal(f->plan.identity, plan.hash);
    assert_string_equal(f->skipped, "a\tb\n");
    assert_int_equal(f->found, 12345);
    assert_int_equal(f->options.container, SHEAF_RECORDIO);
    assert_int_equal(f->options.on_error, SHEAF_SKIP);
    assert_int_equal(f->plan.sample_count, plan.sample_count);
    assert_int_equal(f->plan.payload_bytes, plan.payload_bytes);
    assert_int_equal(f->plan.class_count, plan.class_count);
    assert_int_equal(f->plan.label_count, plan.label_count);
    for (uint32_t i = 1; i < plan.label_count; i++) {
        const struct plan_label *a = &plan.labels[i], *b = &f->plan.labels[i];

        assert_int_equal(a->class_name == NULL, b->class_name == NULL);
        if (a->class_name != NULL)
            assert_string_equal(a->class_name, b->class_name);
        assert_int_equal(a->value_count, b->value_count);
        assert_memory_equal(a->values, b->values, a->value_count * sizeof(double));
    }
}

static void check_shards(const struct plan_file *file, size_t first, size_t end)
{
    const struct plan_rows rows = plan_file_rows(file);
    struct plan_batch batch = { .plan.file_count = 0 };

    assert_int_equal(plan_rows_load(&rows, first, end, &batch, &err), SHEAF_OK);
    assert_int_equal(batch.plan.shard_count, end - first);
    for (size_t i = first; i < end; i++) {
        const struct plan_shard *a = &plan.shards[i], *b = &batch.plan.shards[i - first];

        assert_int_equal(a->split, b->split);
        assert_int_equal(a->number, b->number);
        assert_int_equal(a->first, b->first);
        assert_int_equal(a->sample_count, b->sample_count);
        assert_int_equal(a->payload_bytes, b->payload_bytes);
        for (uint64_t k = 0; k < a->sample_count; k++)
            assert_same_sample(&plan, &plan.samples[a->sample + k], &batch.plan,
                               &batch.plan.samples[b->sample + k]);
    }
    plan_batch_free(&batch);
}

static void test_round_trip(void **state)
{
    struct plan_file file;
    struct rng rng;

    (void)state;
    random_start(&rng);
    options.shard_bytes = 1000000;
    options.split = "train=0.8,val=0.2";
    assert_int_equal(plan_file_open(make_stored(&rng, 3000), &file, &err), SHEAF_OK);
    assert_true(plan.shard_count > 20);
    check_facts(&file);
    check_shards(&file, 0, plan.shard_count);
    for (size_t i = 0; i < plan.shard_count; i++)
        check_shards(&file, i, i + 1);
    plan_file_close(&file);
}

/* Tests the first version, which has no identity (a text of 32 bytes after the hash). */
static void test_the_first_version(void **state)
{
    struct plan_facts facts = {
        .dest = "/data/out", .root = "/data/in", .source = "tree", .fingerprint = "",
        .options = { .container = SHEAF_TFRECORD, .prefix = "shard", .index = "" },
        .skipped = "", .libraries = "",
        .options_json = { "{}" },
    }, read;
    struct buf text = BUF_INIT(SIZE_MAX / 4);
    struct rng rng;

    (void)state;
    random_start(&rng);
    fill(&catalog, &rng, 50);
    assert_int_equal(model_plan(&catalog, &options, &problems, &plan, &err), SHEAF_OK);
    plan_identify(&plan, facts.root, true);
    facts.plan = plan;
    assert_int_equal(plan_facts_write(&facts, &text, &err), SHEAF_OK);
    memmove(text.data + 33, text.data + 66, text.size - 66);
    /* The first version also lacks eleven bytes at the end. They are about images, skipping, fields
     * cls and repeated keys. */
    text.size -= 33 + 6 + 2 + 3;
    assert_int_equal(plan_facts_read(text.data, text.size, 1, &read, &err), SHEAF_OK);
    assert_string_equal(read.plan.hash, plan.hash);
    assert_string_equal(read.plan.identity, plan.hash);
    assert_string_equal(read.root, "/data/in");
    plan_facts_free(&read);
    buf_free(&text);
}

static uint64_t hash_of_identity(int64_t mtime_ns, const char *url, const char *root)
{
    const struct catalog_stat stat = { .bytes = 5, .mtime_ns = mtime_ns, .url = url,
                                       .stamp = url == NULL ? 0 : (uint64_t)mtime_ns };
    char identity[PLAN_HASH_SIZE];

    plan_start_again();
    add(&catalog, "a/b.jpg", &stat, LABEL_NONE);
    assert_int_equal(model_plan(&catalog, &options, &problems, &plan, &err), SHEAF_OK);
    plan_identify(&plan, root, true);
    memcpy(identity, plan.identity, PLAN_HASH_SIZE);
    return XXH3_64bits(identity, PLAN_HASH_SIZE);
}

static void test_identity(void **state)
{
    const uint64_t same = hash_of_identity(7, NULL, "/in");
    char hash[PLAN_HASH_SIZE];

    (void)state;
    memcpy(hash, plan.hash, PLAN_HASH_SIZE);
    assert_true(hash_of_identity(7, NULL, "/in") == same);
    assert_false(hash_of_identity(8, NULL, "/in") == same);
    assert_false(hash_of_identity(7, NULL, "/other") == same);
    assert_false(hash_of_identity(7, "s3://a/b.jpg", "/in") == same);
    assert_false(hash_of_identity(7, "s3://a/b.jpg", "/in") ==
                 hash_of_identity(7, "s3://c/b.jpg", "/in"));
    assert_string_equal(plan.hash, hash);       /* independent of times and locations */
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Opens a stored plan and loads everything in it. */
static int read_all(const char *path)
{
    struct plan_batch batch = { .plan.file_count = 0 };
    struct plan_file file;
    struct plan_rows rows;
    int code = plan_file_open(path, &file, &err);

    if (code != SHEAF_OK)
        return code;
    rows = plan_file_rows(&file);
    for (size_t i = 0; i < file.facts.plan.shard_count && code == SHEAF_OK; i++)
        code = plan_rows_load(&rows, i, i + 1, &batch, &err);
    plan_batch_free(&batch);
    plan_file_close(&file);
    return code;
}

static void test_every_prefix(void **state)
{
    struct rng rng;
    char *data;
    size_t size;

    (void)state;
    random_start(&rng);
    options.shard_count = 3;
    make_stored(&rng, 30);
    data = tree_read(&tree, "plan", &size);
    assert_int_equal(read_all(tree_path(&tree, "plan")), SHEAF_OK);
    for (size_t cut = 0; cut < size; cut++) {
        tree_write(&tree, "cut", data, cut);
        assert_int_not_equal(read_all(tree_path(&tree, "cut")), SHEAF_OK);
    }
    free(data);
}

static void test_every_flip(void **state)
{
    struct rng rng;
    char *data;
    size_t size;

    (void)state;
    random_start(&rng);
    options.shard_count = 3;
    make_stored(&rng, 30);
    data = tree_read(&tree, "plan", &size);
    for (size_t at = 0; at < size; at++) {
        const char bit = (char)(1 << rng_below(&rng, 8));
        bool is_newer;

        data[at] ^= bit;
        is_newer = load32((const uint8_t *)data + 8) > PLAN_FILE_VERSION;
        tree_write(&tree, "flipped", data, size);
        data[at] ^= bit;
        assert_int_not_equal(read_all(tree_path(&tree, "flipped")), SHEAF_OK);
        if (is_newer)
            assert_int_equal(err.code, SHEAF_ERR_UNSUPPORTED);
    }
    free(data);
}

/* ---- Without memory -------------------------------------------------------------------------- */


/* Checks that plan_sort_samples makes the same plan as the model. */
static void check_streams(struct plan_sort *g, const struct plan *sorted)
{
    struct buf found = BUF_INIT(SIZE_MAX / 4), record = BUF_INIT(SIZE_MAX / 4);

    assert_int_equal(sorted->split_count, plan.split_count);
    assert_int_equal(sorted->label_count, plan.label_count);
    for (uint32_t s = 0; s < plan.split_count; s++) {
        const struct plan_split *split = &plan.splits[s];

        assert_string_equal(sorted->splits[s].name, split->name);
        assert_int_equal(g->streams[s].count, split->sample_count);
        assert_int_equal(g->streams[s].payload_bytes, split->payload_bytes);
        assert_int_equal(g->streams[s].cls_is_label, split->cls_is_label);
        assert_int_equal(samples_rewind(&g->streams[s], &err), SHEAF_OK);
        for (uint64_t i = 0; i < split->sample_count; i++) {
            struct catalog c = { .file_count = 0 };
            struct plan_sample sample;
            struct plan one = { .split_count = 1 };
            const uint8_t *at;
            uint64_t payload;

            assert_int_equal(samples_get(&g->streams[s], &found, &payload, &err), SHEAF_OK);
            at = found.data;
            assert_int_equal(plan_record_read(&at, found.data + found.size, &c, &sample, &err),
                             SHEAF_OK);
            sample.label = g->renamed[sample.label];
            one.files = c.files;
            assert_int_equal(payload, sample.payload_bytes);
            assert_same_sample(&plan, &plan.samples[split->sample + i], &one, &sample);
            catalog_free(&c);
        }
    }
    buf_free(&found);
    buf_free(&record);
}

static void check_sorted(uint64_t seed, int count)
{
    struct watch watch = { .progress = NULL };
    struct plan sorted = { .file_count = 0 };
    struct plan_sort g;
    struct rng rng;
    size_t noted;
    int code;

    rng_seed(&rng, RNG_LANE, seed, 0, 0);
    fill(&catalog, &rng, count);
    assert_int_equal(model_plan(&catalog, &options, &problems, &plan, &err), SHEAF_OK);
    noted = problems.count;
    code = plan_sort_open(&g, &options, &problems, &watch, tree_path(&tree, "here"), &err);
    assert_int_equal(code, SHEAF_OK);
    rng_seed(&rng, RNG_LANE, seed, 0, 0);
    fill(&g.catalog, &rng, count);
    assert_int_equal(plan_sort_samples(&g, &sorted, &err), SHEAF_OK);
    assert_int_equal(problems.count, 2 * noted);
    check_streams(&g, &sorted);
    plan_free(&sorted);
    plan_sort_close(&g);
    plan_start_again();
}

static void test_sorted_is_made(void **state)
{
    static const char *const splits[] = { NULL, "a=0.5,b=0.3,c=0.2", "a=2/class,b=rest" };
    const int many = getenv("QUICK") != NULL ? 20000 : 200000;
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (size_t i = 0; i < COUNT_OF(splits); i++)
        for (int sorted = 0; sorted < 2; sorted++) {
            options.split = splits[i];
            options.no_shuffle = sorted;
            options.seed = rng_next(&rng);
            check_sorted(rng_next(&rng), 2000);
        }
    options.split = splits[1];
    options.no_shuffle = 0;
    check_sorted(rng_next(&rng), many);     /* so many that the sort makes more than one run */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_the_first_version),
        TEST(test_identity),
        TEST(test_every_prefix),
        TEST(test_every_flip),
        TEST(test_sorted_is_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
