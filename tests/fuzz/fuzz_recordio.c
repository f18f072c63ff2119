/* SPDX-License-Identifier: MIT
 *
 * Fuzzes a RecordIO stream. The input is a line of a .lst file, and the stream after it. */
#include "tests/fuzz/fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size == 0 ? NULL : memchr(data, '\n', size);
    const size_t line_size = newline == NULL ? 0 : (size_t)(newline - data);
    char *line = (char *)fuzz_copy(data, line_size);

    if (newline == NULL)
        fuzz_stream(&recordio_ops, data, size, NULL, 0);
    else
        fuzz_stream(&recordio_ops, newline + 1, size - line_size - 1, line, line_size);
    free(line);
    return 0;
}
