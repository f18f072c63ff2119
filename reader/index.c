/* SPDX-License-Identifier: MIT
 *
 * sheaf_index: makes foreign shards a data set.  Each is walked through once; what the packer
 * would have known is gathered from it: extents, CRCs, counts, hashes, keys. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "formats/interop_index.h"
#include "formats/key_table.h"
#include "reader/lookup/key_file.h"
#include "reader/shard_walk.h"
#include "store/interrupt.h"
#include "store/store.h"

struct indexing {
    struct sheaf_dataset *dataset;
    const struct sheaf_verify_options *options;
    struct sheaf_verify_result *result;
    const char *directory;
    struct manifest manifest;
    struct buf index;               /* dataset.index, as it grows */
    struct sort *keys;
    struct interop_writer interop;
    struct decode_scratch scratch;
    atomic_uint_fast64_t read_bytes;
};

static void show_progress(struct indexing *x)
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

/* The payload and the key of a frame; the frame must be one that can be decoded. */
static int take_sample(struct indexing *x, const struct walk *walk, const struct frame *frame,
                      uint64_t *bytes, struct sheaf_error *err)
{
    const struct decode_context context = dataset_decode_context(x->dataset, walk->shard);
    const uint64_t number = walk->frames.records - 1;
    const struct record record = { .data = frame->data, .size = frame->size,
                                   .shard = walk->shard, .record = number };
    struct sheaf_sample sample;
    int code = x->dataset->format->decode(&record, &context, &x->scratch, &sample, err);

    if (code != SHEAF_OK)
        return err_prefix(err, "%s: offset %" PRIu64 ", record %" PRIu64 ": ",
                          x->dataset->urls[walk->shard], frame->offset, number);
    for (size_t i = 0; i < sample.field_count; i++)
        *bytes += sample.fields[i].size;
    code = tally_add(&x->manifest.fields, &sample, err);
    if (code != SHEAF_OK)
        return code;
    return key_table_add(x->keys, key_hash(sample.key), x->result->samples, err);
}

/* Gathers the section of a shard frame by frame. */
static int gather(struct indexing *x, struct walk *walk, struct manifest_shard *shard,
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
            code = take_sample(x, walk, &frame, &shard->payload_bytes, err);
        if (code != SHEAF_OK)
            return code;
        end = frame.offset + frame.size;
        shard->largest = MAX(shard->largest, frame.size);
        shard->samples++;
        if (++x->result->samples % 256 == 0)
            show_progress(x);
    }
}

/* Puts a file, and removes what is left of it by a run that was killed. */
static int put(const char *url, const void *data, size_t size, struct sheaf_error *err)
{
    const int code = store_sweep(url, err);

    return code == SHEAF_OK ? store_put(url, data, size, err) : code;
}

/* Puts an index file of other readers below the directory. */
static int put_interop(void *context, const char *name, const void *data, size_t size,
                       struct sheaf_error *err)
{
    const struct indexing *x = context;
    const char *slash = strrchr(name, '/');
    char *url = store_join(x->directory, name);
    int code = SHEAF_OK;

    if (url == NULL)
        return err_memory(err, strlen(name));
    if (slash != NULL) {
        url[strlen(url) - strlen(slash)] = '\0';
        code = store_make_directory(url, err);
        url[strlen(url)] = '/';
    }
    if (code == SHEAF_OK)
        code = put(url, data, size, err);
    free(url);
    return code;
}

static int index_shard(struct indexing *x, uint32_t i, struct sheaf_error *err)
{
    struct manifest_shard *shard = &x->manifest.shards[i];
    const char *slash = strrchr(x->dataset->urls[i], '/');
    struct index_writer writer = { 0 };
    const volatile int *before;
    struct walk walk;
    int code;

    shard->name = strdup(slash != NULL ? slash + 1 : x->dataset->urls[i]);
    if (shard->name == NULL)
        return err_memory(err, strlen(x->dataset->urls[i]));
    before = interrupt_watch(x->options->interrupt);
    code = walk_open(&walk, x->dataset, i, (size_t)(x->options->memory_bytes / 2),
                     &x->read_bytes, x->options->interrupt, err);
    interrupt_watch(before);
    if (code != SHEAF_OK)
        return code;
    code = gather(x, &walk, shard, &writer, err);
    if (code == SHEAF_OK)
        code = walk_hash(&walk, shard->xxh3, err);
    /* Remote shards are not scanned first: they are read completely, as here. */
    if (code == SHEAF_OK && !x->dataset->is_stream &&
        shard->samples != x->dataset->manifest.shards[i].samples)
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: has %" PRIu64 " sample%s when read through, "
                       "but %" PRIu64 " when it was scanned", x->dataset->urls[i], shard->samples,
                       plural(shard->samples), x->dataset->manifest.shards[i].samples);
    shard->bytes = shard->raw_bytes = walk.object->bytes;
    shard->index_offset = x->index.size;
    if (code == SHEAF_OK)
        code = index_finish(&writer, 0, &x->index, err);
    shard->index_bytes = x->index.size - shard->index_offset;
    index_sum(x->index.data + shard->index_offset, shard->index_bytes, shard->index_xxh3);
    if (code == SHEAF_OK)
        code = interop_finish_shard(&x->interop, shard->name, put_interop, x, err);
    x->result->shards++;
    x->result->bytes += walk.offset;
    x->result->passed_over += frames_passed_over(&walk.frames);
    walk_close(&walk);
    index_writer_free(&writer);
    return code;
}

/* Puts index and table of keys, and the manifest last. */
static int publish(struct indexing *x, struct sheaf_error *err)
{
    struct buf text = { .limit = MANIFEST_LIMIT };
    char *index_url = store_join(x->directory, INDEX_NAME);
    char *keys_url = store_join(x->directory, KEYS_NAME);
    char *url = store_join(x->directory, MANIFEST_NAME);
    int code = SHEAF_OK;

    if (index_url == NULL || keys_url == NULL || url == NULL)
        code = err_memory(err, strlen(x->directory));
    x->manifest.index_bytes = x->index.size;
    if (code == SHEAF_OK)
        code = manifest_write(&x->manifest, &text, err);
    if (code == SHEAF_OK)
        code = store_remove(url, err);
    if (code == SHEAF_OK)
        code = put(index_url, x->index.data, x->index.size, err);
    if (code == SHEAF_OK)
        code = key_file_put(keys_url, x->manifest.fingerprint, x->result->samples, x->keys, err);
    if (code == SHEAF_OK)
        code = interop_finish_dataset(&x->interop, &x->manifest, NULL, put_interop, x, err);
    if (code == SHEAF_OK)
        code = put(url, text.data, text.size, err);
    buf_free(&text);
    free(index_url);
    free(keys_url);
    free(url);
    return code;
}

static int refuse(const char *directory, int overwrite, const struct sheaf_dataset *d,
                  struct sheaf_error *err)
{
    char *url = store_join(directory, MANIFEST_NAME);
    uint64_t bytes;
    int code;

    if (url == NULL)
        return err_memory(err, strlen(directory));
    code = store_size(url, &bytes, err);
    free(url);
    if (code == SHEAF_OK && !overwrite)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: already has a %s", directory, MANIFEST_NAME);
    if (code != SHEAF_OK && code != SHEAF_ERR_NOT_FOUND)
        return code;
    if (d->format == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe cannot be indexed", d->url);
    if (strlen(d->urls[0]) <= strlen(directory) ||
        strncmp(d->urls[0], directory, strlen(directory)) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: names shards, expected their directory, in "
                       "which the index is written", directory);
    if (d->codec != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its shards are compressed (%s) by another "
                       "program, so no index can point into them: convert them instead", d->url,
                       sheaf_codec_name(d->manifest.codec));
    if (d->damage_count != 0) {
        if (err != NULL)
            *err = d->damages[0].error;
        return d->damages[0].error.code;
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
        show_progress(x);
    }
    return code == SHEAF_OK ? publish(x, err) : code;
}

int sheaf_index(const char *directory, const char *index, int overwrite,
                const struct sheaf_verify_options *options, struct sheaf_verify_result *result,
                struct sheaf_error *err)
{
    struct sheaf_verify_options own;
    struct indexing x = { .directory = directory, .options = &own, .result = result,
                          .index = BUF_INIT(SIZE_MAX) };
    int code;

    sheaf_verify_options_init(&own, sizeof(own));
    if (options != NULL)
        sized_take(&own, sizeof(own), options, options->sizeof_options);
    memset(result, 0, sizeof(*result));
    code = dataset_refuse_unfinished(directory, err);
    if (code == SHEAF_OK)
        code = dataset_open_foreign(&directory, 1, &x.dataset, err);
    if (code != SHEAF_OK)
        return code;
    code = refuse(directory, overwrite, x.dataset, err);
    if (code == SHEAF_OK)
        code = interop_open(&x.interop, index, x.dataset->manifest.container, SHEAF_CODEC_NONE,
                            err);
    if (code == SHEAF_OK)
        code = key_file_sort(directory, own.memory_bytes / 4, &x.keys, err);
    if (code == SHEAF_OK)
        code = index_all(&x, err);
    manifest_clear(&x.manifest);
    buf_free(&x.index);
    sort_close(x.keys);
    decode_scratch_free(&x.scratch);
    interop_free(&x.interop);
    sheaf_dataset_free(x.dataset);
    return code;
}
