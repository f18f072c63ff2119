/* SPDX-License-Identifier: MIT
 *
 * ISA-L takes an int length and leaves the inversions to its caller. */
#include "base/crc32c.h"

#include <isa-l/crc.h>

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    const size_t piece = (size_t)1 << 30;
    unsigned char *p = (unsigned char *)(uintptr_t)data;    /* ISA-L's prototype lacks const */

    crc = ~crc;
    for (; size > piece; size -= piece, p += piece)
        crc = crc32_iscsi(p, (int)piece, crc);
    return ~crc32_iscsi(p, (int)size, crc);
}
