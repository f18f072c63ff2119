/* SPDX-License-Identifier: MIT
 *
 * Writes a plan file. The section with the samples of a shard is written when the shard ends. After
 * the last section follow the facts, the table of shards, and the end of the file. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "packer/plan/plan_file.h"

struct plan_writer {
    struct store_writer *out;
    uint64_t offset;            /* bytes written */
    struct plan_sections sections;
};

static int plan_file_write_put_bytes(void *context, const void *data, size_t size,
                                     struct sheaf_error *err)
{
    struct plan_writer *w = context;

    w->offset += size;
    return store_write(w->out, data, size, err);
}

int plan_writer_open(const char *url, struct plan_writer **writer, struct sheaf_error *err)
{
    struct plan_writer *w = calloc(1, sizeof(*w));
    uint8_t head[PLAN_HEAD_BYTES] = PLAN_FILE_MAGIC;
    int code;

    if (w == NULL)
        return err_memory(err, sizeof(*w));
    store32(head + 8, PLAN_FILE_VERSION);
    code = plan_sections_open(&w->sections, sizeof(head), plan_file_write_put_bytes, w, err);
    if (code == SHEAF_OK)
        code = store_sweep(url, err);
    if (code == SHEAF_OK)
        code = store_create(url, &w->out, err);
    if (code == SHEAF_OK)
        code = plan_file_write_put_bytes(w, head, sizeof(head), err);
    if (code == SHEAF_OK)
        *writer = w;
    else
        plan_writer_abort(w);
    return code;
}

struct plan_sections *plan_writer_sections(struct plan_writer *w)
{
    return &w->sections;
}

static void plan_file_write_writer_free(struct plan_writer *w)
{
    plan_sections_free(&w->sections);
    free(w);
}

void plan_writer_abort(struct plan_writer *w)
{
    if (w == NULL)
        return;
    store_abort(w->out);
    plan_file_write_writer_free(w);
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
        code = plan_file_write_put_bytes(w, text.data, text.size, err);
    buf_free(&text);
    return code;
}

static int put_table(struct plan_writer *w, const struct plan *plan, uint64_t *foot,
                     struct sheaf_error *err)
{
    const struct plan_section *sections = plan_sections_ended(&w->sections);
    XXH3_state_t *sum = w->sections.sum;
    int code = SHEAF_OK;

    XXH3_64bits_reset(sum);
    foot[3] = w->offset;
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        const struct plan_section *s = &sections[i];
        uint64_t entry[] = { s->offset, s->bytes, plan->shards[i].sample_count, s->files,
                             plan->shards[i].payload_bytes, s->sum };

        _Static_assert(sizeof(entry) == PLAN_ENTRY_BYTES, "an entry of the table");
        words_le(entry, COUNT_OF(entry));
        XXH3_64bits_update(sum, entry, sizeof(entry));
        code = plan_file_write_put_bytes(w, entry, sizeof(entry), err);
    }
    foot[4] = w->offset - foot[3];
    foot[5] = XXH3_64bits_digest(sum);
    return code;
}

int plan_writer_commit(struct plan_writer *w, const struct plan_facts *facts,
                       struct sheaf_error *err)
{
    uint64_t foot[PLAN_FOOT_BYTES / sizeof(uint64_t)];
    const size_t ended = w->sections.ended.size / sizeof(struct plan_section);
    struct store_writer *out = w->out;
    int code = SHEAF_OK;

    if (ended != facts->plan.shard_count)
        code = err_set(err, SHEAF_ERR_STATE, "%zu sections of %zu shard%s", ended,
                       facts->plan.shard_count, plural(facts->plan.shard_count));
    if (code == SHEAF_OK)
        code = put_facts(w, facts, foot, err);
    if (code == SHEAF_OK)
        code = put_table(w, &facts->plan, foot, err);
    if (code == SHEAF_OK) {
        words_le(foot, 6);
        foot[6] = htole64(XXH3_64bits(foot, 6 * sizeof(foot[0])));
        memcpy(&foot[7], PLAN_FILE_END, sizeof(foot[7]));
        code = plan_file_write_put_bytes(w, foot, sizeof(foot), err);
    }
    if (code != SHEAF_OK) {
        plan_writer_abort(w);
        return code;
    }
    plan_file_write_writer_free(w);
    return store_commit(out, err);
}
