/* SPDX-License-Identifier: MIT
 *
 * sheaf_index: makes a data set from foreign shards (shards without a manifest), without copying
 * them. Reads each shard once. Collects the facts that the packer would know: positions of samples,
 * checksums, counts, hashes and keys. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/workers.h"
#include "formats/interop_index.h"
#include "formats/key_table.h"
#include "formats/sample.h"
#include "publish/output.h"
#include "publish/publish.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/repeated_keys.h"
#include "reader/dataset/shard_walk.h"
#include "store/interrupt.h"
#include "store/over.h"
#include "store/store.h"

struct indexing {
    struct sheaf_dataset *dataset;
    const struct sheaf_verify_options *options;
    struct sheaf_verify_result *result;
    const char *directory;
    struct manifest manifest;
    struct buf index;               /* content of dataset.index so far */
    struct publish_keys keys;
    struct repeated_keys repeated;
    struct interop_writer interop;
    struct output output;
    /* the state of the manifest file (whether it existed, for example) when this run claimed the
     * directory */
    struct store_seen seen;
    struct decode_scratch scratch;
    atomic_uint_fast64_t read_bytes;
};

static void index_foreign_show_progress(struct indexing *x)
{
    const struct sheaf_progress progress = {
        .stage = "index",
        .done_bytes = atomic_load(&x->read_bytes),
        .total_bytes = x->dataset->total_bytes,
        .done_count = x->result->samples,
        .total_count = dataset_samples(x->dataset),
    };

    if (x->options->progress != NULL)
        x->options->progress(x->options->context, &progress);
}

/* Counts samples with a label, and samples whose field `cls` cannot be a label, as sheaf_verify
 * does. */
static void index_foreign_count_labels(struct indexing *x, const struct walk *walk,
                                       uint64_t offset, uint64_t number,
                                       const struct sheaf_sample *sample)
{
    struct sheaf_verify_result *result = x->result;

    if (sample->label_count != 0) {
        result->labelled++;
        return;
    }
    result->unread_labels += sample_has_cls(sample);
    if (result->unlabelled[0] == '\0')
        snprintf(result->unlabelled, sizeof(result->unlabelled), "%.200s: offset %" PRIu64
                 ", record %" PRIu64 ": %.200s", dataset_shown(x->dataset, walk->shard), offset,
                 number, sample->key);
}

/* Decodes the sample in a frame (stored record). Adds the size of its fields to *bytes, and its key
 * to the table of keys. If the sample cannot be decoded, returns the error with the place of the
 * frame. */
static int index_foreign_take_sample(struct indexing *x, const struct walk *walk,
                                     const struct frame *frame, uint64_t *bytes,
                                     struct sheaf_error *err)
{
    const struct decode_context context = dataset_decode_context(x->dataset, walk->shard);
    const uint64_t number = walk->frames.framing.records - 1;
    const struct record record = { .data = frame->data, .size = frame->size,
                                   .shard = walk->shard, .record = number };
    struct sheaf_sample sample;
    int code = x->dataset->format->decode(&record, &context, &x->scratch, &sample, err);

    if (code != SHEAF_OK)
        return err_prefix(err, "%s: offset %" PRIu64 ", record %" PRIu64 ": ",
                          x->dataset->urls[walk->shard], frame->offset, number);
    for (size_t i = 0; i < sample.field_count; i++)
        *bytes += sample.fields[i].size;
    index_foreign_count_labels(x, walk, frame->offset, number, &sample);
    code = tally_add(&x->manifest.fields, &sample, err);
    if (code == SHEAF_OK)
        code = repeated_keys_add(&x->repeated, sample.key, walk->shard, number, err);
    if (code != SHEAF_OK)
        return code;
    return publish_keys_add_hash(&x->keys, key_hash(sample.key), err);
}

/* Makes the section of a shard frame by frame. */
static int index_foreign_gather(struct indexing *x, struct walk *walk, struct manifest_shard *shard,
                                struct index_writer *writer, struct sheaf_error *err)
{
    uint64_t end = 0;

    for (;;) {
        struct frame frame;
        int code = walk_next(walk, &frame, err);

        if (code == SHEAF_END)
            return SHEAF_OK;
        if (code == SHEAF_OK && frame.offset != end)
            code = index_add_gap(writer, frame.offset - end, err);
        if (code == SHEAF_OK)
            code = index_add_sample(writer, frame.size, frame.crc, 0, err);
        if (code == SHEAF_OK)
            code = interop_add_frame(&x->interop, x->result->samples, frame.offset, frame.data,
                                     frame.size, err);
        if (code == SHEAF_OK)
            code = index_foreign_take_sample(x, walk, &frame, &shard->payload_bytes, err);
        if (code != SHEAF_OK)
            return code;
        end = frame.offset + frame.size;
        shard->largest = MAX(shard->largest, frame.size);
        shard->samples++;
        if (++x->result->samples % 256 == 0)
            index_foreign_show_progress(x);
    }
}

static int index_shard(struct indexing *x, uint32_t i, struct sheaf_error *err)
{
    struct manifest_shard *shard = &x->manifest.shards[i];
    struct publish_to to = { &x->output, x->directory };
    const char *slash = strrchr(x->dataset->urls[i], '/');
    /* The index section that was made when the headers of a local shard were scanned. NULL for a
     * remote shard, whose headers were not scanned. */
    const struct index_section *section = x->dataset->sections[i];
    struct index_writer writer = { 0 };
    const volatile int *before;
    struct walk walk;
    int code;

    shard->name = strdup(slash != NULL ? slash + 1 : x->dataset->urls[i]);
    if (shard->name == NULL)
        return err_memory(err, strlen(x->dataset->urls[i]));
    before = interrupt_watch(x->options->interrupt);
    code = walk_open(&walk, x->dataset, i, section, (size_t)(x->options->memory_bytes / 2),
                     AHEAD_PIECES_MOST, &x->read_bytes, x->options->interrupt, err);
    interrupt_watch(before);
    if (code != SHEAF_OK)
        return code;
    code = index_foreign_gather(x, &walk, shard, &writer, err);
    if (code == SHEAF_OK)
        code = walk_hash(&walk, NULL, shard->xxh3, err);
    /* If the headers of the shard were scanned when it was opened, the number of samples must not
     * have changed since then. (The headers of remote and compressed shards are not scanned.) */
    if (code == SHEAF_OK && !x->dataset->is_stream &&
        shard->samples != x->dataset->manifest.shards[i].samples)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %" PRIu64 " sample%s when read through, "
                       "but %" PRIu64 " when it was scanned", x->dataset->urls[i], shard->samples,
                       plural(shard->samples), x->dataset->manifest.shards[i].samples);
    shard->bytes = shard->raw_bytes = walk.stored_bytes;
    shard->index_offset = x->index.size;
    for (uint64_t p = 0; section != NULL && code == SHEAF_OK && p < section->piece_count; p++)
        code = index_add_piece(&writer, section->pieces[p].stored_offset,
                               section->pieces[p + 1].raw_offset - section->pieces[p].raw_offset,
                               err);
    if (code == SHEAF_OK)
        code = index_finish(&writer, 0, &x->index, err);
    shard->index_bytes = x->index.size - shard->index_offset;
    index_sum(x->index.data + shard->index_offset, shard->index_bytes, shard->index_xxh3);
    if (code == SHEAF_OK)
        code = interop_finish_shard(&x->interop, shard->name, publish_file, &to, err);
    x->result->shards++;
    x->result->bytes += walk.offset;
    x->result->passed_over += framing_passed_over(&walk.frames.framing);
    walk_close(&walk);
    index_writer_free(&writer);
    return code;
}

static int index_foreign_refuse(const struct sheaf_dataset *d, struct sheaf_error *err)
{
    if (d->format == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe cannot be indexed", d->url);
    if (d->codec != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its shards are compressed (%s) by another "
                       "program, so no index can point into them: convert them instead", d->url,
                       sheaf_codec_name(d->manifest.codec));
    if (d->damage_count == 0)
        return SHEAF_OK;
    if (err != NULL)
        *err = d->damages[0].error;
    return d->damages[0].error.code;
}

/* Stores in the manifest how many samples have a field `cls` that is not a label, as packing does.
 */
static int keep_unread_labels(struct indexing *x, struct sheaf_error *err)
{
    if (x->result->unread_labels != 0 &&
        asprintf(&x->manifest.options_json, "{\"cls_words\":%" PRIu64 "}",
                 x->result->unread_labels) < 0) {
        x->manifest.options_json = NULL;
        return err_memory(err, 1);
    }
    return SHEAF_OK;
}

static int index_all(struct indexing *x, struct sheaf_error *err)
{
    const size_t count = x->dataset->manifest.shard_count;
    int code = SHEAF_OK;

    x->manifest.container = x->dataset->format->id;
    x->manifest.shards = calloc(count, sizeof(x->manifest.shards[0]));
    if (x->manifest.shards == NULL)
        return err_memory(err, count * sizeof(x->manifest.shards[0]));
    x->manifest.shard_count = count;
    for (uint32_t i = 0; code == SHEAF_OK && i < count; i++) {
        code = index_shard(x, i, err);
        index_foreign_show_progress(x);
    }
    if (code == SHEAF_OK)
        code = repeated_keys_end(&x->repeated, x->dataset, &x->result->repeated_keys,
                                 x->result->repeated_key, err);
    x->manifest.repeated_keys = x->result->repeated_keys;
    x->manifest.joined = x->dataset->joined != 0;
    if (code == SHEAF_OK)
        code = keep_unread_labels(x, err);
    if (code == SHEAF_OK)
        code = publish_made(&x->output, &x->index, &x->keys, &x->manifest, &x->seen, err);
    return code;
}

/* Claims the directory. No other run can then write to it until this run has written the manifest.
 */
static int index_foreign_claim(struct indexing *x, bool overwrite, struct sheaf_error *err)
{
    char *url = store_join(x->directory, MANIFEST_NAME);
    bool finished;
    int code = url == NULL ? err_memory(err, strlen(x->directory))
                           : dataset_refuse_unfinished(x->directory, err);

    if (code == SHEAF_OK)
        code = output_open(&x->output, x->directory, NULL, NULL, "index", err);
    if (code == SHEAF_OK)
        code = output_add_split(&x->output, "", 0, err);
    if (code == SHEAF_OK)
        code = output_claim(&x->output, overwrite ? ASK_INDEX_REPLACE : ASK_INDEX, &finished, err);
    if (code == SHEAF_OK) {
        code = store_see(url, &x->seen, err);
        if (code == SHEAF_OK && x->seen.is_there && !overwrite)
            code = err_set(err, SHEAF_ERR_EXISTS, "%s: another process has just made it", url);
        if (code == SHEAF_OK)
            code = journal_remove_temporaries(x->directory, err);
    }
    free(url);
    return code;
}

static int index_foreign_open_all(struct indexing *x, const char *index, struct sheaf_error *err)
{
    int code = dataset_open_foreign(&x->directory, 1, x->options->join, &x->dataset, err);

    x->output.interop = index;
    if (code == SHEAF_OK)
        code = index_foreign_refuse(x->dataset, err);
    if (code == SHEAF_OK)
        code = interop_open(&x->interop, index, x->dataset->manifest.container, SHEAF_CODEC_NONE,
                            err);
    if (code == SHEAF_OK)
        code = publish_keys_open(&x->keys, x->directory, x->options->memory_bytes / 4, err);
    if (code == SHEAF_OK)
        code = repeated_keys_open(&x->repeated, x->options->memory_bytes, err);
    return code;
}

/* Returns an error if the caller has named single shards, because an index is always for a whole
 * directory. */
static int refuse_names(const char *directory, struct sheaf_error *err)
{
    uint64_t bytes;
    const bool is_name = directory[0] == '@' || strcspn(directory, "{}*?[") != strlen(directory) ||
                         (store_is_local(directory) &&
                          store_size(directory, &bytes, NULL) == SHEAF_OK);

    return !is_name ? SHEAF_OK
         : err_set(err, SHEAF_ERR_ARGUMENT, "%s: names shards, expected their directory, in which "
                   "the index is written", directory);
}

int sheaf_index(const char *directory, const char *index, int overwrite,
                const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
                struct sheaf_error *err)
{
    struct sheaf_verify_options own;
    struct indexing x = { .directory = directory, .options = &own, .result = result,
                          .output.lock = -1, .index = BUF_INIT(SIZE_MAX) };
    int code;

    sheaf_verify_options_init(&own, sizeof(own));
    sized_take(&own, sizeof(own), options);
    memset(result, 0, sizeof(*result));
    code = workers_check("threads", own.threads, err);
    if (code == SHEAF_OK)
        code = refuse_names(directory, err);
    if (code == SHEAF_OK)
        code = index_foreign_claim(&x, overwrite != 0, err);
    if (code == SHEAF_OK) {
        code = index_foreign_open_all(&x, index, err);
        if (code == SHEAF_OK)
            code = index_all(&x, err);
        if (code == SHEAF_OK)
            code = journal_clear(&x.output.journal, err);
        else
            (void)journal_clear(&x.output.journal, NULL);
    }
    output_close(&x.output);
    manifest_clear(&x.manifest);
    buf_free(&x.index);
    publish_keys_close(&x.keys);
    repeated_keys_close(&x.repeated);
    decode_scratch_free(&x.scratch);
    interop_free(&x.interop);
    sheaf_dataset_free(x.dataset);
    return code;
}
