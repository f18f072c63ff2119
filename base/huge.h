/* SPDX-License-Identifier: MIT
 *
 * Asks the kernel for huge pages for large buffers. Many systems use pages of 2 MiB only if a
 * program asks for them. With pages of 4 KiB, the first access to each page of a new buffer causes
 * a page fault. All these page faults together take longer than filling the buffer. */
#ifndef BASE_HUGE_H
#define BASE_HUGE_H

#include <stddef.h>

/* Asks the kernel to use huge pages for the buffer. Only huge pages that lie completely in the
 * buffer are used, so huge pages add no memory before or after the buffer. Must be called before
 * the memory is first accessed. Has no effect on a system without huge pages. */
void huge_advise(void *data, size_t size);

#endif
