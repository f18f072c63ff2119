/* SPDX-License-Identifier: MIT
 *
 * Fills the buffers of a block with encoded samples. A block has about 4 MiB of consecutive samples
 * of one shard, which the packer encodes as one job. */
#include "packer/block.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/content.h"
#include "formats/jpeg.h"
#include "formats/key_table.h"
#include "formats/label.h"

/* The unit in which memory is given. */
#define PAGE_BYTES 4096u

/* ---- Life ------------------------------------------------------------------------------------ */

int block_open(struct block *b, const struct block_setup *setup, const struct image_room *room,
               struct sheaf_error *err)
{
    const size_t no_limit = SIZE_MAX / 4;

    *b = (struct block){ .setup = setup, .room = room };
    b->problems.limit = b->texts.limit = no_limit;
    b->fields.limit = b->strings.limit = b->labels.limit = b->fetched.limit = no_limit;
    b->conversions.limit = no_limit;
    return jpeg_reader_open(&b->jpeg, err);
}

void block_close(struct block *b)
{
    block_release(b);
    jpeg_reader_close(b->jpeg);
    b->jpeg = NULL;
}

void block_clear(struct block *b)
{
    b->raw.size = b->names.size = b->stored.size = b->samples.size = 0;
    b->problems.size = b->conversions.size = b->texts.size = b->converted.size = 0;
    b->raw.is_full = b->names.is_full = b->samples.is_full = false;
    b->payload_bytes = b->files = b->multipart = b->resized = 0;
    b->has_cls = false;
    b->unread = b->kept_labels = b->replaced = (struct cls_words){ 0 };
    tally_clear(&b->tally);
    b->fetched.size = b->sample_start = 0;
    b->codec_block = (struct codec_block){ 0 };
    b->code = SHEAF_OK;
    b->outgrown = false;
}

/* The buffers that block_allow enlarged. */
void block_release(struct block *b)
{
    struct buf *const allowed[] = { &b->raw, &b->names, &b->stored, &b->scratch, &b->samples,
                                    &b->converted };
    struct buf *const others[] = { &b->problems, &b->texts, &b->fields, &b->strings, &b->labels,
                                   &b->fetched, &b->conversions };

    for (size_t i = 0; i < COUNT_OF(allowed); i++) {
        if (allowed[i]->data != NULL)
            munmap(allowed[i]->data, allowed[i]->capacity);
        *allowed[i] = (struct buf)BUF_INIT(0);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        buf_free(others[i]);
    tally_clear(&b->tally);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Largest number of bytes by which an image is expected to grow when it is converted to JPEG. If
 * the images of a block grow more, the block is encoded again with more memory. */
#define IMAGE_BYTES ((uint64_t)64 << 10)

/* Adds to `need` the memory that a sample needs in a block. The constants in this function are
 * upper bounds for the bytes that the container adds to the content:
 *
 * - in a tar, headers, padding, the member that stores the labels, and pax headers for long names;
 * - in TFRecord, the names in a tf.train.Example;
 * - in RecordIO, the trailer of a record. */
void block_need_sample(struct block_need *need, enum block_guess guess, uint64_t bytes,
                       uint64_t fields, uint64_t text_bytes, uint64_t longest_name)
{
    need->raw += bytes + 1280 + fields * (longest_name > 90 ? 4096 : 1024) + 2 * text_bytes;
    if (guess == BLOCK_WORST)
        need->raw += 3 * bytes + 16384;
    need->names += text_bytes + 64;
    need->scratch = MAX(need->scratch, bytes);
    need->samples += sizeof(struct block_sample);
}

/* Returns the length of the longest class name. If a sample has a file `cls`, its class becomes
 * known only when this file is read. So memory for the longest class name is reserved. */
static size_t block_longest_class(const struct encode_context *context)
{
    size_t longest = 0;

    for (size_t i = 0; i < context->class_count; i++)
        longest = MAX(longest, strlen(context->classes[i]));
    return longest;
}

/* Returns the estimated size of a sample's images after their conversion to JPEG. The memory of the
 * block must have room for them in addition to the original images. */
static uint64_t converted_bytes(const struct plan *plan, const struct plan_sample *s)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < s->file_count; k++) {
        const struct catalog_file *f = &plan->files[s->file + k];

        if (image_kind_named(f->path + f->key_size + 1) == IMAGE_JPEG)
            bytes += f->bytes + IMAGE_BYTES;
    }
    return bytes;
}

struct block_need block_need_planned(const struct block *b, enum block_guess guess)
{
    const struct plan *plan = b->plan;
    const size_t class_most = block_longest_class(&b->setup->context);
    struct block_need need = { 0 };
    uint64_t bytes = 0;

    for (uint64_t i = b->first; i < b->end; i++) {
        const struct plan_sample *s = &plan->samples[i];
        const struct plan_label *label = &plan->labels[s->label];
        uint64_t text = 32 * label->value_count, longest = 0;

        if (label->class_name != NULL)
            text += strlen(label->class_name);
        else if (s->has_cls)
            text += class_most;
        for (uint32_t k = 0; k < s->file_count; k++) {
            const uint64_t size = strlen(plan->files[s->file + k].path);

            text += size;
            longest = MAX(longest, size);
        }
        /* The labels in a file `cls` are written twice: as the content of the file, and as the
         * labels of the sample. The constants in block_need_sample() leave room for a few labels.
         * If the file has more, the block is encoded again with more memory. */
        block_need_sample(&need, guess, s->payload_bytes, s->file_count, text, longest);
        bytes += s->payload_bytes;
        if (setup_converts(b->setup))
            need.converted = MAX(need.converted, converted_bytes(plan, s));
    }
    need.raw += b->extra;
    need.converted += b->extra;
    if (b->setup->source->is_remote)    /* all objects are fetched at once */
        need.scratch = bytes;
    return need;
}

uint64_t block_need_total(struct block_need *need, const struct block_setup *setup)
{
    need->raw += 4096;
    need->stored = setup->codec == NULL ? 0 : codec_bound(need->raw) + 4096;
    if (!setup->format->has_names)
        need->names = 0;
    return need->raw + need->names + need->stored + need->scratch + need->samples +
           need->converted;
}

/* Allocates a buffer at its maximum size at once, so that it never grows. One thread fills a buffer
 * and another thread frees it. If such buffers grew step by step, they would leave large holes in
 * malloc's arenas. */
static int allow(struct buf *buf, uint64_t bytes, struct sheaf_error *err)
{
    const uint64_t capacity = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    void *data;

    if (bytes <= buf->capacity)
        return SHEAF_OK;
    if (capacity > SIZE_MAX / 4)
        return err_memory(err, SIZE_MAX);
    data = buf->data == NULL
         ? mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
         : mremap(buf->data, buf->capacity, capacity, MREMAP_MAYMOVE);
    if (data == MAP_FAILED)
        return err_memory(err, capacity);
    buf->data = data;
    buf->capacity = buf->limit = capacity;
    return SHEAF_OK;
}

int block_allow(struct block *b, const struct block_need *need, struct sheaf_error *err)
{
    int code = allow(&b->raw, need->raw, err);

    if (code == SHEAF_OK)
        code = allow(&b->names, need->names, err);
    if (code == SHEAF_OK)
        code = allow(&b->stored, need->stored, err);
    if (code == SHEAF_OK)
        code = allow(&b->scratch, need->scratch, err);
    if (code == SHEAF_OK && need->converted != 0)
        code = allow(&b->converted, need->converted, err);
    return code == SHEAF_OK ? allow(&b->samples, need->samples, err) : code;
}

/* ---- Notes ----------------------------------------------------------------------------------- */

static int block_add_text(struct block *b, const char *text, size_t *offset,
                          struct sheaf_error *err)
{
    *offset = b->texts.size;
    return buf_append(&b->texts, text, strlen(text) + 1, err);
}

int block_note(struct block *b, const char *path, const struct sheaf_error *why,
               const char *reason, struct sheaf_error *err)
{
    struct block_problem problem = { .code = why == NULL ? SHEAF_OK : why->code,
                                     .because = why == NULL ? SHEAF_REASON_NONE : why->reason };
    int failed = block_add_text(b, path, &problem.path, err);

    if (failed == SHEAF_OK)
        failed = block_add_text(b, reason, &problem.reason, err);
    return failed != SHEAF_OK ? failed
         : buf_append(why == NULL ? &b->conversions : &b->problems, &problem, sizeof(problem), err);
}

/* ---- Encoding -------------------------------------------------------------------------------- */

/* Returns whether the field is an image that the option fix_images turns into a plain JPEG, because
 * loaders do not expect its kind. */
static bool is_odd_image(const struct block *b, const struct sheaf_field *field)
{
    struct image_look look;

    return !b->setup->fix_images && image_look(field->data, field->size, &look) &&
           (look.kind != IMAGE_JPEG || look.components == 4);
}

bool block_blames_image(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_UNSUPPORTED;
}

/* Decodes an image as a check. Returns SHEAF_ERR_CORRUPT or SHEAF_ERR_UNSUPPORTED if it cannot be
 * decoded. Returns SHEAF_OK if the field is not an image. */
static int block_check_image(struct block *b, const struct sheaf_field *field,
                             struct sheaf_error *err)
{
    const uint8_t *data = field->data;
    int code;

    /* an image that was made here is complete */
    if (image_kind_named(field->name) == IMAGE_UNKNOWN ||
        (b->converted.data != NULL && data >= b->converted.data &&
         data < b->converted.data + b->converted.size))
        return SHEAF_OK;
    code = image_check(field->data, field->size, b->room, err);
    if (block_blames_image(code))
        b->refused = field;
    return code;
}

/* Sets the error for a field that is named like a JPEG but is not a valid one. If its content is of
 * another kind, the message names the kind. */
static int refuse_jpeg(const struct sheaf_field *field, const char *problem,
                       struct sheaf_error *err)
{
    const char *what = image_kind_of(field->data, field->size) == IMAGE_JPEG
                       ? NULL : content_name(field->data, field->size);

    return what == NULL ? err_set(err, SHEAF_ERR_CORRUPT, "%s", problem)
                        : err_set(err, SHEAF_ERR_CORRUPT, "not a JPEG: it is %s", what);
}

/* Returns an error if a field is named like a JPEG but is not a complete JPEG. */
static int check_field(struct block *b, const struct sheaf_field *field, struct sheaf_error *err)
{
    struct jpeg_info info;
    const char *problem;

    if (b->setup->checks && image_kind_named(field->name) == IMAGE_JPEG) {
        problem = jpeg_check(field->data, field->size, &info);
        if (problem == NULL)
            problem = jpeg_reader_check(b->jpeg, field->data, field->size);
        if (problem != NULL) {
            b->refused = field;
            return err_because(err, refuse_jpeg(field, problem, err),
                               is_odd_image(b, field) ? SHEAF_REASON_ODD_IMAGE
                                                      : SHEAF_REASON_NONE);
        }
    }
    return b->setup->decodes && !b->has_decoded ? block_check_image(b, field, err) : SHEAF_OK;
}

static uint64_t block_label_of(const struct sheaf_sample *s)
{
    if (s->label_count == 0)
        return 0;
    if (s->label_count > 1 || !label_is_integer(s->labels[0]) || s->labels[0] < 0 ||
        s->labels[0] >= (double)UINT32_MAX)
        return LABEL_OTHER;
    return (uint64_t)s->labels[0] + 1;
}

int block_add(struct block *b, const struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct block_setup *setup = b->setup;
    const size_t names_start = b->names.size;
    struct block_sample added = { .number = sample->number, .label = block_label_of(sample) };
    struct encode_context context = setup->context;
    struct encoded encoded;
    int code = buf_reserve(&b->samples, sizeof(added), err);

    b->refused = NULL;
    for (size_t i = 0; i < sample->field_count && code == SHEAF_OK; i++) {
        code = check_field(b, &sample->fields[i], err);
        added.payload_bytes += sample->fields[i].size;
    }
    context.kept = b->kept;
    if (code == SHEAF_OK)
        code = setup->format->encode(sample, &context, &b->raw, &b->names, &encoded, err);
    if (code == SHEAF_OK)
        code = tally_add(&b->tally, sample, err);
    if (code != SHEAF_OK)
        return code;
    added.frame_bytes = encoded.size;
    added.crc = encoded.crc;
    added.key_hash = key_hash(sample->key);
    added.name_line_size = (uint32_t)encoded.name_line_size;
    if (encoded.name_line_size != 0)
        added.crc = crc32c(added.crc, b->names.data + names_start, encoded.name_line_size - 1);
    buf_put(&b->samples, &added, sizeof(added));
    b->payload_bytes += added.payload_bytes;
    b->files += sample->field_count;
    b->multipart += encoded.multipart;
    return SHEAF_OK;
}

int block_copy(struct block *b, const struct block_copy *r, struct sheaf_error *err)
{
    struct block_sample added = { .number = r->number, .label = r->label, .frame_bytes = r->size,
                                  .crc = r->crc };
    int code = buf_append(&b->raw, r->frame, r->size, err);

    if (code == SHEAF_OK && r->name_line != NULL) {
        added.name_line_size = (uint32_t)r->name_line_size + 1;
        code = buf_append(&b->names, r->name_line, r->name_line_size, err);
        if (code == SHEAF_OK)
            code = buf_append(&b->names, "\n", 1, err);
    }
    return code == SHEAF_OK ? buf_append(&b->samples, &added, sizeof(added), err) : code;
}

int block_finish(struct block *b, struct sheaf_error *err)
{
    const struct block_setup *setup = b->setup;
    int code = SHEAF_OK;

    if (b->ends_shard)
        code = setup->format->finish(&b->raw, err);
    if (code == SHEAF_OK && setup->codec != NULL && b->raw.size != 0)
        code = setup->codec->compress(b->raw.data, b->raw.size, &b->stored, &b->codec_block, err);
    return code;
}
