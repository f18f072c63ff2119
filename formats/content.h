/* SPDX-License-Identifier: MIT
 *
 * Recognises files that are often found in the place of a shard, an archive or an image. */
#ifndef FORMATS_CONTENT_H
#define FORMATS_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* Recognises a file by its first bytes. Returns static text that fits after "it is ", or NULL if
 * the kind is unknown. Not recognised here are shards, archives and compressed files, nor images if
 * `size` is the size of the whole file. */
const char *content_name(const uint8_t *data, size_t size);

#endif
