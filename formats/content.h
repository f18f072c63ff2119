/* SPDX-License-Identifier: MIT
 *
 * Recognises files that users often give by mistake in place of a shard, an archive or an image, so
 * that the error message can name their kind. */
#ifndef FORMATS_CONTENT_H
#define FORMATS_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sheaf.h"

/* Returns the kind of a file, recognised by its first bytes, as a static text that fits after "it
 * is ". Returns NULL if the kind is unknown. Shards, tar archives and compressed files are not
 * recognised. JPEG, PNG and GIF are the only images that are recognised. */
const char *content_name(const uint8_t *data, size_t size);

/* Returns whether the data could be text: it has no control characters except tabs and line
 * ends. */
bool content_is_text(const uint8_t *data, size_t size);

/* Recognises wrong content by its first bytes: a pointer file of Git LFS in place of the file
 * itself, or an HTML or XML document that a server sends with an error. Returns SHEAF_ERR_CORRUPT
 * for such content. The message states the kind of the content and `expected`, such as "a
 * manifest". */
int content_check(const void *data, size_t size, const char *expected, struct sheaf_error *err);
/* Checks the beginning of a list, a text with an entry in each line, as content_check does. But the
 * first entry of a list may look like the beginning of an HTML page: a class may be called
 * "<html>". So a text of several lines that begins in this way is accepted, unless it contains
 * markup that lists do not have, such as "</". */
int content_check_list(const void *data, size_t size, const char *expected,
                       struct sheaf_error *err);

#endif
