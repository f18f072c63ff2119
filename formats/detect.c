/* SPDX-License-Identifier: MIT
 *
 * Detects the container and codec of a stream from its first bytes; see detect.h.
 *
 * If the bytes match no container, they are compared with the magic numbers of compressions that
 * Sheaf cannot read. The file name decides only if none of these numbers matches. Otherwise an xz
 * file called "x.tar" would be reported as a damaged tar. */
#include "formats/detect.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/content.h"

/* number of uncompressed bytes that is enough to detect the container of a stream */
#define RAW_BYTES 1024

/* Returns the name of the compression whose magic number `data` begins with, or NULL. `data` is the
 * beginning of a stream before or after decompression. If a compression is found after
 * decompression, the data was compressed twice. Sheaf cannot read such data. */
static const char *compression(const uint8_t *data, size_t size)
{
    const enum sheaf_codec codec = codec_detect(data, size);

    return codec != SHEAF_CODEC_NONE ? sheaf_codec_name(codec) : codec_unread(data, size);
}

static int detect_refuse(const uint8_t *data, size_t size, enum sheaf_codec codec, const char *what,
                         struct sheaf_error *err)
{
    char magic[3 * 4 + 1] = "", names[CODEC_NAMES_BYTES];

    for (size_t i = 0; i < MIN(size, (size_t)4); i++)
        snprintf(magic + 3 * i, 4, " %02x", data[i]);
    if (codec != SHEAF_CODEC_NONE)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "it is compressed twice: %s (magic%s) within %s",
                       what, magic, sheaf_codec_name(codec));
    return err_set(err, SHEAF_ERR_UNSUPPORTED, "it is compressed by %s (magic%s); expected a shard "
                   "as it is, or compressed by %s", what, magic, codec_names(names));
}

static int detect_format(const uint8_t *data, size_t size, const char *name,
                         struct detected *found, struct sheaf_error *err)
{
    /* A TFRecord or RecordIO file that begins with zeros is damaged: its data was never written. It
     * must not be taken for a tar without members. */
    const size_t first = MIN(size, (size_t)512);
    const bool is_zero = first != 0 && data[0] == 0 && memcmp(data, data + 1, first - 1) == 0;
    char names[CODEC_NAMES_BYTES];
    const char *what;

    found->format = format_detect(data, size, is_zero ? name : NULL);
    if (found->format != NULL)
        return SHEAF_OK;
    what = compression(data, size);
    if (what != NULL)
        return detect_refuse(data, size, found->codec, what, err);
    what = content_name(data, size);
    if (what != NULL)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "it is %s, expected a TFRecord, RecordIO or tar "
                       "file", what);
    found->format = format_detect(data, size, name);
    return found->format != NULL ? SHEAF_OK
         : err_set(err, SHEAF_ERR_UNSUPPORTED, "not a TFRecord, RecordIO or tar file, plain or "
                   "compressed by %s (examined: %zu byte%s)", codec_names(names), size,
                   plural(size));
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
    /* LZ4 and zstd have the same skippable frames. If the whole stream is empty or consists of such
     * frames, as an empty zstd shard does, its bytes do not show the codec. So the suffix of the
     * file name decides. */
    if (at_end && name != NULL && codec_skippable_bytes(data, size) == size)
        found->codec = codec_of_name(name);
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
