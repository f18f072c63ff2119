/* SPDX-License-Identifier: MIT
 *
 * Naming shards, finding finished ones, and publishing: index, peers' files, report, and last of
 * all the manifest. */
#include "packer/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/interop_index.h"
#include "formats/manifest.h"
#include "packer/entries.h"
#include "packer/output_remove.h"
#include "store/store.h"

/* ---- Life ------------------------------------------------------------------------------------ */

/* Finished shards are read in such pieces, to be checked. */
#define CHECK_BYTES ((size_t)1 << 20)

/* A journal knows the shards of a program by no plan. */
#define NO_PLAN "00000000000000000000000000000000"

int target_open(struct target *o, const char *dest, const struct block_setup *setup,
                const char *prefix, const struct plan *plan, struct sheaf_error *err)
{
    int code;

    *o = (struct target){ .dest = dest, .setup = setup, .prefix = prefix, .lock = -1 };
    code = journal_open(&o->journal, dest, err);
    if (code != SHEAF_OK)
        return code;
    o->split_count = plan == NULL ? 1 : plan->split_count;
    o->journal.plan.split_count = o->split_count;
    snprintf(o->plan_hash, PLAN_HASH_SIZE, "%s", plan == NULL ? NO_PLAN : plan->hash);
    snprintf(o->journal.plan.hash, PLAN_HASH_SIZE, "%s", plan == NULL ? NO_PLAN : plan->identity);
    snprintf(o->journal.plan.prefix, SHARD_NAME_BYTES, "%s", prefix);
    for (uint32_t i = 0; i < o->split_count; i++) {
        const char *split = plan == NULL ? "" : plan->splits[i].name;

        snprintf(o->journal.plan.splits[i], SPLIT_NAME_BYTES, "%s", split);
        o->shard_counts[i] = plan == NULL ? 0 : plan->splits[i].shard_count;
        o->directories[i] = split[0] == '\0' ? strdup(dest) : store_join(dest, split);
        if (o->directories[i] == NULL)
            return err_memory(err, strlen(dest));
    }
    return SHEAF_OK;
}

void target_close(struct target *o)
{
    for (uint32_t i = 0; i < o->split_count; i++)
        free(o->directories[i]);
    o->split_count = 0;
    store_unlock(o->lock);
    o->lock = -1;
    journal_close(&o->journal);
}

/* ---- Shards ---------------------------------------------------------------------------------- */

int target_shard_name(const struct target *o, const struct plan_shard *shard,
                      char name[SHARD_NAME_BYTES], struct sheaf_error *err)
{
    return shard_name(name, o->setup, o->prefix, shard->number, o->shard_counts[shard->split],
                      err);
}

/* Of most samples: a header or two, padding, and names. */
#define SAMPLE_MORE_BYTES 4096u

uint64_t target_shard_bytes(const struct plan_shard *shard)
{
    return shard->payload_bytes + SAMPLE_MORE_BYTES * shard->sample_count;
}

int target_open_shard(const struct target *o, const struct plan_shard *shard,
                      struct part_memory *memory, struct shard_writer **writer,
                      struct sheaf_error *err)
{
    char name[SHARD_NAME_BYTES];
    int code = target_shard_name(o, shard, name, err);

    if (code == SHEAF_OK)
        code = shard_writer_open(writer, o->setup, o->directories[shard->split], name, memory,
                                 target_shard_bytes(shard), err);
    return code;
}

static int hash_object(struct store_object *object, void *buffer, XXH3_state_t *state,
                       struct sheaf_error *err)
{
    int code = SHEAF_OK;

    XXH3_128bits_reset(state);
    for (uint64_t at = 0; at < object->bytes && code == SHEAF_OK;) {
        const size_t size = (size_t)MIN(object->bytes - at, CHECK_BYTES);

        code = store_read(object, at, buffer, size, err);
        if (code == SHEAF_OK)
            XXH3_128bits_update(state, buffer, size);
        at += size;
    }
    return code;
}

/* What a file that is there, but another one, makes opening and reading say. */
static bool is_another(int code)
{
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ARGUMENT ||
           code == SHEAF_ERR_TRUNCATED || code == SHEAF_ERR_CHANGED;
}

/* *has: an object is there with this size and hash. */
static int check_object(const char *url, uint64_t bytes, const char *hash, bool *has,
                        struct sheaf_error *err)
{
    XXH3_state_t *state = XXH3_createState();
    struct store_object *object = NULL;
    void *buffer = malloc(CHECK_BYTES);
    char found[HASH_TEXT_BYTES] = "";
    int code = state == NULL || buffer == NULL ? err_memory(err, CHECK_BYTES)
                                               : store_open(url, &object, err);

    if (code == SHEAF_OK && !object->is_stream && object->bytes == bytes) {
        code = hash_object(object, buffer, state, err);
        hash_text(XXH3_128bits_digest(state), found);
    }
    *has = code == SHEAF_OK && strncmp(found, hash, HASH_TEXT_BYTES - 1) == 0;
    store_close(object);
    XXH3_freeState(state);
    free(buffer);
    return is_another(code) ? SHEAF_OK : code;
}

static int check_file(const char *directory, const char *name, uint64_t bytes, const char *hash,
                      bool *has, struct sheaf_error *err)
{
    char *url = store_join(directory, name);
    const int code = url == NULL ? err_memory(err, strlen(name))
                                 : check_object(url, bytes, hash, has, err);

    free(url);
    return code;
}

int target_check_shard(const struct target *o, uint32_t split, const struct journal_entry *entry,
                       bool *intact, struct sheaf_error *err)
{
    const char *directory = o->directories[split];
    const char *at = (const char *)entry->sides.data, *end = at + entry->sides.size;
    char name[SHARD_NAME_BYTES], hash[HASH_TEXT_BYTES];
    uint64_t bytes;
    int code = SHEAF_OK;

    *intact = true;
    while (at < end && *intact && code == SHEAF_OK) {
        *intact = journal_take_side(&at, end, name, &bytes, hash);
        if (*intact)
            code = check_file(directory, name, bytes, hash, intact, err);
    }
    if (code == SHEAF_OK && *intact)
        code = check_file(directory, entry->facts.name, entry->facts.bytes, entry->facts.xxh3,
                          intact, err);
    return code;
}

bool target_is_intact(const struct target *o, uint32_t split, const struct journal_entry *entry)
{
    bool intact;

    return target_check_shard(o, split, entry, &intact, NULL) == SHEAF_OK && intact;
}

int target_find_shard(const struct target *o, uint32_t split, const char *name,
                      struct journal_entry *entry, bool *found, struct sheaf_error *err)
{
    const int code = journal_get(&o->journal, o->journal.plan.splits[split], name, entry, err);

    *found = code == SHEAF_OK && target_is_intact(o, split, entry);
    return code == SHEAF_END ? SHEAF_OK : code;
}

/* ---- Publishing ------------------------------------------------------------------------------ */

/* Where files of a data set go. */
struct place {
    const struct target *target;
    const char *directory;
};

static int put_file(void *context, const char *name, const void *data, size_t size,
                    struct sheaf_error *err)
{
    const struct place *p = context;
    const char *slash = strrchr(name, '/');
    char *url = store_join(p->directory, name), *above = NULL;
    int code = url == NULL ? err_memory(err, strlen(name)) : SHEAF_OK;

    if (code == SHEAF_OK && slash != NULL) {
        above = strndup(url, strlen(url) - strlen(slash));
        code = above == NULL ? err_memory(err, strlen(url)) : store_make_directory(above, err);
    }
    if (code == SHEAF_OK)
        code = target_put_over(p->target, p->directory, name, data, size, err);
    free(above);
    free(url);
    return code;
}

static int describe_shard(struct manifest *m, const struct journal_entry *entry,
                          struct sheaf_error *err)
{
    const struct shard_facts *f = &entry->facts;
    struct manifest_shard *s = &m->shards[m->shard_count];

    *s = (struct manifest_shard){
        .name = strdup(f->name), .bytes = f->bytes, .raw_bytes = f->raw_bytes,
        .payload_bytes = f->payload_bytes, .samples = f->samples, .largest = f->largest,
        .index_offset = m->index_bytes, .index_bytes = entry->section.size,
        .names_bytes = f->names_bytes,
    };
    memcpy(s->xxh3, f->xxh3, sizeof(s->xxh3));
    if (s->name == NULL)
        return err_memory(err, strlen(f->name));
    m->shard_count++;
    m->index_bytes += entry->section.size;
    return SHEAF_OK;
}

static bool shard_of_split(const void *context, uint64_t number, struct plan_shard *shard)
{
    *shard = (struct plan_shard){ .split = *(const uint32_t *)context,
                                  .number = (uint32_t)number };
    return true;
}

uint64_t target_entry_sum(const struct journal_entry *entry)
{
    return XXH3_64bits_withSeed(entry->section.data, entry->section.size,
                                XXH3_64bits(entry->facts.xxh3, sizeof(entry->facts.xxh3)));
}

/* The shards of a plan are those of its first split, then those of the next. */
static uint64_t first_of(const struct target *o, uint32_t split)
{
    uint64_t first = 0;

    for (uint32_t s = 0; s < split; s++)
        first += o->shard_counts[s];
    return first;
}

/* Joins the sections, as the journal has them, and gathers the manifest on the way. */
static int write_index(const struct target *o, uint32_t split, uint64_t shard_count,
                       struct manifest *m, struct store_writer *writer, struct sheaf_error *err)
{
    const uint64_t *checked = o->checked == NULL ? NULL : o->checked + first_of(o, split);
    struct entries *entries = NULL;
    int code = entries_open(o, shard_count, shard_of_split, &split, &entries, err);

    for (uint64_t k = 0; k < shard_count && code == SHEAF_OK; k++) {
        const struct journal_entry *entry;

        code = entries_next(entries, &entry, err);
        if (code == SHEAF_END ||
            (code == SHEAF_OK && checked != NULL && target_entry_sum(entry) != checked[k]))
            code = err_set(err, SHEAF_ERR_CHANGED, "%s: the entry of shard %llu vanished or was "
                           "changed", o->journal.directory, (unsigned long long)k);
        if (code == SHEAF_OK)
            code = describe_shard(m, entry, err);
        if (code == SHEAF_OK)
            code = store_write(writer, entry->section.data, entry->section.size, err);
    }
    entries_close(entries);
    return code;
}

static int put_index(const struct target *o, uint32_t split, uint64_t shard_count,
                     struct manifest *m, struct sheaf_error *err)
{
    char *url = store_join(o->directories[split], INDEX_NAME);
    struct store_writer *writer = NULL;
    struct store_seen seen, now;
    int code = url == NULL ? err_memory(err, strlen(o->dest)) : store_see(url, &seen, err);

    if (code == SHEAF_OK)
        code = store_create(url, &writer, err);
    if (code == SHEAF_OK)
        code = write_index(o, split, shard_count, m, writer, err);
    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK)
        code = store_commit_over(writer, &seen, &now, err);
    else
        store_abort(writer);
    free(url);
    return code;
}

static int put_peers(const struct target *o, uint32_t split, const struct manifest *m,
                     struct sheaf_error *err)
{
    const char *name = o->journal.plan.splits[split];
    struct place place = { o, o->directories[split] };
    struct peers_writer peers;
    int code = peers_open(&peers, o->setup->peers, m->container, m->codec, err);

    if (code == SHEAF_OK)
        code = peers_finish_dataset(&peers, m, name[0] == '\0' ? NULL : name, put_file, &place,
                                    err);
    peers_free(&peers);
    return code;
}

/* Only where nothing is, or what the run itself has put there, or a data set of its plan. */
static int check_free(const struct target *o, const char *directory,
                      const struct manifest_look *look, struct sheaf_error *err)
{
    struct manifest m;
    char *hash = NULL;
    bool is_own = look->is_dataset ? false : strcmp(look->run, o->journal.plan.run) == 0;

    if (!look->seen.is_there || is_own)
        return SHEAF_OK;
    if (look->is_dataset && target_read_manifest(directory, &m, NULL) == SHEAF_OK) {
        hash = target_option(&m, "plan");
        is_own = hash != NULL && strcmp(hash, o->plan_hash) == 0;
        manifest_clear(&m);
        free(hash);
    }
    return is_own ? SHEAF_OK : err_set(err, SHEAF_ERR_CHANGED, "%s: another data set was put "
                                       "there meanwhile", directory);
}

static int put_manifest(struct target *o, uint32_t split, struct manifest *m,
                        struct sheaf_error *err)
{
    char *url = store_join(o->directories[split], MANIFEST_NAME);
    struct buf text = BUF_INIT(MANIFEST_LIMIT);
    struct manifest_look look;
    struct store_seen now;
    int code = url == NULL ? err_memory(err, strlen(o->dest)) : manifest_write(m, &text, err);

    if (code == SHEAF_OK)
        code = target_look_manifest(o->directories[split], &look, err);
    if (code == SHEAF_OK)
        code = check_free(o, o->directories[split], &look, err);
    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK) {
        o->is_visible = true;
        code = store_put_over(url, text.data, text.size, &look.seen, &now, err);
    }
    buf_free(&text);
    free(url);
    return code;
}

static int start_manifest(const struct target *o, const struct target_facts *facts,
                          uint64_t shard_count, struct manifest *m, struct sheaf_error *err)
{
    const struct codec_ops *codec = o->setup->codec;

    *m = (struct manifest){
        .container = o->setup->format->id,
        .codec = codec == NULL ? SHEAF_CODEC_NONE : codec->id,
        .single_member = codec != NULL && codec->single_member,
        .ours = true,
        .cls_is_label = facts->cls_is_label,
        .label_base = facts->label_base,
        .options_json = strdup(facts->options_json),
        .shards = calloc(MAX(shard_count, 1), sizeof(m->shards[0])),
        .classes = facts->class_count == 0 ? NULL
                                           : calloc(facts->class_count, sizeof(m->classes[0])),
    };
    if (m->options_json == NULL || m->shards == NULL ||
        (facts->class_count != 0 && m->classes == NULL))
        return err_memory(err, shard_count * sizeof(m->shards[0]));
    for (size_t i = 0; i < facts->class_count; i++) {
        m->classes[i] = strdup(facts->classes[i]);
        if (m->classes[i] == NULL)
            return err_memory(err, strlen(facts->classes[i]));
        m->class_count++;
    }
    return SHEAF_OK;
}

int target_publish(struct target *o, uint32_t split, uint64_t shard_count,
                   const struct target_facts *facts, struct sheaf_error *err)
{
    struct manifest m;
    int code = start_manifest(o, facts, shard_count, &m, err);

    if (code == SHEAF_OK)
        code = put_index(o, split, shard_count, &m, err);
    if (code == SHEAF_OK)
        code = put_peers(o, split, &m, err);
    if (code == SHEAF_OK)
        code = put_manifest(o, split, &m, err);
    manifest_clear(&m);
    return code;
}

int target_report(const struct target *o, struct problems *problems, struct sheaf_error *err)
{
    struct buf text = BUF_INIT(SIZE_MAX / 4);
    int code;

    problems_sort(problems);
    code = problems_write(problems, 0, &text, err);
    if (code == SHEAF_OK)
        code = text.size == 0 ? target_remove(o, o->dest, SKIPPED_NAME, err)
                              : target_put_over(o, o->dest, SKIPPED_NAME, text.data, text.size,
                                                err);
    buf_free(&text);
    return code;
}

int target_count_skipped(const struct target *o, uint64_t *count, struct sheaf_error *err)
{
    char *url = store_join(o->dest, SKIPPED_NAME), *text = NULL;
    size_t size = 0;
    int code = url == NULL ? err_memory(err, strlen(o->dest))
                           : store_get(url, SIZE_MAX / 4, &text, &size, err);

    *count = 0;
    for (size_t i = 0; i < size; i++)
        *count += text[i] == '\n';
    free(text);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

int target_result(const struct target *o, struct sheaf_pack_result *result,
                  struct sheaf_error *err)
{
    for (uint32_t s = 0; s < o->split_count; s++) {
        struct manifest m;
        int code = target_read_manifest(o->directories[s], &m, err);

        if (code != SHEAF_OK)
            return code;
        for (size_t i = 0; i < m.shard_count; i++) {
            result->samples += m.shards[i].samples;
            result->payload_bytes += m.shards[i].payload_bytes;
            result->stored_bytes += m.shards[i].bytes;
        }
        result->shards += m.shard_count;
        manifest_clear(&m);
    }
    result->shards_kept = result->shards;
    return target_count_skipped(o, &result->skipped, err);
}

int target_end(const struct target *o, struct sheaf_error *err)
{
    return journal_clear(&o->journal, err);
}
