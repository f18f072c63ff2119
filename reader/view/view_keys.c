/* SPDX-License-Identifier: MIT
 *
 * Conditions of a view (a mix of data sets) on keys: lists of keys, and patterns such as "cat-*";
 * see view_keys.h. */
#include "reader/view/view_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/glob.h"
#include "base/utf8.h"
#include "base/watch.h"
#include "store/store.h"

#define KEYS_BYTES_MOST ((size_t)4 << 30)       /* largest size in bytes of a file of keys */
#define BATCH           256u
/* largest number of keys that are looked up at once */
#define LOOKUP_MOST     ((uint64_t)4096)

char *view_keys_path(const char *directory, const char *path)
{
    const bool is_whole = path[0] == '/' || strstr(path, "://") != NULL || directory[0] == '\0';

    return is_whole ? strdup(path) : store_join(directory, path);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

/* The keys in a file, which has one key in each line. */
struct keys {
    char *text;
    char **keys;            /* the keys, in sorted order */
    size_t count;
    char hash[17];
};

static void keys_free(struct keys *k)
{
    free(k->text);
    free(k->keys);
}

static int view_keys_compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Collects the lines of a text, except empty ones. */
static int keys_split(struct keys *k, const char *text, size_t size, const char *name,
                      struct sheaf_error *err)
{
    const char *const end = text + size;

    for (size_t line = 1; text < end; line++) {
        char *key = k->text + (text - k->text);
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((newline == NULL ? end : newline) - text);

        if (memchr(text, '\0', length) != NULL)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: line %zu: a NUL byte, which no key has",
                           name, line);
        text += length + (newline != NULL);
        key[length] = '\0';
        if (length != 0 && key[length - 1] == '\r')
            key[--length] = '\0';
        if (length != 0)
            k->keys[k->count++] = key;
    }
    return SHEAF_OK;
}

static int keys_parse(struct keys *k, size_t size, const char *name, struct sheaf_error *err)
{
    const char *text = k->text;
    size_t lines = 1;
    int code;

    snprintf(k->hash, sizeof(k->hash), "%016" PRIx64, (uint64_t)XXH3_64bits(k->text, size));
    for (size_t i = 0; i < size; i++)
        lines += k->text[i] == '\n';
    k->keys = calloc(lines + 1, sizeof(k->keys[0]));
    if (k->keys == NULL)
        return err_memory(err, lines * sizeof(k->keys[0]));
    utf8_pass_mark(&text, &size);
    code = keys_split(k, text, size, name, err);
    qsort(k->keys, k->count, sizeof(k->keys[0]), view_keys_compare_keys);
    return code;
}

static int keys_load(const char *directory, const char *name, struct keys *k,
                     struct sheaf_error *err)
{
    char *path = view_keys_path(directory, name);
    size_t size = 0;
    int code = path == NULL ? err_memory(err, strlen(name))
                            : store_get(path, KEYS_BYTES_MOST, &k->text, &size, err);

    if (code == SHEAF_OK)
        code = keys_parse(k, size, path, err);
    free(path);
    return code;
}

static bool keys_have(const struct keys *k, const char *key)
{
    return k->count != 0
           && bsearch(&key, k->keys, k->count, sizeof(k->keys[0]), view_keys_compare_keys) != NULL;
}

static bool fits_glob(const struct view_where *w, const char *key)
{
    return w->key_glob == NULL
           || glob_match(w->key_glob, strlen(w->key_glob), key, strlen(key));
}

static bool key_is_chosen(const struct view_where *w, const struct keys *keep,
                          const struct keys *bad, const char *key)
{
    return (w->keys == NULL || keys_have(keep, key))
           && (w->not_keys == NULL || !keys_have(bad, key))
           && fits_glob(w, key);
}

/* ---- Looking up ------------------------------------------------------------------------------ */

struct sheaf_read_options view_keys_options(const struct view_keys_how *how)
{
    struct sheaf_read_options options;

    sheaf_read_options_init(&options, sizeof(options));
    return how->reading != NULL ? *how->reading : options;
}

/* Returns the number of keys that are looked up at once. The table of keys has only hashes, so the
 * samples that are found must be read to compare their keys. The number is limited because these
 * samples need memory. */
static size_t keys_at_once(const struct sheaf_dataset *d, uint64_t memory_bytes)
{
    uint64_t largest = 1;

    for (size_t i = 0; i < d->manifest.shard_count; i++)
        largest = MAX(largest, d->manifest.shards[i].largest);
    return (size_t)MIN(MAX(memory_bytes / 4 / largest, 1), LOOKUP_MOST);
}

/* Calls `each` for each sample whose key is in the list. Returns SHEAF_ERR_UNSUPPORTED if the data
 * set has no table of keys, which is needed to find the samples. */
static int view_keys_look_up(struct choice *c, const struct keys *list,
                             const struct view_keys_how *how,
                             void (*each)(struct choice *, const struct sheaf_sample *,
                                          uint64_t *marks),
                             uint64_t *marks, struct sheaf_error *err)
{
    const struct sheaf_read_options options = view_keys_options(how);
    const size_t at_once = keys_at_once(c->dataset, options.memory_bytes);
    int code = SHEAF_OK;

    for (size_t i = 0; i < list->count && code == SHEAF_OK; i += at_once) {
        const size_t count = MIN(at_once, list->count - i);
        const struct sheaf_sample *samples;
        const size_t *firsts;
        struct sheaf_kept *kept;

        if (flag_is_raised(options.interrupt))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
        code = sheaf_dataset_find(c->dataset, (const char *const *)list->keys + i, count, &options,
                                  &samples, &firsts, &kept, err);
        if (code != SHEAF_OK)
            return code;
        for (size_t k = 0; k < firsts[count]; k++)
            each(c, &samples[k], marks);
        sheaf_kept_free(kept);
    }
    return code;
}

static void mark(struct choice *c, const struct sheaf_sample *sample, uint64_t *marks)
{
    if (fits_glob(c->where, sample->key))
        marks[sample->number / 64] |= (uint64_t)1 << (sample->number % 64);
}

static void unmark(struct choice *c, const struct sheaf_sample *sample, uint64_t *marks)
{
    (void)marks;
    choice_leave_out(c, sample->number);
}

/* Removes all samples whose keys are not in the list. For this purpose, first marks the samples
 * whose keys are in the list. */
static int keep_listed(struct choice *c, const struct keys *keep, const struct view_keys_how *how,
                       struct sheaf_error *err)
{
    const uint64_t words = c->total / 64 + 1;
    uint64_t *marks = calloc(words, sizeof(marks[0]));
    int code = marks == NULL ? err_memory(err, words * sizeof(marks[0]))
                             : view_keys_look_up(c, keep, how, mark, marks, err);

    for (uint64_t i = 0; i < words && code == SHEAF_OK; i++)
        c->bits[i] &= marks[i];
    free(marks);
    return code;
}

static int look_up_lists(struct choice *c, const struct keys *keep, const struct keys *bad,
                         const struct view_keys_how *how, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (c->where->keys != NULL)
        code = keep_listed(c, keep, how, err);
    if (code == SHEAF_OK && c->where->not_keys != NULL)
        code = view_keys_look_up(c, bad, how, unmark, NULL, err);
    return code;
}

/* ---- Reading all ----------------------------------------------------------------------------- */

static void view_keys_compare(struct choice *c, const struct keys *keep, const struct keys *bad,
                              const struct sheaf_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!key_is_chosen(c->where, keep, bad, samples[i].key))
            choice_leave_out(c, samples[i].number);
}

/* Reads all samples, because their keys are needed. */
static int view_keys_read_all(struct choice *c, const struct keys *keep, const struct keys *bad,
                              const struct view_keys_how *how, struct sheaf_error *err)
{
    const struct sheaf_read_options reading = view_keys_options(how);
    struct watch watch = { .progress = reading.progress, .context = reading.context,
                           .interrupt = reading.interrupt };
    struct sheaf_progress progress = { .stage = "keys", .total_count = c->total };
    struct sheaf_reader_options options;
    const struct sheaf_sample *samples;
    struct sheaf_reader *reader;
    size_t count;
    int code;

    sheaf_reader_options_init(&options, sizeof(options));
    options.no_shuffle = 1;
    options.memory_bytes = reading.memory_bytes;
    code = sheaf_reader_open(c->dataset, &options, &reader, err);
    if (code != SHEAF_OK)
        return code;
    while ((code = watch_check(&watch, err)) == SHEAF_OK
           && (code = sheaf_reader_next_batch(reader, BATCH, &samples, &count)) == SHEAF_OK) {
        view_keys_compare(c, keep, bad, samples, count);
        progress.done_count += count;
        watch_show(&watch, &progress);
    }
    if (code != SHEAF_END && code != SHEAF_ERR_INTERRUPTED && err != NULL)
        *err = *sheaf_reader_error(reader);
    sheaf_reader_free(reader);
    return code == SHEAF_END ? SHEAF_OK : code;
}

struct view_keys {
    struct keys keep, bad;
    bool has_keep, has_bad;
};

/* Evaluates the conditions on keys. All samples are read in two cases. If there is a pattern but no
 * list of keys, the pattern must be compared with all keys. If the data set has no table of keys,
 * keys cannot be looked up. */
int view_keys_select(struct choice *c, const struct view_keys *k, const struct view_keys_how *how,
                     struct sheaf_error *err)
{
    int code = c->where->key_glob != NULL && c->where->keys == NULL
               ? SHEAF_ERR_UNSUPPORTED : look_up_lists(c, &k->keep, &k->bad, how, err);

    return code == SHEAF_ERR_UNSUPPORTED ? view_keys_read_all(c, &k->keep, &k->bad, how, err)
        : code;
}

int view_keys_open(const struct view_where *where, const struct view_keys_how *how,
                   struct view_keys **keys, struct sheaf_error *err)
{
    struct view_keys *k = *keys = calloc(1, sizeof(*k));
    int code = k == NULL ? err_memory(err, sizeof(*k)) : SHEAF_OK;

    if (code == SHEAF_OK && where->keys != NULL) {
        k->has_keep = true;
        code = keys_load(how->directory, where->keys, &k->keep, err);
    }
    if (code == SHEAF_OK && where->not_keys != NULL) {
        k->has_bad = true;
        code = keys_load(how->directory, where->not_keys, &k->bad, err);
    }
    return code;
}

const char *view_keys_text(const struct view_keys *k, bool is_not)
{
    if (is_not)
        return k->has_bad ? k->bad.hash : NULL;
    return k->has_keep ? k->keep.hash : NULL;
}

void view_keys_free(struct view_keys *k)
{
    if (k == NULL)
        return;
    keys_free(&k->keep);
    keys_free(&k->bad);
    free(k);
}
