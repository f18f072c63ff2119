/* SPDX-License-Identifier: MIT
 *
 * Makes members and frames; see common_members.h. */
#include "tests/common_members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

static size_t gzip_member(const void *data, size_t size, void *out, size_t room)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size,
                   .next_out = out, .avail_out = (uInt)room };

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return room - z.avail_out;
}

static size_t lz4_frame(const void *data, size_t size, void *out, size_t room)
{
    LZ4F_preferences_t p = LZ4F_INIT_PREFERENCES;
    size_t result;

    p.frameInfo.blockSizeID = LZ4F_max256KB;
    p.frameInfo.blockMode = LZ4F_blockIndependent;
    p.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    p.frameInfo.contentSize = size;
    result = LZ4F_compressFrame(out, room, data, size, &p);
    assert_false(LZ4F_isError(result));
    return result;
}

static size_t zstd_frame(const void *data, size_t size, void *out, size_t room)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t result;

    assert_non_null(context);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    result = ZSTD_compress2(context, out, room, data, size);
    assert_false(ZSTD_isError(result));
    ZSTD_freeCCtx(context);
    return result;
}

void member_append(enum sheaf_codec codec, const void *data, size_t size, struct buf *out)
{
    const size_t room = size + size / 100 + 1000;

    assert_int_equal(buf_reserve(out, room, NULL), SHEAF_OK);
    out->size += codec == SHEAF_CODEC_GZIP  ? gzip_member(data, size, out->data + out->size, room)
                 : codec == SHEAF_CODEC_LZ4 ? lz4_frame(data, size, out->data + out->size, room)
                                            : zstd_frame(data, size, out->data + out->size, room);
}
