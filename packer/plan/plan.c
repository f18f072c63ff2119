/* SPDX-License-Identifier: MIT
 *
 * Cuts samples into shards, and shards into blocks. */
#include "packer/plan/plan.h"

#include <stdlib.h>

#include "base/bytes.h"

/* ---- Shards ---------------------------------------------------------------------------------- */

uint64_t plan_shard_count(uint64_t payload_bytes, uint64_t samples, uint64_t shard_bytes,
                          uint64_t shard_count)
{
    uint64_t count = shard_count;

    if (count == 0)
        count = payload_bytes / shard_bytes +
                (payload_bytes % shard_bytes >= shard_bytes - shard_bytes / 2);
    return MIN(MAX(count, 1), MAX(samples, 1));
}

/* Divides samples into shards of similar size. Imagine the bytes of all samples as a line that is
 * cut into equal parts. A sample belongs to the part in which the middle of its bytes lies.
 * Afterwards the cuts are moved so that no shard is empty. */
void plan_cut(plan_size_fn *size_of, void *context, uint64_t count, uint64_t payload_bytes,
              uint64_t shard_count, uint64_t *starts)
{
    const bool by_bytes = payload_bytes != 0;
    const uint64_t total = by_bytes ? payload_bytes : count;
    uint64_t before = 0, next = 1;

    starts[0] = 0;
    for (uint64_t i = 0; i < count && next < shard_count; i++) {
        const uint64_t size = by_bytes ? size_of(context, i) : 1;
        const unsigned __int128 middle = (unsigned __int128)(2 * before + size) * shard_count;

        while (next < shard_count && middle >= (unsigned __int128)2 * next * total)
            starts[next++] = i;
        before += size;
    }
    while (next <= shard_count)
        starts[next++] = count;
    for (uint64_t k = 1; k < shard_count; k++) {
        starts[k] = MAX(starts[k], starts[k - 1] + 1);
        starts[k] = MIN(starts[k], count - (shard_count - k));
    }
}

uint64_t plan_block_end(const struct plan *plan, uint64_t first, uint64_t end)
{
    uint64_t cost = 0, at = first;

    while (at < end && cost < BLOCK_BYTES) {
        cost += plan->samples[at].payload_bytes +
                plan->samples[at].file_count * BLOCK_FILE_BYTES;
        at++;
    }
    return at;
}

uint64_t plan_shard_block_end(const struct plan *plan, const struct plan_shard *shard,
                              uint64_t first)
{
    const struct plan_made *made = shard->made;
    const uint64_t end = shard->sample + shard->sample_count;

    for (size_t i = 0; made != NULL && made->block_ends != NULL && i < made->block_count; i++)
        if (made->block_ends[i] > first - shard->sample)
            return MIN(shard->sample + made->block_ends[i], end);
    return plan_block_end(plan, first, end);
}

/* ---- Life ------------------------------------------------------------------------------------ */

void plan_free(struct plan *plan)
{
    free(plan->samples);
    free(plan->labels);
    free(plan->classes);
    free(plan->class_values);
    free(plan->class_texts);
    free(plan->class_samples);
    free(plan->shards);
    *plan = (struct plan){ 0 };
}
