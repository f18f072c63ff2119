/* SPDX-License-Identifier: MIT
 *
 * Finds the sizes of the objects in a list, with many requests at a time, and adds the objects to
 * the catalog. An object that is missing or may not be read is a problem of the list's entry. Any
 * other error ends the scan. */
#ifndef PACKER_SOURCE_SIZES_H
#define PACKER_SOURCE_SIZES_H

#include "packer/source/source.h"

struct sizes;

int sizes_open(struct sizes **sizes, struct scan *scan, struct sheaf_error *err);
/* Waits for requests that are under way. NULL is accepted. */
void sizes_close(struct sizes *sizes);

/* Asks for the object at `url`, which becomes the file `path`. `is_below` tells whether the path
 * alone gives its place. May wait, and fail because of an earlier object. */
int sizes_add(struct sizes *sizes, const char *path, const char *url, bool is_below,
              uint32_t label, struct sheaf_error *err);
/* Waits for all. */
int sizes_drain(struct sizes *sizes, struct sheaf_error *err);

#endif
