/* SPDX-License-Identifier: MIT
 *
 * Computes the bytes of runs; see extent.h. */
#include "reader/load/extent.h"

size_t run_row(const struct run *runs, size_t run_count, struct run *whole)
{
    size_t n = 1;

    while (n < run_count && runs[n].joins)
        n++;
    *whole = runs[0];
    whole->count = (size_t)(runs[n - 1].first - runs[0].first) + runs[n - 1].count;
    return n;
}

struct extent extent_of(const struct run *run, bool by_record)
{
    const struct index_section *s = run->shard->section;
    const uint64_t last = run->first + run->count - 1;
    struct extent e = { .begin = s->offsets[run->first],
                        .end = s->offsets[last] + index_frame_bytes(s, last) };

    if (s->blocks == NULL)
        return e;
    e.block = index_block_of(s, e.begin);
    e.block_end = index_block_of(s, e.end - 1) + 1;
    if (!by_record) {
        e.begin = s->blocks[e.block].raw_offset;
        e.end = s->blocks[e.block_end].raw_offset;
    }
    return e;
}

uint64_t extent_stored(const struct run *run, const struct extent *e)
{
    const struct index_block *blocks = run->shard->section->blocks;

    return blocks == NULL ? 0
                          : blocks[e->block_end].stored_offset - blocks[e->block].stored_offset;
}

uint64_t extent_names(const struct index_section *s, uint64_t first, size_t count)
{
    return s->name_offsets == NULL ? 0 : s->name_offsets[first + count] - s->name_offsets[first];
}

uint64_t extent_beside(const struct shard *shard, uint64_t first, size_t count)
{
    return extent_names(shard->section, first, count) + shard_columns_bytes(shard, first, count);
}

bool extent_is_in_block(const struct run *run)
{
    struct extent e;

    if (run->shard->section->blocks == NULL)
        return false;
    e = extent_of(run, true);
    return e.block_end == e.block + 1;
}
