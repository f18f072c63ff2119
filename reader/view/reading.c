/* SPDX-License-Identifier: MIT
 *
 * Computes from the index how many bytes a reader would read for the chosen samples of a view (a
 * mix of data sets). These are the bytes of the samples, and of small gaps between them. (Reading a
 * small gap is faster than another read.) If shards are compressed, whole codec blocks are counted.
 *
 * The result is not exact: at the end of a read, a reader may leave out a gap, or decompress a
 * block again. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/dataset/sections.h"
#include "reader/load/stretch.h"
#include "reader/view/view.h"

struct reading {
    const struct index_section *section;
    /* largest gap in bytes between two chosen records that a reader reads and drops, because this
     * is faster than another read */
    uint64_t gap;
    /* 1 + the number of the record that was added last; 0 if no record was added */
    uint64_t last;
    /* number of the first block that is not counted yet */
    uint64_t next_block;
    uint64_t raw_chosen, read;
};

static void add_blocks(struct reading *r, uint64_t first, uint64_t last)
{
    for (uint64_t i = MAX(first, r->next_block); i <= last; i++)
        r->read += r->section->blocks[i + 1].stored_offset - r->section->blocks[i].stored_offset;
    r->next_block = MAX(r->next_block, last + 1);
}

/* Counts the bytes of `count` records, beginning with number `record`, and adds them to `r`.
 * Records must be added in ascending order. */
static void add_records(struct reading *r, uint64_t record, uint64_t count)
{
    const struct index_section *s = r->section;
    const uint64_t begin = s->offsets[record], last = record + count - 1;
    const uint64_t end = s->offsets[last] + index_frame_bytes(s, last);

    for (uint64_t i = record; i <= last; i++)
        r->raw_chosen += index_frame_bytes(s, i);
    if (s->blocks != NULL && end > begin) {
        add_blocks(r, index_block_of(s, begin), index_block_of(s, end - 1));
    } else {
        r->read += end - begin;
        if (r->last != 0 && stretch_joins(s, r->last - 1, record, r->gap))
            r->read += begin - s->offsets[r->last - 1] - index_frame_bytes(s, r->last - 1);
    }
    r->last = last + 1;
}

/* Counts the bytes that a reader reads for the chosen samples of a shard, and adds them to `r`.
 * `rank` is the number of chosen samples in all earlier shards. Returns `rank` plus the number of
 * chosen samples in this shard. */
static uint64_t reading_add_shard(struct reading *r, const struct order_chosen *of, uint32_t shard,
                                  uint64_t rank)
{
    const uint64_t first = of->first_numbers[shard], end = of->first_numbers[shard + 1];

    while (rank < of->chosen.count) {
        uint64_t run;
        const uint64_t number = of->first_number + selection_number(&of->chosen, rank, &run);

        if (number >= end)
            break;
        run = MIN(run, end - number);
        add_records(r, number - first, run);
        rank += run;
    }
    return rank;
}

/* Returns true if a sample of the shard was chosen. `rank` is the number of chosen samples in all
 * earlier shards. */
static bool has_chosen(const struct order_chosen *of, uint32_t shard, uint64_t rank)
{
    uint64_t run;

    return rank < of->chosen.count && of->first_number + selection_number(&of->chosen, rank, &run) <
                                          of->first_numbers[shard + 1];
}

/* Sets *section to the index section of a shard (the index of this shard). If the section had to be
 * read, *own is set as well, and the caller must free *own. The section of a foreign shard (a shard
 * without a manifest) is already in memory, and *own is then NULL. */
static int get_section(struct sections *sections, uint32_t shard,
                       const struct index_section **section, struct index_section **own,
                       struct sheaf_error *err)
{
    const int code = sections_parse(sections, shard, own, err);

    *section = code == SHEAF_END ? sections->dataset->sections[shard] : *own;
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int reading_read_some(const struct sheaf_dataset *d, size_t source, uint64_t *chosen_bytes,
                             uint64_t *read_bytes, struct sheaf_error *err)
{
    const struct order_chosen *of = &d->view->chosen[source];
    const uint64_t gap = stretch_gap(d->sources[source]->is_remote, d->read_bytes != 0);
    struct sections sections = { .dataset = d };
    uint64_t rank = 0;
    int code = SHEAF_OK;

    for (uint32_t i = of->first_shard; i < of->end_shard && code == SHEAF_OK; i++) {
        struct reading r = { .gap = gap };
        struct index_section *own;

        if (!has_chosen(of, i, rank))
            continue;
        code = get_section(&sections, i, &r.section, &own, err);
        if (code != SHEAF_OK)
            break;
        rank = reading_add_shard(&r, of, i, rank);
        *chosen_bytes += dataset_stored_bytes(d, i, r.raw_chosen);
        *read_bytes += r.read;
        index_section_free(own);
    }
    sections_close(&sections);
    return code;
}

int sheaf_dataset_reading(const struct sheaf_dataset *d, size_t source, uint64_t *chosen_bytes,
                          uint64_t *read_bytes, struct sheaf_error *err)
{
    const struct order_chosen *of;

    *chosen_bytes = *read_bytes = 0;
    if (d->view == NULL || source >= d->source_count)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: is no view with a source %zu", d->url, source);
    of = &d->view->chosen[source];
    if (of->chosen.count != of->chosen.total)
        return reading_read_some(d, source, chosen_bytes, read_bytes, err);
    for (uint32_t i = of->first_shard; i < of->end_shard; i++)
        *chosen_bytes += d->manifest.shards[i].bytes;
    *read_bytes = *chosen_bytes;
    return SHEAF_OK;
}

int sheaf_dataset_stage(const struct sheaf_dataset *d, size_t stage, uint64_t *samples,
                        const uint64_t **weights)
{
    if (d->view == NULL || stage >= d->view->mix.stage_count)
        return SHEAF_ERR_ARGUMENT;
    *samples = d->view->mix.stages[stage].samples;
    *weights = d->view->mix.stages[stage].weights;
    return SHEAF_OK;
}
