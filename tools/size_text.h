/* SPDX-License-Identifier: MIT
 *
 * Formats numbers of bytes and counts for people, as in "39.0 kB" or "150 MB", and "30,607". */
#ifndef TOOLS_SIZE_TEXT_H
#define TOOLS_SIZE_TEXT_H

#include <stdint.h>

#define SIZE_TEXT_ROOM 32

/* Each returns `text`. */
const char *size_text(double bytes, char text[SIZE_TEXT_ROOM]);
const char *count_text(uint64_t count, char text[SIZE_TEXT_ROOM]);

#endif
