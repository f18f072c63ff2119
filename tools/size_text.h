/* SPDX-License-Identifier: MIT
 *
 * Bytes as a person reads them: "39.0 kB", "150 MB". */
#ifndef TOOLS_SIZE_TEXT_H
#define TOOLS_SIZE_TEXT_H

#define SIZE_TEXT_ROOM 32

/* Returns `text`. */
const char *size_text(double bytes, char text[SIZE_TEXT_ROOM]);

#endif
