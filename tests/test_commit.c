/* SPDX-License-Identifier: MIT
 *
 * Tests sheaf_commit with a remote destination. Several journal entries are read at the same time.
 * A shard that cannot be read must not be taken for a shard that was altered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sheaf.h"
#include "publish/journal.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define STALL_MS 10000          /* so long that no request stalls on a slow machine */
#define SOON_MS 1000            /* for tests in which requests must stall */
#define DEST "s3://bucket/set"
#define SHARDS 12

static struct fake_s3 s3;
static struct tree tree;
static struct sheaf_error error;
static struct sheaf_pack_options options;
static struct sheaf_pack_result result;

/* Packs all parts of a plan, so that only the commit is missing. */
static int setup(void **state)
{
    const char *source;
    char path[64];

    (void)state;
    tree_make(&tree);
    for (int i = 0; i < SHARDS; i++) {
        snprintf(path, sizeof(path), "source/c/%02d.bin", i);
        tree_text(&tree, path, "content");
    }
    fake_s3_start(&s3);
    fake_s3_use(&s3, STALL_MS);
    sheaf_pack_options_init(&options, sizeof(options));
    options.shard_count = SHARDS;
    source = tree_path(&tree, "source");
    must(sheaf_plan_make(&source, 1, DEST, tree_path(&tree, "plan"), &options, &result, &error));
    must(sheaf_pack_part(tree_path(&tree, "plan"), 0, 1, &options, &result, &error));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    tree_remove(&tree);
    return 0;
}

static int commit(void)
{
    return sheaf_commit(tree_path(&tree, "plan"), &options, &result, &error);
}

static void entries_are_read_several_at_a_time(void **state)
{
    const struct fake_fault silent = { FAKE_SILENCE, "GET", ".done", .skip = 1, .times = SHARDS };

    (void)state;
    fake_s3_use(&s3, SOON_MS);
    fake_server_add_fault(s3.server, &silent);
    must(commit());
    assert_int_equal(result.shards, SHARDS);
    assert_true(fake_server_peak(s3.server) >= SHARDS / 3);
    assert_non_null(fake_s3_object(&s3, "/bucket/set/dataset.json"));
}

/* Replaces the content of a shard by other content of the same size. */
static void alter(const char *path)
{
    const struct fake_object *object = fake_s3_object(&s3, path);
    uint8_t *data = malloc(object->size);
    const size_t size = object->size;

    memcpy(data, object->data, size);
    data[99] ^= 1;
    fake_s3_put(&s3, path, data, size);
    free(data);
}

static void what_cannot_be_read_is_not_called_altered(void **state)
{
    const struct fake_fault denied = { FAKE_STATUS, "GET", "shard-000003.tar?", .status = 403,
                                       .code = "AccessDenied" };

    (void)state;
    alter("/bucket/set/shard-000003.tar");
    assert_int_equal(commit(), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "shard-000003.tar (altered)"));
    fake_server_add_fault(s3.server, &denied);
    assert_int_equal(commit(), SHEAF_ERR_ACCESS);
    assert_non_null(strstr(error.message, DEST "/shard-000003.tar"));
    assert_null(strstr(error.message, "altered"));
    assert_null(fake_s3_object(&s3, "/bucket/set/dataset.json"));
}

/* Writes an entry of the plan with a correct checksum, but with a wrong number of files. */
static void a_sum_that_is_wrong_is_not_published(void **state)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    struct store_seen seen, now;
    struct journal journal;

    (void)state;
    for (int more = -1; more <= 1; more += 2) {
        must(journal_open(&journal, DEST, &error));
        must(journal_load(&journal, &journal.plan, NULL, &error));
        must(journal_get(&journal, "", "shard-000003.tar", &entry, &error));
        must(journal_see(&journal, "", "shard-000003.tar", &seen, &error));
        entry.facts.files = (uint64_t)(1 + more);
        must(journal_put(&journal, "", &entry, &seen, &now, &error));
        assert_int_equal(commit(), SHEAF_ERR_CHANGED);
        assert_non_null(strstr(error.message, "the sum is wrong"));
        assert_null(fake_s3_object(&s3, "/bucket/set/dataset.json"));
        must(journal_see(&journal, "", "shard-000003.tar", &seen, &error));
        entry.facts.files = 1;
        must(journal_put(&journal, "", &entry, &seen, &now, &error));
        journal_close(&journal);
    }
    journal_entry_free(&entry);
    must(commit());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(entries_are_read_several_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_not_called_altered, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_sum_that_is_wrong_is_not_published, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
