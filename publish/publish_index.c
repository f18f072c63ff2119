/* SPDX-License-Identifier: MIT
 *
 * Makes the index of a split, such as "train", from the journal entries of its shards. A journal
 * entry has the facts about a finished shard. Also adds facts from these entries to the manifest of
 * the split. */
#include "publish/publish_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "publish/class_counts.h"
#include "publish/entries.h"

/* ---- Shards ---------------------------------------------------------------------------------- */

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
    index_sum(entry->section.data, entry->section.size, s->index_xxh3);
    if (s->name == NULL)
        return err_memory(err, strlen(f->name));
    m->shard_count++;
    m->index_bytes += entry->section.size;
    return SHEAF_OK;
}

static int shard_of_split(const void *context, uint64_t number, struct entries_shard *shard,
                          struct sheaf_error *err)
{
    const struct publish_index *j = context;

    (void)err;
    *shard = (struct entries_shard){ j->split, j->output->first_shard + number };
    return SHEAF_OK;
}

/* Returns the number of shards in all splits before this split. A plan numbers the shards of all
 * splits in one sequence, beginning with the first split. */
static uint64_t first_of(const struct output *o, uint32_t split)
{
    uint64_t first = 0;

    for (uint32_t s = 0; s < split; s++)
        first += o->shard_counts[s];
    return first;
}

/* ---- Libraries ------------------------------------------------------------------------------- */

/* largest number of library versions in the manifest; machines with different versions may have
 * compressed the shards */
#define LIBRARIES_MOST 16

struct libraries {
    char names[LIBRARIES_MOST][CODEC_LIBRARY_BYTES];
    size_t count;
};

static void add_library(struct libraries *l, const char *name)
{
    size_t at = 0;

    while (at < l->count && strcmp(l->names[at], name) < 0)
        at++;
    if (name[0] == '\0' || l->count == LIBRARIES_MOST
        || (at < l->count && strcmp(l->names[at], name) == 0))
        return;
    memmove(l->names[at + 1], l->names[at], (l->count - at) * sizeof(l->names[0]));
    snprintf(l->names[at], sizeof(l->names[at]), "%s", name);
    l->count++;
}

static int write_libraries(const struct libraries *l, struct buf *text, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < l->count && code == SHEAF_OK; i++)
        code = buf_printf(text, err, "%s\"%s\"", i == 0 ? "\"codec_libraries\":[" : ",",
                          l->names[i]);
    return code == SHEAF_OK && l->count != 0 ? buf_printf(text, err, "],") : code;
}

/* ---- What became of images ------------------------------------------------------------------- */

struct images {
    uint64_t converted, resized;
};

static void count_images(struct images *images, const struct journal_entry *entry)
{
    for (size_t i = 0; i < entry->converted.size; i++)
        images->converted += entry->converted.data[i] == '\n';
    images->resized += entry->facts.resized;
}

/* Appends to `text` the number of converted images, and the number of images that were made
 * smaller. Each number is appended only if options_json has the option for this change of images,
 * and does not have the number yet. The number 0 is appended as well, because a missing number
 * would mean that the number is unknown. */
static int write_images(const struct images *images, const char *options_json, struct buf *text,
                        struct sheaf_error *err)
{
    bool converts = false, resizes = false, has_converted = false, has_resized = false;
    int code = manifest_options_have(options_json, "fix_images", &converts, err);

    if (code == SHEAF_OK)
        code = manifest_options_have(options_json, "resize", &resizes, err);
    if (code == SHEAF_OK)
        code = manifest_options_have(options_json, "images_converted", &has_converted, err);
    if (code == SHEAF_OK)
        code = manifest_options_have(options_json, "images_resized", &has_resized, err);
    if (code == SHEAF_OK && converts && !has_converted)
        code = buf_printf(text, err, "\"images_converted\":%" PRIu64 ",", images->converted);
    return code == SHEAF_OK && resizes && !has_resized
         ? buf_printf(text, err, "\"images_resized\":%" PRIu64 ",", images->resized) : code;
}

/* Counts for a data set or an append that are usually 0. A count is written to the manifest only if
 * it is not 0. */
struct rare_counts {
    uint64_t skipped;           /* files that were left out */
    uint64_t cls_words;         /* samples whose field `cls` does not consist of numbers */
};

static int write_rare(const struct rare_counts *rare, struct buf *text, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (rare->cls_words != 0)
        code = buf_printf(text, err, "\"cls_words\":%" PRIu64 ",", rare->cls_words);
    return code == SHEAF_OK && rare->skipped != 0
         ? buf_printf(text, err, "\"skipped\":%" PRIu64 ",", rare->skipped) : code;
}

/* Adds to the options the facts that are known only at the end of a run: the versions of libraries,
 * and counts such as the number of skipped files. In the resulting JSON text, these facts come
 * before the other options. */
static int complete_options(const struct libraries *libraries, const struct images *images,
                            const struct rare_counts *rare, char **options_json,
                            struct sheaf_error *err)
{
    struct buf text = BUF_INIT(MANIFEST_LIMIT);
    char *json = NULL;
    int code = buf_printf(&text, err, "{");

    if (code == SHEAF_OK)
        code = write_libraries(libraries, &text, err);
    if (code == SHEAF_OK)
        code = write_images(images, *options_json, &text, err);
    if (code == SHEAF_OK)
        code = write_rare(rare, &text, err);
    if (code == SHEAF_OK)
        code = buf_printf(&text, err, "%s", *options_json + 1);
    if (code == SHEAF_OK) {
        json = strndup((const char *)text.data, text.size);
        code = json == NULL ? err_memory(err, text.size) : SHEAF_OK;
    }
    buf_free(&text);
    if (code != SHEAF_OK)
        return code;
    free(*options_json);
    *options_json = json;
    return SHEAF_OK;
}

/* ---- Fields and classes ---------------------------------------------------------------------- */

int publish_count_classes(struct manifest *m, const uint8_t *section, size_t size,
                          uint64_t samples, struct sheaf_error *err)
{
    const int code = m->class_samples == NULL ? SHEAF_OK
                   : class_counts_add(section, size, samples, m->label_base, m->class_samples,
                                      m->class_count, err);

    if (code != SHEAF_END)
        return code;
    free(m->class_samples);
    m->class_samples = NULL;
    return SHEAF_OK;
}

static int count_fields(struct manifest *m, const struct journal_entry *entry,
                        struct sheaf_error *err)
{
    struct tally tally;
    int code = tally_parse(entry->fields.data, entry->fields.size, &tally, err);

    if (code == SHEAF_OK)
        code = tally_merge(&m->fields, &tally, err);
    tally_clear(&tally);
    return code;
}

/* ---- Index and manifest ---------------------------------------------------------------------- */

static int publish_index_join_section(const struct publish_index *j,
                                      const struct journal_entry *entry,
                                      struct libraries *libraries, struct images *images,
                                      struct store_writer *writer, struct sheaf_error *err)
{
    int code = describe_shard(j->manifest, entry, err);

    if (code != SHEAF_OK)
        return code;
    add_library(libraries, entry->facts.library);
    count_images(images, entry);
    code = publish_count_classes(j->manifest, entry->section.data, entry->section.size,
                                 entry->facts.samples, err);
    if (code == SHEAF_OK)
        code = count_fields(j->manifest, entry, err);
    if (code != SHEAF_OK)
        return code;
    code = store_write(writer, entry->section.data, entry->section.size, err);
    return code == SHEAF_OK ? publish_keys_add(j->keys, entry, err) : code;
}

int publish_index(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    struct publish_index *j = context;
    const struct output *o = j->output;
    const uint64_t *checked = o->checked == NULL ? NULL : o->checked + first_of(o, j->split);
    struct libraries libraries = { .count = 0 };
    struct images images = { .converted = 0 };
    struct rare_counts rare = { .skipped = j->skipped };
    struct entries *entries = NULL;
    int code = entries_open(o, j->shard_count, shard_of_split, j, &entries, err);

    for (uint64_t k = 0; k < j->shard_count && code == SHEAF_OK; k++) {
        const struct journal_entry *entry;

        code = entries_next(entries, &entry, err);
        if (code == SHEAF_END ||
            (code == SHEAF_OK && checked != NULL && output_entry_sum(entry) != checked[k]))
            code = err_set(err, SHEAF_ERR_CHANGED, "%s: the entry of shard %llu vanished or was "
                           "changed", o->journal.directory, (unsigned long long)k);
        if (code == SHEAF_OK) {
            rare.cls_words += entry->facts.cls_words;
            code = publish_index_join_section(j, entry, &libraries, &images, writer, err);
        }
    }
    entries_close(entries);
    if (code == SHEAF_OK)
        code = complete_options(&libraries, &images, &rare, j->options_json, err);
    return code;
}
