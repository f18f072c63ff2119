/* SPDX-License-Identifier: MIT
 *
 * Reads and writes the files of the journal. A journal entry has the facts about one finished
 * shard. It consists of these parts, in this order:
 *
 * - a magic number, which tells the release that wrote the entry;
 * - 64-bit numbers, called words (enum word);
 * - the plan hash (a hash of the packing options and of the names and sizes of the source files),
 *   the XXH3 of the shard, the shard's name, and its section of the index;
 * - the shard's lines of skipped.tsv, and the list of the files beside the shard (`sides`);
 * - the name of the compression library, the hashes of the keys, the counts of the fields, and the
 *   shard's lines of converted.tsv;
 * - an XXH3-64 of all other bytes of the entry.
 *
 * Only entries of known releases are read. Entries of release 0.2 lack two words: the number of
 * resized images, and the number of samples with a word in their field `cls`. Entries of release
 * 0.1 are not read, because they lack the hashes of the keys. A resumed run makes their shards
 * again, so that each data set gets its table of keys. */
#include "publish/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "publish/several.h"
#include "store/over.h"
#include "store/stage.h"
#include "store/store.h"

/* The name of a journal entry (a file with the facts about a finished shard) contains this number
 * of digits of the plan hash. The plan hash is a hash of the packing options and of the names and
 * sizes of the source files. */
#define NAMED_DIGITS 16
#define ENTRY_BYTES ((size_t)1 << 32)
#define READS_MOST 8            /* for an entry that other runs replace meanwhile */
#define HEX_BYTES  32
#define SUM_BYTES  8

static const uint8_t magic[8] = { 'S', 'H', 'E', 'A', 'F', 'J', 'R', '9' };

enum word {
    WORD_BYTES, WORD_RAW_BYTES, WORD_PAYLOAD_BYTES, WORD_SAMPLES, WORD_FILES,
    WORD_LARGEST, WORD_NAMES_BYTES, WORD_MULTIPART, WORD_HAS_CLS, WORD_SOURCE, WORD_STAMP,
    WORD_NAME_SIZE, WORD_SECTION_SIZE, WORD_SKIPPED_SIZE, WORD_SIDES_SIZE,
    WORD_LIBRARY_SIZE, WORD_KEYS_SIZE, WORD_FIELDS_SIZE, WORD_CONVERTED_SIZE,
    WORD_RESIZED, WORD_CLS_WORDS,
    WORD_COUNT
};

static const struct { uint8_t version; size_t words; } versions[] = {
    { '8', WORD_RESIZED }, { '9', WORD_COUNT },
};

/* ---- Entries as bytes ------------------------------------------------------------------------ */

int journal_entry_write(const struct journal_entry *entry, const char *hash, struct buf *out,
                        struct sheaf_error *err)
{
    const struct shard_facts *f = &entry->facts;
    const size_t start = out->size, name_size = strlen(f->name);
    const size_t library_size = strlen(f->library);
    uint64_t words[WORD_COUNT] = {
        f->bytes, f->raw_bytes, f->payload_bytes, f->samples, f->files, f->largest,
        f->names_bytes, f->multipart, f->has_cls, entry->source, entry->stamp, name_size,
        entry->section.size, entry->skipped.size, entry->sides.size,
        library_size, entry->keys.size, entry->fields.size, entry->converted.size,
        f->resized, f->cls_words,
    };
    XXH64_canonical_t sum;
    int code = buf_reserve(out, sizeof(magic) + sizeof(words) + 2 * HEX_BYTES + name_size +
                           entry->section.size + entry->skipped.size + entry->sides.size +
                           library_size + entry->keys.size + entry->fields.size +
                           entry->converted.size + SUM_BYTES,
                           err);

    if (code != SHEAF_OK)
        return code;
    words_le(words, COUNT_OF(words));
    buf_put(out, magic, sizeof(magic));
    buf_put(out, words, sizeof(words));
    buf_put(out, hash, HEX_BYTES);
    buf_put(out, f->xxh3, HEX_BYTES);
    buf_put(out, f->name, name_size);
    buf_put(out, entry->section.data, entry->section.size);
    buf_put(out, entry->skipped.data, entry->skipped.size);
    buf_put(out, entry->sides.data, entry->sides.size);
    buf_put(out, f->library, library_size);
    buf_put(out, entry->keys.data, entry->keys.size);
    buf_put(out, entry->fields.data, entry->fields.size);
    buf_put(out, entry->converted.data, entry->converted.size);
    XXH64_canonicalFromHash(&sum, XXH3_64bits(out->data + start, out->size - start));
    buf_put(out, &sum, SUM_BYTES);
    return SHEAF_OK;
}

/* Returns the number of words (64-bit numbers) in a journal entry. This number depends on the magic
 * number at the beginning of the entry. Returns 0 if the bytes are not a journal entry. */
static size_t word_count(const uint8_t *data, size_t size)
{
    const size_t most = sizeof(magic) - 1;

    if (size < sizeof(magic) || memcmp(data, magic, most) != 0)
        return 0;
    for (size_t i = 0; i < COUNT_OF(versions); i++)
        if (versions[i].version == data[most])
            return versions[i].words;
    return 0;
}

static size_t fixed_bytes(size_t words)
{
    return sizeof(magic) + words * sizeof(uint64_t) + 2 * HEX_BYTES + SUM_BYTES;
}

/* Returns whether the parts of a journal entry (the facts about a finished shard) together have
 * `size` bytes. `words` has the sizes of the parts of variable size, and `fixed` is the total size
 * of all other parts. */
static bool sizes_fit(const uint64_t *words, size_t fixed, size_t size)
{
    uint64_t sum = fixed;

    return words[WORD_NAME_SIZE] > 0 && words[WORD_NAME_SIZE] < SHARD_NAME_BYTES &&
           words[WORD_LIBRARY_SIZE] < CODEC_LIBRARY_BYTES &&
           !__builtin_add_overflow(sum, words[WORD_NAME_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SECTION_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SKIPPED_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_SIDES_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_LIBRARY_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_KEYS_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_FIELDS_SIZE], &sum) &&
           !__builtin_add_overflow(sum, words[WORD_CONVERTED_SIZE], &sum) && sum == size &&
           words[WORD_KEYS_SIZE] / sizeof(uint64_t) == words[WORD_SAMPLES];
}

static bool journal_is_whole(const uint8_t *data, size_t size)
{
    const size_t words = word_count(data, size);
    XXH64_canonical_t sum;

    if (words == 0 || size < fixed_bytes(words))
        return false;
    memcpy(&sum, data + size - SUM_BYTES, SUM_BYTES);
    return XXH64_hashFromCanonical(&sum) == XXH3_64bits(data, size - SUM_BYTES);
}

static int take_buf(const uint8_t **at, struct buf *into, uint64_t size, struct sheaf_error *err)
{
    const int code = buf_append(into, *at, size, err);

    *at += size;
    return code;
}

int journal_entry_parse(const uint8_t *data, size_t size, const char *hash,
                        struct journal_entry *entry, struct sheaf_error *err)
{
    const size_t count = word_count(data, size);
    uint64_t words[WORD_COUNT] = { 0 };
    const uint8_t *at = data + sizeof(magic);
    int code;

    entry->section.size = entry->skipped.size = entry->sides.size = entry->keys.size = 0;
    entry->fields.size = entry->converted.size = 0;
    entry->section.limit = entry->skipped.limit = entry->sides.limit = ENTRY_BYTES;
    entry->keys.limit = entry->fields.limit = entry->converted.limit = ENTRY_BYTES;
    if (!journal_is_whole(data, size))
        return SHEAF_END;
    memcpy(words, at, count * sizeof(words[0]));
    words_le(words, count);
    at += count * sizeof(words[0]);
    if (!sizes_fit(words, fixed_bytes(count), size) ||
        (hash != NULL && memcmp(at, hash, HEX_BYTES) != 0))
        return SHEAF_END;
    at += HEX_BYTES;
    entry->facts = (struct shard_facts){
        .bytes = words[WORD_BYTES], .raw_bytes = words[WORD_RAW_BYTES],
        .payload_bytes = words[WORD_PAYLOAD_BYTES], .samples = words[WORD_SAMPLES],
        .files = words[WORD_FILES], .largest = words[WORD_LARGEST],
        .names_bytes = words[WORD_NAMES_BYTES],
        .multipart = words[WORD_MULTIPART], .has_cls = words[WORD_HAS_CLS] != 0,
        .resized = words[WORD_RESIZED], .cls_words = words[WORD_CLS_WORDS],
    };
    entry->source = words[WORD_SOURCE];
    entry->stamp = words[WORD_STAMP];
    memcpy(entry->facts.xxh3, at, HEX_BYTES);
    at += HEX_BYTES;
    memcpy(entry->facts.name, at, words[WORD_NAME_SIZE]);
    at += words[WORD_NAME_SIZE];
    code = take_buf(&at, &entry->section, words[WORD_SECTION_SIZE], err);
    if (code == SHEAF_OK)
        code = take_buf(&at, &entry->skipped, words[WORD_SKIPPED_SIZE], err);
    if (code == SHEAF_OK)
        code = take_buf(&at, &entry->sides, words[WORD_SIDES_SIZE], err);
    if (code != SHEAF_OK)
        return code;
    memcpy(entry->facts.library, at, words[WORD_LIBRARY_SIZE]);
    at += words[WORD_LIBRARY_SIZE];
    code = take_buf(&at, &entry->keys, words[WORD_KEYS_SIZE], err);
    if (code == SHEAF_OK)
        code = take_buf(&at, &entry->fields, words[WORD_FIELDS_SIZE], err);
    if (code == SHEAF_OK)
        code = take_buf(&at, &entry->converted, words[WORD_CONVERTED_SIZE], err);
    return code == SHEAF_OK && !codec_library_is(entry->facts.library) ? SHEAF_END : code;
}

void journal_entry_free(struct journal_entry *entry)
{
    buf_free(&entry->section);
    buf_free(&entry->skipped);
    buf_free(&entry->sides);
    buf_free(&entry->keys);
    buf_free(&entry->fields);
    buf_free(&entry->converted);
}

/* ---- Entries as files ------------------------------------------------------------------------ */

int journal_entry_name(const struct journal *j, const char *split, const char *shard, char **name,
                       struct sheaf_error *err)
{
    if (asprintf(name, "%s%s%s.%.*s.done", split, split[0] == '\0' ? "" : ".", shard,
                 NAMED_DIGITS, j->plan.hash) < 0)
        return err_memory(err, strlen(shard));
    return SHEAF_OK;
}

bool journal_is_own(const struct journal *j, const char *name)
{
    char tail[NAMED_DIGITS + 8];
    const size_t size = strlen(name), tail_size = NAMED_DIGITS + strlen("..done");

    snprintf(tail, sizeof(tail), ".%.*s.done", NAMED_DIGITS, j->plan.hash);
    return size > tail_size && strcmp(name + size - tail_size, tail) == 0;
}

char *journal_entry_url(const struct journal *j, const char *split, const char *shard)
{
    char *name, *url;

    if (journal_entry_name(j, split, shard, &name, NULL) != SHEAF_OK)
        return NULL;
    url = store_join(j->directory, name);
    free(name);
    return url;
}

int journal_see(const struct journal *j, const char *split, const char *shard,
                struct store_seen *seen, struct sheaf_error *err)
{
    char *url = journal_entry_url(j, split, shard);
    const int code = url == NULL ? err_memory(err, SHARD_NAME_BYTES) : store_see(url, seen, err);

    free(url);
    return code;
}

int journal_put(const struct journal *j, const char *split, const struct journal_entry *entry,
                const struct store_seen *seen, struct store_seen *now, struct sheaf_error *err)
{
    struct buf bytes = BUF_INIT(ENTRY_BYTES);
    char *url = journal_entry_url(j, split, entry->facts.name);
    int code = url == NULL ? err_memory(err, SHARD_NAME_BYTES)
                           : journal_entry_write(entry, j->plan.hash, &bytes, err);

    if (code == SHEAF_OK)
        code = journal_put_file(j, url, bytes.data, bytes.size, NULL, seen, now, err);
    buf_free(&bytes);
    free(url);
    return code;
}

/* Reads the bytes of a journal entry (the facts about a finished shard). Reading may take two
 * requests, and another run may replace the entry between them. In this case the entry is read
 * again. */
static int get_bytes(const char *url, char **data, size_t *size, struct sheaf_error *err)
{
    int code = SHEAF_ERR_CHANGED;

    for (int i = 0; i < READS_MOST && code == SHEAF_ERR_CHANGED; i++)
        code = store_get(url, ENTRY_BYTES, data, size, err);
    return code;
}

static int get_entry(const char *url, const char *hash, struct journal_entry *entry,
                     struct sheaf_error *err)
{
    char *data = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, SHARD_NAME_BYTES) : get_bytes(url, &data, &size, err);

    if (code == SHEAF_OK && !journal_is_whole((const uint8_t *)data, size)) {   /* the answer may be
                                                                           damaged */
        free(data);
        data = NULL;
        code = get_bytes(url, &data, &size, err);
    }
    if (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT)
        code = SHEAF_END;
    if (code == SHEAF_OK)
        code = journal_entry_parse((const uint8_t *)data, size, hash, entry, err);
    free(data);
    return code;
}

int journal_get(const struct journal *j, const char *split, const char *shard,
                struct journal_entry *entry, struct sheaf_error *err)
{
    char *url = journal_entry_url(j, split, shard);
    const int code = get_entry(url, j->plan.hash, entry, err);

    free(url);
    return code == SHEAF_OK && strcmp(entry->facts.name, shard) != 0 ? SHEAF_END : code;
}

int journal_get_named(const struct journal *j, const char *name, struct journal_entry *entry,
                      struct sheaf_error *err)
{
    char *url = store_join(j->directory, name);
    const int code = get_entry(url, NULL, entry, err);

    free(url);
    return code;
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

/* ---- Life ------------------------------------------------------------------------------------ */

int journal_open(struct journal *j, const char *dest, struct sheaf_error *err)
{
    *j = (struct journal){ .directory = store_join(dest, STORE_PARTIAL) };
    return j->directory == NULL ? err_memory(err, strlen(dest)) : SHEAF_OK;
}

void journal_close(struct journal *j)
{
    made_end(&j->made, true);
    free(j->directory);
    free(j->stage);
    j->directory = j->stage = NULL;
}

/* ---- Leftovers ------------------------------------------------------------------------------- */

struct name_sink {
    journal_name_fn *each;
    void *context;
    struct sheaf_error *err;
};

static int name_one(void *context, const struct store_entry *entry)
{
    const struct name_sink *n = context;

    return n->each(n->context, entry->name, n->err);
}

int journal_list(const char *directory, journal_name_fn *each, void *context,
                 struct sheaf_error *err)
{
    char *partial = store_join(directory, STORE_PARTIAL);
    struct name_sink names = { each, context, err };
    const int code = partial == NULL ? err_memory(err, strlen(directory))
                                     : store_list(partial, name_one, &names, err);

    free(partial);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

static bool journal_ends_with(const char *name, const char *suffix)
{
    const size_t size = strlen(name), tail = strlen(suffix);

    return size >= tail && strcmp(name + size - tail, suffix) == 0;
}

bool journal_is_temporary(const char *name)
{
    return journal_ends_with(name, ".tmp");
}

static int remove_temporary(void *context, const char *name, struct sheaf_error *err)
{
    char *url;
    int code;

    if (!journal_is_temporary(name))
        return SHEAF_OK;
    url = store_join(context, name);
    code = url == NULL ? err_memory(err, strlen(name)) : store_remove(url, err);
    free(url);
    return code;
}

int journal_remove_temporaries(const char *directory, struct sheaf_error *err)
{
    char *partial = store_join(directory, STORE_PARTIAL);
    const int code = partial == NULL ? err_memory(err, strlen(directory))
                                     : journal_list(directory, remove_temporary, partial, err);

    free(partial);
    return code;
}

int journal_remove_in(const struct journal *j, const char *directory, const char *name,
                      struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    struct store_seen seen;
    int code = url == NULL ? err_memory(err, strlen(name)) : store_see(url, &seen, err);

    if (code == SHEAF_OK && seen.is_there)
        code = journal_check(j, err);
    if (code == SHEAF_OK && seen.is_there)
        code = journal_remove_seen(j, url, &seen, err);
    free(url);
    return code;
}

int journal_remove(const struct journal *j, const char *name, struct sheaf_error *err)
{
    return journal_remove_in(j, j->directory, name, err);
}

struct clearing {
    const struct journal *journal;
    struct several several;
    bool is_checked;            /* whether the claim was checked after listing everything */
    struct sheaf_error *err;
};

/* Removes a file that a listing of the journal's directory contains. A journal entry of this plan
 * (the stored facts about a shard) is removed only if it has not changed since the listing. A
 * changed entry belongs to another run of this plan, which has claimed the destination since then.
 *
 * A stamp is a number that changes if the file is replaced. If the listing has no stamp for an
 * entry, a change of the entry cannot be noticed. Entries without a stamp, and files that are not
 * entries of this plan, are therefore removed by journal_remove(), which first checks that this run
 * still has the claim (the file that says which run packs here). */
static int clear_file(void *context, const char *name, const struct store_seen *listed,
                      struct sheaf_error *err)
{
    const struct journal *j = context;
    char *url;
    int code;

    if (!journal_is_own(j, name) || listed->stamp == 0)
        return journal_remove(j, name, err);
    url = store_join(j->directory, name);
    code = url == NULL ? err_memory(err, strlen(name))
                       : journal_remove_seen(j, url, listed, err);
    free(url);
    return code == SHEAF_ERR_CHANGED ? SHEAF_OK : code;
}

static int clear_one(void *context, const struct store_entry *entry)
{
    struct clearing *c = context;
    struct store_seen listed = { .is_there = true, .bytes = entry->bytes, .stamp = entry->stamp };
    int code = SHEAF_OK;

    if (strcmp(entry->name, PLAN_FILE) == 0)
        return SHEAF_OK;
    if (!c->is_checked)
        code = journal_check(c->journal, c->err);
    if (code != SHEAF_OK)
        return code;
    c->is_checked = true;
    if (entry->etag != NULL && strlen(entry->etag) < sizeof(listed.etag))
        memcpy(listed.etag, entry->etag, strlen(entry->etag) + 1);
    return several_add(&c->several, entry->name, &listed, c->err);
}

/* Removes this run's claim (the file that says which run packs here). A file's stamp is a number
 * that changes if the file is replaced. If the stamp of the claim is known, the claim is removed
 * only if it still has this stamp. If the stamp is unknown, journal_remove() first reads the claim,
 * to see whether it still belongs to this run. The stamp is unknown in a process that has joined
 * the run, and in stores without stamps. */
static int remove_claim(const struct journal *j, struct sheaf_error *err)
{
    char *url;
    int code;

    if (j->claim.stamp == 0)
        return journal_remove(j, PLAN_FILE, err);
    url = store_join(j->directory, PLAN_FILE);
    code = url == NULL ? err_memory(err, strlen(j->directory))
                       : journal_remove_seen(j, url, &j->claim, err);
    free(url);
    return code;
}

int journal_release(const struct journal *j, struct sheaf_error *err)
{
    const int code = remove_claim(j, err);

    return code != SHEAF_OK || j->stage == NULL ? code
                                                : stage_drop(j->directory, j->stage, NULL, err);
}

int journal_clear_files(const struct journal *j, struct sheaf_error *err)
{
    struct clearing clearing = { .journal = j, .err = err };
    int code = several_open(&clearing.several, j->directory, clear_file, (void *)(uintptr_t)j, err);

    if (code == SHEAF_OK)
        code = store_list(j->directory, clear_one, &clearing, err);
    code = several_close(&clearing.several, code, err);
    if (code == SHEAF_OK)
        code = stage_drop(j->directory, NULL, j->stage, err);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

int journal_clear(const struct journal *j, struct sheaf_error *err)
{
    const int code = journal_clear_files(j, err);

    return code == SHEAF_OK ? journal_release(j, err) : code;
}
