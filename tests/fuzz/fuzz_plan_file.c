/* SPDX-License-Identifier: MIT
 *
 * Fuzzes stored plans: facts and records as they are, and edits to intact facts. Accepted facts
 * must be possible for a plan, and can be written again. */
#include "packer/plan/plan_file.h"
#include "tests/fuzz/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void read_facts(const uint8_t *data, size_t size)
{
    struct buf again = BUF_INIT(SIZE_MAX / 4);
    struct plan_facts facts, same;

    if (plan_facts_read(data, size, PLAN_FILE_VERSION, &facts, NULL) != SHEAF_OK)
        return;
    require(plan_facts_write(&facts, &again, NULL) == SHEAF_OK);
    require(plan_facts_read(again.data, again.size, PLAN_FILE_VERSION, &same, NULL) == SHEAF_OK);
    require(same.plan.label_count == facts.plan.label_count);
    require(same.plan.shard_count == facts.plan.shard_count);
    plan_facts_free(&same);
    plan_facts_free(&facts);
    buf_free(&again);
}

static void read_records(const uint8_t *data, size_t size)
{
    struct catalog catalog = { .file_count = 0 };
    struct buf again = BUF_INIT(SIZE_MAX / 4);
    const uint8_t *at = data, *end = data + size;

    while (at < end) {
        struct plan_sample s;

        if (plan_record_read(&at, end, &catalog, &s, NULL) != SHEAF_OK)
            break;
        require(s.file_count > 0 && s.file + s.file_count == catalog.file_count);
        again.size = 0;
        require(plan_record_write(&s, &catalog.files[s.file], &again, NULL) == SHEAF_OK);
    }
    buf_free(&again);
    catalog_free(&catalog);
}

static struct buf make_facts(void)
{
    static const double value = 2.5;
    static const char *classes[] = { "cat" };
    static double class_values[] = { 0 };
    struct plan_label labels[] = {
        { NULL, NULL, 0 }, { "cat", class_values, 1 }, { NULL, &value, 1 },
    };
    struct plan_facts facts = {
        .dest = "/out", .root = "/in", .source = "tree", .fingerprint = "",
        .options = { .container = SHEAF_TFRECORD, .prefix = "shard", .index = "" },
        .options_json = { "{}", "{}" }, .skipped = "a\tb\n", .skipped_bytes = 4,
        .libraries = "zlib 1",
        .plan = { .labels = labels, .label_count = 3, .classes = classes,
                  .class_values = class_values, .class_count = 1, .split_count = 2,
                  .splits = { { .name = "a", .shard_count = 1 },
                              { .name = "b", .shard_count = 2 } },
                  .hash = "0123456789abcdef0123456789abcdef" },
    };
    struct buf out = BUF_INIT(SIZE_MAX / 4);

    require(plan_facts_write(&facts, &out, NULL) == SHEAF_OK);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf facts = make_facts();
    size_t copy_size;
    uint8_t *copy = patched(facts.data, facts.size, data, size, &copy_size);

    read_facts(data, size);
    read_facts(copy, copy_size);
    read_records(data, size);
    free(copy);
    buf_free(&facts);
    return 0;
}
