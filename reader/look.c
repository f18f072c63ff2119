/* SPDX-License-Identifier: MIT
 *
 * The looks of look.h, each on a thread of its own where it waits for a network. */
#include "reader/look.h"

#include "base/bytes.h"
#include "base/error.h"

#define DETECT_BYTES ((size_t)4096)

static bool is_remote(const char *url)
{
    const struct store_ops *store = store_of(url, NULL);

    return store != NULL && store->read_start != NULL;
}

size_t look_count(const char *const *urls, size_t count)
{
    size_t n = 0;

    while (n < count && n < LOOKS_MOST && is_remote(urls[n]))
        n++;
    return MAX(n, MIN(count, (size_t)1));
}

static struct look *look_of(struct job *job)
{
    return (struct look *)((char *)job - offsetof(struct look, job));
}

static void find_size(struct job *job)
{
    struct look *look = look_of(job);

    look->code = store_size(look->url, &look->bytes, &look->error);
}

/* The first bytes behind the codec, at most *size of them. */
static int unpack_start(enum sheaf_codec codec, const uint8_t *data, size_t size, uint8_t *raw,
                        size_t *raw_size, struct sheaf_error *err)
{
    struct codec_stream *stream;
    int code = codec_stream_open(codec, &stream, err);

    if (code != SHEAF_OK)
        return code;
    code = codec_stream_push(stream, data, &size, raw, raw_size, err);
    codec_stream_free(stream);
    return code;
}

static int detect(struct look *look, struct store_object *object, struct sheaf_error *err)
{
    uint8_t stored[DETECT_BYTES], raw[DETECT_BYTES];
    size_t size = (size_t)MIN(object->bytes, sizeof(stored)), raw_size = sizeof(raw);
    int code = store_read(object, 0, stored, size, err);

    if (code != SHEAF_OK)
        return code;
    look->codec = codec_detect(stored, size);
    if (look->codec == SHEAF_CODEC_NONE) {
        look->format = format_detect(stored, size, object->url);
    } else {
        code = unpack_start(look->codec, stored, size, raw, &raw_size, err);
        if (code != SHEAF_OK)
            return err_prefix(err, "%s: ", object->url);
        look->format = format_detect(raw, raw_size, object->url);
    }
    if (look->format == NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: begins like no TFRecord, RecordIO or tar "
                       "file, plain or packed by gzip or LZ4", object->url);
    return SHEAF_OK;
}

static int open_and_detect(struct look *look, struct sheaf_error *err)
{
    struct store_object *object;
    int code = SHEAF_OK;

    if (!is_remote(look->url))          /* a pipe must not be opened before it is read */
        code = store_size(look->url, &look->bytes, err);
    if (code != SHEAF_OK || look->bytes == UINT64_MAX)
        return code;
    code = store_open(look->url, &object, err);
    if (code != SHEAF_OK)
        return code;
    look->bytes = object->bytes;
    code = detect(look, object, err);
    if (code == SHEAF_OK && !object->is_remote)
        look->object = object;
    else
        store_close(object);
    return code;
}

static void find_inside(struct job *job)
{
    struct look *look = look_of(job);

    look->code = open_and_detect(look, &look->error);
}

static int look_at(struct look *looks, size_t count, void (*run)(struct job *job),
                   struct sheaf_error *err)
{
    struct workers *workers;
    int code;

    for (size_t i = 0; i < count; i++)
        looks[i].job = (struct job){ .run = run };
    if (count == 1) {
        run(&looks[0].job);
        return SHEAF_OK;
    }
    code = workers_open(&workers, (unsigned)MIN(count, LOOKS_AT_ONCE), err);
    if (code != SHEAF_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        workers_submit(workers, &looks[i].job);
    for (size_t i = 0; i < count; i++)
        workers_wait(workers, &looks[i].job);
    workers_close(workers);
    return SHEAF_OK;
}

int look_sizes(struct look *looks, size_t count, struct sheaf_error *err)
{
    return look_at(looks, count, find_size, err);
}

int look_inside(struct look *looks, size_t count, struct sheaf_error *err)
{
    return look_at(looks, count, find_inside, err);
}
