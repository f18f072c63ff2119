/* SPDX-License-Identifier: MIT
 *
 * The job that reads and checks records; see read.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/load/read.h"
#include "reader/load/unpack.h"
#include "store/interrupt.h"

/* Items (records in memory) are often scattered over the memory. So the item that will be written
 * ITEMS_AHEAD items later is loaded into the CPU's cache. */
#define ITEMS_AHEAD 8u
/* The records of small columns stay in memory, at scattered addresses. A job reads KEPT_RUNS ranges
 * of samples at a time. Before it reads them, it prefetches their column records into the CPU's
 * cache, because several prefetches take about as long as one. At most KEPT_BYTES bytes are
 * prefetched for each range. */
#define KEPT_RUNS   8u
#define KEPT_BYTES  ((uint64_t)1 << 10)

/* Runs (ranges of records) that are read as one range of the shard, including the gaps between
 * them, and the memory for their bytes. */
struct pass {
    struct work *work;
    const struct run *runs;
    size_t run_count;
    size_t first;               /* number of its first item in the read */
    struct run whole;           /* the range from its first record to its last */
    const struct index_section *section;
    struct extent extent;       /* extent of that range */
    /* the range of bytes of the stored shard that is read: from offset `begin` to offset `end` - 1
     */
    uint64_t begin, end;
    /* Memory of `room_bytes` bytes into which these stored bytes are read. It is smaller than the
     * range if the stored bytes of a codec block are read in steps. */
    uint8_t *stored;
    uint64_t room_bytes;
    /* Memory for the uncompressed bytes. If codec blocks are decompressed record by record, it has
     * only the needed records, without the bytes between them. Otherwise it has all bytes of the
     * range. */
    uint8_t *data;
    /* memory for the records' lines of the .lst file; NULL if the shard has no .lst file */
    char *names;
    /* memory for the records of columns: first all records of the first column, then all records of
     * the second column, and so on */
    uint8_t *columns;
};

/* A walk through the items (records in memory) of a pass, in the order of their records. A pass is
 * a range of a shard that is read at once. */
struct turn {
    size_t run, in_run, at;
    /* `record` is the number of the present item's record in the shard. `raw` is the total size in
     * bytes of the records before it in the pass. */
    uint64_t record, raw;
    struct item *item;
};

static struct turn turn_begin(const struct pass *p)
{
    return (struct turn){ .at = p->first };
}

static inline bool turn_next(const struct pass *p, struct turn *t)
{
    const struct run *run = &p->runs[t->run];

    if (t->item != NULL && p->work->step_bytes != 0)
        t->raw += index_frame_bytes(p->section, t->record);
    while (t->run < p->run_count && t->in_run == run->count) {
        t->run++;
        run++;
        t->in_run = 0;
    }
    if (t->run == p->run_count)
        return false;
    if (t->in_run == 0)
        t->at += run->skipped;
    t->record = run->first + t->in_run++;
    t->item = read_item(p->work->read, t->at++);
    return true;
}

/* Returns the address for the bytes of a record that has an allocation of its own. The bytes are
 * stored directly after the struct item, in the same allocation. */
static uint8_t *behind(const struct pass *p, struct item *item)
{
    return (uint8_t *)item + p->work->read->item_bytes;
}

static const char *url_of(const struct pass *p)
{
    return p->work->dataset->urls[p->whole.shard->number];
}

static const struct sheaf_dataset *read_job_source_of(const struct pass *p)
{
    return dataset_source(p->work->dataset, p->whole.shard->number);
}

/* ---- Bad records ---------------------------------------------------------------------------- */

/* Marks a record as bad. Stores a copy of `error` in its item, with the place of the record before
 * the message. */
static int mark_bad(struct pass *p, struct item *item, uint64_t record,
                    const struct sheaf_error *error)
{
    struct sheaf_error *bad = malloc(sizeof(*bad));

    if (bad == NULL)
        return err_memory(&p->work->error, sizeof(*bad));
    bad->code = error->code;
    err_set(bad, error->code, "%s: offset %" PRIu64 ", record %" PRIu64 ": %s", url_of(p),
            p->section->offsets[record], record, error->message);
    item->bad = bad;
    item->is_bad = true;
    p->work->read->bad_count++;
    return SHEAF_OK;
}

/* Marks all records in a range of bytes as bad. The range is given by offsets in the uncompressed
 * shard, from `begin` to `end` - 1. A record is also marked if only some of its bytes are in the
 * range. */
static int mark_range(struct pass *p, uint64_t begin, uint64_t end,
                      const struct sheaf_error *error)
{
    struct turn t = turn_begin(p);
    int code = SHEAF_OK;

    while (code == SHEAF_OK && turn_next(p, &t)) {
        const uint64_t from = p->section->offsets[t.record];
        const uint64_t to = from + index_frame_bytes(p->section, t.record);

        if (from < end && to > begin && !t.item->is_bad)
            code = mark_bad(p, t.item, t.record, error);
    }
    return code;
}

/* Marks all records in a range of bytes as bad, like mark_range, because the shard is truncated and
 * these bytes are missing. */
static int mark_truncated(struct pass *p, uint64_t begin, uint64_t end)
{
    const uint64_t there = p->whole.shard->object->bytes;
    struct sheaf_error error;

    err_set(&error, SHEAF_ERR_TRUNCATED, "the shard has %" PRIu64 " byte%s, but %" PRIu64 " are "
            "expected", there, plural(there),
            p->work->dataset->manifest.shards[p->whole.shard->number].bytes);
    return mark_range(p, begin, end, &error);
}

/* Marks the records in one part of a codec block as bad, because this part of the block is damaged
 * or missing and could not be decompressed. */
static int mark_missing(struct pass *p, uint64_t block, const struct unpack *u,
                        const struct unpack_part *part, const struct sheaf_error *error)
{
    const struct index_block *b = &p->section->blocks[block];
    const uint64_t begin = b[0].raw_offset + part->skip;
    struct sheaf_error placed = *error;

    if (u->end < b[1].stored_offset)
        return mark_truncated(p, begin + part->got, begin + part->size);
    err_prefix(&placed, "the %s block at stored offset %" PRIu64 ": ", u->codec->name,
               b[0].stored_offset);
    return mark_range(p, begin + part->got, begin + part->size, &placed);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void set_portion(struct portion *of, struct store_object *object, uint64_t offset,
                        uint64_t size, void *to)
{
    of->read.object = size != 0 ? object : NULL;
    of->read.offset = offset;
    of->read.size = (size_t)size;
    of->read.data = to;
    of->read.state = NULL;
}

/* Describes the portions of columns. Kept records are not read; place_columns copies them. */
static void set_columns(const struct pass *p, struct portion *portions)
{
    const struct run *whole = &p->whole;
    uint8_t *to = p->columns;

    for (size_t i = 0; i < whole->shard->column_count; i++) {
        const struct shard_column *c = &whole->shard->columns[i];
        const uint64_t size = shard_column_bytes(c, whole->first, whole->count);

        set_portion(&portions[i], c->object, size == 0 ? 0 : c->offsets[whole->first],
                    c->kept != NULL ? 0 : size, to);
        to += size;
    }
}

/* Describes the portions of the bytes of a pass. If the shard is truncated, the portion of stored
 * bytes ends at the end of the shard. It then has fewer bytes than the index states. If the stored
 * bytes are read in steps, the portion has only the bytes of the first step. */
static void set_portions(const struct pass *p)
{
    const struct run *whole = &p->whole;
    const struct shard *shard = whole->shard;
    const uint64_t there = shard->object->bytes;
    struct portion *portions = p->work->portions;
    uint64_t size = MIN(MIN(p->end, there) - MIN(p->begin, there), p->room_bytes), offset = 0;

    set_portion(&portions[0], shard->object, p->begin, size, p->stored);
    size = p->names == NULL ? 0 : extent_names(p->section, whole->first, whole->count);
    if (size != 0)
        offset = p->section->name_offsets[whole->first];
    if (size != 0 && shard->lines != NULL)
        memcpy(p->names, shard->lines + offset, size);
    set_portion(&portions[1], shard->names, offset, size, p->names);
    set_columns(p, portions + READ_PORTIONS);
}

/* Reads all portions of a read's bytes. If they were requested in advance, only takes the results
 * of the requests. */
static int read_portions(struct work *w)
{
    for (size_t i = 0; i < w->portion_count; i++) {
        struct store_read *r = &w->portions[i].read;

        if (r->object == NULL)
            continue;
        w->read_bytes += r->size;
        if (!w->is_fetched)
            r->code = store_read(r->object, r->offset, r->data, r->size, &r->error);
        if (r->code != SHEAF_OK) {
            w->error = r->error;
            return r->code;
        }
    }
    return SHEAF_OK;
}

/* ---- Decompressing -------------------------------------------------------------------------- */

/* Decompresses the needed parts of a codec block, in small steps. Marks records as bad if they
 * cannot be decompressed. */
static int unpack_block_parts(struct pass *p, uint64_t block, struct unpack *u)
{
    struct sheaf_error error;
    int code;

    u->codec = read_job_source_of(p)->codec;
    u->single = read_job_source_of(p)->manifest.single_member;
    code = unpack_parts(u, &error);
    p->work->read_bytes += u->read_bytes;
    if (code == SHEAF_OK)
        return SHEAF_OK;
    if (!u->is_damaged) {
        p->work->error = error;
        return code;
    }
    code = SHEAF_OK;
    for (size_t i = u->done; code == SHEAF_OK && i < u->count; i++)
        code = mark_missing(p, block, u, &u->parts[i], &error);
    return code;
}

/* Returns the number of stored bytes that were read, from p->begin on. */
static uint64_t stored_bytes(const struct pass *p)
{
    return p->work->portions[0].read.size;
}

/* Decompresses a codec block. If the block is incomplete or damaged, decompresses as much as
 * possible, and marks the rest of its records as bad. */
static int unpack_block(struct pass *p, uint64_t block)
{
    const struct index_block *b = &p->section->blocks[block];
    const struct sheaf_dataset *d = read_job_source_of(p);
    const uint64_t skip = b[0].stored_offset - p->begin;
    const size_t size = b[1].stored_offset - b[0].stored_offset;
    const uint64_t there = MIN(size, stored_bytes(p) - MIN(stored_bytes(p), skip));
    uint8_t *raw = p->data + (b[0].raw_offset - p->extent.begin);
    struct unpack_part part = { .raw = raw, .size = b[1].raw_offset - b[0].raw_offset };
    struct unpack u = { .room = p->stored + skip, .begin = b[0].stored_offset, .held = there,
                        .end = b[0].stored_offset + there, .parts = &part, .count = 1 };
    struct sheaf_error error;

    if (there == size && d->codec->decompress(d->manifest.single_member, u.room, size, raw,
                                              (size_t)part.size, &error) == SHEAF_OK)
        return SHEAF_OK;
    return unpack_block_parts(p, block, &u);
}

/* Returns the destination of a record that is decompressed directly, without the rest of its block.
 */
static uint8_t *home_of(const struct pass *p, const struct turn *t)
{
    return p->work->read->table != NULL ? p->data + t->raw : behind(p, t->item);
}

/* Decompresses each record to its place. */
static int unpack_records(struct pass *p)
{
    const uint64_t there = p->whole.shard->object->bytes;
    struct unpack u = { .object = p->whole.shard->object, .begin = p->begin,
                        .end = p->begin + MIN(p->end, there) - MIN(p->begin, there),
                        .room = p->stored, .room_bytes = p->room_bytes,
                        .held = stored_bytes(p), .parts = p->work->parts };
    struct turn t = turn_begin(p);

    while (turn_next(p, &t))
        u.parts[u.count++] = (struct unpack_part){
            .skip = p->section->offsets[t.record] - p->section->blocks[p->extent.block].raw_offset,
            .raw = home_of(p, &t), .size = index_frame_bytes(p->section, t.record),
        };
    return unpack_block_parts(p, p->extent.block, &u);
}

/* Decompresses the records of a compressed shard to their destinations. Marks records as bad if
 * their bytes are missing or damaged. */
static int unpack_pass(struct pass *p)
{
    const struct extent *e = &p->extent;
    const uint64_t have = stored_bytes(p);
    int code = SHEAF_OK;

    if (p->work->step_bytes != 0)
        return unpack_records(p);
    if (p->section->blocks == NULL)
        return have < p->end - p->begin ? mark_truncated(p, p->begin + have, p->end) : SHEAF_OK;
    for (uint64_t i = e->block; code == SHEAF_OK && i < e->block_end; i++)
        code = unpack_block(p, i);
    return code;
}

/* ---- Checking ------------------------------------------------------------------------------- */

/* Checks a record and its line of the .lst file. `data` has the bytes of the record. `name` is the
 * line, or NULL if the shard has no .lst file. */
static int read_job_check_record(struct pass *p, const struct turn *t, const uint8_t *data,
                                 const char *name, uint32_t name_size)
{
    const struct index_section *s = p->section;
    struct sheaf_error error;
    uint32_t crc;

    if (read_job_source_of(p)->format->check(data, t->item->size, &crc, &error) != SHEAF_OK)
        return mark_bad(p, t->item, t->record, &error);
    if (name != NULL && name[name_size] != '\n') {
        err_set(&error, SHEAF_ERR_CORRUPT, "its line in the .lst ends with byte 0x%02x, not with a "
                "newline", (uint8_t)name[name_size]);
        return mark_bad(p, t->item, t->record, &error);
    }
    if (name != NULL)
        crc = crc32c(crc, name, name_size);
    if (s->crcs != NULL && crc != s->crcs[t->record]) {
        err_set(&error, SHEAF_ERR_CORRUPT, "CRC-32C 0x%08x, but the index has 0x%08x", crc,
                s->crcs[t->record]);
        return mark_bad(p, t->item, t->record, &error);
    }
    return SHEAF_OK;
}

/* Checks the record of a sample in the column `c`. `data` has the bytes of this record. */
static int check_column(struct pass *p, const struct turn *t, const struct shard_column *c,
                        const uint8_t *data)
{
    struct sheaf_error error;

    if (c->kept != NULL || shard_column_check(c, t->record, data, &error) == SHEAF_OK)
        return SHEAF_OK;
    err_prefix(&error, "%s: record %" PRIu64 ": ", c->url, c->first + t->record);
    return mark_bad(p, t->item, t->record, &error);
}

/* Checks the records of a sample in all columns, and sets pointers to them in the sample's item.
 * Copies kept records to the memory of the read. If the item has an allocation of its own, copies
 * all records to `home` in this allocation. */
static int place_columns(struct pass *p, const struct turn *t, uint8_t *home)
{
    const struct shard *shard = p->whole.shard;
    struct item_column *column = (struct item_column *)(void *)(t->item + 1);
    uint8_t *start = p->columns;
    int code = SHEAF_OK;

    for (size_t i = 0; i < shard->column_count && code == SHEAF_OK && !t->item->is_bad; i++) {
        const struct shard_column *c = &shard->columns[i];
        const size_t size = (size_t)shard_column_bytes(c, t->record, 1);
        uint8_t *data;

        column[i] = (struct item_column){ .base_crc = p->section->crcs[t->record] };
        if (c->offsets == NULL)
            continue;
        data = start + (c->offsets[t->record] - c->offsets[p->whole.first]);
        start += shard_column_bytes(c, p->whole.first, p->whole.count);
        code = check_column(p, t, c, data);
        if (p->work->read->table == NULL || c->kept != NULL) {
            const uint8_t *from = c->kept != NULL ? shard_column_kept(c, t->record) : data;

            data = memcpy(p->work->read->table == NULL ? home : data, from, size);
            home += size;
        }
        column[i].data = data;
        column[i].size = (uint32_t)size;
    }
    return code;
}

/* Sets the pointers of an item to the bytes and the name (.lst line) of a record that was found to
 * be good. If the item has an allocation of its own, first copies the bytes to this allocation. */
static void place_item(const struct pass *p, const struct turn *t, const uint8_t *data,
                       const char *name, uint32_t name_size)
{
    struct item *item = t->item;
    uint8_t *home = behind(p, item);

    item->data = data;
    if (p->work->read->table == NULL) {
        if (data != home)
            memcpy(home, data, item->size);
        item->data = home;
        if (name != NULL)
            name = memcpy(home + item->size, name, name_size);
    }
    item->offset = p->section->offsets[t->record];
    if (name != NULL)
        item->name = name;
}

static int finish_item(struct pass *p, const struct turn *t)
{
    const struct index_section *s = p->section;
    const uint64_t record = t->record;
    const uint8_t *data = p->work->step_bytes != 0
                        ? home_of(p, t) : p->data + (s->offsets[record] - p->extent.begin);
    const char *name = NULL;
    struct item *item = t->item;
    int code;

    item->size = index_frame_bytes(s, record);
    item->record = record;
    item->shard = p->whole.shard->number;
    item->name_size = 0;
    item->repeats = p->runs[t->run].repeats;
    item->has_name = p->names != NULL;
    item->data = NULL;
    if (p->names != NULL) {     /* Each line includes its newline. */
        name = p->names + (s->name_offsets[record] - s->name_offsets[p->whole.first]);
        item->name_size = (uint32_t)(s->name_offsets[record + 1] - s->name_offsets[record]) - 1;
    }
    if (item->is_bad)
        return SHEAF_OK;
    code = read_job_check_record(p, t, data, name, item->name_size);
    if (code == SHEAF_OK && !item->is_bad && p->whole.shard->column_count != 0)
        code = place_columns(p, t, behind(p, item) + item->size +
                             extent_names(s, record, 1));
    if (!item->is_bad)
        place_item(p, t, data, name, item->name_size);
    else if (p->work->read->table != NULL)
        item->data = data;
    return code;
}

/* Loads into the CPU's cache the memory of an item that will be written soon. Used if each item has
 * an allocation of its own. The allocations of small samples are scattered over the heap, so the
 * CPU cannot predict their addresses. */
static inline void fetch_home(const struct item *item)
{
    const uint8_t *at = (const uint8_t *)item;

    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + CACHE_LINE, 1);
    __builtin_prefetch(at + 2 * CACHE_LINE, 1);
}

static int finish_items(struct pass *p)
{
    const struct read *r = p->work->read;
    struct turn t = turn_begin(p);
    int code = SHEAF_OK;

    while (code == SHEAF_OK && turn_next(p, &t)) {
        if (r->table == NULL)
            fetch_home(r->each[MIN(t.at + ITEMS_AHEAD, r->span - 1)]);
        code = finish_item(p, &t);
    }
    return code;
}

/* ---- The job -------------------------------------------------------------------------------- */

static int read_row_once(struct pass *p)
{
    int code = read_portions(p->work);

    if (code == SHEAF_OK)
        code = unpack_pass(p);
    return code == SHEAF_OK ? finish_items(p) : code;
}

/* Removes the marks of bad records in a remote shard, so that these records are read once more. The
 * bytes may have been damaged on the network or in the cache, so the second read does not use the
 * cache. Returns false if there is nothing to read again: no record was corrupt, or the shard is
 * local. */
static bool forgives(struct pass *p)
{
    struct turn t = turn_begin(p);
    bool found = false;

    while (p->whole.shard->object->is_remote && turn_next(p, &t)) {
        if (!t.item->is_bad || t.item->bad->code != SHEAF_ERR_CORRUPT)
            continue;
        item_free_error(t.item);
        p->work->read->bad_count--;
        found = true;
    }
    if (!found)
        return false;
    store_distrust(p->whole.shard->object, p->begin, p->end - p->begin);
    for (size_t i = 1; i < p->work->portion_count; i++) {
        const struct store_read *r = &p->work->portions[i].read;

        if (r->object != NULL)
            store_distrust(r->object, r->offset, r->size);
    }
    p->work->is_fetched = false;
    return true;
}

static int read_row(struct pass *p)
{
    const int code = read_row_once(p);

    return code == SHEAF_OK && forgives(p) ? read_row_once(p) : code;
}

/* Returns the memory into which records and then lines of the .lst file are read. If each record
 * has an allocation of its own, this is a buffer, from which the bytes are copied later. Otherwise
 * it is in the block of the read. The memory begins at a line of the CPU's cache, as the records of
 * a tar do in a shard, because checksums of such records are computed faster. */
static uint8_t *data_of(const struct work *w)
{
    const struct read *r = w->read;
    uint8_t *data;

    if (r->table == NULL)
        return w->data;
    data = (uint8_t *)r->table + r->span * r->item_bytes;
    return data + to_line((uintptr_t)data);
}

/* Prepares a pass, which reads one range of the shard. The range has the runs (ranges of records)
 * from number `i` on that are read together. `first` is the number of the first record of the pass
 * in the read. The records are stored at `data`, and the bytes that they have outside the shard at
 * `beside`: their lines of the .lst file, then their records in columns. */
static void pass_begin(struct pass *p, struct work *w, size_t i, size_t first, uint8_t *data,
                       uint8_t *beside)
{
    const struct index_block *blocks;
    const struct shard *shard;

    *p = (struct pass){ .work = w, .runs = w->runs + i, .first = first, .data = data };
    p->run_count = run_row(p->runs, w->run_count - i, &p->whole);
    shard = p->whole.shard;
    p->section = shard->section;
    p->columns = beside + extent_names(p->section, p->whole.first, p->whole.count);
    if (p->columns != beside && (shard->names != NULL || shard->lines != NULL))
        p->names = (char *)beside;
    p->extent = extent_of(&p->whole, w->step_bytes != 0);
    p->begin = p->extent.begin;
    p->end = p->extent.end;
    p->stored = data;
    p->room_bytes = p->end - p->begin;
    blocks = p->section->blocks;
    if (blocks == NULL)
        return;
    p->begin = blocks[p->extent.block].stored_offset;
    p->end = blocks[p->extent.block_end].stored_offset;
    p->room_bytes = read_stored_room(w->step_bytes, p->end - p->begin);
    p->stored = w->stored;
}

/* Loads the records of columns for the samples of a run into the CPU's cache, if they are kept in
 * memory. */
static void fetch_kept(const struct run *run)
{
    for (size_t i = 0; i < run->shard->column_count; i++) {
        const struct shard_column *c = &run->shard->columns[i];
        const uint64_t bytes = c->kept == NULL ? 0 : shard_column_bytes(c, run->first, run->count);

        for (uint64_t at = 0; at < MIN(bytes, KEPT_BYTES); at += CACHE_LINE)
            __builtin_prefetch(shard_column_kept(c, run->first) + at);
    }
}

static int read_job_run(struct work *w)
{
    struct pass p = { .first = 0 };
    uint8_t *data = data_of(w);
    uint8_t *beside = data + w->data_bytes;
    int code = SHEAF_OK;

    for (size_t i = 0; i < w->read->span; i++) {
        struct item *item = read_item(w->read, i);

        if (item != NULL)           /* Otherwise the position is skipped. */
            item->is_bad = false;
    }
    for (size_t i = 0, fetched = 0; code == SHEAF_OK && i < w->run_count; i += p.run_count) {
        while (fetched < MIN(i / KEPT_RUNS * KEPT_RUNS + KEPT_RUNS, w->run_count))
            fetch_kept(&w->runs[fetched++]);
        pass_begin(&p, w, i, p.first, data, beside);
        if (!w->is_fetched)
            set_portions(&p);
        code = read_row(&p);
        data += p.extent.end - p.extent.begin;
        beside += extent_beside(p.whole.shard, p.whole.first, p.whole.count);
        for (size_t k = i; k < i + p.run_count; k++)
            p.first += w->runs[k].skipped + w->runs[k].count;
    }
    return code;
}

/* Runs the job of a read. If the read has no threads, the job runs on the thread of the caller, so
 * it is interrupted by the flag that the caller has registered. */
static void run_job(struct job *job)
{
    struct work *w = (struct work *)(void *)job;
    const volatile int *before = interrupt_watched();

    if (w->read->workers != NULL)
        interrupt_watch(&w->cancelled);
    w->code = read_job_run(w);
    interrupt_watch(before);
}

/* ---- Fetching from afar --------------------------------------------------------------------- */

static void one_less(struct work *w)
{
    if (atomic_fetch_sub(&w->fetches_left, 1) == 1)
        workers_submit(w->read->workers, &w->job);
}

static void read_job_fetch_done(struct store_read *read)
{
    one_less(((struct portion *)(void *)read)->work);
}

/* Sends the requests for a read from a remote shard. The runs (ranges of records) of such a read
 * form one range of bytes, which needs one request. The lines of the .lst file need another
 * request, and so does each column. */
static void read_job_fetch(struct work *w)
{
    uint8_t *data = data_of(w);
    struct pass p;

    pass_begin(&p, w, 0, 0, data, data + w->data_bytes);
    set_portions(&p);
    w->is_fetched = true;
    /* The counter starts at 1, for this function itself, which subtracts 1 at its end. Otherwise
     * the counter could reach 0, and the job could start, before all requests are sent. */
    atomic_init(&w->fetches_left, 1);
    for (size_t i = 0; i < w->portion_count; i++) {
        struct portion *of = &w->portions[i];

        if (of->read.object == NULL)
            continue;
        of->work = w;
        of->read.done = read_job_fetch_done;
        atomic_fetch_add(&w->fetches_left, 1);
        store_read_start(&of->read);
    }
    one_less(w);
}

void read_start(struct read *r)
{
    struct work *w = r->work;

    w->job.run = run_job;
    if (r->workers == NULL)
        run_job(&w->job);
    else if (r->is_remote)
        read_job_fetch(w);
    else
        workers_submit(r->workers, &w->job);
}

void read_cancel(struct read *r)
{
    struct work *w = r->work;

    if (w == NULL)
        return;
    flag_raise(&w->cancelled);
    for (size_t i = 0; r->is_remote && i < w->portion_count; i++)
        if (w->portions[i].read.object != NULL)
            store_read_cancel(&w->portions[i].read);
}
