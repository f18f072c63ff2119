/* SPDX-License-Identifier: MIT
 *
 * Implements the external sort of sort.h. Entries fill a buffer from its start. At the end of the
 * buffer, there is a small struct for each entry, called a ref, which points to the entry.
 *
 * When the buffer is full, its entries are sorted and appended to a temporary file. Such a sorted
 * sequence in the file is called a run. At the end, the runs are merged. If all entries fit into
 * the buffer, no file is created.
 *
 * An entry in a run consists of its number `order` (u64), the size of its key (varint), the size of
 * its value (varint), its key and its value. */
#include "base/sort.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tempfile.h"
#include "base/varint.h"

#define BUFFER_MOST ((size_t)1 << 30)   /* because offsets in it have 32 bits */
#define WINDOW_LEAST ((size_t)64 << 10) /* smallest window of a run during the merge */
#define WINDOW_MOST  ((size_t)1 << 20)
#define HEAD_MOST    (sizeof(uint64_t) + 2 * VARINT_MOST)

struct sort_ref {
    uint64_t order;             /* the entry's order, which only the ref stores */
    /* offset and size in bytes of the entry in the buffer. An entry consists of the size of its
     * key, the size of its value, the key, and the value. */
    uint32_t at, size;
};

/* State of a run (a sorted part of the temporary file) while the runs are merged. Its window is a
 * buffer with the next bytes of the run. */
struct sort_run {
    /* start and end, as offsets in the file, of the bytes of this run that were not yet read into
     * its window (a buffer in memory) */
    uint64_t offset, end;
    uint8_t *window;
    size_t capacity, used, at;
    struct sort_entry head;     /* the run's next entry */
    size_t number;
};

struct sort {
    uint8_t *buffer;
    size_t capacity, data, ref_count;
    size_t next;                /* next ref to return, if there are no runs */
    char *directory;
    int fd;
    uint64_t written;
    uint64_t *ends;             /* file offset of the end of each run */
    size_t run_count, run_capacity;
    uint8_t *out;               /* output buffer */
    struct sort_run *runs;
    /* the runs as a binary heap (priority queue), ordered by their next entries; the run with the
     * smallest next entry is the first */
    struct sort_run **heap;
    size_t heap_size;
    size_t window;
    /* set when sort_next has returned the current entry of the first run in `heap`. The caller may
     * use this entry until it calls sort_next again. Only then does the run move to its following
     * entry. */
    bool begun;
};

int sort_open(struct sort **sort, const char *directory, size_t memory_bytes,
              struct sheaf_error *err)
{
    struct sort *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->capacity = MIN(memory_bytes, BUFFER_MOST) & ~(sizeof(struct sort_ref) - 1);
    s->buffer = malloc(s->capacity);
    s->directory = strdup(directory);
    s->fd = -1;
    if (s->buffer == NULL || s->directory == NULL) {
        const int code = err_memory(err, s->capacity);

        sort_close(s);
        return code;
    }
    *sort = s;
    return SHEAF_OK;
}

void sort_close(struct sort *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; s->runs != NULL && i < s->run_count; i++)
        free(s->runs[i].window);
    if (s->fd >= 0)
        close(s->fd);
    free(s->runs);
    free(s->heap);
    free(s->ends);
    free(s->out);
    free(s->directory);
    free(s->buffer);
    free(s);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct sort_ref *refs_of(struct sort *s)
{
    return (struct sort_ref *)(void *)(s->buffer + s->capacity) - s->ref_count;
}

/* Returns the key of an entry in the buffer. */
static const uint8_t *key_of(const uint8_t *buffer, const struct sort_ref *ref, uint64_t *size)
{
    const uint8_t *at = buffer + ref->at, *end = at + ref->size;
    uint64_t value_size;

    if (!varint_take(&at, end, size) || !varint_take(&at, end, &value_size))
        *size = 0;
    return at;
}

static int sort_compare_keys(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    const int order = memcmp(a, b, MIN(a_size, b_size));

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

static int compare_refs(const void *x, const void *y, void *buffer)
{
    const struct sort_ref *a = x, *b = y;
    const uint8_t *a_key, *b_key;
    uint64_t a_size, b_size;
    int order;

    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    a_key = key_of(buffer, a, &a_size);
    b_key = key_of(buffer, b, &b_size);
    order = sort_compare_keys(a_key, a_size, b_key, b_size);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* Appends bytes to the output buffer. Writes the buffer to the file each time that it has
 * WINDOW_MOST bytes. *used is the number of bytes in the buffer. */
static int sort_put_out(struct sort *s, size_t *used, const void *data, size_t size,
                        struct sheaf_error *err)
{
    const uint8_t *at = data;

    while (size != 0) {
        const size_t part = MIN(size, WINDOW_MOST - *used);

        memcpy(s->out + *used, at, part);
        *used += part;
        at += part;
        size -= part;
        if (*used == WINDOW_MOST) {
            const int code = tempfile_write_at(s->fd, s->written, s->out, *used, err);

            if (code != SHEAF_OK)
                return code;
            s->written += *used;
            *used = 0;
        }
    }
    return SHEAF_OK;
}

static int note_run(struct sort *s, struct sheaf_error *err)
{
    if (s->run_count == s->run_capacity) {
        const size_t capacity = MAX(2 * s->run_capacity, (size_t)64);
        uint64_t *grown = reallocarray(s->ends, capacity, sizeof(*grown));

        if (grown == NULL)
            return err_memory(err, capacity * sizeof(*grown));
        s->ends = grown;
        s->run_capacity = capacity;
    }
    s->ends[s->run_count++] = s->written;
    return SHEAF_OK;
}

#define FEW_REFS 24u            /* up to this number are sorted by insertion */

static void sort_few(const struct sort *s, struct sort_ref *refs, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct sort_ref ref = refs[i];
        size_t at = i;

        for (; at > 0 && compare_refs(&ref, &refs[at - 1], s->buffer) < 0; at--)
            refs[at] = refs[at - 1];
        refs[at] = ref;
    }
}

/* Sorts refs by the byte of `order` that begins at bit `shift`. Afterwards, the refs whose byte is
 * b have the indexes starts[b] to starts[b + 1] - 1. */
static void fill_buckets(struct sort_ref *refs, size_t count, unsigned shift, size_t starts[257])
{
    size_t at[256];

    memset(starts, 0, 257 * sizeof(starts[0]));
    for (size_t i = 0; i < count; i++)
        starts[(refs[i].order >> shift & 0xff) + 1]++;
    for (size_t b = 0; b < 256; b++) {
        starts[b + 1] += starts[b];
        at[b] = starts[b];
    }
    for (size_t b = 0; b < 256; b++) {
        while (at[b] < starts[b + 1]) {
            struct sort_ref ref = refs[at[b]];
            size_t its = ref.order >> shift & 0xff;

            while (its != b) {
                const struct sort_ref other = refs[at[its]];

                refs[at[its]++] = ref;
                ref = other;
                its = ref.order >> shift & 0xff;
            }
            refs[at[b]++] = ref;
        }
    }
}

/* Sorts refs that differ only in the lowest `bits` bits of `order`. This is a radix sort, one byte
 * at a time, because a sort that compares refs would take several times as long. */
static void sort_bits(const struct sort *s, struct sort_ref *refs, size_t count, unsigned bits)
{
    size_t starts[257];

    if (count <= FEW_REFS) {
        sort_few(s, refs, count);
        return;
    }
    if (bits == 0) {            /* all orders are equal, so the keys decide */
        qsort_r(refs, count, sizeof(refs[0]), compare_refs, s->buffer);
        return;
    }
    fill_buckets(refs, count, bits - 8, starts);
    for (size_t b = 0; b < 256; b++)
        sort_bits(s, refs + starts[b], starts[b + 1] - starts[b], bits - 8);
}

static void sort_refs(struct sort *s)
{
    struct sort_ref *refs = refs_of(s);
    uint64_t differ = 0;
    unsigned bits = 0;

    for (size_t i = 1; i < s->ref_count; i++)
        differ |= refs[i].order ^ refs[0].order;
    while (bits < 64 && differ >> bits != 0)
        bits += 8;
    sort_bits(s, refs, s->ref_count, bits);
}

static int sort_open_file(struct sort *s, struct sheaf_error *err)
{
    if (s->fd >= 0)
        return SHEAF_OK;
    s->out = malloc(WINDOW_MOST);
    if (s->out == NULL)
        return err_memory(err, WINDOW_MOST);
    s->fd = tempfile_create(s->directory, err);
    return s->fd >= 0 ? SHEAF_OK : err == NULL ? SHEAF_ERR_IO : err->code;
}

/* Sorts the buffer and writes it. */
static int write_run(struct sort *s, struct sheaf_error *err)
{
    const struct sort_ref *refs = refs_of(s);
    size_t used = 0;
    int code = sort_open_file(s, err);

    sort_refs(s);
    for (size_t i = 0; i < s->ref_count && code == SHEAF_OK; i++) {
        const uint64_t order = htole64(refs[i].order);

        code = sort_put_out(s, &used, &order, sizeof(order), err);
        if (code == SHEAF_OK)
            code = sort_put_out(s, &used, s->buffer + refs[i].at, refs[i].size, err);
    }
    if (code == SHEAF_OK)
        code = tempfile_write_at(s->fd, s->written, s->out, used, err);
    s->written += used;
    s->data = s->ref_count = 0;
    return code == SHEAF_OK ? note_run(s, err) : code;
}

int sort_add(struct sort *s, uint64_t order, size_t key_size, size_t value_size, uint8_t **key,
             uint8_t **value, struct sheaf_error *err)
{
    const size_t most = key_size + value_size + HEAD_MOST + sizeof(struct sort_ref);
    struct sort_ref *ref;
    uint8_t *at;

    if (most > s->capacity)
        return err_set(err, SHEAF_ERR_LIMIT, "an entry of %zu bytes, the limit is %zu", most,
                       s->capacity);
    if (most > s->capacity - s->data - s->ref_count * sizeof(*ref)) {
        const int code = write_run(s, err);

        if (code != SHEAF_OK)
            return code;
    }
    at = s->buffer + s->data;
    at += varint_put(at, key_size);
    at += varint_put(at, value_size);
    *key = at;
    *value = at + key_size;
    s->ref_count++;
    ref = refs_of(s);
    *ref = (struct sort_ref){ order, (uint32_t)s->data,
                         (uint32_t)((size_t)(*value + value_size - s->buffer) - s->data) };
    s->data += ref->size;
    return SHEAF_OK;
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* Reads a range of the file, and then gives the disk space of the range back, because each range is
 * read only once. Otherwise the disk would in the end hold all entries twice: in this file and in
 * the caller's output. On a file system that cannot free a part of a file, the space stays in
 * use. */
static int read_once(struct sort *s, uint64_t offset, void *data, size_t size,
                     struct sheaf_error *err)
{
    const int code = tempfile_read_at(s->fd, offset, data, size, err);

    if (code == SHEAF_OK && size != 0)
        (void)!fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                         (off_t)size);
    return code;
}

/* Reads bytes of the run (a sorted part of the file) into the run's window (a buffer in memory),
 * until the window has at least `size` unread bytes. */
static int fill_window(struct sort *s, struct sort_run *r, size_t size, struct sheaf_error *err)
{
    const size_t left = r->used - r->at;
    size_t more;

    if (size <= left)
        return SHEAF_OK;
    if (size > r->capacity) {
        uint8_t *grown = realloc(r->window, size);

        if (grown == NULL)
            return err_memory(err, size);
        r->window = grown;
        r->capacity = size;
    }
    memmove(r->window, r->window + r->at, left);
    r->at = 0;
    more = (size_t)MIN(r->capacity - left, r->end - r->offset);
    if (more < size - left)
        return err_set(err, SHEAF_ERR_TRUNCATED, "a temporary file ends within an entry");
    r->used = left + more;
    r->offset += more;
    return read_once(s, r->offset - more, r->window + left, more, err);
}

/* Moves the run (a sorted part of the file) to its next entry, and stores this entry in r->head as
 * the current entry of the run. Returns SHEAF_END after the last entry. */
static int sort_advance(struct sort *s, struct sort_run *r, struct sheaf_error *err)
{
    const size_t left = r->used - r->at;
    uint64_t key_size, value_size;
    const uint8_t *at, *end;
    size_t head;
    int code;

    if (left == 0 && r->offset == r->end)
        return SHEAF_END;
    code = fill_window(s, r, (size_t)MIN(HEAD_MOST, left + (r->end - r->offset)), err);
    if (code != SHEAF_OK)
        return code;
    at = r->window + r->at + sizeof(uint64_t);
    end = r->window + r->used;
    if (at > end || !varint_take(&at, end, &key_size) || !varint_take(&at, end, &value_size) ||
        key_size > BUFFER_MOST || value_size > BUFFER_MOST)
        return err_set(err, SHEAF_ERR_CORRUPT, "a temporary file was read back with different "
                       "bytes");
    head = (size_t)(at - r->window) - r->at;
    code = fill_window(s, r, head + key_size + value_size, err);
    if (code != SHEAF_OK)
        return code;
    at = r->window + r->at;
    r->head = (struct sort_entry){ load64(at), at + head, at + head + key_size, key_size,
                                   value_size };
    r->at += head + key_size + value_size;
    return SHEAF_OK;
}

static bool sort_is_before(const struct sort_run *a, const struct sort_run *b)
{
    int order;

    if (a->head.order != b->head.order)
        return a->head.order < b->head.order;
    order = sort_compare_keys(a->head.key, a->head.key_size, b->head.key, b->head.key_size);
    return order != 0 ? order < 0 : a->number < b->number;
}

/* Moves the run at index `at` down in the merge heap, a binary heap of runs. Stops when the next
 * entry of the run is not greater than the next entries of its two children. */
static void sink(struct sort *s, size_t at)
{
    struct sort_run *run = s->heap[at];

    for (;;) {
        size_t below = 2 * at + 1;

        if (below + 1 < s->heap_size && sort_is_before(s->heap[below + 1], s->heap[below]))
            below++;
        if (below >= s->heap_size || !sort_is_before(s->heap[below], run))
            break;
        s->heap[at] = s->heap[below];
        at = below;
    }
    s->heap[at] = run;
}

static int begin_run(struct sort *s, size_t i, struct sheaf_error *err)
{
    struct sort_run *r = &s->runs[i];
    int code;

    *r = (struct sort_run){ .offset = i == 0 ? 0 : s->ends[i - 1], .end = s->ends[i], .number = i,
                       .capacity = s->window, .window = malloc(s->window) };
    if (r->window == NULL)
        return err_memory(err, s->window);
    code = sort_advance(s, r, err);
    if (code == SHEAF_OK)
        s->heap[s->heap_size++] = r;
    return code == SHEAF_END ? SHEAF_OK : code;
}

int sort_finish(struct sort *s, struct sheaf_error *err)
{
    int code;

    if (s->run_count == 0) {
        sort_refs(s);
        return SHEAF_OK;
    }
    code = write_run(s, err);
    if (code != SHEAF_OK)
        return code;
    free(s->buffer);
    s->buffer = NULL;
    s->window = MIN(MAX(s->capacity / s->run_count, WINDOW_LEAST), WINDOW_MOST);
    s->runs = calloc(s->run_count, sizeof(s->runs[0]));
    s->heap = calloc(s->run_count, sizeof(s->heap[0]));
    if (s->runs == NULL || s->heap == NULL)
        return err_memory(err, s->run_count * sizeof(s->runs[0]));
    for (size_t i = 0; i < s->run_count && code == SHEAF_OK; i++)
        code = begin_run(s, i, err);
    for (size_t i = s->heap_size / 2; i-- > 0;)
        sink(s, i);
    return code;
}

uint64_t sort_memory(const struct sort *s)
{
    return s->run_count == 0 ? s->data + s->ref_count * sizeof(struct sort_ref)
                             : MAX(s->capacity, s->run_count * s->window);
}

static int next_in_memory(struct sort *s, struct sort_entry *entry, struct sheaf_error *err)
{
    const struct sort_ref *ref = &refs_of(s)[s->next];
    const uint8_t *at, *end;
    uint64_t key_size, value_size;

    if (s->next == s->ref_count)
        return SHEAF_END;
    at = s->buffer + ref->at;
    end = at + ref->size;
    if (!varint_take(&at, end, &key_size) || !varint_take(&at, end, &value_size))
        return err_set(err, SHEAF_ERR_CORRUPT, "an entry without its sizes");
    s->next++;
    *entry = (struct sort_entry){ ref->order, at, at + key_size, key_size, value_size };
    return SHEAF_OK;
}

int sort_next(struct sort *s, struct sort_entry *entry, struct sheaf_error *err)
{
    if (s->run_count == 0)
        return next_in_memory(s, entry, err);
    if (s->begun) {
        const int code = sort_advance(s, s->heap[0], err);

        if (code == SHEAF_END)
            s->heap[0] = s->heap[--s->heap_size];
        else if (code != SHEAF_OK)
            return code;
        s->begun = false;
        if (s->heap_size > 1)
            sink(s, 0);
    }
    if (s->heap_size == 0)
        return SHEAF_END;
    s->begun = true;
    *entry = s->heap[0]->head;
    return SHEAF_OK;
}
