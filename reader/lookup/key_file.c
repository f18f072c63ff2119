/* SPDX-License-Identifier: MIT
 *
 * Looks up many keys at a time in a table of keys. The entries of the table are in groups, called
 * buckets. The first step reads from the file where the buckets of the keys are. The second step
 * reads these buckets. Each step sends many requests at the same time. Ranges of the file that are
 * close together are read by one request. */
#include "reader/lookup/key_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/key_table.h"
#include "store/interrupt.h"
#include "store/read_item.h"

#define KEYS_ONCE   ((size_t)1024)          /* largest number of keys that are looked up together */
#define GAP_LOCAL   ((uint64_t)4 << 10)     /* largest gap in bytes between ranges of one read */
#define GAP_REMOTE  ((uint64_t)32 << 10)
/* largest number of reads that run at the same time */
#define READS_MOST  ((size_t)64)
/* largest total size in bytes of the buckets (groups of entries of the table) that are read and
 * checked at once */
#define CHECK_BYTES ((uint64_t)4 << 20)

/* ---- The file -------------------------------------------------------------------------------- */

struct key_file {
    const struct sheaf_dataset *source;
    const struct dataset_part *part;
    struct key_table table;
    struct store_object *object;
    const volatile int *interrupt;
};

/* Explains why the file with the table of keys is invalid. If its header shows that it belongs to
 * another data set, the error says so. Otherwise the error does not change. */
static int key_file_explain(const struct key_file *f, int code, struct sheaf_error *err)
{
    struct store_object *object = NULL;
    uint8_t header[KEY_TABLE_HEADER];
    struct sheaf_error found;

    if (code != SHEAF_ERR_CHANGED && code != SHEAF_ERR_CORRUPT && code != SHEAF_ERR_TRUNCATED)
        return code;
    if (store_open(f->part->keys_url, &object, NULL) == SHEAF_OK &&
        store_read(object, 0, header, sizeof(header), NULL) == SHEAF_OK &&
        key_table_check_header(&f->table, header, &found) != SHEAF_OK)
        code = err_because(err, err_set(err, found.code, "%s: %s", object->url, found.message),
                           found.code == SHEAF_ERR_CHANGED ? SHEAF_REASON_NO_KEYS
                                                           : SHEAF_REASON_NONE);
    else if (object != NULL && object->bytes != f->table.bytes)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: has %" PRIu64 " byte%s, expected %" PRIu64,
                       object->url, object->bytes, plural(object->bytes), f->table.bytes);
    store_close(object);
    return code;
}

static bool is_absent(const struct dataset_part *part, int code, struct sheaf_error *err)
{
    const char *name = strrchr(part->keys_url, '/');
    char *directory;
    bool is;

    if (code != SHEAF_ERR_ACCESS || store_is_local(part->keys_url) || name == NULL)
        return code == SHEAF_ERR_NOT_FOUND;
    directory = strndup(part->keys_url, (size_t)(name + 1 - part->keys_url));
    is = directory != NULL && dataset_look_again(directory, name + 1, err) == SHEAF_ERR_NOT_FOUND;
    free(directory);
    return is;
}

static int key_file_open(struct key_file *f, struct sheaf_error *err)
{
    const int code = key_table_make(&f->table, f->part->fingerprint, f->part->samples,
                                    f->part->keyed, err);

    return code != SHEAF_OK ? code
         : store_open_known(f->part->keys_url, f->table.bytes, 0, &f->object, err);
}

/* ---- Many ranges ----------------------------------------------------------------------------- */

/* Bytes of the file that are read together. */
struct span {
    struct read_item item;
    uint64_t offset;
    size_t size;
    size_t at;                  /* offset of the bytes in the buffer `room` */
};

/* Ranges of the file that were read, and the addresses of their bytes in memory. */
struct fetched {
    struct buf room;
    struct span *spans;
    size_t span_count;
    const uint8_t **data;       /* address of each range's bytes */
};

static void fetched_free(struct fetched *f)
{
    buf_free(&f->room);
    free(f->spans);
    free(f->data);
}

/* Combines ranges of the file that are close together, so that one read brings several ranges. The
 * ranges must be in ascending order, and may overlap. */
static int make_spans(const struct key_file *f, const struct key_range *ranges, size_t count,
                      struct fetched *to, struct sheaf_error *err)
{
    const uint64_t gap = f->object->is_remote ? GAP_REMOTE : GAP_LOCAL;
    size_t total = 0;
    int code;

    *to = (struct fetched){ .room = BUF_INIT(SIZE_MAX / 4),
                            .spans = calloc(count, sizeof(to->spans[0])),
                            .data = calloc(count, sizeof(to->data[0])) };
    if (to->spans == NULL || to->data == NULL)
        return err_memory(err, count * sizeof(to->spans[0]));
    for (size_t i = 0; i < count; i++) {
        struct span *last = to->span_count == 0 ? NULL : &to->spans[to->span_count - 1];
        const uint64_t end = ranges[i].offset + ranges[i].size;

        if (last == NULL || ranges[i].offset > last->offset + last->size + gap) {
            last = &to->spans[to->span_count++];
            last->offset = ranges[i].offset;
            last->at = total;
        }
        last->size = (size_t)(MAX(last->offset + last->size, end) - last->offset);
        total = last->at + last->size;
    }
    code = buf_reserve(&to->room, MAX(total, (size_t)1), err);
    for (size_t i = 0, s = 0; code == SHEAF_OK && i < count; i++) {
        while (ranges[i].offset + ranges[i].size > to->spans[s].offset + to->spans[s].size)
            s++;
        to->data[i] = to->room.data + to->spans[s].at + (ranges[i].offset - to->spans[s].offset);
    }
    return code;
}

static int take_span(struct inflight *window, struct sheaf_error *err)
{
    struct read_item *item = (struct read_item *)(void *)inflight_next(window);

    if (item == NULL || item->read.code == SHEAF_OK)
        return SHEAF_OK;
    if (err != NULL)
        *err = item->read.error;
    return item->read.code;
}

static int key_file_read_remote(const struct key_file *f, struct fetched *to,
                                struct sheaf_error *err)
{
    struct inflight window;
    int code = SHEAF_OK;

    inflight_open(&window, INFLIGHT_OLDEST, read_item_cancel, f->interrupt);
    for (size_t i = 0; i < to->span_count && code == SHEAF_OK; i++) {
        struct span *s = &to->spans[i];

        if (s->size == 0)       /* The buckets have no entries. */
            continue;
        if (window.count >= READS_MOST)
            code = take_span(&window, err);
        s->item.read = (struct store_read){ .object = f->object, .offset = s->offset,
                                            .data = to->room.data + s->at, .size = s->size };
        if (code == SHEAF_OK)
            read_item_start(&window, &s->item);
    }
    while (window.count != 0 && code == SHEAF_OK)
        code = take_span(&window, err);
    inflight_close(&window);
    return code;
}

static int key_file_fetch(const struct key_file *f, const struct key_range *ranges, size_t count,
                          struct fetched *to, struct sheaf_error *err)
{
    int code = make_spans(f, ranges, count, to, err);

    if (code == SHEAF_OK && f->object->is_remote)
        return key_file_read_remote(f, to, err);
    for (size_t i = 0; i < to->span_count && code == SHEAF_OK; i++)
        code = store_read(f->object, to->spans[i].offset, to->room.data + to->spans[i].at,
                          to->spans[i].size, err);
    return code;
}

/* ---- Lookups --------------------------------------------------------------------------------- */

struct asked {
    uint64_t hash, bucket;
    size_t which;
};

static int by_hash(const void *x, const void *y)
{
    const struct asked *a = x, *b = y;

    return (a->hash > b->hash) - (a->hash < b->hash);
}

static int find_buckets(const struct key_file *f, const struct asked *asked, size_t count,
                        struct key_bucket *buckets, struct sheaf_error *err)
{
    struct key_range ranges[KEYS_ONCE] = { { 0 } };
    struct fetched records;
    int code;

    for (size_t i = 0; i < count; i++)
        ranges[i] = key_table_records(&f->table, asked[i].bucket);
    code = key_file_fetch(f, ranges, count, &records, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = key_table_find_bucket(&f->table, asked[i].bucket, records.data[i], &buckets[i], err);
    fetched_free(&records);
    return code;
}

static int match_bucket(const struct key_file *f, const struct asked *asked,
                        const struct key_bucket *bucket, const uint8_t *data, struct buf *matches,
                        struct sheaf_error *err)
{
    struct key_match match = { .asked = asked->which };
    size_t at = 0;
    int code = key_table_check_bucket(&f->table, bucket, data, err);

    while (code == SHEAF_OK &&
           key_table_next(&f->table, bucket, data, asked->hash, &at, &match.number)) {
        match.number += f->part->first_number;
        code = buf_append(matches, &match, sizeof(match), err);
    }
    return code;
}

/* Looks up at most KEYS_ONCE keys. */
static int key_file_find_some(const struct key_file *f, const struct asked *asked, size_t count,
                              struct buf *matches, struct sheaf_error *err)
{
    struct key_bucket buckets[KEYS_ONCE];
    struct key_range ranges[KEYS_ONCE] = { { 0 } };
    struct fetched entries;
    int code = find_buckets(f, asked, count, buckets, err);

    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        ranges[i] = buckets[i].range;
    code = key_file_fetch(f, ranges, count, &entries, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = match_bucket(f, &asked[i], &buckets[i], entries.data[i], matches, err);
    fetched_free(&entries);
    return code;
}

static int key_file_find_all(const struct key_file *f, struct asked *asked, size_t count,
                             struct buf *matches, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < count; i++)
        asked[i].bucket = key_table_bucket(&f->table, asked[i].hash);
    qsort(asked, count, sizeof(asked[0]), by_hash);     /* This sorts the keys by bucket as well. */
    for (size_t i = 0; i < count && code == SHEAF_OK; i += KEYS_ONCE)
        code = key_file_find_some(f, asked + i, MIN(count - i, KEYS_ONCE), matches, err);
    return code;
}

static int find_in_part(struct key_file *f, struct asked *asked, size_t count,
                        struct buf *matches, struct sheaf_error *err)
{
    int code = key_file_open(f, err);

    if (code == SHEAF_OK)
        code = key_file_find_all(f, asked, count, matches, err);
    if (code == SHEAF_ERR_CORRUPT)
        err_prefix(err, "%s: ", f->object->url);
    if (code != SHEAF_OK && is_absent(f->part, code, err))
        code = err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the data set has no %s, "
                                        "by which samples are found", f->source->url,
                                        strrchr(f->part->keys_url, '/') + 1),
                           SHEAF_REASON_NO_KEYS);
    code = key_file_explain(f, code, err);
    store_close(f->object);
    f->object = NULL;
    return code;
}

int key_file_find(const struct sheaf_dataset *source, const uint64_t *hashes, size_t count,
                  const volatile int *interrupt, struct buf *matches, struct sheaf_error *err)
{
    struct key_file f = { .source = source, .interrupt = interrupt };
    const volatile int *before;
    struct asked *asked;
    int code = SHEAF_OK;

    if (source->hosts != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a host's part of a data set, in which "
                       "samples cannot be found by key", source->url);
    if (!source->has_keys)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: foreign shards without an "
                                        "index: their samples cannot be found by key",
                                        source->url), SHEAF_REASON_NOT_INDEXED);
    if (source->end_number == source->first_number || count == 0)
        return SHEAF_OK;
    asked = calloc(count, sizeof(asked[0]));
    if (asked == NULL)
        return err_memory(err, count * sizeof(asked[0]));
    for (size_t i = 0; i < count; i++)
        asked[i] = (struct asked){ .hash = hashes[i], .which = i };
    before = interrupt_watch(interrupt);
    for (size_t i = 0; i < source->part_count && code == SHEAF_OK; i++) {
        f.part = &source->parts[i];
        if (f.part->samples != 0)
            code = find_in_part(&f, asked, count, matches, err);
    }
    interrupt_watch(before);
    free(asked);
    return code;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Several consecutive buckets of the table of keys. A struct key_bucket states the range of a
 * bucket in the file, and its checksum. */
struct bucket_piece {
    uint64_t first, end;
    struct key_bucket *buckets;
};

static int check_piece(const struct key_file *f, const struct bucket_piece *p, uint64_t *sum,
                       struct sheaf_error *err)
{
    const struct key_range *first = &p->buckets[0].range;
    const struct key_range *last = &p->buckets[p->end - p->first - 1].range;
    const struct key_range all = { first->offset,
                                   (size_t)(last->offset + last->size - first->offset) };
    struct fetched entries;
    int code = key_file_fetch(f, &all, 1, &entries, err);

    for (uint64_t b = p->first; b < p->end && code == SHEAF_OK; b++) {
        const struct key_bucket *bucket = &p->buckets[b - p->first];
        const uint8_t *data = entries.data[0] + (bucket->range.offset - all.offset);

        code = key_table_check_bucket(&f->table, bucket, data, err);
        for (size_t at = 0; at < bucket->range.size && code == SHEAF_OK;
             at += f->table.entry_bytes)
            *sum += key_table_part_at(&f->table, b, data + at);
    }
    fetched_free(&entries);
    return code;
}

/* Checks some buckets of the table, beginning with bucket `first` and ending before bucket `end`.
 * Checks at most KEYS_ONCE buckets in one call, and reads about CHECK_BYTES bytes at a time. */
static int check_buckets(const struct key_file *f, uint64_t first, uint64_t end, uint64_t *sum,
                         struct sheaf_error *err)
{
    struct key_bucket buckets[KEYS_ONCE];
    struct asked asked[KEYS_ONCE] = { { .bucket = first } };
    struct bucket_piece piece = { .first = first, .end = first, .buckets = buckets };
    uint64_t bytes = 0;
    int code;

    for (uint64_t b = first; b < end; b++)
        asked[b - first].bucket = b;
    code = find_buckets(f, asked, (size_t)(end - first), buckets, err);
    while (piece.end < end && code == SHEAF_OK) {
        bytes += buckets[piece.end++ - first].range.size;
        if (bytes < CHECK_BYTES && piece.end < end)
            continue;
        code = check_piece(f, &piece, sum, err);
        piece = (struct bucket_piece){ piece.end, piece.end, buckets + (piece.end - first) };
        bytes = 0;
    }
    return code;
}

static int key_file_check_all(const struct key_file *f, const uint64_t *expected,
                              struct sheaf_error *err)
{
    uint8_t header[KEY_TABLE_HEADER];
    uint64_t sum = 0;
    int code = store_read(f->object, 0, header, sizeof(header), err);

    if (code == SHEAF_OK)
        code = key_table_check_header(&f->table, header, err);
    for (uint64_t b = 0; b < f->table.buckets && code == SHEAF_OK; b += KEYS_ONCE)
        code = check_buckets(f, b, MIN(b + KEYS_ONCE, f->table.buckets), &sum, err);
    if (code == SHEAF_OK && expected != NULL && sum != *expected)
        code = err_set(err, SHEAF_ERR_CORRUPT, "its keys are not those of the samples");
    return code;
}

int key_file_check(const struct sheaf_dataset *source, size_t part, const uint64_t *sum,
                   struct sheaf_error *err)
{
    struct key_file f = { .source = source, .part = &source->parts[part] };
    int code = key_file_open(&f, err);

    if (code == SHEAF_OK) {
        code = key_file_check_all(&f, sum, err);
        if (code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_UNSUPPORTED)
            err_prefix(err, "%s: ", f.object->url);
    }
    if (code != SHEAF_OK && is_absent(f.part, code, err))
        code = !f.part->is_keyed ? SHEAF_END
             : err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%s: is missing, but the data "
                                        "set was packed with it", f.part->keys_url),
                           SHEAF_REASON_NO_KEYS);
    code = key_file_explain(&f, code, err);
    store_close(f.object);
    return code;
}
