/* SPDX-License-Identifier: MIT
 *
 * The beginning and the end of what a lane reads ahead; see prefetch.h. */
#include <string.h>

#include "reader/lazy_shuffle.h"
#include "reader/prefetch.h"
#include "reader/stream.h"

int prefetch_begin(struct feed *feed, struct prefetch *p, uint32_t lane,
                   const struct order_line *line, const struct intakes *intakes,
                   const struct shuffle *shuffle, uint64_t steps, struct sheaf_error *err)
{
    memset(p, 0, sizeof(*p));
    p->intakes = intakes;
    p->line = line;
    p->pace = 1;
    if (feed->dataset->is_stream)
        return stream_open(&(struct stream_context){ feed->dataset, &feed->order, line,
                                                      feed->cache, &feed->pipe_shift },
                           lane, feed->budget.limit / feed->lane_count, &p->stream, err);
    if (feed->draws)
        return draws_open(&p->draws, &feed->shards, line, &intakes->range, shuffle, steps,
                          err);
    return SHEAF_OK;
}

void prefetch_cancel(struct prefetch *p)
{
    for (struct chunk *chunk = p->first; chunk != NULL; chunk = chunk->next)
        chunk_cancel(chunk);
    stream_cancel(p->stream);
}

void prefetch_wait(struct prefetch *p)
{
    for (struct chunk *chunk = p->first; chunk != NULL; chunk = chunk->next)
        if (!chunk->is_done)
            workers_wait(chunk->workers, &chunk->job);
}

void prefetch_clear(struct feed *feed, struct prefetch *p)
{
    for (struct chunk *c = p->first, *next; c != NULL; c = next) {
        next = c->next;
        chunk_give_memory(c, &feed->budget);
        chunk_drop_shards(c, &feed->shards);
        feed->outstanding--;
        chunk_free(c, feed->frames);
    }
    stream_close(p->stream);
    draws_close(p->draws);
    shards_drop(&feed->shards, p->shard);
    shards_drop(&feed->shards, p->next);
    shards_drop(&feed->shards, p->alone);
    memset(p, 0, sizeof(*p));
}
