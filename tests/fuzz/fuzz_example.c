/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the payload of a TFRecord; framed here, so that no CRC stands in the way. */
#include "base/crc32c.h"
#include "tests/fuzz/fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *frame = malloc(size + 16);

    fuzz_assert(frame != NULL);
    store64(frame, size);
    store32(frame + 8, crc32c_mask(crc32c(0, frame, 8)));
    if (size != 0)
        memcpy(frame + 12, data, size);
    store32(frame + 12 + size, crc32c_mask(crc32c(0, data, size)));
    fuzz_frame(&tfrecord_ops, frame, size + 16, NULL, 0);
    free(frame);
    return 0;
}
