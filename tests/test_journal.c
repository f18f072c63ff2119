/* SPDX-License-Identifier: MIT
 *
 * Tests the journal: entries that were written are read back, and damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "publish/journal.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_tree.h"

#define HASH  "0123456789abcdef0123456789abcdef"
/* The name of an entry contains the first digits of the plan's hash. */
#define ENTRY(n) "out/" STORE_PARTIAL "/train.shard-00000" n ".tar.0123456789abcdef.done"
#define OTHER "0123456789abcdef0123456789abcdee"

static struct tree tree;
static struct journal journal;
static struct journal_entry entry;
static struct store_seen now;
static const struct store_seen nothing;

static int setup(void **state)
{
    struct sheaf_error err;

    (void)state;
    tree_make(&tree);
    entry = (struct journal_entry){
        .facts = { .name = "shard-000003.tar", .bytes = 1, .raw_bytes = 2, .payload_bytes = 3,
                   .samples = 4, .largest = 5, .names_bytes = 6, .multipart = 7,
                   .resized = 9, .cls_words = 4,
                   .xxh3 = "fedcba9876543210fedcba9876543210", .library = "zlib 1.2.13" },
        .section = BUF_INIT(100), .skipped = BUF_INIT(100), .sides = BUF_INIT(100),
        .keys = BUF_INIT(100), .fields = BUF_INIT(100), .converted = BUF_INIT(100), .stamp = 8,
    };
    assert_int_equal(buf_append(&entry.converted, "c\td\n", 4, &err), SHEAF_OK);
    assert_int_equal(buf_append(&entry.keys, "hash 0: hash 1: hash 2: hash 3: ", 32, &err),
                     SHEAF_OK);
    assert_int_equal(buf_append(&entry.section, "\0\1section", 9, &err), SHEAF_OK);
    assert_int_equal(buf_append(&entry.fields, "{fields}", 8, &err), SHEAF_OK);
    assert_int_equal(buf_append(&entry.skipped, "a\tb\n", 4, &err), SHEAF_OK);
    assert_int_equal(journal_open(&journal, tree_path(&tree, "out"), &err), SHEAF_OK);
    memcpy(journal.plan.hash, HASH, sizeof(journal.plan.hash));
    memcpy(journal.plan.prefix, "shard", 6);
    journal.plan.split_count = 1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    journal_entry_free(&entry);
    journal_close(&journal);
    tree_remove(&tree);
    return 0;
}

/* Compares field by field, because the bytes between fields are undefined. */
static void assert_same_facts(const struct shard_facts *a, const struct shard_facts *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->raw_bytes, b->raw_bytes);
    assert_int_equal(a->payload_bytes, b->payload_bytes);
    assert_int_equal(a->samples, b->samples);
    assert_int_equal(a->files, b->files);
    assert_int_equal(a->largest, b->largest);
    assert_int_equal(a->names_bytes, b->names_bytes);
    assert_int_equal(a->multipart, b->multipart);
    assert_int_equal(a->resized, b->resized);
    assert_int_equal(a->cls_words, b->cls_words);
    assert_int_equal(a->has_cls, b->has_cls);
    assert_string_equal(a->xxh3, b->xxh3);
    assert_string_equal(a->library, b->library);
}

static void assert_same_entry(const struct journal_entry *a, const struct journal_entry *b)
{
    assert_same_facts(&a->facts, &b->facts);
    assert_int_equal(a->section.size, b->section.size);
    assert_memory_equal(a->section.data, b->section.data, a->section.size);
    assert_int_equal(a->skipped.size, b->skipped.size);
    assert_memory_equal(a->skipped.data, b->skipped.data, a->skipped.size);
    assert_int_equal(a->sides.size, b->sides.size);
    assert_int_equal(a->keys.size, b->keys.size);
    assert_memory_equal(a->keys.data, b->keys.data, a->keys.size);
    assert_int_equal(a->fields.size, b->fields.size);
    assert_memory_equal(a->fields.data, b->fields.data, a->fields.size);
    assert_int_equal(a->converted.size, b->converted.size);
    assert_memory_equal(a->converted.data, b->converted.data, a->converted.size);
    assert_int_equal(a->stamp, b->stamp);
}

static void test_bytes(void **state)
{
    struct buf bytes = BUF_INIT(1000);
    struct journal_entry found = { .facts = { .bytes = 0 } };
    struct sheaf_error err;

    (void)state;
    assert_int_equal(journal_entry_write(&entry, HASH, &bytes, &err), SHEAF_OK);
    assert_int_equal(journal_entry_parse(bytes.data, bytes.size, HASH, &found, &err), SHEAF_OK);
    assert_same_entry(&found, &entry);
    assert_int_equal(journal_entry_parse(bytes.data, bytes.size, OTHER, &found, NULL), SHEAF_END);
    for (size_t size = 0; size < bytes.size; size++) {
        uint8_t *prefix = malloc(size + 1);     /* memory of exactly this size, for the sanitizer */

        memcpy(prefix, bytes.data, size);
        assert_int_equal(journal_entry_parse(prefix, size, HASH, &found, NULL), SHEAF_END);
        free(prefix);
    }
    for (size_t i = 0; i < bytes.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes.data[i] ^= (uint8_t)(1u << bit);
            assert_int_equal(journal_entry_parse(bytes.data, bytes.size, HASH, &found, NULL),
                             SHEAF_END);
            bytes.data[i] ^= (uint8_t)(1u << bit);
        }
    }
    journal_entry_free(&found);
    buf_free(&bytes);
}

/* Makes an entry with the words and texts of an older version, which had fewer of both, and parses
 * it. */
static void test_older_entry(char version, size_t words, bool is_released)
{
    struct buf bytes = BUF_INIT(1000);
    struct journal_entry found = { .facts = { .bytes = 0 } };
    const size_t end = 8 + words * 8, more = (21 - words) * 8;
    XXH64_canonical_t sum;
    struct sheaf_error err;

    entry.facts.resized = entry.facts.cls_words = 0;
    entry.converted.size *= version >= '8';
    entry.fields.size *= version >= '7';
    entry.keys.size *= version >= '6';
    assert_int_equal(journal_entry_write(&entry, HASH, &bytes, &err), SHEAF_OK);
    memmove(bytes.data + end, bytes.data + end + more, bytes.size - end - more);
    bytes.size -= more;
    bytes.data[7] = (uint8_t)version;
    assert_int_equal(journal_entry_parse(bytes.data, bytes.size, HASH, &found, &err), SHEAF_END);
    XXH64_canonicalFromHash(&sum, XXH3_64bits(bytes.data, bytes.size - sizeof(sum)));
    memcpy(bytes.data + bytes.size - sizeof(sum), &sum, sizeof(sum));
    assert_int_equal(journal_entry_parse(bytes.data, bytes.size, HASH, &found, &err),
                     is_released ? SHEAF_OK : SHEAF_END);
    if (is_released)
        assert_same_entry(&found, &entry);
    journal_entry_free(&found);
    buf_free(&bytes);
}

/* Tests entries of release 0.2, which did not count resized images. Entries of release 0.1, which
 * had nothing after the list of files, are not used, and neither are those of the versions between
 * them, which were never released. */
static void test_older_entries(void **state)
{
    (void)state;
    test_older_entry('8', 19, true);
    test_older_entry('7', 18, false);
    test_older_entry('6', 17, false);
    test_older_entry('5', 16, false);
    memset(entry.facts.library, 0, sizeof(entry.facts.library));
    test_older_entry('4', 15, false);
}

/* Tests that an entry must have the keys of all samples. */
static void test_wrong_keys(void **state)
{
    struct buf bytes = BUF_INIT(1000);
    struct journal_entry found = { .facts = { .bytes = 0 } };
    struct sheaf_error err;

    (void)state;
    for (size_t size = 0; size <= 24; size += 24) {
        entry.keys.size = size;
        bytes.size = 0;
        assert_int_equal(journal_entry_write(&entry, HASH, &bytes, &err), SHEAF_OK);
        assert_int_equal(journal_entry_parse(bytes.data, bytes.size, HASH, &found, &err),
                         SHEAF_END);
    }
    journal_entry_free(&found);
    buf_free(&bytes);
}

/* Changes the journal so that another library seems to have compressed the first shard. */
static void change_library(const char *dest)
{
    static const char shard[] = "shard-000000.tar.gz";
    struct journal_entry found = { .facts = { .bytes = 0 } };
    struct journal other;
    struct store_seen seen;
    struct sheaf_error error;

    must(journal_open(&other, dest, &error));
    must(journal_load(&other, &other.plan, &other.claim, &error));
    must(journal_get(&other, "", shard, &found, &error));
    assert_ptr_equal(strstr(found.facts.library, "zlib "), found.facts.library);
    snprintf(found.facts.library, sizeof(found.facts.library), "zlib 0.9-other");
    must(journal_see(&other, "", shard, &seen, &error));
    must(journal_put(&other, "", &found, &seen, &now, &error));
    journal_entry_free(&found);
    journal_close(&other);
}

static void test_the_manifest_lists_the_libraries(void **state)
{
    const char *source = tree_path(&tree, "source"), *plan = tree_path(&tree, "stored");
    const char *dest = tree_path(&tree, "dest");
    struct sheaf_pack_options options;
    struct sheaf_error error;
    char *manifest;
    size_t size;

    (void)state;
    tree_text(&tree, "source/a/1.txt", "one");
    tree_text(&tree, "source/a/2.txt", "two");
    sheaf_pack_options_init(&options, sizeof(options));
    options.codec = SHEAF_CODEC_GZIP;
    options.shard_count = 2;
    must(sheaf_plan_make(&source, 1, dest, plan, &options, NULL, &error));
    must(sheaf_pack_part(plan, 0, 1, &options, NULL, &error));
    change_library(dest);
    must(sheaf_commit(plan, &options, NULL, &error));
    manifest = tree_read(&tree, "dest/dataset.json", &size);
    assert_non_null(strstr(manifest, "\"codec_libraries\": [\"zlib 0.9-other\", \"zlib "));
    free(manifest);
}

static void test_entries(void **state)
{
    struct journal_entry found = { .facts = { .bytes = 0 } };
    struct sheaf_error err;
    int code;

    (void)state;
    assert_int_equal(journal_claim(&journal, &nothing, "", CLAIM_READY, &err), SHEAF_OK);
    code = journal_get(&journal, "train", "shard-000003.tar", &found, &err);
    assert_int_equal(code, SHEAF_END);
    assert_int_equal(journal_put(&journal, "train", &entry, &nothing, &now, &err), SHEAF_OK);
    code = journal_get(&journal, "train", "shard-000003.tar", &found, &err);
    assert_int_equal(code, SHEAF_OK);
    assert_same_entry(&found, &entry);
    /* An entry belongs to one split, one shard and one plan. */
    code = journal_get(&journal, "", "shard-000003.tar", &found, &err);
    assert_int_equal(code, SHEAF_END);
    assert_int_equal(rename(tree_path(&tree, ENTRY("3")), tree_path(&tree, ENTRY("4"))), 0);
    code = journal_get(&journal, "train", "shard-000004.tar", &found, &err);
    assert_int_equal(code, SHEAF_END);
    journal_entry_free(&found);
}

static void test_plan_file(void **state)
{
    struct journal_plan plan;
    struct sheaf_error err;
    char *text;
    size_t size;

    (void)state;
    assert_int_equal(journal_load(&journal, &plan, NULL, &err), SHEAF_END);
    journal.plan.split_count = 2;
    memcpy(journal.plan.splits[0], "train", 6);
    memcpy(journal.plan.splits[1], "val", 4);
    assert_int_equal(journal_claim(&journal, &nothing, "", CLAIM_READY, &err), SHEAF_OK);
    assert_int_equal(journal_load(&journal, &plan, NULL, &err), SHEAF_OK);
    assert_memory_equal(&plan, &journal.plan, sizeof(plan));
    text = tree_read(&tree, "out/" STORE_PARTIAL "/plan", &size);
    for (size_t i = 0; i < size; i++) {
        text[i] ^= 1;
        tree_write(&tree, "out/" STORE_PARTIAL "/plan", text, size);
        assert_int_equal(journal_load(&journal, &plan, NULL, &err), SHEAF_ERR_CORRUPT);
        text[i] ^= 1;
        tree_write(&tree, "out/" STORE_PARTIAL "/plan", text, i);
        assert_int_equal(journal_load(&journal, &plan, NULL, &err), SHEAF_ERR_CORRUPT);
    }
    free(text);
}

static void test_claimed_twice(void **state)
{
    struct sheaf_error err;
    char holder[40];

    (void)state;
    assert_int_equal(journal_claim(&journal, &nothing, "", CLAIM_READY, &err), SHEAF_OK);
    assert_int_equal(journal_claim(&journal, &nothing, "", CLAIM_READY, &err), SHEAF_ERR_EXISTS);
    snprintf(holder, sizeof(holder), "(process %ld on ", (long)getpid());
    assert_non_null(strstr(err.message, holder));
}

static void test_clear(void **state)
{
    struct sheaf_error err;

    (void)state;
    assert_int_equal(journal_claim(&journal, &nothing, "", CLAIM_READY, &err), SHEAF_OK);
    assert_int_equal(journal_put(&journal, "", &entry, &nothing, &now, &err), SHEAF_OK);
    tree_text(&tree, "out/" STORE_PARTIAL "/x.0123.tmp", "half");
    tree_text(&tree, "out/mine", "x");
    assert_int_equal(journal_remove_temporaries(tree_path(&tree, "out"), &err), SHEAF_OK);
    assert_int_equal(tree_count(&tree, "out"), 3);
    assert_int_equal(journal_clear(&journal, &err), SHEAF_OK);
    assert_int_equal(tree_count(&tree, "out"), 1);
    assert_false(tree_has(&tree, "out/" STORE_PARTIAL));
    assert_int_equal(journal_clear(&journal, &err), SHEAF_OK);
}

/* Replaces an entry after its first bytes were requested and before the rest is requested, as
 * another run may do. */
static void test_replaced_while_it_is_read(void **state)
{
    const struct fake_fault part = { .kind = FAKE_SHORT, .at = 1, .method = "GET",
                                     .match = ".done", .times = 1 };
    const struct fake_fault replaced = { .kind = FAKE_WRONG_ETAG, .method = "GET",
                                         .match = ".done", .times = 1 };
    struct journal_entry found = { .facts = { .bytes = 0 } };
    struct fake_s3 s3;
    struct journal j;
    struct sheaf_error err;

    (void)state;
    fake_s3_start(&s3);
    fake_s3_use(&s3, 30000);
    assert_int_equal(journal_open(&j, "s3://bucket/out", &err), SHEAF_OK);
    j.plan = journal.plan;
    assert_int_equal(journal_put(&j, "train", &entry, &nothing, &now, &err), SHEAF_OK);
    fake_server_add_fault(s3.server, &part);
    fake_server_add_fault(s3.server, &replaced);
    assert_int_equal(journal_get(&j, "train", "shard-000003.tar", &found, &err), SHEAF_OK);
    assert_same_entry(&found, &entry);
    journal_entry_free(&found);
    journal_close(&j);
    fake_s3_stop(&s3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bytes),
        TEST(test_older_entries),
        TEST(test_wrong_keys),
        TEST(test_the_manifest_lists_the_libraries),
        TEST(test_entries),
        TEST(test_replaced_while_it_is_read),
        TEST(test_plan_file),
        TEST(test_claimed_twice),
        TEST(test_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
