/* SPDX-License-Identifier: MIT
 *
 * The size of a chunk's runs: bytes of their shards, and memory. */
#include "base/bytes.h"
#include "reader/chunk.h"
#include "reader/unpack.h"

size_t run_row(const struct run *runs, size_t run_count, struct run *whole)
{
    size_t n = 1;

    while (n < run_count && runs[n].joins)
        n++;
    *whole = runs[0];
    whole->count = (size_t)(runs[n - 1].first - runs[0].first) + runs[n - 1].count;
    return n;
}

struct chunk_extent chunk_extent(const struct run *run, bool in_pieces)
{
    const struct index_section *s = run->shard->section;
    struct chunk_extent e = { .begin = s->offsets[run->first] };
    const uint64_t last = run->first + run->count - 1;

    e.end = s->offsets[last] + index_frame_bytes(s, last);
    if (s->blocks == NULL)
        return e;
    e.block = index_block_of(s, e.begin);
    e.block_end = index_block_of(s, e.end - 1) + 1;
    if (in_pieces)
        return e;
    e.begin = s->blocks[e.block].raw_offset;
    e.end = s->blocks[e.block_end].raw_offset;
    return e;
}

bool chunk_can_be_in_pieces(const struct run *runs, size_t run_count)
{
    struct run whole;
    struct chunk_extent e;

    if (runs[0].shard->section->blocks == NULL || run_row(runs, run_count, &whole) != run_count)
        return false;
    e = chunk_extent(&whole, true);
    return e.block_end == e.block + 1;
}

uint64_t chunk_stored_memory(const struct run *run, const struct chunk_extent *e, bool in_pieces)
{
    const struct index_block *blocks = run->shard->section->blocks;
    uint64_t stored;

    if (blocks == NULL)
        return 0;
    stored = blocks[e->block_end].stored_offset - blocks[e->block].stored_offset;
    return in_pieces ? unpack_room(run->shard->object->is_remote, stored) : stored;
}

uint64_t chunk_names_bytes(const struct index_section *s, uint64_t first, size_t count)
{
    return s->name_offsets == NULL ? 0 : s->name_offsets[first + count] - s->name_offsets[first];
}

struct chunk_sizes chunk_sizes(const struct run *runs, size_t run_count, bool in_pieces)
{
    struct chunk_sizes z = { 0 };

    for (size_t i = 0, row; i < run_count; i += row) {
        struct run whole;
        struct chunk_extent e;

        row = run_row(runs + i, run_count - i, &whole);
        e = chunk_extent(&whole, in_pieces);
        z.data += e.end - e.begin;
        z.names += chunk_names_bytes(whole.shard->section, whole.first, whole.count);
        z.stored = MAX(z.stored, chunk_stored_memory(&whole, &e, in_pieces));
        for (size_t k = i; k < i + row; k++)
            z.count += runs[k].count;
    }
    return z;
}

uint64_t chunk_frames_bytes(const struct run *runs, size_t run_count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < run_count; i++) {
        const struct index_section *s = runs[i].shard->section;
        const uint64_t last = runs[i].first + runs[i].count;

        bytes += s->offsets[last] - s->offsets[runs[i].first]
                 + chunk_names_bytes(s, runs[i].first, runs[i].count)
                 + runs[i].count * HEAP_HEAD_BYTES;
    }
    return bytes;
}

uint64_t chunk_passing_bytes(const struct run *runs, size_t run_count, bool in_pieces)
{
    const struct chunk_sizes z = chunk_sizes(runs, run_count, in_pieces);

    return z.data + z.stored;
}

uint64_t chunk_memory(const struct run *runs, size_t run_count, bool own_frames, bool in_pieces)
{
    const struct chunk_sizes z = chunk_sizes(runs, run_count, in_pieces);

    return (own_frames ? z.data : 0) + z.names + z.stored + z.count * sizeof(struct item)
           + run_count * sizeof(struct run) + sizeof(struct chunk);
}

/* Tables, one entry for each run, and names. */
uint64_t chunk_shared_memory(const struct run *runs, size_t run_count)
{
    const uint64_t each = sizeof(struct item) + sizeof(struct run) + sizeof(struct unpack_part);

    return chunk_sizes(runs, run_count, true).names + run_count * each + sizeof(struct chunk);
}

uint64_t chunk_shared_passing(const struct run *run, bool in_pieces)
{
    const struct chunk_extent e = chunk_extent(run, in_pieces);

    return chunk_stored_memory(run, &e, in_pieces);
}

uint64_t chunk_memory_most(const struct manifest_shard *m, bool is_packed, bool is_remote)
{
    return m->largest + (is_packed ? unpack_room(is_remote, m->bytes) : 0)
           + m->names_bytes + sizeof(struct item) + sizeof(struct run) + sizeof(struct chunk);
}
