/* SPDX-License-Identifier: MIT
 *
 * Recognises files that users often give by mistake in place of a shard, an archive or an image, so
 * that the error message can name their kind. */
#ifndef FORMATS_CONTENT_H
#define FORMATS_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the kind of a file, recognised by its first bytes, as a static text that fits after "it
 * is ". Returns NULL if the kind is unknown. Shards, tar archives and compressed files are not
 * recognised. JPEG, PNG and GIF are the only images that are recognised. */
const char *content_name(const uint8_t *data, size_t size);

/* Recognises, by the first bytes, content that was stored in place of the right file: a pointer
 * file of Git LFS, or a page that a server sends with an error. Returns its kind as content_name()
 * does, or NULL. */
const char *content_replacing(const uint8_t *data, size_t size);

#endif
