/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane (a sequence of samples) for a stream; see stream.h. A stream has one worker
 * thread, which runs its jobs in turn. Each job fills a read: it copies frames (stored records)
 * into the buffer of the read, without gaps. The samples of a read are not known before it is full.
 *
 * The stream of lane number n has shard number n and then every lanes-th shard, in the epoch's
 * order of shards. In Amazon SageMaker's Pipe mode, a pipe has all records of the epoch. The stream
 * then reads the whole pipe, but uses only record number n and then every lanes-th record. */
#include "reader/load/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/dataset/frames.h"
#include "reader/dataset/pipe_head.h"
#include "store/interrupt.h"
#include "store/read_ahead.h"

/* smallest number of requests for a remote shard that is read as a stream */
#define AHEAD_PIECES_LEAST 4u

struct stream {
    /* The stream uses only fields that stay the same, and `pipe_shift`, which others do not use. */
    struct loader *loader;
    const struct order_line *line;
    uint32_t lane;
    struct workers *workers;
    size_t largest;                 /* size of the largest frame that is accepted */
    /* If a remote shard is read as a stream, its next bytes are requested in advance: the memory
     * for these bytes, and the largest number of requests at a time. */
    uint64_t ahead_bytes;
    unsigned ahead_most;
    /* index of the shard that is read now or next, in the epoch's order of shards */
    size_t place;
    size_t stride;                  /* distance to the stream's next shard */
    bool failed;
    /* Used if a sample consists of several records, one for each of its attributes. True if records
     * were damaged, so that it is unknown to which attribute the next record belongs. */
    bool lost;
    /* set to a value other than zero to make reads of a pipe end, because they may otherwise wait
     * forever */
    volatile int cancelled;
    struct store_object *object;    /* the shard at `place`; NULL if not open */
    const struct format_ops *format;
    struct frames frames;
    bool frames_are_open;
    /* `closed` has the counts for the shards that were read and closed. `reported` has the counts
     * that were already returned with reads. */
    struct stream_counts closed, reported;
    uint64_t record;                /* number of the next record in the shard */
    uint64_t framed;                /* number of samples and bad records in all shards */
    uint64_t offset;                /* number of stored bytes read from the object */
    struct pipe_head head;          /* the first bytes of a pipe */
};

/* Implements queue_ops.begin. */
static int begin_stream(struct loader *l, struct queue *q, uint32_t lane, struct sheaf_error *err)
{
    const struct sheaf_dataset *dataset = l->dataset;
    const uint64_t memory_limit = l->budget.limit / l->lane_count;
    struct stream *s = calloc(1, sizeof(*s));
    int code;

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->loader = l;
    s->line = q->line;
    s->lane = lane;
    s->place = dataset->pipes != NULL ? 0 : lane;
    s->stride = l->order.lanes;
    s->format = dataset->format;
    s->largest = (size_t)(memory_limit / 8);
    s->ahead_most = MAX(AHEAD_PIECES_MOST / l->lane_count, AHEAD_PIECES_LEAST);
    s->ahead_bytes = dataset->is_remote ? ahead_memory(memory_limit, s->ahead_most) : 0;
    code = workers_open(&s->workers, 1, err);
    if (code != SHEAF_OK)
        free(s);
    else
        q->stream = s;
    return code;
}

uint64_t stream_memory(const struct stream *s)
{
    /* A stream also needs a window, the buffer in which frames (stored records) are found. This
     * takes as much memory as another read. */
    return (STREAM_READS + 1) * (s->largest + STREAM_READ_BYTES) + s->ahead_bytes;
}

/* Returns the counts of all shards so far. */
static struct stream_counts counts_of(const struct stream *s)
{
    const struct framing *w = &s->frames.framing;
    struct stream_counts counts = s->closed;

    if (s->frames_are_open)
        stream_counts_add(&counts, &(struct stream_counts){ framing_passed_over(w), w->lost_bytes,
                                                            w->scan.keys.repeated }, 1);
    return counts;
}

static void stream_close_shard(struct stream *s)
{
    s->closed = counts_of(s);
    if (s->frames_are_open)
        frames_close(&s->frames);
    s->frames_are_open = false;
    store_close(s->object);
    s->object = NULL;
}

/* Implements queue_ops.cancel. Removes the jobs that have not started, and waits for the running
 * job. */
static void cancel_stream(struct queue *q)
{
    if (q->stream == NULL)
        return;
    flag_raise(&q->stream->cancelled);
    workers_cancel(q->stream->workers);
}

/* Implements queue_ops.end. */
static void end_stream(struct loader *l, struct queue *q)
{
    struct stream *s = q->stream;

    (void)l;
    if (s == NULL)
        return;
    cancel_stream(q);
    workers_close(s->workers);
    stream_close_shard(s);
    pipe_head_free(&s->head);
    free(s);
}

uint64_t stream_framed(const struct stream *s)
{
    return s->framed;
}

const struct format_ops *stream_format(const struct stream *s)
{
    return s->format;
}

/* Reads the next bytes of the shard. */
static int stream_read_bytes(void *context, void *data, size_t size, size_t *got,
                             struct sheaf_error *err)
{
    struct stream *s = context;
    int code = SHEAF_OK;

    if (s->object->is_stream)
        return pipe_head_read(&s->head, s->object, data, size, got, err);
    *got = (size_t)MIN((uint64_t)size, s->object->bytes - s->offset);
    if (*got != 0)
        code = store_read(s->object, s->offset, data, *got, err);
    if (code == SHEAF_OK)
        s->offset += *got;
    return code;
}

/* Implements frames.again: goes back to the first byte of the shard. */
static bool stream_again(void *context)
{
    struct stream *s = context;

    if (!s->object->is_remote || s->object->is_stream)
        return false;
    store_distrust(s->object, 0, s->object->bytes);
    s->offset = 0;
    return true;
}

/* Returns the number of records that form a sample. */
static size_t records_of_sample(const struct stream *s)
{
    const struct pipe_source *pipes = s->loader->dataset->pipes;

    return pipes != NULL && pipes->attributes.count != 0 ? pipes->attributes.count : 1;
}

/* Opens the object of the next shard. */
static int stream_open_object(struct stream *s, struct sheaf_error *err)
{
    struct loader *l = s->loader;

    if (l->dataset->pipes != NULL)
        return pipe_open(l->dataset->pipes, l->order.epoch, &l->pipe_shift, &s->cancelled,
                         &s->object, err);
    return listed_open_any(l->cache, l->dataset->urls[s->line->shards[s->place]], &s->object, err);
}

static int stream_open_shard(struct stream *s, struct sheaf_error *err)
{
    const struct sheaf_dataset *d = s->loader->dataset;
    struct detected found = { .format = s->format, .codec = d->manifest.codec };
    int code = stream_open_object(s, err);

    if (code == SHEAF_OK && s->object->is_remote && s->ahead_bytes != 0)
        code = ahead_wrap(&s->object, s->ahead_bytes, s->ahead_most, err);
    if (code == SHEAF_OK)
        s->object->interrupt = &s->cancelled;
    if (code == SHEAF_OK && s->object->is_stream)
        code = pipe_head_detect(&s->head, s->object, d->pipes, &found, err);
    if (code == SHEAF_OK)
        s->format = found.format;
    if (code == SHEAF_OK && records_of_sample(s) > 1 && s->format->id != ATTRIBUTES_CONTAINER)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: the attributes of a sample come as records "
                       "of RecordIO, but this is %s", s->object->url, s->format->name);
    if (code == SHEAF_OK)
        code = frames_open(&s->frames, s->format, found.codec, stream_read_bytes, s, s->largest,
                           err);
    s->frames.again = stream_again;
    s->frames_are_open = code == SHEAF_OK;
    if (code == SHEAF_OK && !s->object->is_stream)
        frames_set_stored(&s->frames, s->object->bytes);
    s->record = 0;
    s->offset = 0;
    return code;
}

/* Returns true if a record of a pipe belongs to another rank. Each rank has a pipe with all
 * records. It reads all of them, and uses every n-th record. */
static bool is_others_turn(const struct stream *s, uint64_t record)
{
    return s->loader->dataset->pipes != NULL && record % s->stride != s->lane;
}

/* Appends the bytes of a frame (stored record) to `data`. If several records form a sample, also
 * reads and appends the other records of this sample. */
static int take_frames(struct stream *s, struct frame *frame, struct item *item,
                       struct buf *data, struct sheaf_error *err)
{
    const size_t count = records_of_sample(s);

    for (size_t i = 1;; i++) {
        int code = buf_append(data, frame->data, frame->size, err);

        item->size += frame->size;
        if (code != SHEAF_OK || i == count)
            return code;
        code = frames_next(&s->frames, frame, err);
        if (code == SHEAF_END)
            return err_set(err, SHEAF_ERR_TRUNCATED, "the pipe ends after %zu of a sample's %zu "
                           "attribute%s", i, count, plural(count));
        if (code != SHEAF_OK)
            return code;
    }
}

static int stream_error(struct sheaf_error *err, const struct sheaf_error *error)
{
    *err = *error;
    return error->code;
}

/* Handles an error. If only one record is bad, stores the error in `item`. Otherwise returns the
 * error, and the stream cannot continue. */
static int take_error(struct stream *s, struct item *item, const struct sheaf_error *error,
                      struct sheaf_error *err)
{
    if (error->code != SHEAF_ERR_CORRUPT && error->code != SHEAF_ERR_TRUNCATED) {
        const bool is_data = error->code == SHEAF_ERR_LIMIT || error->code == SHEAF_ERR_UNSUPPORTED;

        /* The message of an error of the store already names the shard. So the name is not put
         * before it again. */
        stream_error(err, error);
        return is_data ? err_prefix(err, "%s: ", s->object->url) : err->code;
    }
    item->size = 0;
    s->lost = records_of_sample(s) > 1;
    item->bad = malloc(sizeof(*item->bad));
    if (item->bad == NULL)
        return err_memory(err, sizeof(*item->bad));
    *item->bad = *error;
    item->is_bad = true;
    err_prefix(item->bad, "%s: ", s->object->url);
    return SHEAF_OK;
}

/* Finds the next frame (stored record) of the stream. At the end of a shard, opens the next shard.
 * Returns SHEAF_END after the last shard. For any other error, sets *is_bad to true if only one
 * record is bad, and to false if the stream cannot continue. */
static int next_frame(struct stream *s, struct frame *frame, bool *is_bad,
                      struct sheaf_error *err)
{
    *is_bad = false;
    while (s->place < s->line->shard_count) {
        int code = SHEAF_OK;

        if (!s->frames_are_open)
            code = stream_open_shard(s, err);
        if (code == SHEAF_OK && s->lost)
            code = err_set(err, SHEAF_ERR_CORRUPT, "%s: after damage, it is unknown which "
                           "attribute a record is", s->object->url);
        if (code < 0)
            return code;
        if (code == SHEAF_OK)
            code = frames_next(&s->frames, frame, err);
        *is_bad = code < 0;
        if (code != SHEAF_END)
            return code;
        stream_close_shard(s);
        s->place += s->stride;
    }
    return SHEAF_END;
}

/* Finds the next sample of the stream, and describes it in *item. Appends its bytes to `data`. If
 * the next record is bad, *item describes the error instead. Returns SHEAF_END after the last
 * shard. */
static int next_item(struct stream *s, struct item *item, struct buf *data,
                     struct sheaf_error *err)
{
    for (;;) {
        const size_t start = data->size;
        struct sheaf_error error;
        struct frame frame = { .data = NULL };
        bool is_bad, is_others;
        int code = next_frame(s, &frame, &is_bad, &error);

        if (code == SHEAF_END)
            return code;
        memset(item, 0, sizeof(*item));
        item->shard = s->line->shards[s->place];
        item->record = s->record;
        item->offset = frame.offset;
        is_others = is_others_turn(s, s->record++);
        if (code == SHEAF_OK && is_others && records_of_sample(s) == 1)
            continue;
        if (code == SHEAF_OK)
            code = take_frames(s, &frame, item, data, &error);
        else if (!is_bad)
            return stream_error(err, &error);
        s->framed += code != SHEAF_OK || !is_others;
        if (code == SHEAF_OK && !is_others)
            return code;
        data->size = start;
        if (code != SHEAF_OK)
            return take_error(s, item, &error, err);
    }
}

/* Sets the pointers of the items to their frames (stored records) in the buffer `data`. This is
 * done when the buffer is complete, because its address changes while it grows. */
static void stream_place_items(struct read *r, const struct buf *data)
{
    const uint8_t *at = data->data;

    for (size_t i = 0; i < r->span; i++) {
        r->table[i].data = at;
        r->bad_count += r->table[i].is_bad;
        at += r->table[i].size;
    }
}

static void stream_fill(struct job *job)
{
    struct work *w = (struct work *)(void *)job;
    struct read *r = w->read;
    struct stream *s = r->stream;
    const volatile int *before = interrupt_watch(&s->cancelled);
    struct buf *items = &w->items, *data = &w->room;
    int code = s->failed ? SHEAF_END : SHEAF_OK;

    items->limit = data->limit = SIZE_MAX;
    items->size = data->size = 0;
    while (code == SHEAF_OK && items->size + data->size < STREAM_READ_BYTES) {
        struct item item;

        code = next_item(s, &item, data, &w->error);
        if (code == SHEAF_OK)
            code = buf_append(items, &item, sizeof(item), &w->error);
    }
    r->table = (struct item *)(void *)items->data;
    r->span = items->size / sizeof(struct item);
    w->read_bytes = items->size + data->size;
    w->counts = counts_of(s);
    stream_counts_add(&w->counts, &s->reported, -1);
    stream_counts_add(&s->reported, &w->counts, 1);
    stream_place_items(r, data);
    r->tail_code = code;
    s->failed |= code < 0;
    w->code = SHEAF_OK;
    interrupt_watch(before);
}

/* ---- The queue ------------------------------------------------------------------------------ */

/* Implements queue_ops.pump. Gives empty reads (buffers) to each stream, until it has STREAM_READS
 * reads, and begins the jobs that fill them with samples. */
static int pump_streams(struct loader *l, struct sheaf_error *err)
{
    for (uint32_t i = 0; i < l->lane_count; i++) {
        struct queue *q = &l->queues[i];

        _Static_assert(STREAM_READS == 2, "the loop ends when a queue has two reads");
        while (q->first == q->last) {       /* The queue has no read, or only one. */
            struct read *r;
            const int code = loader_new_read(l, STREAM_READ_BYTES, &r, err);

            if (code != SHEAF_OK)
                return code;
            r->stream = q->stream;
            r->workers = q->stream->workers;
            r->work->job.run = stream_fill;
            workers_submit(r->workers, &r->work->job);
            queue_append(l, q, r);
        }
    }
    return SHEAF_OK;
}

/* Waits for the queue's first read. */
static int find_read(struct loader *l, struct queue *q, bool waits, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (q->first == NULL && !waits)
        return QUEUE_LATER;
    if (q->first == NULL)
        code = pump_streams(l, err);
    if (code == SHEAF_OK && !waits && !loader_has(l, q->first))
        return QUEUE_LATER;
    return code == SHEAF_OK ? loader_wait(l, q->first, err) : code;
}

/* Takes memory from the budget for a sample of a stream. This is possible only after the sample has
 * arrived, because its size was not known before.
 *
 * A sample for the shuffle buffer is copied to an allocation of its own. Without a shuffle buffer,
 * the sample stays in the stream's buffer while the program uses it. So the memory of the whole
 * buffer is taken from the budget. */
static int account_stream(struct loader *l, struct read *r, struct ref *ref,
                          struct sheaf_error *err)
{
    const struct item *item = ref->item;
    struct item *own;

    if (l->keep > 1) {
        own = heap_take(l->heap, sizeof(*own) + item->size);
        if (own != NULL) {
            *own = *item;
            r->table[r->taken].is_bad = false;
            if (!own->is_bad)
                own->data = memcpy(own + 1, item->data, item->size);
            *ref = (struct ref){ .item = own };
            return SHEAF_OK;
        }
    } else if (r->alone_bytes != 0 || budget_take(&l->budget, work_kept_bytes(r->work))) {
        r->alone_bytes = work_kept_bytes(r->work);
        r->users++;
        return SHEAF_OK;
    }
    return err_set(err, SHEAF_ERR_LIMIT, "a sample of %zu bytes does not fit into the memory "
                   "budget of %" PRIu64 " bytes, of which %" PRIu64 " are in use: raise it, or "
                   "lower the shuffle buffer", item->size, l->budget.limit, l->budget.used);
}

/* Implements queue_ops.take. */
static int take_of_stream(struct loader *l, struct queue *q, bool waits, struct ref *ref,
                          struct sheaf_error *err)
{
    struct read *r;
    int code;

    for (;;) {
        code = find_read(l, q, waits, err);
        if (code != SHEAF_OK)
            return code;
        r = q->first;
        if (r->taken < r->span)
            break;
        if (r->tail_code != SHEAF_OK) {
            if (r->error != NULL)
                *err = *r->error;
            return r->tail_code;
        }
        queue_remove_first(l, q);
    }
    *ref = (struct ref){ .item = &r->table[r->taken], .read = r };
    code = account_stream(l, r, ref, err);
    if (code != SHEAF_OK)
        return code;
    r->taken++;
    q->taken++;
    q->planned++;
    if (r->taken == r->span && r->tail_code == SHEAF_OK) {
        struct sheaf_error later;

        queue_remove_first(l, q);
        (void)pump_streams(l, &later);
    }
    return SHEAF_OK;
}

const struct queue_ops queue_streamed = {
    .own_bytes = sizeof(struct stream), .begin = begin_stream, .pump = pump_streams,
    .take = take_of_stream, .cancel = cancel_stream, .end = end_stream,
};
