/* SPDX-License-Identifier: MIT
 *
 * Fills a block from the files of a plan, or from objects in a store (block_fetch.c). If a file has
 * changed since the scan, or its content does not match its name, the whole sample is reported and
 * left out. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fd_io.h"
#include "formats/label.h"
#include "formats/name.h"
#include "packer/block.h"
#include "packer/file_ahead.h"

/* Smallest number of bytes by which the memory of a block grows, if it was too small and the block
 * is encoded again. */
#define MORE_BYTES 4096u

/* Reports a file that cannot be packed, and the other files of its sample, because the whole sample
 * is left out. Images of this sample that were already converted are removed from the list of
 * converted images. */
static int block_read_refuse(struct block *b, const struct plan_sample *s,
                             const struct catalog_file *bad, const struct sheaf_error *why,
                             struct sheaf_error *err)
{
    const struct plan *plan = b->plan;
    char reason[sizeof(why->message)];
    int code = block_note(b, catalog_shown(bad), why, why->message, err);

    b->conversions.size = b->conversions_before;
    b->resized = b->resized_before;
    snprintf(reason, sizeof(reason), LEFT_OUT ": %.900s",
             catalog_shown(bad));
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++)
        if (&plan->files[s->file + i] != bad)
            code = block_note(b, plan->files[s->file + i].path, why, reason, err);
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int block_read_changed(const struct catalog_file *f, uint64_t bytes, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_CHANGED, "changed since the scan: %llu byte%s "
                                    "then, %llu now", (unsigned long long)f->bytes,
                                    plural(f->bytes), (unsigned long long)bytes),
                       SHEAF_REASON_SOURCE_CHANGED);
}

/* Reads the content of a file. Returns an error if the size or the time of the file differs from
 * what the scan of the source found. The file has then changed since the scan. */
static int block_read_content(int fd, const struct catalog_file *f, uint8_t *data, bool *fatal,
                              struct sheaf_error *err)
{
    const uint64_t got = fd_read(fd, data, f->bytes);
    struct stat st;

    if (got < f->bytes && errno != 0) {
        *fatal = !err_blames_file(errno);
        return err_errno(err, errno, "cannot read at offset %llu", (unsigned long long)got);
    }
    if (fstat(fd, &st) != 0) {
        *fatal = true;
        return err_errno(err, errno, "cannot stat");
    }
    if (got != f->bytes || (uint64_t)st.st_size != f->bytes)
        return block_read_changed(f, (uint64_t)st.st_size, err);
    if ((int64_t)((uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec) !=
        (f->origin == CATALOG_OBJECT ? (int64_t)f->object->stamp : f->mtime_ns))
        return err_because(err, err_set(err, SHEAF_ERR_CHANGED, "changed since the scan: it was "
                                        "written to"), SHEAF_REASON_SOURCE_CHANGED);
    return SHEAF_OK;
}

/* Reads a file. `fd` is the result of file_ahead_take(), which opened the file. Sets *fatal if an
 * error is not the fault of this file, so that the run must end. */
static int block_read_file(const struct catalog_file *f, int fd, uint8_t *data, bool *fatal,
                           struct sheaf_error *err)
{
    int code, errnum = errno;

    *fatal = fd < 0 && !err_blames_file(errnum);
    if (fd >= 0)
        code = block_read_content(fd, f, data, fatal, err);
    else
        code = err_errno(err, errnum, errnum == ENOENT ? "vanished since the scan"
                                                       : "cannot open");
    if (fd < 0 && code == SHEAF_ERR_NOT_FOUND)
        return err_because(err, code, SHEAF_REASON_SOURCE_CHANGED);
    return *fatal ? err_because(err, code, SHEAF_REASON_SOURCE_LOST) : code;
}

/* ---- Samples --------------------------------------------------------------------------------- */

/* Makes a sample's key and fields. The content of the fields is read later. */
static int block_read_make_fields(struct block *b, const struct plan_sample *s,
                                  struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_field *fields;
    size_t text = 0;
    char *string;
    int code;

    for (uint32_t i = 0; i < s->file_count; i++)
        text += strlen(files[i].path) + 1;
    b->strings.size = b->fields.size = 0;
    code = buf_reserve(&b->strings, text, err);
    if (code == SHEAF_OK)
        code = buf_reserve(&b->fields, s->file_count * sizeof(*fields), err);
    if (code != SHEAF_OK)
        return code;
    string = (char *)b->strings.data;
    fields = (struct sheaf_field *)(void *)b->fields.data;
    memcpy(string, files[0].path, files[0].key_size);
    string[files[0].key_size] = '\0';
    sample->key = string;
    string += files[0].key_size + 1;
    for (uint32_t i = 0; i < s->file_count; i++) {
        const char *suffix = files[i].path + files[i].key_size + 1;
        const size_t size = strlen(suffix) + 1;

        memcpy(string, suffix, size);
        name_lower(string);
        fields[i] = (struct sheaf_field){ string, suffix, NULL, files[i].bytes };
        string += size;
    }
    sample->fields = fields;
    sample->field_count = s->file_count;
    return SHEAF_OK;
}

/* Replaces the sample's labels by the numbers in its field `cls`. If the field does not consist of
 * numbers, the labels stay unchanged. */
static int take_cls(struct block *b, struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct sheaf_field *const fields = sample->fields, *field = fields;
    const double *labels;
    long count;
    int code;

    while (field < fields + sample->field_count && strcmp(field->name, "cls") != 0)
        field++;
    if (field == fields + sample->field_count)      /* a stored plan may be wrong */
        return SHEAF_OK;
    b->labels.size = 0;
    code = label_append(&b->labels, field->data, field->size, &count, err);
    if (code != SHEAF_OK)
        return code;
    labels = (const double *)(const void *)b->labels.data;
    if (count <= 0) {
        cls_words_count(sample->label_count == 0 ? &b->unread : &b->kept_labels, sample->key);
        return SHEAF_OK;
    }
    if (sample->label_count != 1 || count != 1 || labels[0] != sample->labels[0]) {
        if (sample->class_name != NULL)
            cls_words_count(&b->replaced, sample->key);
        sample->class_name = NULL;      /* because it is the name of the other label */
    }
    sample->labels = labels;
    sample->label_count = (size_t)count;
    return SHEAF_OK;
}

static int make_sample(struct block *b, const struct plan_sample *s, struct sheaf_sample *sample,
                       struct sheaf_error *err)
{
    const struct plan *plan = b->plan;
    const struct plan_label *label = &plan->labels[s->label];
    const uint64_t record = (uint64_t)(s - plan->samples) - b->shard->sample;
    const uint64_t *numbers = b->shard->made == NULL ? NULL : b->shard->made->numbers;

    *sample = (struct sheaf_sample){
        .labels = label->values,
        .label_count = label->value_count,
        .class_name = label->class_name,
        .number = numbers == NULL ? b->shard->first + record : numbers[record],
        .shard = b->shard->number,
        .record = record,
    };
    return block_read_make_fields(b, s, sample, err);
}

/* Converts the sample's images if the settings demand it. If an image cannot be converted, sets
 * *bad to its file and *why to the reason. Returns SHEAF_OK in this case, because the caller then
 * leaves out the sample. Other errors are returned. */
static int convert_images(struct block *b, const struct plan_sample *s,
                          const struct catalog_file **bad, struct sheaf_error *why,
                          struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_field *fields = (struct sheaf_field *)(void *)b->fields.data;
    int code = setup_converts(b->setup)
             ? block_convert_images(b, fields, s->file_count, files, why) : SHEAF_OK;

    if (code == SHEAF_OK)
        return SHEAF_OK;
    if (b->refused != NULL) {
        *bad = files + (b->refused - fields);
        return SHEAF_OK;
    }
    *err = *why;
    return err_prefix(err, "%s: ", files[0].path);
}

/* ---- Where they are read to ------------------------------------------------------------------ */

/* A field of at least this size (in bytes) may be read directly to its final position in the output
 * buffer. This position must be computed first. A smaller field is read into a scratch buffer and
 * then copied, because the copy takes less time than computing the position. */
#define PLACED_LEAST ((uint64_t)16 << 10)

/* The field whose file is read directly to its final position in the output buffer block.raw. So
 * the field need not be copied. */
struct placed {
    const struct sheaf_field *field;    /* NULL: none */
    /* position relative to the sample's frame (stored record), which begins at the end of
     * block.raw */
    size_t at;
};

static const struct sheaf_field *largest_field(const struct sheaf_sample *sample)
{
    const struct sheaf_field *largest = &sample->fields[0];

    for (size_t i = 1; i < sample->field_count; i++)
        if (sample->fields[i].size > largest->size)
            largest = &sample->fields[i];
    return largest;
}

/* Chooses the largest field of a sample to be read directly to its position in the frame (stored
 * record), and computes the position. The other fields are copied into the frame, which takes
 * little time. */
static struct placed place_largest(const struct block *b, const struct sheaf_sample *sample)
{
    const struct sheaf_field *field = largest_field(sample);
    const size_t room = b->raw.capacity - b->raw.size;
    size_t at;

    if (field->size < PLACED_LEAST)
        return (struct placed){ NULL, 0 };
    at = b->setup->format->content_at(sample, &b->setup->context, field);
    if (at > room || field->size > room - at)
        return (struct placed){ NULL, 0 };
    return (struct placed){ field, at };
}

/* Called when the content of all fields is known. One field may have been read directly to an
 * estimated position in the frame (stored record). If the estimate was right, does nothing. If it
 * was wrong, copies the field to the scratch buffer, because encoding would overwrite it. */
static int block_read_settle(struct block *b, const struct sheaf_sample *sample,
                             struct sheaf_field *fields, const struct placed *placed,
                             struct sheaf_error *err)
{
    struct sheaf_field *field;
    int code;

    if (placed->field == NULL || placed->field->data != b->raw.data + b->raw.size + placed->at ||
        b->setup->format->content_at(sample, &b->setup->context, placed->field) == placed->at)
        return SHEAF_OK;
    field = &fields[placed->field - fields];
    code = buf_reserve(&b->scratch, field->size, err);
    if (code != SHEAF_OK)
        return code;
    memcpy(b->scratch.data + b->scratch.size, field->data, field->size);
    field->data = b->scratch.data + b->scratch.size;
    b->scratch.size += field->size;
    return SHEAF_OK;
}

/* Sets *data to the memory into which the content of a field is read. This memory is the field's
 * position in the frame (stored record), or new room in the scratch buffer. */
static int block_read_make_room(struct block *b, const struct sheaf_field *field,
                                const struct placed *placed, uint8_t **data,
                                struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (field == placed->field) {
        *data = b->raw.data + b->raw.size + placed->at;
        return SHEAF_OK;
    }
    code = buf_reserve(&b->scratch, field->size, err);
    *data = b->scratch.data + b->scratch.size;
    if (code == SHEAF_OK)
        b->scratch.size += field->size;
    return code;
}

/* Takes the next file that was opened in advance. If `wanted` is set, reads the file into `data`.
 * If `wanted` is not set, because an earlier file of the same sample was bad, only closes the
 * file. */
static int read_opened(struct file_ahead *ahead, const struct catalog_file *f, uint8_t *data,
                       bool wanted, bool *fatal, struct sheaf_error *err)
{
    const int fd = file_ahead_take(ahead);
    int code = SHEAF_OK;

    if (f->origin == CATALOG_TEXT)
        memcpy(data, f->text, f->bytes);
    else if (wanted)
        code = block_read_file(f, fd, data, fatal, err);
    if (fd >= 0)
        close(fd);
    return code;
}

/* Reads a file that its source contains. */
static int read_within(const struct source *source, const struct catalog_file *f, uint8_t *data,
                       bool *fatal, struct sheaf_error *err)
{
    const int code = source->ops->read(source, f, data, err);

    *fatal = code == SHEAF_ERR_MEMORY || code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_IO;
    return code == SHEAF_ERR_IO ? err_because(err, code, SHEAF_REASON_SOURCE_LOST) : code;
}

static int block_read_field(struct block *b, struct file_ahead *ahead, const struct catalog_file *f,
                            struct sheaf_field *field, const struct placed *placed, bool wanted,
                            bool *fatal, struct sheaf_error *err)
{
    const struct source *source = b->setup->source;
    uint8_t *data;
    int code = block_read_make_room(b, field, placed, &data, err);

    *fatal = code != SHEAF_OK;
    if (code != SHEAF_OK)
        return code;
    field->data = data;
    if (source->ops->read == NULL)
        return read_opened(ahead, f, data, wanted, fatal, err);
    return wanted ? read_within(source, f, data, fatal, err) : SHEAF_OK;
}

/* Reads the files of a sample. If a file is bad, sets *bad to the file and *why to its error, and
 * returns SHEAF_OK. Returns an error only if it is not the fault of a file. */
static int block_read_files(struct block *b, struct file_ahead *ahead, const struct plan_sample *s,
                            struct sheaf_sample *sample, const struct catalog_file **bad,
                            struct sheaf_error *why, struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_field *fields = (struct sheaf_field *)(void *)b->fields.data;
    const struct placed placed = place_largest(b, sample);
    int code = SHEAF_OK;

    b->scratch.size = 0;
    for (uint32_t i = 0; i < s->file_count && code == SHEAF_OK; i++) {
        bool fatal = false;

        if (block_read_field(b, ahead, &files[i], &fields[i], &placed, *bad == NULL, &fatal,
                             why) != SHEAF_OK)
            *bad = &files[i];
        if (fatal) {
            *err = *why;
            code = err_prefix(err, "%s: ", files[i].path);
        }
    }
    if (code != SHEAF_OK || *bad != NULL)
        return code;
    code = convert_images(b, s, bad, why, err);
    if (code == SHEAF_OK && *bad == NULL && s->has_cls)
        code = take_cls(b, sample, err);
    return code == SHEAF_OK ? block_read_settle(b, sample, fields, &placed, err) : code;
}

/* Points the fields of a sample to the content of its files, which block_fetch has already fetched.
 * `number` is the number of files in the block before this sample's first file. Sets *bad and *why
 * as block_read_files() does. */
static int take_fetched(struct block *b, const struct plan_sample *s, size_t number,
                        struct sheaf_sample *sample, const struct catalog_file **bad,
                        struct sheaf_error *why, struct sheaf_error *err)
{
    const struct catalog_file *files = &b->plan->files[s->file];
    const struct block_fetched *fetched = (const void *)b->fetched.data;
    struct sheaf_field *fields = (struct sheaf_field *)(void *)b->fields.data;
    size_t at = b->sample_start;
    int code;

    for (uint32_t i = 0; i < s->file_count && *bad == NULL; i++) {
        fields[i].data = b->scratch.data + at;
        at += files[i].bytes;
        if (fetched[number + i].code != SHEAF_OK) {
            *bad = &files[i];
            err_set(why, fetched[number + i].code, "%s",
                    (const char *)b->texts.data + fetched[number + i].reason);
            err_because(why, SHEAF_OK, SHEAF_REASON_SOURCE_CHANGED);
        }
    }
    code = *bad == NULL ? convert_images(b, s, bad, why, err) : SHEAF_OK;
    return code == SHEAF_OK && *bad == NULL && s->has_cls ? take_cls(b, sample, err) : code;
}

/* Called after a sample could not be encoded. If the reason was that a buffer of the block was too
 * small, marks the block to be encoded again with more memory. Otherwise does nothing, because the
 * container cannot store such a sample at all. */
static void note_outgrown(struct block *b, const struct sheaf_sample *sample, int code)
{
    uint64_t bytes = 0;

    if (code != SHEAF_ERR_LIMIT || !(b->raw.is_full || b->names.is_full || b->samples.is_full))
        return;
    b->outgrown = !b->at_worst || setup_converts(b->setup);
    for (size_t i = 0; i < sample->field_count; i++)
        bytes += sample->fields[i].size;
    if (setup_converts(b->setup))
        b->extra += b->extra + bytes + MORE_BYTES;
}

/* Reads one sample and encodes it into the block, or records why it cannot be packed. `number` is
 * the number of files in the block before this sample's first file. */
static int pack_sample(struct block *b, struct file_ahead *ahead, const struct plan_sample *s,
                       size_t number, struct sheaf_error *err)
{
    const struct catalog_file *bad = NULL;
    const struct catalog_file *files = &b->plan->files[s->file];
    struct sheaf_sample sample;
    struct sheaf_error found;
    int code = make_sample(b, s, &sample, err);

    b->conversions_before = b->conversions.size;
    b->resized_before = b->resized;
    if (code == SHEAF_OK)
        code = b->setup->source->is_remote
             ? take_fetched(b, s, number, &sample, &bad, &found, err)
             : block_read_files(b, ahead, s, &sample, &bad, &found, err);
    if (code != SHEAF_OK)
        return code;
    if (bad != NULL)
        return block_read_refuse(b, s, bad, &found, err);
    b->refused = NULL;
    code = (b->setup->take != NULL ? b->setup->take : block_add)(b, &sample, &found);
    if (code == SHEAF_OK)
        return SHEAF_OK;
    note_outgrown(b, &sample, code);
    if (b->outgrown || code == SHEAF_ERR_MEMORY || found.reason == SHEAF_REASON_MEMORY) {
        *err = found;
        return b->outgrown ? code : err_prefix(err, "%s: ", files[0].path);
    }
    if (code == SHEAF_ERR_ARGUMENT)     /* an error of the file, not of the caller */
        found.code = SHEAF_ERR_UNSUPPORTED;
    bad = b->refused == NULL ? files : files + (b->refused - sample.fields);
    return block_read_refuse(b, s, bad, &found, err);
}

/* Ends the block. Its buffer may be so full of converted images that the end of the shard does not
 * fit. The block is then marked to be encoded again with more memory. */
static void block_read_finish(struct block *b)
{
    b->code = block_finish(b, &b->error);
    if (b->code != SHEAF_ERR_LIMIT || !setup_converts(b->setup))
        return;
    b->outgrown = true;
    b->extra += b->raw.capacity;
}

void block_run(struct job *job)
{
    struct block *b = (struct block *)((char *)job - offsetof(struct block, job));
    const struct plan *plan = b->plan;
    struct file_ahead ahead;
    size_t files = 0;

    block_clear(b);
    file_ahead_begin(&ahead, plan, b->setup->source->root_fd, b->first, b->end);
    if (b->setup->source->is_remote)
        b->code = block_fetch(b, &b->error);
    for (uint64_t i = b->first; i < b->end && b->code == SHEAF_OK; i++) {
        const struct plan_sample *s = &plan->samples[i];

        b->code = pack_sample(b, &ahead, s, files, &b->error);
        files += s->file_count;
        if (b->setup->source->is_remote)
            b->sample_start += s->payload_bytes;
    }
    file_ahead_end(&ahead);
    if (b->code == SHEAF_OK && b->setup->take == NULL)
        block_read_finish(b);
}
