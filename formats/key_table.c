/* SPDX-License-Identifier: MIT
 *
 * The table of keys: positions and checks. */
#include "formats/key_table.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/content.h"

#define BUCKET_SAMPLES 64u      /* on average: half a KiB */
/* Size of a record in bytes. dataset.keys has one record for each bucket, which is a range of
 * entries. A record consists of the number of entries up to the end of the bucket (u64), the
 * checksum of the bucket's entries (u32), and the checksum of the record (u32). */
#define RECORD_BYTES   16u
#define VERSION        1u
#define PUT_BYTES      ((size_t)1 << 20)

static const uint8_t magic[8] = { 'S', 'H', 'E', 'A', 'F', 'K', 'E', 'Y' };

int key_table_make(struct key_table *t, const char *fingerprint, uint64_t samples,
                   uint64_t keyed, struct sheaf_error *err)
{
    *t = (struct key_table){
        .samples = samples,
        .buckets = keyed / BUCKET_SAMPLES + (keyed % BUCKET_SAMPLES != 0),
        .entry_bytes = samples <= (uint64_t)UINT32_MAX + 1 ? 8 : 12,
    };
    if (strlen(fingerprint) != sizeof(t->fingerprint) - 1)
        return err_set(err, SHEAF_ERR_ARGUMENT, "\"%.40s\" is not a fingerprint", fingerprint);
    if (MAX(samples, keyed) > KEY_TABLE_SAMPLES_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%" PRIu64 " samples are too many for a table of keys",
                       MAX(samples, keyed));
    memcpy(t->fingerprint, fingerprint, sizeof(t->fingerprint));
    t->bytes = KEY_TABLE_HEADER + samples * t->entry_bytes + t->buckets * RECORD_BYTES;
    return SHEAF_OK;
}

uint64_t key_table_bucket(const struct key_table *t, uint64_t hash)
{
    return (uint64_t)(((unsigned __int128)hash * t->buckets) >> 64);
}

/* ---- The header ------------------------------------------------------------------------------ */

static void key_table_make_header(const struct key_table *t, uint8_t header[KEY_TABLE_HEADER])
{
    XXH64_canonical_t sum;

    memcpy(header, magic, sizeof(magic));
    store64(header + 8, VERSION);
    memcpy(header + 16, t->fingerprint, 32);
    store64(header + 48, t->samples);
    XXH64_canonicalFromHash(&sum, XXH3_64bits(header, 56));
    memcpy(header + 56, &sum, sizeof(sum));
}

bool key_table_begins(const uint8_t *data, size_t size)
{
    return size >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

int key_table_check_header(const struct key_table *t, const uint8_t *header,
                           struct sheaf_error *err)
{
    uint8_t expected[KEY_TABLE_HEADER];
    XXH64_canonical_t sum;

    key_table_make_header(t, expected);
    if (memcmp(header, expected, sizeof(expected)) == 0)
        return SHEAF_OK;
    memcpy(&sum, header + 56, sizeof(sum));
    if (memcmp(header, magic, sizeof(magic)) != 0)
        return content_check(header, sizeof(expected), "a table of keys", err) != SHEAF_OK
             ? SHEAF_ERR_CORRUPT
             : err_set(err, SHEAF_ERR_CORRUPT, "offset 0: is not a table of keys");
    if (XXH64_hashFromCanonical(&sum) != XXH3_64bits(header, 56))
        return err_set(err, SHEAF_ERR_CORRUPT, "offset 0: the header's XXH3-64 is not as stored");
    if (load64(header + 8) != VERSION)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "is of version %" PRIu64 ", expected %u",
                       load64(header + 8), VERSION);
    return err_set(err, SHEAF_ERR_CHANGED, "is of another data set, or of an earlier state of "
                   "this one: its fingerprint is %.32s, expected %s", header + 16, t->fingerprint);
}

/* ---- Buckets --------------------------------------------------------------------------------- */

static uint64_t record_offset(const struct key_table *t, uint64_t bucket)
{
    return KEY_TABLE_HEADER + t->samples * t->entry_bytes + bucket * RECORD_BYTES;
}

struct key_range key_table_records(const struct key_table *t, uint64_t bucket)
{
    return bucket == 0
           ? (struct key_range){ record_offset(t, 0), RECORD_BYTES }
           : (struct key_range){ record_offset(t, bucket - 1), (size_t)2 * RECORD_BYTES };
}

/* Returns the checksum of a record of dataset.keys. A record describes one bucket (a range of
 * entries). The checksum is the lower 32 bits of a hash over the data set's fingerprint, the
 * bucket's number and the rest of the record. Because of the fingerprint, a record from the table
 * of another data set does not match. */
static uint32_t sum_record(const struct key_table *t, uint64_t bucket, const uint8_t *record)
{
    uint8_t text[32 + 8 + 12];

    memcpy(text, t->fingerprint, 32);
    store64(text + 32, bucket);
    memcpy(text + 40, record, 12);
    return (uint32_t)XXH3_64bits(text, sizeof(text));
}

static int key_table_check_record(const struct key_table *t, uint64_t bucket, const uint8_t *record,
                                  struct sheaf_error *err)
{
    if (load32(record + 12) == sum_record(t, bucket, record))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "offset %" PRIu64 ": the sum of the record of bucket "
                   "%" PRIu64 " is not as stored", record_offset(t, bucket), bucket);
}

int key_table_find_bucket(const struct key_table *t, uint64_t bucket, const uint8_t *records,
                          struct key_bucket *found, struct sheaf_error *err)
{
    const uint8_t *own = bucket == 0 ? records : records + RECORD_BYTES;
    uint64_t start = 0, end;
    int code = SHEAF_OK;

    if (bucket != 0) {
        code = key_table_check_record(t, bucket - 1, records, err);
        start = load64(records);
    }
    if (code == SHEAF_OK)
        code = key_table_check_record(t, bucket, own, err);
    if (code != SHEAF_OK)
        return code;
    end = load64(own);
    if (start > end || end > t->samples || (bucket == t->buckets - 1 && end != t->samples))
        return err_set(err, SHEAF_ERR_CORRUPT, "offset %" PRIu64 ": bucket %" PRIu64 " has the "
                       "entries %" PRIu64 " to %" PRIu64 " of %" PRIu64, record_offset(t, bucket),
                       bucket, start, end, t->samples);
    *found = (struct key_bucket){
        .range = { KEY_TABLE_HEADER + start * t->entry_bytes, (end - start) * t->entry_bytes },
        .sum = load32(own + 8),
    };
    return SHEAF_OK;
}

static uint64_t key_table_number_at(const struct key_table *t, const uint8_t *entry)
{
    return t->entry_bytes == 8 ? load32(entry + 4) : load64(entry + 4);
}

int key_table_check_bucket(const struct key_table *t, const struct key_bucket *bucket,
                           const uint8_t *data, struct sheaf_error *err)
{
    if ((uint32_t)XXH3_64bits(data, bucket->range.size) != bucket->sum)
        return err_set(err, SHEAF_ERR_CORRUPT, "offset %" PRIu64 ": the sum of %zu entries is not "
                       "as stored", bucket->range.offset, bucket->range.size / t->entry_bytes);
    for (size_t at = 0; at < bucket->range.size; at += t->entry_bytes) {
        const uint64_t number = key_table_number_at(t, data + at);

        if (number >= t->samples)
            return err_set(err, SHEAF_ERR_CORRUPT, "offset %" PRIu64 ": sample %" PRIu64 ", but "
                           "there are %" PRIu64, bucket->range.offset + at, number, t->samples);
    }
    return SHEAF_OK;
}

bool key_table_next(const struct key_table *t, const struct key_bucket *bucket,
                    const uint8_t *data, uint64_t hash, size_t *at, uint64_t *number)
{
    while (*at < bucket->range.size) {
        const uint8_t *entry = data + *at;

        *at += t->entry_bytes;
        if (load32(entry) == (uint32_t)hash) {
            *number = key_table_number_at(t, entry);
            return true;
        }
    }
    return false;
}

/* ---- The sum of all -------------------------------------------------------------------------- */

static uint64_t part_of(uint64_t bucket, uint32_t tag, uint64_t number)
{
    const uint64_t words[3] = { bucket, tag, number };

    return XXH3_64bits(words, sizeof(words));
}

uint64_t key_table_part(const struct key_table *t, uint64_t hash, uint64_t number)
{
    return part_of(key_table_bucket(t, hash), (uint32_t)hash, number);
}

uint64_t key_table_part_at(const struct key_table *t, uint64_t bucket, const uint8_t *entry)
{
    return part_of(bucket, load32(entry), key_table_number_at(t, entry));
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* State while dataset.keys is being written. The file has first all entries and then the records,
 * one record of 16 bytes for each bucket of about 64 entries. So the records stay in memory until
 * all entries are written. */
struct table_writing {
    const struct key_table *table;
    key_table_put_fn *put;
    void *context;
    struct buf out;             /* bytes that were not put yet */
    struct buf entries;         /* entries of the bucket that is being filled */
    struct buf records;
    uint64_t bucket, added;
};

static int key_table_put_out(struct table_writing *w, bool all, struct sheaf_error *err)
{
    int code;

    if (w->out.size == 0 || (!all && w->out.size < PUT_BYTES))
        return SHEAF_OK;
    code = w->put(w->context, w->out.data, w->out.size, err);
    w->out.size = 0;
    return code;
}

static int end_bucket(struct table_writing *w, struct sheaf_error *err)
{
    uint8_t record[RECORD_BYTES];
    int code;

    store64(record, w->added);
    store32(record + 8, (uint32_t)XXH3_64bits(w->entries.data, w->entries.size));
    store32(record + 12, sum_record(w->table, w->bucket, record));
    code = buf_append(&w->records, record, sizeof(record), err);
    if (code == SHEAF_OK)
        code = buf_append(&w->out, w->entries.data, w->entries.size, err);
    if (code == SHEAF_OK)
        code = key_table_put_out(w, false, err);
    w->entries.size = 0;
    w->bucket++;
    return code;
}

static int end_buckets(struct table_writing *w, uint64_t before, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && w->bucket < before)
        code = end_bucket(w, err);
    return code;
}

static int put_entry(struct table_writing *w, uint32_t tag, uint64_t number,
                     struct sheaf_error *err)
{
    uint8_t entry[12];

    store32(entry, tag);
    /* An entry begins with `tag`, the low 4 bytes of the key's hash. The sample's number follows.
     * It takes 8 bytes if the table has more than 2^32 samples. Otherwise it takes 4 bytes, and
     * buf_append() below leaves out the upper 4 bytes. */
    store64(entry + 4, number);
    w->added++;
    return buf_append(&w->entries, entry, w->table->entry_bytes, err);
}

static int key_table_add_entry(struct table_writing *w, uint64_t hash, uint64_t number,
                               struct sheaf_error *err)
{
    const int code = end_buckets(w, key_table_bucket(w->table, hash), err);

    return code == SHEAF_OK ? put_entry(w, (uint32_t)hash, number, err) : code;
}

static int write_entries(struct table_writing *w, struct sort *sort, struct sheaf_error *err)
{
    struct sort_entry next;
    int code;

    while ((code = sort_next(sort, &next, err)) == SHEAF_OK && w->added < w->table->samples) {
        code = key_table_add_entry(w, next.order, load64(next.value), err);
        if (code != SHEAF_OK)
            return code;
    }
    if (code < 0)
        return code;
    if (code == SHEAF_OK || w->added != w->table->samples)
        return err_set(err, SHEAF_ERR_MISMATCH, "a table of keys for %" PRIu64 " samples got %s "
                       "keys", w->table->samples, code == SHEAF_OK ? "more" : "fewer");
    return end_buckets(w, w->table->buckets, err);
}

int key_table_add(struct sort *sort, uint64_t hash, uint64_t number, struct sheaf_error *err)
{
    uint8_t *key, *value;
    const int code = sort_add(sort, hash, 0, sizeof(number), &key, &value, err);

    if (code == SHEAF_OK)
        store64(value, number);
    return code;
}

static int begin_writing(struct table_writing *w, const struct key_table *t, key_table_put_fn *put,
                         void *context, struct sheaf_error *err)
{
    uint8_t header[KEY_TABLE_HEADER];

    *w = (struct table_writing){ .table = t, .put = put, .context = context,
                           .out = BUF_INIT(SIZE_MAX / 4), .entries = BUF_INIT(SIZE_MAX / 4),
                           .records = BUF_INIT(SIZE_MAX / 4) };
    key_table_make_header(t, header);
    return buf_append(&w->out, header, sizeof(header), err);
}

/* Writes the rest, unless `code` is an error. */
static int end_writing(struct table_writing *w, int code, struct sheaf_error *err)
{
    if (code == SHEAF_OK)
        code = key_table_put_out(w, true, err);
    if (code == SHEAF_OK && w->records.size != 0)
        code = w->put(w->context, w->records.data, w->records.size, err);
    buf_free(&w->out);
    buf_free(&w->entries);
    buf_free(&w->records);
    return code;
}

int key_table_write(const struct key_table *t, struct sort *sort, key_table_put_fn *put,
                    void *context, struct sheaf_error *err)
{
    struct table_writing w;
    int code = begin_writing(&w, t, put, context, err);

    if (code == SHEAF_OK)
        code = sort_finish(sort, err);
    if (code == SHEAF_OK)
        code = write_entries(&w, sort, err);
    return end_writing(&w, code, err);
}

/* ---- Editing --------------------------------------------------------------------------------- */

#define EDIT_BUCKETS ((uint64_t)1024)   /* that are read at once: half a MiB */

/* Adds the entries of a checked bucket that remain. */
static int edit_bucket(struct table_writing *w, const struct key_table_edit *e,
                       const uint8_t *entries,
                       size_t size, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t at = 0; at < size && code == SHEAF_OK; at += e->from->entry_bytes) {
        const uint64_t number = e->number(e->number_context, key_table_number_at(e->from,
                                                                                 entries + at));

        if (number != UINT64_MAX)
            code = put_entry(w, load32(entries + at), number, err);
    }
    return code == SHEAF_OK ? end_bucket(w, err) : code;
}

/* Reads the records of the buckets `first` to `end` - 1. Also reads the record of the bucket before
 * `first`, if there is one, because it states where the bucket `first` begins. */
static int get_records(const struct key_table_edit *e, uint64_t first, uint64_t end,
                       struct buf *records, struct sheaf_error *err)
{
    const uint64_t from = first == 0 ? 0 : first - 1;
    const size_t size = (size_t)(end - from) * RECORD_BYTES;
    const int code = buf_reserve(records, size, err);

    return code != SHEAF_OK ? code : e->get(e->get_context, record_offset(e->from, from),
                                            records->data, size, err);
}

static int edit_buckets(struct table_writing *w, const struct key_table_edit *e, uint64_t first,
                        uint64_t end, struct buf *records, struct buf *entries,
                        struct sheaf_error *err)
{
    int code = get_records(e, first, end, records, err);

    for (uint64_t b = first; b < end && code == SHEAF_OK; b++) {
        const uint8_t *record = records->data + (b == first ? 0 : (b - first - (first == 0)) *
                                                                  RECORD_BYTES);
        struct key_bucket bucket;

        code = key_table_find_bucket(e->from, b, record, &bucket, err);
        if (code == SHEAF_OK)
            code = buf_reserve(entries, bucket.range.size + 1, err);
        if (code == SHEAF_OK && bucket.range.size != 0)
            code = e->get(e->get_context, bucket.range.offset, entries->data, bucket.range.size,
                          err);
        if (code == SHEAF_OK)
            code = key_table_check_bucket(e->from, &bucket, entries->data, err);
        if (code == SHEAF_OK)
            code = edit_bucket(w, e, entries->data, bucket.range.size, err);
    }
    return code;
}

int key_table_edit(const struct key_table_edit *e, key_table_put_fn *put, void *context,
                   struct sheaf_error *err)
{
    struct buf records = BUF_INIT(SIZE_MAX / 4), entries = BUF_INIT(SIZE_MAX / 4);
    uint8_t header[KEY_TABLE_HEADER];
    struct table_writing w;
    int code = begin_writing(&w, e->to, put, context, err);

    if (code == SHEAF_OK)
        code = e->get(e->get_context, 0, header, sizeof(header), err);
    if (code == SHEAF_OK)
        code = key_table_check_header(e->from, header, err);
    for (uint64_t b = 0; b < e->from->buckets && code == SHEAF_OK; b += EDIT_BUCKETS)
        code = edit_buckets(&w, e, b, MIN(b + EDIT_BUCKETS, e->from->buckets), &records, &entries,
                            err);
    if (code == SHEAF_OK && w.added != e->to->samples)
        code = err_set(err, SHEAF_ERR_MISMATCH, "an edited table of keys has %" PRIu64 " keys, "
                       "expected %" PRIu64, w.added, e->to->samples);
    buf_free(&records);
    buf_free(&entries);
    return end_writing(&w, code, err);
}
