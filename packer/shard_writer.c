/* SPDX-License-Identifier: MIT
 *
 * Writing one shard. */
#include "packer/shard_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

/* ---- Writing --------------------------------------------------------------------------------- */

static int shard_writer_create(struct shard_writer *w, const char *name, uint64_t expected_bytes,
                               struct store_writer **writer, struct sheaf_error *err)
{
    char *url = store_join(w->directory, name);
    int code = url == NULL ? err_memory(err, strlen(name))
                           : store_create_within(url, w->memory, expected_bytes, writer, err);

    free(url);
    return code;
}

static int shard_writer_put(struct shard_writer *w, const struct buf *data, struct sheaf_error *err)
{
    if (data->size == 0)
        return SHEAF_OK;
    w->facts.bytes += data->size;
    return store_write(w->files.shard, data->data, data->size, err);
}

static void hash(struct shard_writer *w, const struct buf *data)
{
    XXH3_128bits_update(w->hash, data->data, data->size);
}

static enum sheaf_codec codec_id(const struct block_setup *setup)
{
    return setup->codec == NULL ? SHEAF_CODEC_NONE : setup->codec->id;
}

static void names_name(const struct shard_writer *w, char name[SHARD_NAME_BYTES])
{
    const struct block_setup *setup = w->setup;

    snprintf(name, SHARD_NAME_BYTES, "%.*s.lst",
             (int)interop_stem(setup->format->id, codec_id(setup), w->facts.name), w->facts.name);
}

static int create_names(struct shard_writer *w, struct sheaf_error *err)
{
    char name[SHARD_NAME_BYTES];

    names_name(w, name);
    return shard_writer_create(w, name, 0, &w->names, err);
}

/* Writes the bytes that the codec writes at the start of a shard, before the first block. Does
 * nothing without a codec. */
static int shard_writer_put_lead(struct shard_writer *w, struct sheaf_error *err)
{
    int code;

    if (w->setup->codec == NULL)
        return SHEAF_OK;
    code = w->setup->codec->begin(&w->text, err);
    hash(w, &w->text);
    if (code == SHEAF_OK)
        code = shard_writer_put(w, &w->text, err);
    w->lead = w->text.size;
    w->text.size = 0;
    return code;
}

unsigned shard_writer_objects(const struct block_setup *setup)
{
    return setup->format->has_names ? 2 : 1;
}

int shard_writer_open(struct shard_writer **writer, const struct block_setup *setup,
                      const char *directory, const char *name, struct part_memory *memory,
                      uint64_t expected_bytes, struct sheaf_error *err)
{
    struct shard_writer *w = calloc(1, sizeof(*w));
    int code;

    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->setup = setup;
    w->memory = memory;
    w->directory = strdup(directory);
    w->text.limit = w->section.limit = w->keys.limit = w->notes.limit = SIZE_MAX / 4;
    w->fields.limit = SIZE_MAX / 4;
    w->hash = XXH3_createState();
    w->names_hash = XXH3_createState();
    snprintf(w->facts.name, sizeof(w->facts.name), "%s", name);
    codec_library(setup->codec, w->facts.library);
    if (w->directory == NULL || w->hash == NULL || w->names_hash == NULL) {
        shard_writer_close(w);
        return err_memory(err, sizeof(*w));
    }
    XXH3_128bits_reset(w->hash);
    XXH3_128bits_reset(w->names_hash);
    code = shard_writer_create(w, name, expected_bytes, &w->files.shard, err);
    if (code == SHEAF_OK && setup->format->has_names)
        code = create_names(w, err);
    if (code == SHEAF_OK)
        code = interop_open(&w->interop, setup->interop, setup->format->id, codec_id(setup), err);
    if (code == SHEAF_OK)
        code = shard_writer_put_lead(w, err);
    if (code != SHEAF_OK) {
        shard_writer_close(w);
        return code;
    }
    *writer = w;
    return SHEAF_OK;
}

/* Adds a sample's label to the index of the shard. The index has labels only if it can store the
 * labels of all samples. So once a sample has a label that the index cannot store, this function
 * adds nothing. */
static int index_label(struct shard_writer *w, uint64_t label, struct sheaf_error *err)
{
    w->has_label |= label != 0;
    w->has_other_label |= label == LABEL_OTHER;
    if (w->has_other_label)
        return SHEAF_OK;
    return index_add_label(&w->index, (uint32_t)label, err);
}

static int index_samples(struct shard_writer *w, const struct block *b, struct sheaf_error *err)
{
    const struct block_sample *samples = (const void *)b->samples.data;
    size_t offset = 0;

    for (size_t i = 0; i < block_sample_count(b); i++) {
        const struct block_sample *s = &samples[i];
        uint8_t hash[sizeof(s->key_hash)];
        int code = index_add_sample(&w->index, s->frame_bytes, s->crc, s->name_line_size, err);

        if (code == SHEAF_OK)
            code = index_label(w, s->label, err);
        store64(hash, s->key_hash);
        if (code == SHEAF_OK)
            code = buf_append(&w->keys, hash, sizeof(hash), err);
        if (code == SHEAF_OK)
            code = interop_add_frame(&w->interop, s->number, w->facts.raw_bytes + offset,
                                     b->raw.data + offset, s->frame_bytes, err);
        if (code != SHEAF_OK)
            return code;
        offset += s->frame_bytes;
        w->facts.largest = MAX(w->facts.largest, s->frame_bytes);
    }
    return SHEAF_OK;
}

static const struct buf *stored_of(const struct shard_writer *w, const struct block *b)
{
    return w->setup->codec == NULL ? &b->raw : &b->stored;
}

void shard_writer_hash(struct shard_writer *w, const struct block *b)
{
    hash(w, stored_of(w, b));
}

int shard_writer_add(struct shard_writer *w, const struct block *b, struct sheaf_error *err)
{
    const struct buf *stored = stored_of(w, b);
    int code = shard_writer_put(w, stored, err);

    if (code == SHEAF_OK)
        code = index_samples(w, b, err);
    if (code == SHEAF_OK)
        code = tally_merge(&w->tally, &b->tally, err);
    if (code == SHEAF_OK && w->names != NULL && b->names.size != 0) {
        XXH3_128bits_update(w->names_hash, b->names.data, b->names.size);
        code = store_write(w->names, b->names.data, b->names.size, err);
    }
    if (code == SHEAF_OK && w->setup->codec != NULL && b->raw.size != 0) {
        code = codec_total_add(w->setup->codec, &w->total, &b->codec_block, stored->data,
                               stored->size, err);
        if (code == SHEAF_OK)
            code = index_add_block(&w->index,
                                   stored->size + (w->index.block_count == 0 ? w->lead : 0),
                                   b->raw.size, err);
    }
    w->facts.raw_bytes += b->raw.size;
    w->facts.names_bytes += b->names.size;
    w->facts.payload_bytes += b->payload_bytes;
    w->facts.samples += block_sample_count(b);
    w->facts.files += b->files;
    w->facts.multipart += b->multipart;
    w->facts.resized += b->resized;
    w->facts.cls_words += b->unread.samples + b->kept_labels.samples;
    w->facts.has_cls |= b->has_cls;
    return code;
}

int shard_writer_end(struct shard_writer *w, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    w->text.size = 0;
    if (w->setup->codec != NULL) {
        code = w->setup->codec->end(&w->total, &w->text, err);
        hash(w, &w->text);
        if (code == SHEAF_OK)
            code = shard_writer_put(w, &w->text, err);
    }
    if (!w->has_label || w->has_other_label)
        w->index.labels.size = 0;
    if (code == SHEAF_OK)
        code = index_finish(&w->index, w->index.block_count == 0 ? 0 : w->lead, &w->section,
                            err);
    if (code == SHEAF_OK)
        code = tally_write(&w->tally, &w->fields, err);
    hash_text(XXH3_128bits_digest(w->hash), w->facts.xxh3);
    return code;
}

static int note_side(struct shard_writer *w, const char *name, uint64_t bytes,
                     XXH128_hash_t hash, struct sheaf_error *err)
{
    char text[HASH_TEXT_BYTES];

    if (w->files.side_count == SIDES_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%s: more than %d files beside the shard", name,
                       SIDES_MOST);
    snprintf(w->files.sides[w->files.side_count].name, SHARD_NAME_BYTES, "%s", name);
    w->files.sides[w->files.side_count++].data = (struct buf)BUF_INIT(SIZE_MAX / 4);
    hash_text(hash, text);
    return buf_printf(&w->notes, err, "%s\t%llu\t%s\n", name, (unsigned long long)bytes, text);
}

static int keep_side(void *context, const char *name, const void *data, size_t size,
                     struct sheaf_error *err)
{
    struct shard_writer *w = context;
    const struct shard_files *f = &w->files;
    const int code = note_side(w, name, size, XXH3_128bits(data, size), err);

    return code != SHEAF_OK ? code
         : buf_append(&w->files.sides[f->side_count - 1].data, data, size, err);
}

/* Writes the .lst, whose content is complete. */
static int give_names(struct shard_writer *w, struct sheaf_error *err)
{
    char name[SHARD_NAME_BYTES];
    int code;

    if (w->names == NULL)
        return SHEAF_OK;
    names_name(w, name);
    code = note_side(w, name, w->facts.names_bytes, XXH3_128bits_digest(w->names_hash), err);
    if (code == SHEAF_OK) {
        w->files.sides[0].writer = w->names;
        w->names = NULL;
    }
    return code;
}

int shard_writer_describe(struct shard_writer *w, struct journal_entry *entry,
                          struct sheaf_error *err)
{
    int code = give_names(w, err);

    if (code == SHEAF_OK)
        code = interop_finish_shard(&w->interop, w->facts.name, keep_side, w, err);
    if (code != SHEAF_OK)
        return code;
    entry->facts = w->facts;
    entry->section = w->section;
    entry->keys = w->keys;
    entry->fields = w->fields;
    entry->sides = w->notes;
    w->section = w->keys = w->fields = w->notes = (struct buf)BUF_INIT(0);
    return SHEAF_OK;
}

void shard_writer_close(struct shard_writer *w)
{
    if (w == NULL)
        return;
    store_abort(w->names);
    store_abort(w->files.shard);
    XXH3_freeState(w->hash);
    XXH3_freeState(w->names_hash);
    index_writer_free(&w->index);
    interop_free(&w->interop);
    codec_total_free(&w->total);
    buf_free(&w->text);
    buf_free(&w->section);
    buf_free(&w->keys);
    tally_clear(&w->tally);
    buf_free(&w->fields);
    buf_free(&w->notes);
    for (size_t i = 0; i < w->files.side_count; i++) {
        store_abort(w->files.sides[i].writer);
        buf_free(&w->files.sides[i].data);
    }
    free(w->directory);
    free(w);
}
