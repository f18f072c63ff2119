/* SPDX-License-Identifier: MIT
 *
 * Recognises files that are often found in the place of a shard, an archive or an image. */
#ifndef FORMATS_CONTENT_H
#define FORMATS_CONTENT_H

#include <stddef.h>
#include <stdint.h>

/* Returns what a file is that begins with these bytes, as static text that fits after "it is ", or
 * NULL if it is nothing that is known here. Shards, archives and compressed files are for others to
 * recognise, and so are images if `size` is that of the whole file. */
const char *content_name(const uint8_t *data, size_t size);

#endif
