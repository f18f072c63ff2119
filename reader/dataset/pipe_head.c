/* SPDX-License-Identifier: MIT
 *
 * Detects what a pipe contains; see pipe_head.h. */
#include "reader/dataset/pipe_head.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/index.h"
#include "formats/key_table.h"

/* size of the smallest stream with a record: a RecordIO record without payload */
#define RECORD_LEAST 8

/* Reads from the pipe until the first `size` bytes are in memory, or until the pipe ends. */
static int peek(struct pipe_head *h, struct store_object *object, size_t size, bool *at_end,
                struct sheaf_error *err)
{
    size_t got = 1;
    int code;

    h->bytes.limit = DETECT_MOST;
    code = buf_reserve(&h->bytes, size - h->bytes.size, err);
    while (code == SHEAF_OK && got != 0 && h->bytes.size < size) {
        code = store_read_next(object, h->bytes.data + h->bytes.size, size - h->bytes.size, &got,
                               err);
        h->bytes.size += code == SHEAF_OK ? got : 0;
    }
    *at_end = got == 0;
    return code;
}

/* Returns true if the first bytes of the pipe show that it does not contain a shard, but another
 * file of a data set: an index, a table of keys, or a manifest. */
static bool is_no_shard(const struct buf *bytes)
{
    return index_begins(bytes->data, bytes->size) || key_table_begins(bytes->data, bytes->size) ||
           (bytes->size != 0 && bytes->data[0] == '{');
}

/* Returns the error for a channel's pipe that ended before the end of its first record. Returns
 * SHEAF_END if the pipe is empty and source->may_be_empty is set.
 *
 * If `sheaf pipe` fails before the epoch begins, it writes a single byte to the pipe. So the
 * failure is not mistaken for an empty pipe. */
static int pipe_head_ended(const struct pipe_head *h, const struct store_object *object,
                           const struct pipe_source *source, struct sheaf_error *err)
{
    if (h->bytes.size != 0)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: the pipe ended after %zu byte%s, before the "
                       "end of a record: its feeder failed before it could feed this epoch. Its "
                       "error message says why", object->url, h->bytes.size,
                       plural(h->bytes.size));
    return source->may_be_empty ? SHEAF_END
         : err_set(err, SHEAF_ERR_TRUNCATED, "%s: the pipe ended without a byte: its feeder "
                   "failed, or the channel has no objects", object->url);
}

int pipe_head_detect(struct pipe_head *h, struct store_object *object,
                     const struct pipe_source *source, struct detected *found,
                     struct sheaf_error *err)
{
    size_t need = DETECT_BYTES;

    *found = (struct detected){ .format = NULL };
    while (need != 0) {
        bool at_end;
        int code = peek(h, object, need, &at_end, err);

        if (code != SHEAF_OK)
            return code;
        if (h->bytes.size < RECORD_LEAST && source != NULL)
            return pipe_head_ended(h, object, source, err);
        code = detect(h->bytes.data, h->bytes.size, at_end, object->url, found, &need, err);
        if (code == SHEAF_ERR_UNSUPPORTED && is_no_shard(&h->bytes))
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: begins with dataset.index, "
                           "dataset.keys or JSON, not with a shard: give the feeder the shards "
                           "alone, by a prefix like .../shard- or by a manifest file",
                           object->url);
        if (code != SHEAF_OK)
            return err_prefix(err, "%s: ", object->url);
    }
    return SHEAF_OK;
}

int pipe_head_read(struct pipe_head *h, struct store_object *object, void *data, size_t size,
                   size_t *got, struct sheaf_error *err)
{
    if (h->used == h->bytes.size)
        return store_read_next(object, data, size, got, err);
    *got = MIN(size, h->bytes.size - h->used);
    memcpy(data, h->bytes.data + h->used, *got);
    h->used += *got;
    return SHEAF_OK;
}

void pipe_head_free(struct pipe_head *h)
{
    buf_free(&h->bytes);
}
