/* SPDX-License-Identifier: MIT
 *
 * Text of a page: whatever it says, it is text and no markup. */
#ifndef TOOLS_REPORT_HTML_H
#define TOOLS_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* As for people (sheaf_show), at most `most` bytes of it and then an ellipsis, and escaped. */
void html_text(FILE *f, const char *text, size_t most);
/* As count_text and size_text have them. */
void html_count(FILE *f, uint64_t count);
void html_size(FILE *f, double bytes);
/* Bytes as a data: URI. */
void html_data(FILE *f, const char *type, const void *data, size_t size);

#endif
