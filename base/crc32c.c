/* SPDX-License-Identifier: MIT
 *
 * Computes CRC-32C with the library ISA-L.
 *
 * ISA-L's functions take the length as an int, so this file cuts longer inputs into pieces. ISA-L
 * does not invert the CRC at the beginning and at the end, so this file inverts it.
 *
 * Short inputs are computed with the processor's CRC instruction, which takes half of ISA-L's time.
 * For the eight bytes of a TFRecord length, it takes a tenth of ISA-L's time. */
#include "base/crc32c.h"

#include <isa-l/crc.h>
#include <stdbool.h>

#include "base/bytes.h"

#ifdef __x86_64__
#include <nmmintrin.h>

#define FEW_BYTES ((size_t)256)     /* inputs below this size use the processor's instruction */

static inline bool is_few(size_t size)
{
    return size < FEW_BYTES && __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2,crc32")))
static uint32_t crc_of_few(uint32_t crc, const uint8_t *p, size_t size)
{
    uint64_t wide = crc;

    for (; size >= 8; size -= 8, p += 8)
        wide = _mm_crc32_u64(wide, load64(p));
    crc = (uint32_t)wide;
    if (size >= 4) {
        crc = _mm_crc32_u32(crc, load32(p));
        size -= 4;
        p += 4;
    }
    for (; size != 0; size--, p++)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    const size_t piece = (size_t)1 << 30;
    unsigned char *p = (unsigned char *)(uintptr_t)data;    /* ISA-L's prototype lacks const */

    crc = ~crc;
#ifdef __x86_64__
    if (is_few(size))
        return ~crc_of_few(crc, p, size);
#endif
    for (; size > piece; size -= piece, p += piece)
        crc = crc32_iscsi(p, (int)piece, crc);
    return ~crc32_iscsi(p, (int)size, crc);
}
