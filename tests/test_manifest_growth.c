/* SPDX-License-Identifier: MIT
 *
 * Tests the manifest of a data set to which samples were appended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/manifest.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "tests/common_manifest.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define BEFORE "fedcba9876543210fedcba9876543210"

static char name_0[] = "shard-000000.tar", name_1[] = "shard-000001.tar";
static char class_0[] = "cat", class_1[] = "dog", options[] = "{\"seed\": 1}";

struct example {
    struct manifest m;
    struct manifest_shard shards[2];
    char *classes[2];
};

static void example_fill(struct example *e)
{
    *e = (struct example){
        .m = { .container = SHEAF_WEBDATASET, .ours = true, .class_count = 2, .shard_count = 2,
               .index_bytes = 300, .fields.is_unknown = true },
        .shards = {
            { .name = name_0, .bytes = 900, .raw_bytes = 900, .payload_bytes = 800, .samples = 3,
              .largest = 500, .xxh3 = HASH, .index_bytes = 100 },
            { .name = name_1, .bytes = 90, .raw_bytes = 90, .payload_bytes = 80, .samples = 1,
              .largest = 90, .xxh3 = HASH, .index_offset = 100, .index_bytes = 200 },
        },
        .classes = { class_0, class_1 },
    };
    e->m.shards = e->shards;
    e->m.classes = e->classes;
}

static void one_that_has_grown(void **state)
{
    struct manifest_growth growth = { .fingerprint = BEFORE, .shards = 1, .classes = 1,
                                      .options_json = options };
    struct example e;
    struct manifest m;
    struct buf text;
    uint64_t samples;

    (void)state;
    example_fill(&e);
    e.m.growths = &growth;
    e.m.growth_count = 1;
    text = manifest_text(&e.m);
    assert_int_equal(manifest_parse((char *)text.data, text.size, &m, NULL), SHEAF_OK);
    assert_int_equal(m.growth_count, 1);
    assert_int_equal(m.growths[0].shards, 1);
    assert_int_equal(m.growths[0].classes, 1);
    assert_int_equal(manifest_part_first(&m, 0), 0);
    assert_int_equal(manifest_part_first(&m, 1), 1);
    assert_int_equal(manifest_part_first(&m, 2), m.shard_count);
    assert_string_equal(m.growths[0].fingerprint, BEFORE);
    assert_true(manifest_grew_from(&m, "fedc", 4, &samples));
    assert_int_equal(samples, 3);
    assert_false(manifest_grew_from(&m, m.fingerprint, 32, &samples));
    assert_true(manifest_undo_growth(&m));
    assert_string_equal(m.fingerprint, BEFORE);
    assert_int_equal(m.shard_count, 1);
    assert_int_equal(m.class_count, 1);
    assert_int_equal(m.index_bytes, 100);
    assert_false(manifest_undo_growth(&m));
    manifest_clear(&m);
    buf_free(&text);
}

/* Tests appends that are not in order, add nothing, or have more shards or classes than the data
 * set. */
static void growths_that_cannot_be(void **state)
{
    static const struct manifest_growth wrong[][2] = {
        { { BEFORE, 2, 1, options }, { "", 0, 0, NULL } },
        { { BEFORE, 1, 3, options }, { "", 0, 0, NULL } },
        { { BEFORE, 1, 1, options }, { BEFORE, 1, 1, options } },
        { { BEFORE, 1, 2, options }, { BEFORE, 2, 1, options } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct manifest_growth growths[2] = { wrong[i][0], wrong[i][1] };
        struct buf out = BUF_INIT(MANIFEST_LIMIT);
        struct example e;

        example_fill(&e);
        e.m.growths = growths;
        e.m.growth_count = growths[1].options_json == NULL ? 1 : 2;
        if (manifest_write(&e.m, &out, NULL) != SHEAF_ERR_CORRUPT)
            fail_msg("growths %zu", i);
        buf_free(&out);
    }
}

static void files_of_the_parts(void **state)
{
    char name[GROWN_NAME_BYTES];

    (void)state;
    manifest_part_name(INDEX_NAME, 0, 0, name);
    assert_string_equal(name, "dataset.index");
    manifest_part_name(KEYS_NAME, 12, 0, name);
    assert_string_equal(name, "dataset-12.keys");
    manifest_part_name(INDEX_NAME, 0, 3, name);
    assert_string_equal(name, "dataset.e3.index");
    manifest_part_name(KEYS_NAME, 12, 3, name);
    assert_string_equal(name, "dataset-12.e3.keys");
    assert_true(manifest_part_is("dataset.keys", KEYS_NAME));
    assert_true(manifest_part_is("dataset-1.keys", KEYS_NAME));
    assert_true(manifest_part_is("dataset.e10.keys", KEYS_NAME));
    assert_true(manifest_part_is("dataset-12.e3.keys", KEYS_NAME));
    assert_false(manifest_part_is("dataset-.keys", KEYS_NAME));
    assert_false(manifest_part_is("dataset.e.keys", KEYS_NAME));
    assert_false(manifest_part_is("dataset.e3-1.keys", KEYS_NAME));
    assert_false(manifest_part_is("dataset-1.index", KEYS_NAME));
}

/* ---- Edits ----------------------------------------------------------------------------------- */

static void names_of_edited_shards(void **state)
{
    static const struct { const char *name; size_t stem, edit; const char *expected; } names[] = {
        { "shard-000003.tar", 12, 1, "shard-000003.e1.tar" },
        { "shard-000003.tar.gz", 12, 2, "shard-000003.e2.tar.gz" },
        { "shard-000003.e2.tar.gz", 15, 13, "shard-000003.e13.tar.gz" },
        { "a.e-000003.rec", 10, 1, "a.e-000003.e1.rec" },
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(manifest_edit_name(names[i].name, names[i].stem, names[i].edit, text,
                                            sizeof(text), NULL), SHEAF_OK);
        assert_string_equal(text, names[i].expected);
    }
    assert_int_equal(manifest_edit_name("shard-000003.tar", 12, 1, text, 40, NULL),
                     SHEAF_ERR_LIMIT);
}

/* Tests the names of replaced shards, which are removed on request. They must lie in the directory
 * and must not be names of present shards. */
static void edits_that_cannot_be(void **state)
{
    static const char *const names[] = { "", "..", "a/b", "shard-000000.rec" };
    uint64_t keyed[2] = { 4, 4 };

    (void)state;
    for (size_t i = 0; i <= COUNT_OF(names); i++) {
        char *shard = i < COUNT_OF(names) ? strdup(names[i]) : NULL;
        struct manifest_edit edit = { .keyed = keyed, .shards = &shard,
                                      .shard_count = shard != NULL, .grown = shard == NULL };
        struct buf out = BUF_INIT(MANIFEST_LIMIT);
        struct example e;

        example_fill(&e);
        snprintf(edit.fingerprint, sizeof(edit.fingerprint), "%032d", 1);
        snprintf(edit.plan, sizeof(edit.plan), "%032d", 2);
        if (i + 1 == COUNT_OF(names)) {
            free(shard);
            shard = strdup(e.m.shards[0].name);
        }
        e.m.edits = &edit;
        e.m.edit_count = 1;
        if (manifest_write(&e.m, &out, NULL) != SHEAF_ERR_CORRUPT)
            fail_msg("edit %zu", i);
        buf_free(&out);
        free(shard);
    }
}

static void edited_and_read_again(void **state)
{
    uint64_t keyed[1] = { 9 };
    char name[] = "shard-old.rec", *shard = name;
    struct manifest_edit edit = { .keyed = keyed, .shards = &shard, .shard_count = 1,
                                  .samples = 9, .deleted = 1, .relabelled = 2, .replaced = 3 };
    struct buf out = BUF_INIT(MANIFEST_LIMIT), again = BUF_INIT(MANIFEST_LIMIT);
    struct sheaf_error err;
    struct manifest m;
    struct example e;

    (void)state;
    example_fill(&e);
    snprintf(edit.fingerprint, sizeof(edit.fingerprint), "%032d", 1);
    snprintf(edit.plan, sizeof(edit.plan), "%032d", 2);
    e.m.edits = &edit;
    e.m.edit_count = 1;
    assert_int_equal(manifest_write(&e.m, &out, &err), SHEAF_OK);
    assert_int_equal(manifest_parse((const char *)out.data, out.size, &m, &err), SHEAF_OK);
    assert_int_equal(m.edit_count, 1);
    assert_string_equal(m.edits[0].shards[0], "shard-old.rec");
    assert_string_equal(m.edits[0].plan, edit.plan);
    assert_int_equal(m.edits[0].deleted + 10 * m.edits[0].relabelled + 100 * m.edits[0].replaced,
                     321);
    assert_true(manifest_edit_is_last(&m));
    assert_false(manifest_undo_growth(&m));
    assert_true(manifest_edited_from(&m, edit.fingerprint, 32));
    assert_false(manifest_edited_from(&m, m.fingerprint, 32));
    assert_int_equal(manifest_edit_keyed(&m, 0, 8), 9);
    assert_int_equal(manifest_write(&m, &again, &err), SHEAF_OK);
    assert_int_equal(out.size, again.size);
    assert_memory_equal(out.data, again.data, out.size);
    manifest_clear(&m);
    buf_free(&out);
    buf_free(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_has_grown),
        cmocka_unit_test(growths_that_cannot_be),
        cmocka_unit_test(files_of_the_parts),
        cmocka_unit_test(names_of_edited_shards),
        cmocka_unit_test(edits_that_cannot_be),
        cmocka_unit_test(edited_and_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
