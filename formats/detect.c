/* SPDX-License-Identifier: MIT
 *
 * Detection; see detect.h.  Compressions that are not read are known by their magic, and only
 * where no container has verified anything: a name alone would take them for damaged shards. */
#include "formats/detect.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"

/* The least that a container must see to be sure. */
#define RAW_BYTES 1024

struct magic {
    const char *name;
    size_t size;
    uint8_t bytes[9];
};

static const struct magic magics[] = {
    { "zstd", 4, { 0x28, 0xb5, 0x2f, 0xfd } },
    { "xz", 6, { 0xfd, '7', 'z', 'X', 'Z', 0 } },
    { "bzip2", 3, { 'B', 'Z', 'h' } },
    { "lzop", 9, { 0x89, 'L', 'Z', 'O', 0, 0x0d, 0x0a, 0x1a, 0x0a } },
    { "compress", 2, { 0x1f, 0x9d } },
    { "gzip", 3, { 0x1f, 0x8b, 8 } },
    { "lz4", 4, { 0x04, 0x22, 0x4d, 0x18 } },
};

/* zlib's magic is two bytes of which little is fixed: what follows must unpack, too. */
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

/* What is compressed in a way that is not read here, or NULL. */
static const char *compression(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(magics); i++) {
        if (size >= magics[i].size && memcmp(data, magics[i].bytes, magics[i].size) == 0)
            return magics[i].name;
    }
    return is_zlib(data, size) ? "zlib" : NULL;
}

static int refuse(const uint8_t *data, size_t size, enum sheaf_codec codec, const char *what,
                  struct sheaf_error *err)
{
    char magic[3 * 4 + 1] = "";

    for (size_t i = 0; i < MIN(size, (size_t)4); i++)
        snprintf(magic + 3 * i, 4, " %02x", data[i]);
    if (codec != SHEAF_CODEC_NONE)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "it is compressed twice: %s (magic%s) within %s",
                       what, magic, sheaf_codec_name(codec));
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "it is compressed by %s (magic%s); expected a shard "
                   "as it is, or compressed by gzip or LZ4", what, magic);
}

static int detect_format(const uint8_t *data, size_t size, const char *name,
                         struct detected *found, struct sheaf_error *err)
{
    const char *what;

    found->format = format_detect(data, size, NULL);
    if (found->format != NULL)
        return SHEAF_OK;
    what = compression(data, size);
    if (what != NULL)
        return refuse(data, size, found->codec, what, err);
    found->format = format_detect(data, size, name);
    return found->format != NULL ? SHEAF_OK
         : err_set(err, SHEAF_ERR_UNSUPPORTED, "not a TFRecord, RecordIO or tar file, plain or "
                   "compressed by gzip or LZ4 (%zu bytes were examined)", size);
}

/* The codec that a shard's name speaks of. */
static enum sheaf_codec named_codec(const char *name)
{
    static const enum sheaf_codec codecs[] = { SHEAF_CODEC_GZIP, SHEAF_CODEC_LZ4 };

    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        const char *suffix = codec_of(codecs[i])->suffix;
        const size_t size = strlen(name), suffix_size = strlen(suffix);

        if (size >= suffix_size && strcmp(name + size - suffix_size, suffix) == 0)
            return codecs[i];
    }
    return SHEAF_CODEC_NONE;
}

int detect(const uint8_t *data, size_t size, bool at_end, const char *name,
           struct detected *found, size_t *need, struct sheaf_error *err)
{
    uint8_t raw[4 * RAW_BYTES];
    size_t taken = size, given = sizeof(raw);
    struct codec_stream *stream;
    int code;

    *need = 0;
    *found = (struct detected){ .codec = codec_detect(data, size) };
    /* Nothing is a sound TFRecord file, but no sound compressed one. */
    if (size == 0 && at_end && name != NULL)
        found->codec = named_codec(name);
    if (found->codec == SHEAF_CODEC_NONE || size == 0)
        return detect_format(data, size, name, found, err);
    code = codec_stream_open(found->codec, &stream, err);
    if (code != SHEAF_OK)
        return code;
    code = codec_stream_push(stream, data, &taken, raw, &given, err);
    codec_stream_free(stream);
    if (code != SHEAF_OK)
        return code;
    if (given < RAW_BYTES && !at_end && size < DETECT_MOST) {
        *need = MIN(4 * MAX(size, DETECT_BYTES), DETECT_MOST);
        return SHEAF_OK;
    }
    return detect_format(raw, given, name, found, err);
}
