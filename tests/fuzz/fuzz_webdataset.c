/* SPDX-License-Identifier: MIT
 *
 * Fuzzes a tar with any bytes. Few mutations leave a checksum correct. So the checksums of all
 * blocks that contain "ustar" are corrected first. */
#include "tests/fuzz/fuzz_stream.h"

static void fix_checksum(uint8_t *block)
{
    unsigned sum = 0, i;

    memset(block + 148, ' ', 8);
    for (i = 0; i < 512; i++)
        sum += block[i];
    for (i = 6; i-- > 0; sum >>= 3)
        block[148 + i] = (uint8_t)('0' + (sum & 7));
    block[154] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_copy(data, size);
    size_t at;

    for (at = 0; at + 512 <= size; at += 512) {
        if (memcmp(copy + at + 257, "usta", 4) == 0)
            fix_checksum(copy + at);
    }
    fuzz_stream(&webdataset_ops, copy, size, NULL, 0);
    free(copy);
    return 0;
}
