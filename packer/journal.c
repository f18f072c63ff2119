/* SPDX-License-Identifier: MIT
 *
 * The journal's files.  An entry is
 *
 *     magic | words | plan hash | XXH3 of the shard | name | section | skipped | sides |
 *     XXH3-64 of all before */
#include "packer/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

#define PLAN_FILE  "plan"
#define PLAN_MAGIC "sheaf-plan 1\n"
#define PLAN_BYTES ((size_t)64 << 10)
#define ENTRY_BYTES ((size_t)1 << 32)
#define HEX_BYTES  32
#define SUM_BYTES  8

static const uint8_t magic[8] = { 'S', 'H', 'E', 'A', 'F', 'J', 'R', '4' };

enum word {
    WORD_BYTES, WORD_RAW_BYTES, WORD_PAYLOAD_BYTES, WORD_SAMPLES, WORD_FILES,
    WORD_LARGEST, WORD_NAMES_BYTES, WORD_MULTIPART, WORD_HAS_CLS, WORD_SOURCE, WORD_STAMP,
    WORD_NAME_SIZE, WORD_SECTION_SIZE, WORD_SKIPPED_SIZE, WORD_SIDES_SIZE,
    WORD_COUNT
};

/* ---- Entries as bytes ------------------------------------------------------------------------ */

int journal_entry_write(const struct journal_entry *entry, const char *hash, struct buf *out,
                        struct sheaf_error *err)
{
    const struct shard_facts *f = &entry->facts;
    const size_t start = out->size, name_size = strlen(f->name);
    const uint64_t words[WORD_COUNT] = {
        f->bytes, f->raw_bytes, f->payload_bytes, f->samples, f->files, f->largest,
        f->names_bytes, f->multipart, f->has_cls, entry->source, entry->stamp, name_size,
        entry->section.size, entry->skipped.size, entry->sides.size,
    };
    XXH64_canonical_t sum;
    int code = buf_reserve(out, sizeof(magic) + sizeof(words) + 2 * HEX_BYTES + name_size +
                           entry->section.size + entry->skipped.size + entry->sides.size +
                           SUM_BYTES, err);

    if (code != SHEAF_OK)
        return code;
    buf_put(out, magic, sizeof(magic));
    buf_put(out, words, sizeof(words));
    buf_put(out, hash, HEX_BYTES);
    buf_put(out, f->xxh3, HEX_BYTES);
    buf_put(out, f->name, name_size);
    buf_put(out, entry->section.data, entry->section.size);
    buf_put(out, entry->skipped.data, entry->skipped.size);
    buf_put(out, entry->sides.data, entry->sides.size);
    XXH64_canonicalFromHash(&sum, XXH3_64bits(out->data + start, out->size - start));
    buf_put(out, &sum, SUM_BYTES);
    return SHEAF_OK;
}

/* Whether the sizes in the words are those of an entry of `size` bytes. */
static bool sizes_fit(const uint64_t *words, size_t size)
{
    const size_t fixed = sizeof(magic) + WORD_COUNT * sizeof(words[0]) + 2 * HEX_BYTES +
                         SUM_BYTES;
    uint64_t sum = fixed;

    return words[WORD_NAME_SIZE] > 0 && words[WORD_NAME_SIZE] < SHARD_NAME_BYTES &&
           !__builtin_add_overflow(sum, words[WORD_NAME_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SECTION_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SKIPPED_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SIDES_SIZE], &sum) && sum == size;
}

static bool is_whole(const uint8_t *data, size_t size)
{
    XXH64_canonical_t sum;

    if (size < sizeof(magic) + WORD_COUNT * sizeof(uint64_t) + 2 * HEX_BYTES + SUM_BYTES ||
        memcmp(data, magic, sizeof(magic)) != 0)
        return false;
    memcpy(&sum, data + size - SUM_BYTES, SUM_BYTES);
    return XXH64_hashFromCanonical(&sum) == XXH3_64bits(data, size - SUM_BYTES);
}

static bool take(const uint8_t **at, struct buf *into, uint64_t size)
{
    const int code = buf_append(into, *at, size, NULL);

    *at += size;
    return code == SHEAF_OK;
}

bool journal_entry_parse(const uint8_t *data, size_t size, const char *hash,
                         struct journal_entry *entry)
{
    uint64_t words[WORD_COUNT];
    const uint8_t *at = data + sizeof(magic);

    entry->section.size = entry->skipped.size = entry->sides.size = 0;
    entry->section.limit = entry->skipped.limit = entry->sides.limit = ENTRY_BYTES;
    if (!is_whole(data, size))
        return false;
    memcpy(words, at, sizeof(words));
    at += sizeof(words);
    if (!sizes_fit(words, size) || memcmp(at, hash, HEX_BYTES) != 0)
        return false;
    at += HEX_BYTES;
    entry->facts = (struct shard_facts){
        .bytes = words[WORD_BYTES], .raw_bytes = words[WORD_RAW_BYTES],
        .payload_bytes = words[WORD_PAYLOAD_BYTES], .samples = words[WORD_SAMPLES],
        .files = words[WORD_FILES], .largest = words[WORD_LARGEST],
        .names_bytes = words[WORD_NAMES_BYTES],
        .multipart = words[WORD_MULTIPART], .has_cls = words[WORD_HAS_CLS] != 0,
    };
    entry->source = words[WORD_SOURCE];
    entry->stamp = words[WORD_STAMP];
    memcpy(entry->facts.xxh3, at, HEX_BYTES);
    at += HEX_BYTES;
    memcpy(entry->facts.name, at, words[WORD_NAME_SIZE]);
    at += words[WORD_NAME_SIZE];
    return take(&at, &entry->section, words[WORD_SECTION_SIZE]) &&
           take(&at, &entry->skipped, words[WORD_SKIPPED_SIZE]) &&
           take(&at, &entry->sides, words[WORD_SIDES_SIZE]);
}

void journal_entry_free(struct journal_entry *entry)
{
    buf_free(&entry->section);
    buf_free(&entry->skipped);
    buf_free(&entry->sides);
}

/* ---- Entries as files ------------------------------------------------------------------------ */

int journal_entry_name(const char *split, const char *shard, char **name,
                       struct sheaf_error *err)
{
    if (asprintf(name, "%s%s%s.done", split, split[0] == '\0' ? "" : ".", shard) < 0)
        return err_memory(err, strlen(shard));
    return SHEAF_OK;
}

static char *entry_url(const struct journal *j, const char *split, const char *shard)
{
    char *name, *url;

    if (journal_entry_name(split, shard, &name, NULL) != SHEAF_OK)
        return NULL;
    url = store_join(j->directory, name);
    free(name);
    return url;
}

int journal_put(const struct journal *j, const char *split, const struct journal_entry *entry,
                struct sheaf_error *err)
{
    struct buf bytes = BUF_INIT(ENTRY_BYTES);
    char *url = entry_url(j, split, entry->facts.name);
    int code = url == NULL ? err_memory(err, SHARD_NAME_BYTES)
                           : journal_entry_write(entry, j->plan.hash, &bytes, err);

    if (code == SHEAF_OK)
        code = store_put(url, bytes.data, bytes.size, err);
    buf_free(&bytes);
    free(url);
    return code;
}

int journal_get(const struct journal *j, const char *split, const char *shard,
                struct journal_entry *entry, struct sheaf_error *err)
{
    char *url = entry_url(j, split, shard), *data = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, SHARD_NAME_BYTES)
                           : store_get(url, ENTRY_BYTES, &data, &size, err);

    if (code == SHEAF_OK &&
        (!journal_entry_parse((const uint8_t *)data, size, j->plan.hash, entry) ||
         strcmp(entry->facts.name, shard) != 0))
        code = SHEAF_END;
    free(data);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT ? SHEAF_END : code;
}

bool journal_take_side(const char **at, const char *end, char name[SHARD_NAME_BYTES],
                       uint64_t *bytes, char hash[HASH_TEXT_BYTES])
{
    const char *line = memchr(*at, '\n', (size_t)(end - *at));
    const char *tab = line == NULL ? NULL : memchr(*at, '\t', (size_t)(line - *at));
    char *number;

    if (tab == NULL || tab - *at >= SHARD_NAME_BYTES)
        return false;
    memcpy(name, *at, (size_t)(tab - *at));
    name[tab - *at] = '\0';
    *bytes = strtoull(tab + 1, &number, 10);
    if (line - number != HASH_TEXT_BYTES)
        return false;
    memcpy(hash, number + 1, HASH_TEXT_BYTES - 1);
    hash[HASH_TEXT_BYTES - 1] = '\0';
    *at = line + 1;
    return true;
}

/* ---- The plan file --------------------------------------------------------------------------- */

int journal_open(struct journal *j, const char *dest, struct sheaf_error *err)
{
    *j = (struct journal){ .directory = store_join(dest, STORE_PARTIAL) };
    return j->directory == NULL ? err_memory(err, strlen(dest)) : SHEAF_OK;
}

void journal_close(struct journal *j)
{
    free(j->directory);
    j->directory = NULL;
}

static int put_sum(struct buf *text, struct sheaf_error *err)
{
    const uint64_t sum = XXH3_64bits(text->data, text->size);

    return buf_printf(text, err, "sum %016llx\n", (unsigned long long)sum);
}

int journal_begin(const struct journal *j, struct sheaf_error *err)
{
    struct buf text = BUF_INIT(PLAN_BYTES);
    char *url = store_join(j->directory, PLAN_FILE);
    int code = url == NULL ? err_memory(err, strlen(j->directory)) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = buf_printf(&text, err, PLAN_MAGIC "hash %s\nprefix %s\n", j->plan.hash,
                          j->plan.prefix);
    for (uint32_t i = 0; i < j->plan.split_count && code == SHEAF_OK; i++)
        code = buf_printf(&text, err, "split %s\n", j->plan.splits[i]);
    if (code == SHEAF_OK)
        code = put_sum(&text, err);
    if (code == SHEAF_OK)
        code = store_make_directory(j->directory, err);
    if (code == SHEAF_OK)
        code = store_put(url, text.data, text.size, err);
    buf_free(&text);
    free(url);
    return code;
}

/* Takes "WORD value\n" off the text into value; false if something else is there. */
static bool take_line(const char **text, const char *word, char *value, size_t value_size)
{
    const size_t size = strlen(word);
    const char *end = strchr(*text, '\n');

    if (end == NULL || strncmp(*text, word, size) != 0 || (*text)[size] != ' ' ||
        (size_t)(end - *text) - size - 1 >= value_size)
        return false;
    memcpy(value, *text + size + 1, (size_t)(end - *text) - size - 1);
    value[(size_t)(end - *text) - size - 1] = '\0';
    *text = end + 1;
    return true;
}

static bool parse_plan(const char *text, size_t size, struct journal_plan *plan)
{
    const char *const start = text;
    char sum[20], found[20];

    memset(plan, 0, sizeof(*plan));
    if (strlen(text) != size || strncmp(text, PLAN_MAGIC, strlen(PLAN_MAGIC)) != 0)
        return false;
    text += strlen(PLAN_MAGIC);
    if (!take_line(&text, "hash", plan->hash, sizeof(plan->hash)) ||
        !take_line(&text, "prefix", plan->prefix, sizeof(plan->prefix)))
        return false;
    while (plan->split_count < SPLIT_LIMIT &&
           take_line(&text, "split", plan->splits[plan->split_count], SPLIT_NAME_BYTES))
        plan->split_count++;
    snprintf(sum, sizeof(sum), "%016llx",
             (unsigned long long)XXH3_64bits(start, (size_t)(text - start)));
    return take_line(&text, "sum", found, sizeof(found)) && strcmp(sum, found) == 0 &&
           *text == '\0' && plan->split_count > 0;
}

int journal_load(const struct journal *j, struct journal_plan *plan, struct sheaf_error *err)
{
    char *url = store_join(j->directory, PLAN_FILE), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(j->directory))
                           : store_get(url, PLAN_BYTES, &text, &size, err);

    if (code == SHEAF_ERR_NOT_FOUND)
        code = SHEAF_END;
    else if (code == SHEAF_OK && !parse_plan(text, size, plan))
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: the journal of an earlier run is damaged",
                       url);
    free(text);
    free(url);
    return code;
}

/* ---- Leftovers ------------------------------------------------------------------------------- */

static int found_one(void *context, const struct store_entry *entry)
{
    (void)entry;
    *(bool *)context = true;
    return SHEAF_END;
}

bool journal_has_leftovers(const struct journal *j)
{
    bool found = false;
    const int code = store_list(j->directory, found_one, &found, NULL);

    return found && (code == SHEAF_OK || code == SHEAF_END);
}

struct removal {
    const char *directory;
    const char *suffix;
    struct sheaf_error *err;
};

static int remove_one(void *context, const struct store_entry *entry)
{
    const struct removal *r = context;
    const size_t size = strlen(entry->name), tail = strlen(r->suffix);
    char *url;
    int code;

    if (size < tail || strcmp(entry->name + size - tail, r->suffix) != 0)
        return SHEAF_OK;
    url = store_join(r->directory, entry->name);
    code = url == NULL ? err_memory(r->err, size) : store_remove(url, r->err);
    free(url);
    return code;
}

static int remove_all(const char *directory, const char *suffix, struct sheaf_error *err)
{
    struct removal removal = { directory, suffix, err };
    const int code = store_list(directory, remove_one, &removal, err);

    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

int journal_remove_temporaries(const char *directory, struct sheaf_error *err)
{
    char *partial = store_join(directory, STORE_PARTIAL);
    const int code = partial == NULL ? err_memory(err, strlen(directory))
                                     : remove_all(partial, ".tmp", err);

    free(partial);
    return code;
}

int journal_clear(const struct journal *j, struct sheaf_error *err)
{
    int code = remove_all(j->directory, ".tmp", err);

    if (code == SHEAF_OK)
        code = remove_all(j->directory, ".done", err);
    if (code == SHEAF_OK)
        code = remove_all(j->directory, "", err);
    return code;
}
