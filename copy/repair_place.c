/* SPDX-License-Identifier: MIT
 *
 * The places of samples in damaged shards; see repair_place.h. */
#include "copy/repair_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/index.h"
#include "formats/interop_index.h"
#include "formats/key_table.h"
#include "formats/manifest_edit.h"
#include "packer/grow.h"
#include "reader/dataset/sections.h"
#include "reader/lookup/key_file.h"
#include "store/store.h"

/* ---- Places ---------------------------------------------------------------------------------- */

/* Finds the sample with the number `number` in the data set. Returns its place among the samples of
 * all damaged shards, or PLAN_PLACE_NONE if no damaged shard has this sample. */
static uint64_t place_of_number(const struct repair_places *p, uint64_t number)
{
    const uint64_t *firsts = p->repair->dataset->first_numbers;
    size_t low = 0, high = p->plan.shard_count;

    while (low < high) {        /* finds the first shard that begins after the number */
        const size_t middle = low + (high - low) / 2;

        if (firsts[p->shards[middle].number] <= number)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 ||
        number - firsts[p->shards[low - 1].number] >= p->shards[low - 1].sample_count)
        return PLAN_PLACE_NONE;
    return p->shards[low - 1].sample + number - firsts[p->shards[low - 1].number];
}

/* Implements plan_place_fn. */
static int find_keys_places(void *context, const char *const *keys, size_t count, uint64_t *places,
                       struct sheaf_error *err)
{
    struct repair_places *p = context;
    struct buf matches = BUF_INIT(SIZE_MAX / 4);
    uint64_t hashes[SAMPLE_BATCH];
    int code;

    for (size_t i = 0; i < count; i++) {
        hashes[i] = key_hash(keys[i]);
        places[i] = PLAN_PLACE_NONE;
    }
    code = key_file_find(p->repair->dataset, hashes, count, p->repair->options.interrupt, &matches,
                         err);
    p->lacks_keys = code == SHEAF_ERR_UNSUPPORTED || code == SHEAF_ERR_CORRUPT ||
                    code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_TRUNCATED ||
                    code == SHEAF_ERR_NOT_FOUND;
    for (size_t i = 0; code == SHEAF_OK && i < matches.size / sizeof(struct key_match); i++) {
        const struct key_match *m = (const struct key_match *)(const void *)matches.data + i;
        const uint64_t place = place_of_number(p, m->number);

        if (place != PLAN_PLACE_NONE)
            places[m->asked] = place;
    }
    buf_free(&matches);
    return code;
}

/* ---- The index ------------------------------------------------------------------------------- */

bool repair_is_edited(const struct manifest *m, size_t shard)
{
    const char *name = m->shards[shard].name;
    const size_t stem = interop_stem(m->container, m->codec, name);
    char edited[SHARD_NAME_BYTES];

    for (size_t e = 1; e <= m->edit_count; e++)
        if (manifest_edit_name(name, stem, e, edited, sizeof(edited), NULL) == SHEAF_OK &&
            strcmp(edited, name) == 0)
            return true;
    return false;
}

static bool changes_labels(const struct manifest *m)
{
    for (size_t i = 0; i < m->edit_count; i++)
        if (m->edits[i].relabelled != 0)
            return true;
    return false;
}

/* Stores the ends of the codec blocks of a shard in `made`. Stores nothing if a block begins in the
 * middle of a sample, because the packer of this release never makes such blocks. */
static int take_blocks(struct plan_made *made, const struct index_section *s,
                       struct sheaf_error *err)
{
    uint64_t *ends = calloc(s->block_count + 1, sizeof(*ends)), sample = 0;

    if (ends == NULL)
        return err_memory(err, s->block_count * sizeof(*ends));
    for (uint64_t b = 1; b < s->block_count; b++) {
        while (sample < s->samples && s->offsets[sample] < s->blocks[b].raw_offset)
            sample++;
        if (s->offsets[sample] != s->blocks[b].raw_offset) {
            free(ends);
            return SHEAF_OK;
        }
        ends[b - 1] = sample;
    }
    ends[s->block_count - 1] = s->samples;
    made->block_ends = ends;
    made->block_count = (size_t)s->block_count;
    return SHEAF_OK;
}

/* Reads the labels of the samples of an edited shard from the shard's index section. */
static int take_labels(struct repair_places *p, const struct plan_shard *shard,
                       const uint8_t *section, size_t size, struct catalog *catalog,
                       struct sheaf_error *err)
{
    const uint64_t count = shard->sample_count;
    uint32_t *labels = calloc(count + 1, sizeof(*labels));
    int code = labels == NULL ? err_memory(err, count * sizeof(*labels))
                              : index_labels(section, size, count, labels, NULL);

    if (code == SHEAF_OK)
        for (uint64_t i = 0; i < count && code == SHEAF_OK; i++) {
            const double value = (double)labels[i] - 1;

            if (labels[i] != 0)
                code = catalog_numbers(catalog, &value, 1, &p->labels[shard->sample + i], err);
        }
    else if (code != SHEAF_ERR_MEMORY)  /* the index has no labels, or is damaged, too */
        code = SHEAF_OK;
    free(labels);
    return code;
}

/* Reads the facts that the index has about a shard, if the shard's index section is not damaged. */
static int take_section(struct repair_places *p, size_t at, struct sections *sections,
                        struct catalog *catalog, struct sheaf_error *err)
{
    const struct manifest *m = p->repair->manifest;
    const struct plan_shard *shard = &p->shards[at];
    const size_t size = (size_t)m->shards[shard->number].index_bytes;
    struct index_section *section = NULL;
    uint8_t *data = NULL;
    struct sheaf_error found;
    int code = sections_read(sections, shard->number, &data, &found);

    if (code == SHEAF_OK)
        code = index_parse(data, size, shard->sample_count, &section, &found);
    if (code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_INTERRUPTED) {
        *err = found;
    } else if (code != SHEAF_OK) {
        code = SHEAF_OK;
    } else {
        if (section->blocks != NULL && section->block_count != 0)
            code = take_blocks(&p->made[at], section, err);
        if (code == SHEAF_OK && p->labels != NULL && repair_is_edited(m, shard->number))
            code = take_labels(p, shard, data, size, catalog, err);
    }
    index_section_free(section);
    free(data);
    return code;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

#define NAMES_STEP ((size_t)1 << 20)    /* bytes of a .lst that are read at once */

/* Reads the number at the beginning of each line of a .lst file. Returns SHEAF_ERR_CORRUPT unless
 * the file has one line with a number for each sample of the shard. */
static int read_numbers(struct store_object *names, uint64_t *numbers, uint64_t count,
                        struct sheaf_error *err)
{
    char *text = malloc(NAMES_STEP);
    uint64_t line = 0;
    bool in_number = true;
    int code = text == NULL ? err_memory(err, NAMES_STEP) : SHEAF_OK;

    for (uint64_t at = 0; at < names->bytes && code == SHEAF_OK; at += NAMES_STEP) {
        const size_t size = (size_t)MIN(names->bytes - at, (uint64_t)NAMES_STEP);

        code = store_read(names, at, text, size, err);
        for (size_t i = 0; i < size && code == SHEAF_OK; i++) {
            if (line == count || (in_number && text[i] != '\t' &&
                                  (text[i] < '0' || text[i] > '9')))
                code = err_set(err, SHEAF_ERR_CORRUPT, "%s: not a list of samples", names->url);
            else if (text[i] == '\n') {
                line++;
                in_number = true;
            } else if (text[i] == '\t')
                in_number = false;
            else if (in_number)
                numbers[line] = 10 * numbers[line] + (uint64_t)(text[i] - '0');
        }
    }
    free(text);
    return code == SHEAF_OK && line != count
               ? err_set(err, SHEAF_ERR_CORRUPT, "%s: has %llu lines", names->url,
                         (unsigned long long)line) : code;
}

static int open_names(const struct repair *r, size_t shard, struct store_object **names,
                      struct sheaf_error *err)
{
    const struct manifest *m = r->manifest;
    const char *name = m->shards[shard].name;
    char *url;
    int code;

    if (asprintf(&url, "%s/%.*s.lst", r->directory,
                 (int)interop_stem(m->container, m->codec, name), name) < 0)
        return err_memory(err, strlen(name));
    code = store_open(url, names, err);
    if (code == SHEAF_OK && (*names)->bytes != m->shards[shard].names_bytes)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: has another size", url);
    free(url);
    return code;
}

/* Finds the numbers (ids) that the records of a shard contain. Reads these numbers from the shard's
 * .lst file. If this file is lost, assumes that the numbers continue after the last number of the
 * previous shard. */
static int take_numbers(struct repair_places *p, size_t at, struct sheaf_error *err)
{
    const struct repair *r = p->repair;
    struct plan_shard *shard = &p->shards[at];
    struct store_object *names = NULL;
    uint64_t *numbers, last;
    bool has_last;
    int code;

    if (!format_of(r->manifest->container)->has_names)
        return SHEAF_OK;
    if (grow_last_number(r->manifest, shard->number, r->directory, &last, &has_last, NULL) ==
            SHEAF_OK && has_last)
        shard->first = last + 1;
    numbers = calloc(shard->sample_count + 1, sizeof(*numbers));
    if (numbers == NULL)
        return err_memory(err, shard->sample_count * sizeof(*numbers));
    code = open_names(r, shard->number, &names, NULL);
    if (code == SHEAF_OK)
        code = read_numbers(names, numbers, shard->sample_count, NULL);
    store_close(names);
    p->made[at].lacks_numbers = code != SHEAF_OK;
    if (code == SHEAF_OK)
        p->made[at].numbers = numbers;
    else
        free(numbers);
    return SHEAF_OK;
}

bool repair_places_forget_numbers(struct repair_places *p, size_t at)
{
    const bool had = p->made[at].numbers != NULL;

    free(p->made[at].numbers);
    p->made[at].numbers = NULL;
    return had;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int open_shards(struct repair_places *p, const bool *damaged, size_t first, size_t end,
                       struct sheaf_error *err)
{
    const struct repair *r = p->repair;
    uint64_t samples = 0;

    p->shards = calloc(end - first + 1, sizeof(p->shards[0]));
    p->made = calloc(end - first + 1, sizeof(p->made[0]));
    if (p->shards == NULL || p->made == NULL)
        return err_memory(err, (end - first) * sizeof(p->shards[0]));
    for (size_t i = first; i < end; i++) {
        const size_t at = p->plan.shard_count;

        if (!damaged[i])
            continue;
        p->shards[at] = (struct plan_shard){
            .number = (uint32_t)i, .sample = samples, .first = r->dataset->first_numbers[i],
            .sample_count = r->manifest->shards[i].samples, .made = &p->made[at],
        };
        samples += p->shards[at].sample_count;
        p->plan.shard_count++;
    }
    if (!changes_labels(r->manifest))
        return SHEAF_OK;
    p->labels = calloc(samples + 1, sizeof(p->labels[0]));
    return p->labels == NULL ? err_memory(err, samples * sizeof(p->labels[0])) : SHEAF_OK;
}

int repair_places_open(struct repair_places *p, const struct repair *r, const bool *damaged,
                       size_t first, size_t end, struct catalog *labels, struct sheaf_error *err)
{
    struct sections sections = { .dataset = r->dataset };
    int code;

    p->repair = r;
    code = open_shards(p, damaged, first, end, err);
    for (size_t i = 0; i < p->plan.shard_count && code == SHEAF_OK; i++) {
        code = take_section(p, i, &sections, labels, err);
        if (code == SHEAF_OK)
            code = take_numbers(p, i, err);
    }
    sections_close(&sections);
    p->plan.find = find_keys_places;
    p->plan.context = p;
    p->plan.shards = p->shards;
    p->plan.labels = p->labels;
    return code;
}

void repair_places_close(struct repair_places *p)
{
    for (size_t i = 0; i < p->plan.shard_count; i++) {
        (void)repair_places_forget_numbers(p, i);
        free(p->made[i].block_ends);
    }
    free(p->shards);
    free(p->made);
    free(p->labels);
}
