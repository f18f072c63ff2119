/* SPDX-License-Identifier: MIT
 *
 * Recognises files of other kinds that users often give in place of a shard, an archive or an
 * image. */
#ifndef FORMATS_CONTENT_H
#define FORMATS_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* Recognises the kind of a file by its first bytes. Returns static text that fits after "it is ",
 * or NULL if the kind is unknown. Does not recognise shards, tar archives and compressed files. The
 * only images that it recognises are JPEG, PNG and GIF. */
const char *content_name(const uint8_t *data, size_t size);

/* Like content_name, but recognises only files that usually take the place of another file: a
 * pointer file of Git LFS, and a page that a server sends instead of a file. */
const char *content_replacing(const uint8_t *data, size_t size);

#endif
