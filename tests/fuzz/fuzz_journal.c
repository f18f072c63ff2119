/* SPDX-License-Identifier: MIT
 *
 * Fuzzes a packer's journal: entries and the claim. The input is used as it is, and as edits to
 * intact ones whose checksums are then corrected. An accepted entry can be written again, and the
 * list of files in it can be read. An accepted claim can be taken over, and the journal can be
 * cleared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/manifest.h"
#include "publish/journal.h"
#include "tests/common_model_store.h"
#include "tests/fuzz/patch.h"

#define HASH  "0123456789abcdef0123456789abcdef"
#define SHARD "shard-000003.tar"
#define DEST  "mem://a/out"
#define PARTIAL DEST "/" STORE_PARTIAL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- Entries --------------------------------------------------------------------------------- */

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
        .facts = { .name = SHARD, .bytes = 1, .raw_bytes = 2, .payload_bytes = 3,
                   .samples = 1, .largest = 5, .xxh3 = "fedcba9876543210fedcba9876543210",
                   .library = "zlib 1.2.13" },
        .section = BUF_INIT(100), .skipped = BUF_INIT(100), .sides = BUF_INIT(100),
        .keys = BUF_INIT(100), .fields = BUF_INIT(100), .converted = BUF_INIT(100),
    };
    static const char side[] = "shard-000003.idx\t7\tfedcba9876543210fedcba9876543210\n";
    struct buf out = BUF_INIT(SIZE_MAX / 4);

    require(buf_append(&entry.section, "section", 7, NULL) == SHEAF_OK);
    require(buf_append(&entry.sides, side, strlen(side), NULL) == SHEAF_OK);
    require(buf_append(&entry.keys, "its hash", 8, NULL) == SHEAF_OK);
    require(buf_append(&entry.fields, "{fields}", 8, NULL) == SHEAF_OK);
    require(buf_append(&entry.skipped, "a\tb\n", 4, NULL) == SHEAF_OK);
    require(buf_append(&entry.converted, "c\td\n", 4, NULL) == SHEAF_OK);
    require(journal_entry_write(&entry, HASH, &out, NULL) == SHEAF_OK);
    journal_entry_free(&entry);
    return out;
}

static void seal(uint8_t *data, size_t size)
{
    XXH64_canonical_t sum;

    if (size < sizeof(sum))
        return;
    XXH64_canonicalFromHash(&sum, XXH3_64bits(data, size - sizeof(sum)));
    memcpy(data + size - sizeof(sum), &sum, sizeof(sum));
}

/* ---- The claim ------------------------------------------------------------------------------- */

static const char sound_claim[] =
    "sheaf-plan 2\nhash " HASH "\nprefix shard\nsplit train\nsplit val\n"
    "run fedcba9876543210fedcba9876543210\nholder process 7 on host, since yesterday\n"
    "state grows\n";

/* Stores a claim that consists of the text and the correct checksum after it. */
static void put_sealed_claim(const void *text, size_t size)
{
    struct buf claim = BUF_INIT(SIZE_MAX / 4);

    require(buf_append(&claim, text, size, NULL) == SHEAF_OK);
    require(buf_printf(&claim, NULL, "sum %016llx\n",
                       (unsigned long long)XXH3_64bits(text, size)) == SHEAF_OK);
    require(store_put(PARTIAL "/" PLAN_FILE, claim.data, claim.size, NULL) == SHEAF_OK);
    buf_free(&claim);
}

static void check_plan(const struct journal_plan *plan)
{
    char *text;
    size_t size;

    require(plan->split_count > 0 && plan->split_count <= SPLIT_LIMIT);
    require(plan->state <= CLAIM_GROWS);
    require(store_get(PARTIAL "/" PLAN_FILE, 1 << 20, &text, &size, NULL) == SHEAF_OK);
    require(manifest_claim_keeps(text, size) == (plan->state >= CLAIM_GROWS));
    free(text);
}

/* Takes over the claim for another run. The claim must then name this run and describe the same
 * plan. */
static void take_over(struct journal *j, const struct store_seen *seen)
{
    struct journal_plan plan;

    require(journal_claim(j, seen, "", CLAIM_REPLACES, NULL) == SHEAF_OK);
    require(journal_state(j, CLAIM_READY, NULL) == SHEAF_OK);
    require(journal_check(j, NULL) == SHEAF_OK);
    require(journal_load(j, &plan, NULL, NULL) == SHEAF_OK);
    require(strcmp(plan.hash, j->plan.hash) == 0 && strcmp(plan.prefix, j->plan.prefix) == 0);
    require(strcmp(plan.run, j->plan.run) == 0 && plan.split_count == j->plan.split_count);
    require(plan.state == CLAIM_READY);
}

/* ---- The directory --------------------------------------------------------------------------- */

static int check_name(void *context, const char *name, struct sheaf_error *err)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    const int code = journal_get_named(context, name, &entry, err);

    require(code == SHEAF_OK || code == SHEAF_END);
    journal_entry_free(&entry);
    return SHEAF_OK;
}

/* Stores an entry as if an earlier run had left it, reads it, and writes it again. */
static void resume_entry(struct journal *j, const uint8_t *data, size_t size)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } }, again = { .facts = { .bytes = 0 } };
    struct store_seen seen, now;
    char *name, *url;

    require(journal_entry_name(j, "train", SHARD, &name, NULL) == SHEAF_OK);
    require(journal_is_own(j, name));
    url = store_join(j->directory, name);
    require(store_put(url, data, size, NULL) == SHEAF_OK);
    require(journal_see(j, "train", SHARD, &seen, NULL) == SHEAF_OK && seen.is_there);
    if (journal_get(j, "train", SHARD, &entry, NULL) == SHEAF_OK) {
        require(journal_put(j, "train", &entry, &seen, &now, NULL) == SHEAF_OK);
        require(journal_get(j, "train", SHARD, &again, NULL) == SHEAF_OK);
        require(again.sides.size == entry.sides.size && again.keys.size == entry.keys.size);
    }
    journal_entry_free(&entry);
    journal_entry_free(&again);
    free(name);
    free(url);
}

static void leave_nothing(const struct journal *j)
{
    require(store_put(PARTIAL "/a.tmp", "a", 1, NULL) == SHEAF_OK);
    require(journal_remove_temporaries(DEST, NULL) == SHEAF_OK);
    require(model_find("/out/" STORE_PARTIAL "/a.tmp") == NULL);
    require(journal_clear(j, NULL) == SHEAF_OK);
    require(model_objects() == NULL);
}

/* Uses a directory that has a claim already. Looks for entries only if the claim's hash is
 * valid. */
static void use_directory(const uint8_t *entry, size_t entry_size)
{
    struct store_seen seen;
    struct journal j;

    require(journal_open(&j, DEST, NULL) == SHEAF_OK);
    if (journal_load(&j, &j.plan, &seen, NULL) == SHEAF_OK) {
        check_plan(&j.plan);
        take_over(&j, &seen);
        if (strspn(j.plan.hash, "0123456789abcdef") == strlen(HASH))
            resume_entry(&j, entry, entry_size);
        require(journal_list(DEST, check_name, &j, NULL) == SHEAF_OK);
        leave_nothing(&j);
    }
    journal_close(&j);
    model_restore(NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct buf entry;
    size_t entry_size, claim_size;
    uint8_t *edited, *claim;

    if (entry.size == 0) {
        entry = make_entry();
        model_open(NULL);
        atexit(model_close);
        model_begin('a', MODEL_NEVER);
    }
    edited = patched(entry.data, entry.size, data, size, &entry_size);
    claim = patched(sound_claim, strlen(sound_claim), data, size, &claim_size);
    seal(edited, entry_size);
    parse(data, size);
    parse(edited, entry_size);
    put_sealed_claim(sound_claim, strlen(sound_claim));
    use_directory(edited, entry_size);
    put_sealed_claim(claim, claim_size);
    use_directory(entry.data, entry.size);
    require(store_put(PARTIAL "/" PLAN_FILE, data, size, NULL) == SHEAF_OK);
    use_directory(entry.data, entry.size);
    free(edited);
    free(claim);
    return 0;
}
