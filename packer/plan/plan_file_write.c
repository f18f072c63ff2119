/* SPDX-License-Identifier: MIT
 *
 * Writing a plan: sections as their shards end, then the facts, the table and the foot. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_file.h"

struct plan_writer {
    struct store_writer *out;
    uint64_t offset;            /* bytes written */
    struct buf block;           /* records, not yet compressed */
    struct buf packed;
    XXH3_state_t *sum;          /* of the section so far */
    struct plan_section section;
    struct buf sections;        /* struct plan_section[] of the shards that have ended */
};

static int put(struct plan_writer *w, const void *data, size_t size, struct sheaf_error *err)
{
    w->offset += size;
    return store_write(w->out, data, size, err);
}

static void begin_section(struct plan_writer *w)
{
    w->section = (struct plan_section){ .offset = w->offset };
    XXH3_64bits_reset(w->sum);
}

int plan_writer_open(const char *url, struct plan_writer **writer, struct sheaf_error *err)
{
    struct plan_writer *w = calloc(1, sizeof(*w));
    uint8_t head[PLAN_HEAD_BYTES] = PLAN_FILE_MAGIC;
    int code;

    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->block.limit = PLAN_BLOCK_LIMIT;
    w->packed.limit = w->sections.limit = SIZE_MAX / 4;
    w->sum = XXH3_createState();
    store32(head + 8, PLAN_FILE_VERSION);
    code = w->sum == NULL ? err_memory(err, 1024) : store_sweep(url, err);
    if (code == SHEAF_OK)
        code = store_create(url, &w->out, err);
    if (code == SHEAF_OK)
        code = put(w, head, sizeof(head), err);
    if (code != SHEAF_OK) {
        plan_writer_abort(w);
        return code;
    }
    begin_section(w);
    *writer = w;
    return SHEAF_OK;
}

static void writer_free(struct plan_writer *w)
{
    XXH3_freeState(w->sum);
    buf_free(&w->block);
    buf_free(&w->packed);
    buf_free(&w->sections);
    free(w);
}

void plan_writer_abort(struct plan_writer *w)
{
    if (w == NULL)
        return;
    store_abort(w->out);
    writer_free(w);
}

static int flush(struct plan_writer *w, struct sheaf_error *err)
{
    int code;

    w->packed.size = 0;
    code = plan_block_pack(&w->block, &w->packed, err);
    if (code != SHEAF_OK || w->packed.size == 0)
        return code;
    XXH3_64bits_update(w->sum, w->packed.data, w->packed.size);
    return put(w, w->packed.data, w->packed.size, err);
}

int plan_writer_add(struct plan_writer *w, const uint8_t *record, size_t size, uint64_t files,
                    struct sheaf_error *err)
{
    int code = buf_append(&w->block, record, size, err);

    if (code != SHEAF_OK)
        return code;
    w->section.files += files;
    return w->block.size >= PLAN_BLOCK_BYTES ? flush(w, err) : SHEAF_OK;
}

int plan_writer_end_shard(struct plan_writer *w, struct sheaf_error *err)
{
    int code = flush(w, err);

    if (code == SHEAF_OK) {
        w->section.bytes = w->offset - w->section.offset;
        w->section.sum = XXH3_64bits_digest(w->sum);
        code = buf_append(&w->sections, &w->section, sizeof(w->section), err);
        begin_section(w);
    }
    return code;
}

/* ---- The end --------------------------------------------------------------------------------- */

static int put_facts(struct plan_writer *w, const struct plan_facts *facts, uint64_t *foot,
                     struct sheaf_error *err)
{
    struct buf text = BUF_INIT(PLAN_FACTS_LIMIT);
    int code = plan_facts_write(facts, &text, err);

    foot[0] = w->offset;
    foot[1] = text.size;
    foot[2] = XXH3_64bits(text.data, text.size);
    if (code == SHEAF_OK)
        code = put(w, text.data, text.size, err);
    buf_free(&text);
    return code;
}

static int put_table(struct plan_writer *w, const struct plan *plan, uint64_t *foot,
                     struct sheaf_error *err)
{
    const struct plan_section *sections = (const void *)w->sections.data;
    XXH3_state_t *sum = w->sum;
    int code = SHEAF_OK;

    XXH3_64bits_reset(sum);
    foot[3] = w->offset;
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        const struct plan_section *s = &sections[i];
        const uint64_t entry[] = { s->offset, s->bytes, plan->shards[i].sample_count, s->files,
                                   plan->shards[i].payload_bytes, s->sum };

        _Static_assert(sizeof(entry) == PLAN_ENTRY_BYTES, "an entry of the table");
        XXH3_64bits_update(sum, entry, sizeof(entry));
        code = put(w, entry, sizeof(entry), err);
    }
    foot[4] = w->offset - foot[3];
    foot[5] = XXH3_64bits_digest(sum);
    return code;
}

int plan_writer_commit(struct plan_writer *w, const struct plan_facts *facts,
                       struct sheaf_error *err)
{
    uint64_t foot[PLAN_FOOT_BYTES / sizeof(uint64_t)];
    struct store_writer *out = w->out;
    int code = SHEAF_OK;

    if (w->sections.size / sizeof(struct plan_section) != facts->plan.shard_count)
        code = err_set(err, SHEAF_ERR_STATE, "%zu sections of %zu shards",
                       w->sections.size / sizeof(struct plan_section), facts->plan.shard_count);
    if (code == SHEAF_OK)
        code = put_facts(w, facts, foot, err);
    if (code == SHEAF_OK)
        code = put_table(w, &facts->plan, foot, err);
    if (code == SHEAF_OK) {
        foot[6] = XXH3_64bits(foot, 6 * sizeof(foot[0]));
        memcpy(&foot[7], PLAN_FILE_END, sizeof(foot[7]));
        code = put(w, foot, sizeof(foot), err);
    }
    if (code != SHEAF_OK) {
        plan_writer_abort(w);
        return code;
    }
    writer_free(w);
    return store_commit(out, err);
}
