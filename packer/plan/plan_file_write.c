/* SPDX-License-Identifier: MIT
 *
 * Writes a plan file. After its head follow the sections with the samples of each shard, the facts,
 * the table of shards, and the end of the file. */
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_file.h"

/* Largest number of bytes of the sections that are in memory while they are copied. */
#define COPY_BYTES ((uint64_t)256 << 10)

int plan_file_create(const char *url, struct store_writer **out, struct sheaf_error *err)
{
    const int code = store_sweep(url, err);

    return code == SHEAF_OK ? store_create(url, out, err) : code;
}

static int plan_file_write_head(struct store_writer *out, struct sheaf_error *err)
{
    uint8_t head[PLAN_HEAD_BYTES] = PLAN_FILE_MAGIC;

    store32(head + 8, PLAN_FILE_VERSION);
    return store_write(out, head, sizeof(head), err);
}

static int copy_sections(struct store_writer *out, const struct plan_sections *sections,
                         struct sheaf_error *err)
{
    const struct tempfile *from = &sections->blocks;
    struct buf room = BUF_INIT(SIZE_MAX / 4);
    int code = SHEAF_OK;

    for (uint64_t at = 0; at < from->size && code == SHEAF_OK; at += COPY_BYTES) {
        const size_t size = (size_t)MIN(from->size - at, COPY_BYTES);
        const uint8_t *data;

        code = tempfile_view(from, at, size, &room, &data, err);
        if (code == SHEAF_OK)
            code = store_write(out, data, size, err);
    }
    buf_free(&room);
    return code;
}

/* Makes the table of shards, which states the place of each shard's section in the file. */
static int make_table(const struct plan *plan, const struct plan_sections *sections,
                      struct buf *table, struct sheaf_error *err)
{
    const struct plan_section none = { .sum = XXH3_64bits(NULL, 0) };
    int code = SHEAF_OK;

    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        const struct plan_section *s = sections == NULL ? &none
                                                        : &plan_sections_ended(sections)[i];
        uint64_t entry[] = { PLAN_HEAD_BYTES + s->offset, s->bytes, plan->shards[i].sample_count,
                             s->files, plan->shards[i].payload_bytes, s->sum };

        _Static_assert(sizeof(entry) == PLAN_ENTRY_BYTES, "an entry of the table");
        words_le(entry, COUNT_OF(entry));
        code = buf_append(table, entry, sizeof(entry), err);
    }
    return code;
}

/* Writes the facts and the table, and the foot with their places and checksums. The facts begin at
 * `offset`. */
static int write_rest(struct store_writer *out, const struct buf *facts, const struct buf *table,
                      uint64_t offset, struct sheaf_error *err)
{
    uint64_t foot[PLAN_FOOT_BYTES / sizeof(uint64_t)] = {
        offset, facts->size, XXH3_64bits(facts->data, facts->size),
        offset + facts->size, table->size, XXH3_64bits(table->data, table->size),
    };
    int code = store_write(out, facts->data, facts->size, err);

    if (code == SHEAF_OK)
        code = store_write(out, table->data, table->size, err);
    words_le(foot, 6);
    foot[6] = htole64(XXH3_64bits(foot, 6 * sizeof(foot[0])));
    memcpy(&foot[7], PLAN_FILE_END, sizeof(foot[7]));
    return code == SHEAF_OK ? store_write(out, foot, sizeof(foot), err) : code;
}

int plan_file_write(struct store_writer *out, const struct plan_facts *facts,
                    const struct plan_sections *sections, struct sheaf_error *err)
{
    struct buf text = BUF_INIT(PLAN_FACTS_LIMIT), table = BUF_INIT(SIZE_MAX / 4);
    const uint64_t bytes = sections == NULL ? 0 : sections->blocks.size;
    int code = plan_facts_write(facts, &text, err);

    if (code == SHEAF_OK)
        code = make_table(&facts->plan, sections, &table, err);
    if (code == SHEAF_OK)
        code = plan_file_write_head(out, err);
    if (code == SHEAF_OK && sections != NULL)
        code = copy_sections(out, sections, err);
    if (code == SHEAF_OK)
        code = write_rest(out, &text, &table, PLAN_HEAD_BYTES + bytes, err);
    buf_free(&text);
    buf_free(&table);
    if (code == SHEAF_OK)
        return store_commit(out, err);
    store_abort(out);
    return code;
}
