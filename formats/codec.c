/* SPDX-License-Identifier: MIT
 *
 * Holds the table of codecs (compression formats of shards), and the functions that work the same
 * way for all codecs. */
#include "formats/codec.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* The table of codecs. To add a codec, write its file and add its name here. The codecs are
 * declared only here, so that no other file can refer to a particular codec. */
extern const struct codec_ops gzip_ops, lz4_ops, zstd_ops;
static const struct codec_ops *const codecs[] = { &gzip_ops, &lz4_ops, &zstd_ops };

/* Compressions that Sheaf recognises by the first bytes of a stream but cannot decompress. Only the
 * error message names them. */
static const struct magic {
    const char *name;
    size_t size;
    uint8_t bytes[10];
} unread[] = {
    { "snappy", 10, { 0xff, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y' } },
    { "xz", 6, { 0xfd, '7', 'z', 'X', 'Z', 0 } },
    { "bzip2", 3, { 'B', 'Z', 'h' } },
    { "lzop", 9, { 0x89, 'L', 'Z', 'O', 0, 0x0d, 0x0a, 0x1a, 0x0a } },
    { "lzip", 4, { 'L', 'Z', 'I', 'P' } },
    { "lrzip", 4, { 'L', 'R', 'Z', 'I' } },
    { "rzip", 4, { 'R', 'Z', 'I', 'P' } },
    { "grzip", 8, { 'G', 'R', 'Z', 'i', 'p', 'I', 'I', 0 } },
    { "compress", 2, { 0x1f, 0x9d } },
};

const struct codec_ops *codec_of(enum sheaf_codec codec)
{
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (codecs[i]->id == codec)
            return codecs[i];
    }
    return NULL;
}

static enum sheaf_codec detect_at(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (codecs[i]->detect(data, size))
            return codecs[i]->id;
    }
    return SHEAF_CODEC_NONE;
}

size_t codec_skippable_bytes(const uint8_t *data, size_t size)
{
    size_t at = 0;

    while (size - at >= 8 && (load32(data + at) & ~15u) == 0x184d2a50u &&
           load32(data + at + 4) <= size - at - 8)
        at += 8 + (size_t)load32(data + at + 4);
    return at;
}

/* LZ4 and zstd have the same format for skippable frames, whose content is ignored. So these frames
 * are skipped, and the magic number of the first other frame decides. */
enum sheaf_codec codec_detect(const uint8_t *data, size_t size)
{
    enum sheaf_codec codec = SHEAF_CODEC_NONE;
    const size_t at = codec_skippable_bytes(data, size);

    if (at != 0)
        codec = detect_at(data + at, size - at);
    return codec != SHEAF_CODEC_NONE ? codec : detect_at(data, size);
}

/* Returns whether the data begins a zlib stream. Only a few bits of a zlib header are fixed, so the
 * function also tries to decompress the bytes after the header. */
static bool is_zlib(const uint8_t *data, size_t size)
{
    uint8_t raw[256];
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size,
                   .next_out = raw, .avail_out = sizeof(raw) };
    int status;

    if (size < 2 || (data[0] & 0x0f) != 8 || inflateInit(&z) != Z_OK)
        return false;
    status = inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return (status == Z_OK || status == Z_STREAM_END) && z.avail_out < sizeof(raw);
}

/* Returns whether the data looks like a bare LZMA stream, which has no magic number. Checks the 13
 * bytes of the header and the next byte:
 *
 * - The first byte is 0x5d, which compressors write with every preset.
 * - The dictionary size is 2^n or 3 * 2^n bytes and at least 4096, or the largest u32.
 * - The raw size is unknown, or less than a terabyte.
 * - The byte after the header, the first byte of the range coder, is 0. */
static bool is_lzma(const uint8_t *data, size_t size)
{
    uint64_t dictionary, raw;

    if (size < 14 || data[0] != 0x5d || data[13] != 0)
        return false;
    dictionary = load32(data + 1);
    raw = load64(data + 5);
    while (dictionary > 3 && dictionary % 2 == 0)
        dictionary /= 2;
    return load32(data + 1) >= 4096 && (dictionary <= 3 || dictionary == UINT32_MAX) &&
           (raw == UINT64_MAX || raw < (uint64_t)1 << 40);
}

const char *codec_unread(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(unread); i++) {
        if (size >= unread[i].size && memcmp(data, unread[i].bytes, unread[i].size) == 0)
            return unread[i].name;
    }
    return is_lzma(data, size) ? "lzma" : is_zlib(data, size) ? "zlib" : NULL;
}

const char *codec_names(char text[CODEC_NAMES_BYTES])
{
    size_t size = 0;

    for (size_t i = 0; i < COUNT_OF(codecs) && size < CODEC_NAMES_BYTES; i++) {
        const char *between = i == 0 ? "" : i + 1 == COUNT_OF(codecs) ? " or " : ", ";

        size += (size_t)snprintf(text + size, CODEC_NAMES_BYTES - size, "%s%s", between,
                                 codecs[i]->name);
    }
    return text;
}

const char *codec_library(const struct codec_ops *ops, char text[CODEC_LIBRARY_BYTES])
{
    text[0] = '\0';
    if (ops != NULL)
        snprintf(text, CODEC_LIBRARY_BYTES, "%s %s", ops->library, ops->version());
    return text;
}

bool codec_library_is(const char *text)
{
    return strlen(text) < CODEC_LIBRARY_BYTES
           && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789 .-+_")] == '\0';
}

static const struct codec_ops *ops_of_name(const char *name)
{
    const size_t size = strlen(name);

    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        const size_t suffix_size = strlen(codecs[i]->suffix);

        if (size >= suffix_size && strcasecmp(name + size - suffix_size, codecs[i]->suffix) == 0)
            return codecs[i];
    }
    return NULL;
}

enum sheaf_codec codec_of_name(const char *name)
{
    const struct codec_ops *ops = ops_of_name(name);

    return ops == NULL ? SHEAF_CODEC_NONE : ops->id;
}

size_t codec_stem(const char *name)
{
    const struct codec_ops *ops = ops_of_name(name);

    return strlen(name) - (ops == NULL ? 0 : strlen(ops->suffix));
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

/* Computes an upper bound for the compressed size, which holds for all codecs. If compression does
 * not make data smaller, a codec stores the data uncompressed, in blocks. Each block takes a few
 * more bytes: deflate adds 5 bytes to 16 KiB, LZ4 adds 8 bytes to 64 KiB, and zstd adds 3 bytes to
 * 128 KiB. Headers and ends take less than 64 bytes. */
size_t codec_bound(size_t size)
{
    size_t bound;

    if (__builtin_add_overflow(size, size / 1024 + 1024, &bound))
        return SIZE_MAX;
    return bound;
}

int codec_total_add(const struct codec_ops *ops, struct codec_total *total,
                    const struct codec_block *block, const void *stored, size_t stored_size,
                    struct sheaf_error *err)
{
    total->raw_bytes += block->raw_bytes;
    return ops->add == NULL ? SHEAF_OK : ops->add(total, block, stored, stored_size, err);
}

void codec_total_free(struct codec_total *total)
{
    buf_free(&total->table);
}

int codec_stream_open(enum sheaf_codec codec, struct codec_stream **stream,
                      struct sheaf_error *err)
{
    const struct codec_ops *ops = codec_of(codec);
    int code;

    if (ops == NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "codec %d has no streams", (int)codec);
    code = ops->stream_open(stream, err);
    if (code == SHEAF_OK)
        (*stream)->ops = ops;
    return code;
}

int codec_stream_push(struct codec_stream *stream, const void *data, size_t *size, void *raw,
                      size_t *raw_size, struct sheaf_error *err)
{
    int code;

    stream->shown = *size;
    stream->room = *raw_size;
    stream->whole_taken = stream->whole_given = 0;
    code = stream->ops->stream_push(stream, data, size, raw, raw_size, err);
    stream->taken_bytes += *size;
    if (code != SHEAF_OK)
        err_prefix(err, "stored byte %llu: ", (unsigned long long)stream->taken_bytes);
    return code;
}

int codec_stream_end(struct codec_stream *stream, struct sheaf_error *err)
{
    const struct codec_ops *ops = stream->ops;
    const int code = ops->stream_end(stream, err);

    return code != SHEAF_END
           ? code : err_set(err, SHEAF_ERR_TRUNCATED,
                            "%s: the stream ends at stored byte %llu, inside %s %llu", ops->name,
                            (unsigned long long)stream->taken_bytes, ops->piece,
                            (unsigned long long)stream->ended + 1);
}

void codec_stream_free(struct codec_stream *stream)
{
    if (stream != NULL)
        stream->ops->stream_free(stream);
}
