/* SPDX-License-Identifier: MIT
 *
 * Huge pages for large buffers.
 *
 * Touching fresh memory for the first time, in pages of 4 KiB, takes longer than filling it. Many
 * systems use pages of 2 MiB only for programs that ask for them. */
#ifndef BASE_HUGE_H
#define BASE_HUGE_H

#include <stddef.h>

/* Asks the kernel for huge pages in the buffer. Only pages that lie entirely within the buffer
 * become huge, so the buffer takes no more memory than before. The memory must not have been
 * touched yet. On a system without huge pages the call has no effect. */
void huge_advise(void *data, size_t size);

#endif
