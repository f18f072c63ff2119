/* SPDX-License-Identifier: MIT
 *
 * Detects the format of foreign shards (shards without a manifest); see probe.h. A thread is
 * started for each shard whose bytes come over the network. */
#include "reader/dataset/probe.h"

#include "base/bytes.h"
#include "base/error.h"
#include "formats/detect.h"

size_t look_count(const char *const *urls, size_t count)
{
    size_t n = 0;

    while (n < count && n < LOOKS_MOST && store_is_remote(urls[n]))
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

/* Reads the first `size` bytes of a shard into `stored`. Reads the whole shard if it is shorter. */
static int probe_show(struct store_object *object, size_t size, struct buf *stored,
                      struct sheaf_error *err)
{
    int code;

    size = (size_t)MIN(object->bytes, (uint64_t)size);
    stored->size = 0;
    code = buf_reserve(stored, size, err);
    if (code == SHEAF_OK && size != 0)
        code = store_read(object, 0, stored->data, size, err);
    stored->size = size;
    return code;
}

static int find_format(struct look *look, struct store_object *object, struct sheaf_error *err)
{
    struct buf stored = BUF_INIT(DETECT_MOST);
    struct detected found = { .format = NULL };
    size_t need = DETECT_BYTES;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && need != 0) {
        code = probe_show(object, need, &stored, err);
        if (code != SHEAF_OK)
            break;
        code = detect(stored.data, stored.size, stored.size == object->bytes, object->url,
                      &found, &need, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", object->url);
    }
    buf_free(&stored);
    look->codec = found.codec;
    look->format = found.format;
    return code;
}

static int open_and_detect(struct look *look, struct sheaf_error *err)
{
    struct store_object *object;
    int code = SHEAF_OK;

    if (!store_is_remote(look->url))          /* Opening a pipe would use it up. */
        code = store_size(look->url, &look->bytes, err);
    if (code != SHEAF_OK || look->bytes == UINT64_MAX)
        return code;
    code = store_open(look->url, &object, err);
    if (code != SHEAF_OK)
        return code;
    look->bytes = object->bytes;
    code = find_format(look, object, err);
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

static int probe_look_at(struct look *looks, size_t count, void (*run)(struct job *job),
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
    return probe_look_at(looks, count, find_size, err);
}

int look_inside(struct look *looks, size_t count, struct sheaf_error *err)
{
    return probe_look_at(looks, count, find_inside, err);
}
