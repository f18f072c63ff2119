/* SPDX-License-Identifier: MIT
 *
 * The queue of a lane (a sequence of samples) for a stream, that is, for data that can only be read
 * from start to end. A worker thread reads the records as they arrive, and stores them in reads.
 * (Here, a read is a buffer.) The samples of a read are not known before the read is full. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "reader/load/queue.h"
#include "reader/load/stream.h"

static int begin_stream(struct loader *l, struct queue *q, uint32_t lane, struct sheaf_error *err)
{
    return stream_open(&(struct stream_context){ l->dataset, &l->order, q->line, l->cache,
                                                  &l->pipe_shift },
                       lane, l->budget.limit / l->lane_count, &q->stream, err);
}

static void cancel_stream(struct queue *q)
{
    stream_cancel(q->stream);
}

static void end_stream(struct queue *q)
{
    stream_close(q->stream);
}

/* Gives empty reads (buffers) to each stream. A worker thread of the stream fills them with
 * samples. */
static int pump_streams(struct loader *l, struct sheaf_error *err)
{
    for (uint32_t i = 0; i < l->lane_count; i++) {
        struct queue *q = &l->queues[i];

        while (q->waiting < STREAM_READS) {
            struct read *r;
            const int code = loader_new_read(l, STREAM_READ_BYTES, &r, err);

            if (code != SHEAF_OK)
                return code;
            stream_plan(q->stream, r);
            queue_append(l, q, r);
            q->waiting++;
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

static void remove_read(struct loader *l, struct queue *q)
{
    queue_remove_first(l, q);
    q->waiting--;
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
        remove_read(l, q);
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

        remove_read(l, q);
        (void)pump_streams(l, &later);
    }
    return SHEAF_OK;
}

const struct queue_ops queue_streamed = {
    .begin = begin_stream, .pump = pump_streams, .take = take_of_stream,
    .cancel = cancel_stream, .end = end_stream,
};
