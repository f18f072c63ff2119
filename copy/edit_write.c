/* SPDX-License-Identifier: MIT
 *
 * Writes the shards that an edit changes. Records of unchanged samples are copied byte for byte.
 * Records of changed samples are decoded, changed, and encoded in the same way as the packer does
 * it. The records are collected in blocks, which the packer's engine compresses, hashes and stores.
 * The engine publishes each finished shard, and adds it to the journal (the list of finished
 * shards). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "copy/edit.h"
#include "formats/index.h"
#include "formats/interop_index.h"
#include "formats/jpeg.h"
#include "formats/label.h"
#include "image/image.h"
#include "image/jpeg_header.h"
#include "packer/packer.h"
#include "reader/dataset/sections.h"
#include "reader/dataset/shard_walk.h"
#include "store/store.h"

#define RAW_STEP    ((uint64_t)4 << 20) /* buffers of a block grow in such steps */
#define TEXT_STEP   ((uint64_t)256 << 10)
#define NAMES_BYTES ((size_t)1 << 20)   /* of a .lst that are read at once */

/* A shard that is read and written again. */
struct rewriting {
    struct edit *edit;
    const struct edit_shard *shard;
    struct walk walk;
    atomic_uint_fast64_t read_bytes;
    struct index_section *section;
    /* for each sample of the shard: the label + 1, or 0 if the sample has no label; NULL if the
     * index has no labels */
    uint32_t *labels;
    struct store_object *names; /* the .lst; NULL: none */
    struct buf lines;           /* a part of the .lst, */
    uint64_t lines_offset;      /* from here on */
    struct slot *slot;          /* the open block; or NULL */
    struct block_need need;
    bool has_begun;             /* whether a block of the shard was taken */
    struct decode_scratch scratch;
    struct buf fields, text, joined;
    struct buf files;           /* content of the files of a sample */
    /* Key of the last sample before deleted samples. After the deletion, the next remaining sample
     * follows it directly. Stored only for tar, where adjacent samples must have different keys. */
    char *key;
};

/* ---- Blocks ---------------------------------------------------------------------------------- */

static uint64_t edit_write_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

static void edit_write_run_finish(struct job *job)
{
    struct block *b = (struct block *)((char *)job - offsetof(struct block, job));

    b->code = block_finish(b, &b->error);
}

static void submit(struct rewriting *r, bool ends_shard)
{
    struct slot *slot = r->slot;

    slot->block.ends_shard = ends_shard;
    slot->block.job.run = edit_write_run_finish;
    slot->planned_samples = block_sample_count(&slot->block);
    slot->planned_bytes = slot->block.raw.size;
    r->slot = NULL;
    engine_submit(&r->edit->engine, slot);
}

static int edit_write_take_slot(struct rewriting *r, struct sheaf_error *err)
{
    struct edit *e = r->edit;
    const struct manifest_shard *m = &e->manifest->shards[r->shard->shard];
    int code = engine_take(&e->engine, &r->slot, err);

    if (code != SHEAF_OK)
        return code;
    r->slot->shard = (struct plan_shard){
        .number = (uint32_t)(r->shard - e->shards), .source = r->shard->source,
        .payload_bytes = m->raw_bytes,
    };
    r->slot->begins_shard = !r->has_begun;
    r->has_begun = true;
    r->need = (struct block_need){ 0 };
    return SHEAF_OK;
}

/* Makes sure that a block is open, and has enough memory for one more record. (A block is a group
 * of records that is compressed as a whole.) If the open block is too full, begins a new block. */
static int edit_write_open_block(struct rewriting *r, const struct block_need *more,
                                 struct sheaf_error *err)
{
    struct block_need rounded;
    int code = SHEAF_OK;

    if (r->slot != NULL && r->slot->block.raw.size >= BLOCK_BYTES)
        submit(r, false);
    if (r->slot == NULL)
        code = edit_write_take_slot(r, err);
    if (code != SHEAF_OK)
        return code;
    r->need.raw += more->raw;
    r->need.names += more->names;
    r->need.samples += more->samples;
    rounded = r->need;
    rounded.raw = edit_write_round_up(rounded.raw + 4096, RAW_STEP) - 4096;
    rounded.names = edit_write_round_up(rounded.names, TEXT_STEP);
    rounded.samples = edit_write_round_up(rounded.samples, TEXT_STEP);
    return engine_charge(&r->edit->engine, r->slot, &rounded, err);
}

/* ---- Records --------------------------------------------------------------------------------- */

static int edit_write_open_names(struct rewriting *r, struct sheaf_error *err)
{
    const struct manifest *m = r->edit->manifest;
    const char *name = m->shards[r->shard->shard].name;
    char *url;
    int code;

    if (!format_of(m->container)->has_names || m->shards[r->shard->shard].names_bytes == 0)
        return SHEAF_OK;
    if (asprintf(&url, "%s/%.*s.lst", r->edit->directory,
                 (int)interop_stem(m->container, m->codec, name), name) < 0)
        return err_memory(err, strlen(name));
    code = store_open(url, &r->names, err);
    if (code == SHEAF_OK && r->names->bytes != m->shards[r->shard->shard].names_bytes)
        code = err_set(err, SHEAF_ERR_CORRUPT, "%s: has %llu bytes, expected %llu", url,
                       (unsigned long long)r->names->bytes,
                       (unsigned long long)m->shards[r->shard->shard].names_bytes);
    free(url);
    return code;
}

/* Finds the line of record i in the shard's .lst file. The result does not include the newline. */
static int edit_write_name_line(struct rewriting *r, uint64_t i, struct block_copy *copy,
                                struct sheaf_error *err)
{
    const uint64_t offset = r->section->name_offsets[i], end = r->section->name_offsets[i + 1];
    int code = SHEAF_OK;

    if (offset < r->lines_offset || end > r->lines_offset + r->lines.size) {
        const uint64_t left = r->names->bytes - offset;
        const size_t size = (size_t)MIN(left, MAX(end - offset, NAMES_BYTES));

        r->lines.size = 0;
        code = buf_reserve(&r->lines, size, err);
        if (code == SHEAF_OK)
            code = store_read(r->names, offset, r->lines.data, size, err);
        r->lines.size = code == SHEAF_OK ? size : 0;
        r->lines_offset = offset;
    }
    if (code != SHEAF_OK)
        return code;
    copy->name_line = (const char *)r->lines.data + (offset - r->lines_offset);
    copy->name_line_size = (size_t)(end - offset) - 1;
    return SHEAF_OK;
}

static int edit_write_damaged(const struct rewriting *r, uint64_t i, const char *what,
                              struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: record %llu: %s: repair the data set before it is "
                   "edited", r->edit->dataset->urls[r->shard->shard], (unsigned long long)i, what);
}

/* Sets *copy to a description of record i of the old shard, which is copied unchanged. Returns an
 * error if the record does not match the index. */
static int edit_write_describe(struct rewriting *r, uint64_t i, const struct frame *frame,
                               struct block_copy *copy, struct sheaf_error *err)
{
    const struct format_ops *format = r->edit->setup.format;
    uint32_t crc = frame->crc;
    int code = SHEAF_OK;

    if (i >= r->section->samples)
        return edit_write_damaged(r, i, "the index has fewer records", err);
    *copy = (struct block_copy){
        .frame = frame->data, .size = frame->size,
        .number = r->edit->dataset->first_numbers[r->shard->shard] + i,
        .label = r->labels == NULL ? LABEL_OTHER : r->labels[i],
    };
    if (r->names != NULL)
        code = edit_write_name_line(r, i, copy, err);
    if (code == SHEAF_OK && copy->name_line != NULL)
        crc = crc32c(crc, copy->name_line, copy->name_line_size);
    copy->crc = crc;
    if (code == SHEAF_OK && (r->section->crcs == NULL || r->section->crcs[i] != crc))
        code = edit_write_damaged(r, i, "its CRC-32C is not that of the index", err);
    if (code == SHEAF_OK && format->number != NULL)
        code = format->number(frame->data, frame->size, &r->joined, &copy->number, err);
    return code;
}

static int edit_write_decode(struct rewriting *r, uint64_t i, const struct block_copy *copy,
                             struct sheaf_sample *sample, struct sheaf_error *err)
{
    const uint32_t shard = (uint32_t)r->shard->shard;
    const struct decode_context context = dataset_decode_context(r->edit->dataset, shard);
    const struct record record = {
        .data = copy->frame, .size = copy->size, .name_line = copy->name_line,
        .name_line_size = copy->name_line_size, .number = copy->number, .shard = shard,
        .record = i,
    };
    int code;

    r->scratch.keeps = r->edit->setup.format->keeps_features;
    code = r->edit->setup.format->decode(&record, &context, &r->scratch, sample, err);
    return code == SHEAF_OK ? SHEAF_OK
         : err_prefix(err, "%s: record %llu: ", r->edit->dataset->urls[shard],
                      (unsigned long long)i);
}

static int edit_write_copy_record(struct rewriting *r, const struct block_copy *copy,
                                  struct sheaf_error *err)
{
    const struct block_need more = { .raw = copy->size, .names = copy->name_line_size + 1,
                                     .samples = sizeof(struct block_sample) };
    const int code = edit_write_open_block(r, &more, err);

    return code == SHEAF_OK ? block_copy(&r->slot->block, copy, err) : code;
}

/* ---- Changed records ------------------------------------------------------------------------- */

/* Reads the file that replaces a field of a sample, and checks the file as the packer does. */
static int edit_write_read_file(struct rewriting *r, const struct catalog_file *f,
                                struct sheaf_field *field, struct sheaf_error *err)
{
    uint8_t *data = r->files.data + r->files.size;
    struct jpeg_info info;
    const char *problem = NULL;
    int code = source_read(&r->edit->source, f, data, err);

    if (code != SHEAF_OK)
        return err_prefix(err, "%s: ", catalog_shown(f));
    r->files.size += f->bytes;
    field->data = data;
    field->size = f->bytes;
    if (image_kind_named(field->name) == IMAGE_JPEG) {
        problem = jpeg_check(data, f->bytes, &info);
        if (problem == NULL)
            problem = jpeg_reader_check(r->slot->block.jpeg, data, f->bytes);
    }
    return problem == NULL ? SHEAF_OK
         : err_because(err, err_set(err, SHEAF_ERR_CORRUPT, "%s: %s", catalog_shown(f), problem),
                       SHEAF_REASON_BAD_FILES);
}

/* Replaces the content of a field by the numbers of the sample's new labels, if the field is `cls`
 * and contains numbers. */
static int set_cls(struct rewriting *r, const struct plan_label *l, struct sheaf_field *field,
                   struct sheaf_error *err)
{
    double number;
    int code;

    if (strcmp(field->name, "cls") != 0 ||
        label_parse(field->data, field->size, &number, 1) <= 0)
        return SHEAF_OK;
    r->text.size = 0;
    code = label_print(&r->text, l->values, l->value_count, err);
    field->data = r->text.data;
    field->size = r->text.size;
    return code;
}

static int edit_write_change_fields(struct rewriting *r, const struct edit_change *c,
                                    struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct plan_label *label = edit_label_of(r->edit, c);
    struct sheaf_field *fields;
    int code;

    r->fields.size = r->files.size = 0;
    code = buf_reserve(&r->fields, (sample->field_count + 1) * sizeof(*fields), err);
    fields = (struct sheaf_field *)(void *)r->fields.data;
    for (size_t i = 0; i < sample->field_count && code == SHEAF_OK; i++) {
        const struct catalog_file *f = edit_file_of(r->edit, c, sample->fields[i].name);

        fields[i] = sample->fields[i];
        if (f != NULL)
            code = edit_write_read_file(r, f, &fields[i], err);
        else if (label != NULL)
            code = set_cls(r, label, &fields[i], err);
    }
    sample->fields = fields;
    if (label != NULL) {
        sample->labels = label->values;
        sample->label_count = label->value_count;
        sample->class_name = NULL;
    }
    return code;
}

/* Returns the bytes of the files that replace fields. */
static uint64_t files_bytes(const struct edit *e, const struct edit_change *c)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < c->file_count; i++)
        bytes += e->files.files[c->file + i].bytes;
    return bytes;
}

static size_t edit_write_longest_class(const struct edit *e)
{
    size_t longest = 0;

    for (uint32_t i = 0; i < e->plan.class_count; i++)
        longest = MAX(longest, strlen(e->plan.classes[i]));
    return longest;
}

/* Returns an upper limit of the memory that a changed record needs in its block. */
static struct block_need need_of(const struct rewriting *r, const struct edit_change *c,
                                 const struct sheaf_sample *s, const struct block_copy *copy,
                                 const struct kept_features *kept)
{
    const struct plan_label *label = edit_label_of(r->edit, c);
    const size_t key = strlen(s->key);
    uint64_t bytes = copy->size + files_bytes(r->edit, c), text, longest = 0;
    struct block_need need = { 0 };

    text = 32 * (s->label_count + (label == NULL ? 0 : label->value_count)) +
           edit_write_longest_class(r->edit);
    for (size_t i = 0; i < s->field_count; i++) {
        const uint64_t size = key + 1 + strlen(s->fields[i].suffix);

        text += size;
        longest = MAX(longest, size);
    }
    block_need_sample(&need, BLOCK_WORST, bytes, s->field_count, text, longest);
    need.raw += packer_kept_bytes(kept);
    return need;
}

static int change_record(struct rewriting *r, const struct edit_change *c, uint64_t i,
                         const struct block_copy *copy, struct sheaf_error *err)
{
    struct sheaf_sample sample;
    struct kept_features kept;
    struct block_need more;
    int code = edit_write_decode(r, i, copy, &sample, err);

    if (code != SHEAF_OK)
        return code;
    kept = (struct kept_features){ (struct kept_feature *)(void *)r->scratch.kept.data,
                                   r->scratch.kept.size / sizeof(struct kept_feature) };
    sample.number = copy->number;
    more = need_of(r, c, &sample, copy, &kept);
    code = edit_write_open_block(r, &more, err);
    if (code == SHEAF_OK) {
        r->files.size = 0;
        code = buf_reserve(&r->files, files_bytes(r->edit, c) + 1, err);
    }
    if (code == SHEAF_OK)
        code = edit_write_change_fields(r, c, &sample, err);
    if (code != SHEAF_OK)
        return code;
    r->slot->block.kept = r->edit->setup.format->keeps_features ? &kept : NULL;
    code = block_add(&r->slot->block, &sample, err);
    r->slot->block.kept = NULL;
    return code;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* Called if the sample after record i is deleted. Stores the key of record i, to compare it with
 * the key of the sample after the deleted sample. In a tar, these two samples must have different
 * keys. */
static int edit_write_keep_key(struct rewriting *r, uint64_t i, const struct block_copy *copy,
                               struct sheaf_error *err)
{
    struct sheaf_sample sample;
    const int code = edit_write_decode(r, i, copy, &sample, err);

    free(r->key);
    r->key = code == SHEAF_OK ? strdup(sample.key) : NULL;
    return code == SHEAF_OK && r->key == NULL ? err_memory(err, KEY_LIMIT) : code;
}

/* Called for the first sample after a deleted sample. Returns an error if this sample has the same
 * key as the sample before the deleted one. In a tar, the two samples would become one. */
static int edit_write_check_key(struct rewriting *r, uint64_t i, const struct block_copy *copy,
                                struct sheaf_error *err)
{
    struct sheaf_sample sample;
    int code;

    if (r->key == NULL)
        return SHEAF_OK;
    code = edit_write_decode(r, i, copy, &sample, err);
    if (code == SHEAF_OK && strcmp(sample.key, r->key) == 0)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: two samples with the key \"%.300s\" would "
                       "become neighbours, which readers of tar files merge: delete one of them "
                       "too", r->edit->dataset->urls[r->shard->shard], r->key);
    free(r->key);
    r->key = NULL;
    return code;
}

/* ---- Shards ---------------------------------------------------------------------------------- */

static bool is_deleted(const struct rewriting *r, const struct edit_change *c, uint64_t number)
{
    const struct edit_change *end = r->edit->changes + r->shard->end;

    return c < end && c->number == number && c->is_deleted;
}

/* Copies, changes or leaves out record number `i` of the old shard. `*c` is the next change in the
 * list of changes. `after_deleted` says whether the previous record was deleted. */
static int edit_write_take_record(struct rewriting *r, uint64_t i, const struct frame *frame,
                                  const struct edit_change **c, bool *after_deleted,
                                  struct sheaf_error *err)
{
    const struct edit *e = r->edit;
    const uint64_t number = e->dataset->first_numbers[r->shard->shard] + i;
    const bool is_tar = e->setup.format->has_members;
    struct block_copy copy;
    int code = edit_write_describe(r, i, frame, &copy, err);

    if (code == SHEAF_OK && is_deleted(r, *c, number)) {
        *after_deleted = true;
        ++*c;
        return SHEAF_OK;
    }
    if (code == SHEAF_OK && is_tar && *after_deleted)
        code = edit_write_check_key(r, i, &copy, err);
    *after_deleted = false;
    if (code == SHEAF_OK && *c < e->changes + r->shard->end && (*c)->number == number)
        code = change_record(r, (*c)++, i, &copy, err);
    else if (code == SHEAF_OK)
        code = edit_write_copy_record(r, &copy, err);
    return code == SHEAF_OK && is_tar && is_deleted(r, *c, number + 1)
               ? edit_write_keep_key(r, i, &copy, err) : code;
}

static int take_records(struct rewriting *r, struct sheaf_error *err)
{
    const struct edit_change *c = r->edit->changes + r->shard->change;
    bool after_deleted = false;
    struct frame frame;
    uint64_t i = 0;
    int code;

    while ((code = walk_next(&r->walk, &frame, err)) == SHEAF_OK) {
        code = edit_write_take_record(r, i++, &frame, &c, &after_deleted, err);
        if (code != SHEAF_OK)
            return code;
    }
    if (code != SHEAF_END)
        return code;
    return i == r->section->samples ? SHEAF_OK : edit_write_damaged(r, i,
                                                                    "the index has more records",
                                                                    err);
}

/* Reads the old shard's section of the index (sizes and checksums of its samples), and the labels
 * in this section. */
static int open_section(struct rewriting *r, struct sheaf_error *err)
{
    const struct manifest_shard *m = &r->edit->manifest->shards[r->shard->shard];
    struct sections sections = { .dataset = r->edit->dataset };
    uint8_t *data = NULL;
    int code = sections_read(&sections, (uint32_t)r->shard->shard, &data, err);

    if (code == SHEAF_OK)
        code = index_parse(data, m->index_bytes, m->samples, &r->section, err);
    if (code == SHEAF_OK) {
        r->labels = calloc(m->samples + 1, sizeof(r->labels[0]));
        code = r->labels == NULL ? err_memory(err, m->samples * sizeof(r->labels[0]))
                                 : index_labels(data, m->index_bytes, m->samples, r->labels, err);
    }
    if (code == SHEAF_END) {
        free(r->labels);
        r->labels = NULL;
        code = SHEAF_OK;
    }
    free(data);
    sections_close(&sections);
    return code;
}

static void edit_write_close_shard(struct rewriting *r)
{
    index_section_free(r->section);
    free(r->labels);
    store_close(r->names);
    decode_scratch_free(&r->scratch);
    buf_free(&r->lines);
    buf_free(&r->fields);
    buf_free(&r->text);
    buf_free(&r->joined);
    buf_free(&r->files);
    free(r->key);
}

static int edit_write_shard(struct edit *e, const struct edit_shard *shard, size_t limit,
                            struct sheaf_error *err)
{
    struct rewriting r = { .edit = e, .shard = shard };
    int code;

    r.lines.limit = r.fields.limit = r.text.limit = r.joined.limit = SIZE_MAX / 4;
    r.files.limit = SIZE_MAX / 4;
    code = open_section(&r, err);
    if (code == SHEAF_OK)
        code = edit_write_open_names(&r, err);
    if (code == SHEAF_OK)
        code = walk_open(&r.walk, e->dataset, (uint32_t)shard->shard, NULL, limit,
                         AHEAD_PIECES_MOST, &r.read_bytes, e->options.interrupt, err);
    if (code == SHEAF_OK) {
        code = take_records(&r, err);
        walk_close(&r.walk);
    }
    if (code == SHEAF_OK && r.slot == NULL)     /* no record is left */
        code = edit_write_open_block(&r, &(struct block_need){ 0 }, err);
    if (code == SHEAF_OK)
        submit(&r, true);
    edit_write_close_shard(&r);
    return code;
}

/* Sets *is_there to whether an earlier, interrupted run of the same edit has already finished the
 * new shard. */
static int find_finished(struct edit *e, const struct edit_shard *shard, bool *is_there,
                         struct sheaf_error *err)
{
    struct journal_entry entry = { .facts = { .bytes = 0 } };
    uint64_t stamp;
    int code = SHEAF_OK;

    *is_there = false;
    if (!e->options.resume)
        return SHEAF_OK;
    code = output_find_shard(&e->output, 0, shard->name, &entry, is_there, &stamp, err);
    *is_there = code == SHEAF_OK && *is_there && entry.source == shard->source;
    if (*is_there) {
        e->result.shards_kept++;
        e->result.stored_bytes += entry.facts.bytes;
    }
    journal_entry_free(&entry);
    return code;
}

/* Returns the size of the largest frame (stored record) in the shards that the edit reads. The
 * memory for reading must have room for a frame of this size. */
static uint64_t largest_frame(const struct edit *e)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < e->shard_count; i++)
        largest = MAX(largest, e->manifest->shards[e->shards[i].shard].largest);
    return largest;
}

static uint64_t largest_shard(const struct edit *e)
{
    uint64_t largest = 0;

    for (size_t i = 0; i < e->shard_count; i++)
        largest = MAX(largest, e->manifest->shards[e->shards[i].shard].raw_bytes);
    return largest;
}

int edit_write(struct edit *e, struct sheaf_error *err)
{
    const uint64_t limit = largest_frame(e) + ((uint64_t)1 << 20);
    const uint64_t reading = 2 * limit;
    int code;

    if (e->options.memory_bytes < 2 * reading)
        return err_because(err, err_set(err, SHEAF_ERR_LIMIT, "the memory limit is %llu bytes, but "
                                        "the largest record has %llu, and at least %llu are needed",
                                        (unsigned long long)e->options.memory_bytes,
                                        (unsigned long long)largest_frame(e),
                                        (unsigned long long)(2 * reading)), SHEAF_REASON_MEMORY);
    code = engine_open(&e->engine, &e->setup, &e->output, &e->problems, &e->watch,
                       e->options.jobs, largest_shard(e), e->options.memory_bytes - reading, err);
    e->engine_open = true;
    for (size_t i = 0; i < e->shard_count && code == SHEAF_OK; i++) {
        bool is_there;

        code = watch_check(&e->watch, err);
        if (code == SHEAF_OK)
            code = find_finished(e, &e->shards[i], &is_there, err);
        if (code == SHEAF_OK && !is_there)
            code = edit_write_shard(e, &e->shards[i], (size_t)limit, err);
    }
    if (code == SHEAF_OK)
        code = engine_drain(&e->engine, err);
    e->result.shards_written = e->engine.result.shards;
    e->result.stored_bytes += e->engine.result.stored_bytes;
    e->result.memory_peak_bytes = engine_peak(&e->engine) + reading;
    return code;
}
