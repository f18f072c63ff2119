/* SPDX-License-Identifier: MIT
 *
 * Huge pages for large buffers.
 *
 * To touch fresh memory for the first time costs more than to fill it, page by page of 4 KiB; many
 * systems give pages of 2 MiB only to those who ask. */
#ifndef BASE_HUGE_H
#define BASE_HUGE_H

#include <stddef.h>

/* Asks for them where they lie within the buffer as a whole, so that it takes no more memory than
 * before.  For memory that was not touched yet; a system without them loses nothing. */
void huge_advise(void *data, size_t size);

#endif
