/* SPDX-License-Identifier: MIT
 *
 * Fuzzes a TFRecord stream with any bytes. */
#include "tests/fuzz/fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_stream(&tfrecord_ops, data, size, NULL, 0);
    return 0;
}
