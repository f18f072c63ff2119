/* SPDX-License-Identifier: MIT
 *
 * Entries of a packer's journal, as they come and as edits to a sound one whose checksum is then
 * made right: what is accepted can be written again, and its sides can be taken off it. */
#include <xxhash.h>

#include "packer/journal.h"
#include "tests/fuzz/patch.h"

#define HASH "0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void parse(const uint8_t *data, size_t size)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    struct buf again = BUF_INIT(SIZE_MAX / 4);

    if (journal_entry_parse(data, size, HASH, &entry, NULL) == SHEAF_OK) {
        const char *at = (const char *)entry.sides.data, *end = at + entry.sides.size;
        char name[SHARD_NAME_BYTES], hash[HASH_TEXT_BYTES];
        uint64_t bytes;

        require(strlen(entry.facts.name) < SHARD_NAME_BYTES);
        while (at < end && journal_take_side(&at, end, name, &bytes, hash))
            require(strlen(name) < sizeof(name) && strlen(hash) < sizeof(hash));
        require(journal_entry_write(&entry, HASH, &again, NULL) == SHEAF_OK);
        require(again.size <= size);
    }
    journal_entry_free(&entry);
    buf_free(&again);
}

static struct buf make_entry(void)
{
    struct journal_entry entry = {
        .facts = { .name = "shard-000003.tar", .bytes = 1, .raw_bytes = 2, .payload_bytes = 3,
                   .samples = 4, .largest = 5, .xxh3 = "fedcba9876543210fedcba9876543210" },
        .section = BUF_INIT(100), .skipped = BUF_INIT(100), .sides = BUF_INIT(100),
    };
    static const char side[] = "shard-000003.idx\t7\tfedcba9876543210fedcba9876543210\n";
    struct buf out = BUF_INIT(SIZE_MAX / 4);

    require(buf_append(&entry.section, "section", 7, NULL) == SHEAF_OK);
    require(buf_append(&entry.sides, side, strlen(side), NULL) == SHEAF_OK);
    require(journal_entry_write(&entry, HASH, &out, NULL) == SHEAF_OK);
    journal_entry_free(&entry);
    return out;
}

static void parse_sealed(uint8_t *data, size_t size)
{
    XXH64_canonical_t sum;

    if (size < sizeof(sum))
        return;
    XXH64_canonicalFromHash(&sum, XXH3_64bits(data, size - sizeof(sum)));
    memcpy(data + size - sizeof(sum), &sum, sizeof(sum));
    parse(data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf entry = make_entry();
    size_t copy_size;
    uint8_t *copy = patched(entry.data, entry.size, data, size, &copy_size);

    parse(data, size);
    parse_sealed(copy, copy_size);
    free(copy);
    buf_free(&entry);
    return 0;
}
