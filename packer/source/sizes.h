/* SPDX-License-Identifier: MIT
 *
 * Finds the sizes of the objects in a list, with many requests at a time, and puts them into the
 * catalog.  An object that is missing, or that may not be read, is a problem of the list's entry;
 * anything else ends the scan. */
#ifndef PACKER_SOURCE_SIZES_H
#define PACKER_SOURCE_SIZES_H

#include "packer/source/source.h"

struct sizes;

int sizes_open(struct sizes **sizes, struct scan *scan, struct sheaf_error *err);
/* Waits for what is under way.  NULL is fine. */
void sizes_close(struct sizes *sizes);

/* Asks for the object at `url`, which is to be the file `path`.  `is_below`: the path alone says
 * where it is.  May wait, and fail for an earlier one. */
int sizes_add(struct sizes *sizes, const char *path, const char *url, bool is_below,
              uint32_t label, struct sheaf_error *err);
/* Waits for all. */
int sizes_drain(struct sizes *sizes, struct sheaf_error *err);

#endif
