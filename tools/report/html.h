/* SPDX-License-Identifier: MIT
 *
 * Escapes text for an HTML page, so that it is never interpreted as markup. */
#ifndef TOOLS_REPORT_HTML_H
#define TOOLS_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a text to an HTML page: makes it safe with sheaf_show, truncates it to `most` bytes, and
 * escapes it. If the text was truncated, writes an ellipsis after it. */
void html_text(FILE *f, const char *text, size_t most);
/* Write numbers in the form of count_text and size_text. */
void html_count(FILE *f, uint64_t count);
void html_size(FILE *f, double bytes);
/* Bytes as a data: URI. */
void html_data(FILE *f, const char *type, const void *data, size_t size);

#endif
