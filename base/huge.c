/* SPDX-License-Identifier: MIT
 *
 * Asks the kernel with madvise to use huge pages for a buffer. The first and the last bytes of the
 * buffer are left out if they do not fill a whole huge page. */
#include "base/huge.h"

#include <stdint.h>
#include <sys/mman.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)

void huge_advise(void *data, size_t size)
{
    const uintptr_t begin = ((uintptr_t)data + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)data + size) & ~(HUGE_PAGE - 1);

    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
