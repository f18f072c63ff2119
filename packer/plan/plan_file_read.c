/* SPDX-License-Identifier: MIT
 *
 * Reads a plan file. The last bytes of the file state the positions of two parts: the facts
 * (options, labels and splits of the plan) and the table of shards. For each shard, the table
 * states the position of a section, which holds the samples of the shard. Every part has a
 * checksum, and every size is compared with the size of the file before it is used. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "packer/plan/plan_file.h"

/* LZ4's largest ratio of uncompressed to compressed bytes. */
#define LZ4_MOST 256

/* ---- Head and foot --------------------------------------------------------------------------- */

struct foot {
    uint64_t facts, facts_bytes, facts_sum, table, table_bytes, table_sum;
};

static int read_head(struct store_object *object, uint32_t *version, struct sheaf_error *err)
{
    uint8_t head[PLAN_HEAD_BYTES];
    int code;

    if (object->is_stream || object->bytes < sizeof(head))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: not a plan", object->url);
    code = store_read(object, 0, head, sizeof(head), err);
    if (code != SHEAF_OK)
        return code;
    if (memcmp(head, PLAN_FILE_MAGIC, 8) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: not a plan: its first bytes are wrong",
                       object->url);
    *version = load32(head + 8);
    if (*version == 0 || *version > PLAN_FILE_VERSION)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a plan of version %u, expected version "
                       "1 to %u", object->url, *version, PLAN_FILE_VERSION);
    if (load32(head + 12) != 0)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: damaged: bytes 12 to 15 are not zero",
                       object->url);
    return SHEAF_OK;
}

static int read_foot(struct store_object *object, struct foot *foot, struct sheaf_error *err)
{
    uint64_t words[PLAN_FOOT_BYTES / sizeof(uint64_t)];
    int code;

    if (object->bytes < PLAN_HEAD_BYTES + PLAN_FOOT_BYTES)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %llu byte%s, a plan has at least %u",
                       object->url, (unsigned long long)object->bytes, plural(object->bytes),
                       PLAN_HEAD_BYTES + PLAN_FOOT_BYTES);
    code = store_read(object, object->bytes - sizeof(words), words, sizeof(words), err);
    if (code != SHEAF_OK)
        return code;
    if (memcmp(&words[7], PLAN_FILE_END, sizeof(words[7])) != 0)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: truncated after %llu byte%s: the end of "
                       "the plan is missing", object->url, (unsigned long long)object->bytes,
                       plural(object->bytes));
    if (le64toh(words[6]) != XXH3_64bits(words, 6 * sizeof(words[0])))
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: its last %u bytes are damaged", object->url,
                       PLAN_FOOT_BYTES);
    *foot = (struct foot){ load64(&words[0]), load64(&words[1]), load64(&words[2]),
                           load64(&words[3]), load64(&words[4]), load64(&words[5]) };
    if (foot->facts < PLAN_HEAD_BYTES || foot->facts_bytes > PLAN_FACTS_LIMIT ||
        foot->facts > object->bytes || foot->facts + foot->facts_bytes != foot->table ||
        foot->table_bytes > object->bytes ||
        foot->table + foot->table_bytes + PLAN_FOOT_BYTES != object->bytes)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: its parts do not add up to its %llu byte%s",
                       object->url, (unsigned long long)object->bytes, plural(object->bytes));
    return SHEAF_OK;
}

/* ---- Facts and table ------------------------------------------------------------------------- */

/* Reads `bytes` bytes at `offset` of the plan file into `room`, and verifies their checksum. */
static int plan_file_read_part(struct store_object *object, uint64_t offset, uint64_t bytes,
                               uint64_t sum, const char *what, struct buf *room,
                               const uint8_t **data, struct sheaf_error *err)
{
    int code;

    room->size = 0;
    code = buf_reserve(room, MAX(bytes, 1), err);
    *data = room->data;
    if (code == SHEAF_OK)
        code = store_read(object, offset, room->data, bytes, err);
    if (code == SHEAF_OK && XXH3_64bits(*data, bytes) != sum)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: %s at offset %llu is damaged (checksum "
                       "%016llx, expected %016llx)", object->url, what,
                       (unsigned long long)offset,
                       (unsigned long long)XXH3_64bits(*data, bytes), (unsigned long long)sum);
    return code;
}

/* Parses the entry of shard `i` in the plan file's table of shards. Returns an error unless the
 * shard's section begins at `offset`, where the previous section ends. */
static int plan_file_read_take_entry(struct plan_file *file, size_t i, const uint8_t *entry,
                                     uint64_t offset, uint64_t end, struct sheaf_error *err)
{
    struct plan_section *section = &file->sections[i];
    struct plan_shard *shard = &file->facts.plan.shards[i];
    const bool is_of_files = file->facts.fingerprint[0] == '\0' &&
                             !plan_facts_is_column(&file->facts);

    section->offset = load64(entry);
    section->bytes = load64(entry + 8);
    shard->sample_count = load64(entry + 16);
    section->files = load64(entry + 24);
    shard->payload_bytes = shard->largest = load64(entry + 32);
    section->sum = load64(entry + 40);
    if (section->offset != offset || section->bytes > end - offset ||
        shard->sample_count == 0 ||
        (is_of_files && (shard->sample_count > section->files ||
                         section->files > UINT32_MAX / 2 ||
                         section->files / LZ4_MOST > section->bytes)) ||
        (!is_of_files && (section->files != 0 || section->bytes != 0)) ||
        shard->payload_bytes > (uint64_t)1 << 62)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: malformed: entry %zu of the table",
                       file->object->url, i);
    return SHEAF_OK;
}

/* Computes the number of the first sample of each shard, within its split and within the whole
 * plan. */
static int place_shards(struct plan_file *file, struct sheaf_error *err)
{
    struct plan *plan = &file->facts.plan;

    for (uint32_t s = 0; s < plan->split_count; s++) {
        struct plan_split *split = &plan->splits[s];

        split->sample = plan->sample_count;
        for (uint32_t k = 0; k < split->shard_count; k++) {
            struct plan_shard *shard = &plan->shards[split->shard + k];

            shard->split = s;
            shard->number = k;
            shard->sample = plan->sample_count;
            shard->first = split->sample_count;
            split->sample_count += shard->sample_count;
            split->payload_bytes += shard->payload_bytes;
            plan->sample_count += shard->sample_count;
            if (__builtin_add_overflow(plan->payload_bytes, shard->payload_bytes,
                                       &plan->payload_bytes) ||
                plan->payload_bytes > (uint64_t)1 << 62)
                return err_set(err, SHEAF_ERR_CORRUPT, "%s: malformed: its shards have more than "
                               "2^62 bytes", file->object->url);
            file->facts.files += file->sections[split->shard + k].files;
        }
    }
    return SHEAF_OK;
}

static int read_table(struct plan_file *file, const struct foot *foot, struct sheaf_error *err)
{
    struct plan *plan = &file->facts.plan;
    struct buf room = BUF_INIT(SIZE_MAX / 4);
    uint64_t offset = PLAN_HEAD_BYTES;
    const uint8_t *table;
    int code;

    if (foot->table_bytes != (uint64_t)plan->shard_count * PLAN_ENTRY_BYTES)
        return err_set(err, SHEAF_ERR_CORRUPT, "%s: malformed: a table of %llu byte%s for %zu "
                       "shard%s", file->object->url, (unsigned long long)foot->table_bytes,
                       plural(foot->table_bytes), plan->shard_count, plural(plan->shard_count));
    plan->shards = calloc(plan->shard_count, sizeof(plan->shards[0]));
    file->sections = calloc(plan->shard_count, sizeof(file->sections[0]));
    if (plan->shards == NULL || file->sections == NULL)
        return err_memory(err, plan->shard_count * sizeof(plan->shards[0]));
    code = plan_file_read_part(file->object, foot->table, foot->table_bytes, foot->table_sum,
                               "the table", &room, &table, err);
    for (size_t i = 0; i < plan->shard_count && code == SHEAF_OK; i++) {
        code = plan_file_read_take_entry(file, i, table + i * PLAN_ENTRY_BYTES, offset, foot->facts,
                                         err);
        offset += file->sections[i].bytes;
    }
    if (code == SHEAF_OK && offset != foot->facts)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: malformed: its sections end at %llu, its "
                       "facts begin at %llu", file->object->url, (unsigned long long)offset,
                       (unsigned long long)foot->facts);
    buf_free(&room);
    return code == SHEAF_OK ? place_shards(file, err) : code;
}

static int read_facts(struct plan_file *file, const struct foot *foot, struct sheaf_error *err)
{
    struct buf room = BUF_INIT(SIZE_MAX / 4);
    const uint8_t *data;
    int code = plan_file_read_part(file->object, foot->facts, foot->facts_bytes, foot->facts_sum,
                                   "what it says as a whole", &room, &data, err);

    if (code == SHEAF_OK) {
        code = plan_facts_read(data, foot->facts_bytes, file->version, &file->facts, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", file->object->url);
    }
    buf_free(&room);
    return code;
}

int plan_file_open(const char *url, struct plan_file *file, struct sheaf_error *err)
{
    struct foot foot = { 0 };
    int code;

    *file = (struct plan_file){ .object = NULL };
    code = store_open(url, &file->object, err);
    if (code == SHEAF_OK)
        code = read_head(file->object, &file->version, err);
    if (code == SHEAF_OK)
        code = read_foot(file->object, &foot, err);
    if (code == SHEAF_OK)
        code = read_facts(file, &foot, err);
    if (code == SHEAF_OK)
        code = read_table(file, &foot, err);
    if (code != SHEAF_OK)
        plan_file_close(file);
    return code;
}

void plan_file_close(struct plan_file *file)
{
    store_close(file->object);
    free(file->sections);
    plan_facts_free(&file->facts);
    *file = (struct plan_file){ .object = NULL };
}

bool plan_file_is(const char *url)
{
    struct store_object *object;
    uint64_t bytes;
    bool is = false;
    char head[8];

    if (store_size(url, &bytes, NULL) != SHEAF_OK || bytes == UINT64_MAX ||
        bytes < sizeof(head) || store_open(url, &object, NULL) != SHEAF_OK)
        return false;
    is = !object->is_stream && store_read(object, 0, head, sizeof(head), NULL) == SHEAF_OK &&
         memcmp(head, PLAN_FILE_MAGIC, sizeof(head)) == 0;
    store_close(object);
    return is;
}

/* ---- Sections -------------------------------------------------------------------------------- */

static int plan_file_read_section(const void *context, size_t shard, struct buf *room,
                                  const uint8_t **data, struct sheaf_error *err)
{
    const struct plan_file *file = context;
    const struct plan_section *section = &file->sections[shard];

    return plan_file_read_part(file->object, section->offset, section->bytes, section->sum,
                               "a shard's section", room, data, err);
}

struct plan_rows plan_file_rows(const struct plan_file *file)
{
    return (struct plan_rows){ &file->facts.plan, file->sections, plan_file_read_section, file,
                               file->object->url };
}
