/* SPDX-License-Identifier: MIT
 *
 * The table of codecs, and what is the same for all of them. */
#include "formats/codec.h"

#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"

static const struct codec_ops *const codecs[] = { &gzip_ops, &lz4_ops };

const struct codec_ops *codec_of(enum sheaf_codec codec)
{
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (codecs[i]->id == codec)
            return codecs[i];
    }
    return NULL;
}

enum sheaf_codec codec_detect(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (codecs[i]->detect(data, size))
            return codecs[i]->id;
    }
    return SHEAF_CODEC_NONE;
}

const char *sheaf_codec_name(enum sheaf_codec codec)
{
    const struct codec_ops *ops = codec_of(codec);

    if (ops != NULL)
        return ops->name;
    return codec == SHEAF_CODEC_NONE ? "none" : NULL;
}

int sheaf_codec_of(const char *name)
{
    if (strcmp(name, "none") == 0)
        return SHEAF_CODEC_NONE;
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (strcmp(name, codecs[i]->name) == 0)
            return (int)codecs[i]->id;
    }
    return -1;
}

/* Both formats store what does not shrink: deflate adds 5 bytes to at most 16 KiB, LZ4 adds 8
 * to at most 64 KiB; headers and ends are below 64 bytes. */
size_t codec_bound(size_t size)
{
    size_t bound;

    if (__builtin_add_overflow(size, size / 1024 + 1024, &bound))
        return SIZE_MAX;
    return bound;
}

void codec_total_add(enum sheaf_codec codec, struct codec_total *total,
                     const struct codec_block *block)
{
    if (codec == SHEAF_CODEC_GZIP)
        total->crc = (uint32_t)crc32_combine(total->crc, block->crc, (z_off_t)block->raw_bytes);
    total->raw_bytes += block->raw_bytes;
}

int codec_stream_open(enum sheaf_codec codec, struct codec_stream **stream,
                      struct sheaf_error *err)
{
    const struct codec_ops *ops = codec_of(codec);

    if (ops == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "codec %d has no streams", (int)codec);
    return ops->stream_open(stream, err);
}

int codec_stream_push(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                      size_t *raw_size, struct sheaf_error *err)
{
    return stream->ops->stream_push(stream, data, size, raw, raw_size, err);
}

int codec_stream_end(struct codec_stream *stream, struct sheaf_error *err)
{
    return stream->ops->stream_end(stream, err);
}

void codec_stream_free(struct codec_stream *stream)
{
    if (stream != NULL)
        stream->ops->stream_free(stream);
}
