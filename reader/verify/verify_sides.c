/* SPDX-License-Identifier: MIT
 *
 * Compares the files beside a shard with the shard; see verify_sides.h. */
#include "reader/verify/verify_sides.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/index.h"
#include "reader/dataset/sections.h"
#include "reader/dataset/shard_walk.h"
#include "store/interrupt.h"
#include "store/store.h"

#define LINES_STEP ((size_t)1 << 16)    /* bytes of a .lst that are read at once */
#define LEAST_FRAME ((uint64_t)4096)

struct sides {
    const struct sheaf_dataset *dataset;
    uint32_t shard;
    peer_index_tell_fn *tell;
    void *context;
    struct index_section *section;      /* or NULL, if it is damaged */
    /* the .lst file; NULL if there is none, or if its first fault was told */
    struct store_object *names;
    struct buf lines;                   /* a part of the .lst file, */
    uint64_t lines_offset;              /* and where it begins */
    struct peer_index peers;
};

/* Reads the index section of the shard. Leaves s->section NULL if the section is damaged or
 * missing. */
static int sides_take_section(struct sides *s, struct sheaf_error *err)
{
    const struct manifest_shard *m = &s->dataset->manifest.shards[s->shard];
    struct sections sections = { .dataset = s->dataset };
    uint8_t *data = NULL;
    int code = sections_read(&sections, s->shard, &data, err);

    if (code == SHEAF_OK)
        code = index_parse(data, (size_t)m->index_bytes, m->samples, &s->section, err);
    free(data);
    sections_close(&sections);
    return code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_INTERRUPTED || code == SHEAF_ERR_IO ||
           code == SHEAF_ERR_NETWORK || code == SHEAF_ERR_ACCESS ? code : SHEAF_OK;
}

/* Opens the .lst file, if the shard has one with which its index section can be compared. */
static int sides_open_names(struct sides *s, struct sheaf_error *err)
{
    const struct manifest *m = &s->dataset->manifest;
    const char *name = m->shards[s->shard].name, *url = s->dataset->urls[s->shard];
    const int stem = (int)(strlen(url) - strlen(name) + interop_stem(m->container, m->codec, name));
    char *names;
    int code;

    if (s->section == NULL || s->section->name_offsets == NULL || s->section->crcs == NULL)
        return SHEAF_OK;
    if (asprintf(&names, "%.*s.lst", stem, url) < 0)
        return err_memory(err, strlen(url));
    code = store_open(names, &s->names, err);
    free(names);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ARGUMENT ? SHEAF_OK : code;
}

static void sides_tell_names(struct sides *s, uint64_t sample)
{
    char fault[100];

    snprintf(fault, sizeof(fault), "line %" PRIu64 ": does not match the index of the shard",
             sample + 1);
    s->tell(s->context, s->names->url, fault);
    store_close(s->names);
    s->names = NULL;
}

/* Compares the line of a sample with the checksum in the index, which covers the frame (the stored
 * record) and the line. */
static int sides_compare_line(struct sides *s, uint64_t sample, uint32_t crc,
                              struct sheaf_error *err)
{
    const uint64_t begin = s->section->name_offsets[sample];
    const uint64_t end = s->section->name_offsets[sample + 1], all = s->names->bytes;
    const char *line;
    int code = SHEAF_OK;

    if (end > all || end <= begin || (sample + 1 == s->section->samples && end != all)) {
        sides_tell_names(s, sample);
        return SHEAF_OK;
    }
    if (begin < s->lines_offset || end > s->lines_offset + s->lines.size) {
        const size_t wanted = (size_t)MIN(MAX(end - begin, (uint64_t)LINES_STEP), all - begin);

        s->lines.size = 0;
        code = buf_reserve(&s->lines, wanted, err);
        if (code == SHEAF_OK)
            code = store_read(s->names, begin, s->lines.data, wanted, err);
        if (code != SHEAF_OK)
            return code;
        s->lines.size = wanted;
        s->lines_offset = begin;
    }
    line = (const char *)s->lines.data + (begin - s->lines_offset);
    if (line[end - begin - 1] != '\n' ||
        crc32c(crc, line, (size_t)(end - begin - 1)) != s->section->crcs[sample])
        sides_tell_names(s, sample);
    return SHEAF_OK;
}

static int sides_compare(struct sides *s, struct walk *walk, struct sheaf_error *err)
{
    uint64_t sample = 0;
    struct frame frame;
    int code;

    while ((code = walk_next(walk, &frame, err)) == SHEAF_OK) {
        if (s->names != NULL && sample < s->section->samples)
            code = sides_compare_line(s, sample, frame.crc, err);
        sample++;
        if (code == SHEAF_OK)
            code = peer_index_add(&s->peers, &frame, err);
        if (code != SHEAF_OK)
            return code;
    }
    return code == SHEAF_END ? peer_index_end(&s->peers, s->tell, s->context, err) : code;
}

/* Returns whether the shard has files beside it. */
static bool sides_exist(const struct sides *s)
{
    return s->peers.is_on || s->names != NULL;
}

int verify_sides(const struct sheaf_dataset *d, uint32_t shard, const volatile int *interrupt,
                 peer_index_tell_fn *tell, void *context, struct sheaf_error *err)
{
    struct sides s = { .dataset = d, .shard = shard, .tell = tell, .context = context,
                       .lines = BUF_INIT(SIZE_MAX) };
    const volatile int *before = interrupt_watch(interrupt);
    atomic_uint_fast64_t bytes = 0;
    struct walk walk;
    int code = sides_take_section(&s, err);

    if (code == SHEAF_OK)
        code = sides_open_names(&s, err);
    if (code == SHEAF_OK)
        code = peer_index_begin(&s.peers, d, shard, err);
    if (code == SHEAF_OK && sides_exist(&s)) {
        code = walk_open(&walk, d, shard, s.section,
                         (size_t)MAX(d->manifest.shards[shard].largest, LEAST_FRAME), &bytes,
                         interrupt, err);
        if (code == SHEAF_OK) {
            code = sides_compare(&s, &walk, err);
            walk_close(&walk);
        }
    }
    peer_index_free(&s.peers);
    buf_free(&s.lines);
    store_close(s.names);
    index_section_free(s.section);
    interrupt_watch(before);
    return code;
}
