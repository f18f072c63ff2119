/* SPDX-License-Identifier: MIT
 *
 * Checks a shard and the files beside it; see verify_sides.h. */
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
#include "reader/verify/name_lines.h"
#include "store/interrupt.h"
#include "store/store.h"

struct sides {
    const struct sheaf_dataset *dataset;
    uint32_t shard;
    peer_index_tell_fn *tell;
    void *context;
    struct index_section *section;      /* or NULL, if it is damaged */
    struct store_object *names;         /* the .lst file; NULL if it is not compared */
    struct name_lines lines;
    uint64_t wrong_line;                /* first wrong .lst line, from 1; or 0 */
    struct peer_index peers;
};

/* Reads the index section of the shard. Leaves s->section NULL if the section is damaged or
 * missing. */
static int sides_take_section(struct sides *s, struct sheaf_error *err)
{
    struct sections sections = { .dataset = s->dataset };
    const int code = sections_parse(&sections, s->shard, &s->section, err);

    sections_close(&sections);
    return code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_INTERRUPTED || code == SHEAF_ERR_IO ||
           code == SHEAF_ERR_NETWORK || code == SHEAF_ERR_ACCESS ? code : SHEAF_OK;
}

/* Opens the .lst file of the shard. Does nothing if the file does not exist, or if the index
 * section has no checksums with which its lines can be compared. */
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
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED ? SHEAF_OK : code;
}

/* Compares the line of a sample with the checksum in the index, which covers the frame (the stored
 * record) and the line. */
static int sides_compare_line(struct sides *s, uint64_t sample, uint32_t crc,
                              struct sheaf_error *err)
{
    const struct index_section *section = s->section;
    const char *line;
    size_t size;
    int code;

    if (s->names == NULL || s->wrong_line != 0 || sample >= section->samples)
        return SHEAF_OK;
    code = name_lines_read(&s->lines, s->names, section, sample, &line, &size, err);
    if (code == SHEAF_ERR_TRUNCATED ||
        (code == SHEAF_OK &&
         (line[size] != '\n' || crc32c(crc, line, size) != section->crcs[sample] ||
          (sample + 1 == section->samples &&
           section->name_offsets[sample + 1] != s->names->bytes)))) {
        s->wrong_line = sample + 1;
        return SHEAF_OK;
    }
    return code;
}

/* Returns whether an error code means that a file beside the shard cannot be read from a local
 * disk. Such an error does not end the check of the shard. */
static bool sides_cannot_read(const struct sides *s, int code)
{
    return !s->dataset->is_remote && (code == SHEAF_ERR_IO || code == SHEAF_ERR_ACCESS ||
                                      code == SHEAF_ERR_UNSUPPORTED);
}

/* Reads the records of the shard, and compares each with the files beside the shard. */
static int sides_compare(struct sides *s, struct walk *walk, struct sheaf_error *err)
{
    uint64_t sample = 0;
    struct frame frame;
    int code;

    while ((code = walk_next(walk, &frame, err)) == SHEAF_OK) {
        code = sides_compare_line(s, sample++, frame.crc, err);
        if (sides_cannot_read(s, code)) {
            store_close(s->names);
            s->names = NULL;
            code = SHEAF_OK;
        }
        if (code == SHEAF_OK)
            code = peer_index_add(&s->peers, &frame, err);
        if (code != SHEAF_OK)
            return code;
    }
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* Reports the files beside an intact shard (its .lst file, and index files for other programs)
 * whose content does not match the shard. */
static int sides_tell(struct sides *s, struct sheaf_error *err)
{
    char fault[100];
    int code;

    if (s->wrong_line != 0) {
        snprintf(fault, sizeof(fault), "line %" PRIu64 ": does not match the index of the shard",
                 s->wrong_line);
        s->tell(s->context, s->names->url, fault);
    }
    code = peer_index_end(&s->peers, s->tell, s->context, err);
    return sides_cannot_read(s, code) ? SHEAF_OK : code;
}

/* Opens the files beside the shard, and sets *has_any to whether there are any. */
static int sides_open(struct sides *s, bool *has_any, struct sheaf_error *err)
{
    int code = peer_index_begin(&s->peers, s->dataset, s->shard, err);

    if (code == SHEAF_OK && (s->peers.is_on || s->dataset->format->has_names))
        code = sides_take_section(s, err);
    if (code == SHEAF_OK)
        code = sides_open_names(s, err);
    code = sides_cannot_read(s, code) ? SHEAF_OK : code;
    *has_any = s->peers.is_on || s->names != NULL;
    return code;
}

/* Returns whether an error code from reading a shard means that the shard is damaged. UNSUPPORTED
 * means that a directory has the name of the shard, or that a record cannot be in an index file for
 * another program. */
static bool sides_is_damage(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_TRUNCATED || code == SHEAF_ERR_LIMIT ||
           code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_NOT_FOUND ||
           code == SHEAF_ERR_UNSUPPORTED;
}

/* Returns whether the records were compared, as far as the shard's content allows. The hash of the
 * shard then decides whether it is damaged. */
static bool sides_were_compared(int code)
{
    return code == SHEAF_OK || sides_is_damage(code);
}

int verify_sides(const struct sheaf_dataset *d, uint32_t shard, size_t limit,
                 const volatile int *interrupt, peer_index_tell_fn *tell, void *context,
                 bool *intact, struct sheaf_error *err)
{
    struct sides s = { .dataset = d, .shard = shard, .tell = tell, .context = context };
    const struct manifest_shard *m = &d->manifest.shards[shard];
    const volatile int *before = interrupt_watch(interrupt);
    struct sheaf_error found = { .code = SHEAF_OK };
    atomic_uint_fast64_t bytes = 0;
    bool has_any = false;
    struct walk walk;
    char hash[33] = "";
    int compared = SHEAF_OK, code = sides_open(&s, &has_any, err);

    if (code == SHEAF_OK) {
        code = walk_open(&walk, d, shard, s.section, limit, AHEAD_PIECES_MOST, &bytes, interrupt,
                         err);
        if (code == SHEAF_OK) {
            compared = has_any ? sides_compare(&s, &walk, &found) : SHEAF_OK;
            if (sides_were_compared(compared))
                code = walk_hash(&walk, m->xxh3, hash, err);
            walk_close(&walk);
        }
        code = sides_is_damage(code) ? SHEAF_OK : code;
    }
    *intact = code == SHEAF_OK && strcmp(hash, m->xxh3) == 0;
    if (compared != SHEAF_OK && (*intact || !sides_were_compared(compared))) {
        *err = found;
        code = compared;
    }
    if (code == SHEAF_OK && *intact)
        code = sides_tell(&s, err);
    peer_index_free(&s.peers);
    buf_free(&s.lines.bytes);
    store_close(s.names);
    index_section_free(s.section);
    interrupt_watch(before);
    return code;
}
