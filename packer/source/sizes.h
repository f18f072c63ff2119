/* SPDX-License-Identifier: MIT
 *
 * Finds the sizes of the objects that a list names, with many requests at the same time, and adds
 * the objects to the catalog of files. An object that is missing, or that the user has no
 * permission to read, is recorded as a problem. Any other error ends the scan of the list. */
#ifndef PACKER_SOURCE_SIZES_H
#define PACKER_SOURCE_SIZES_H

#include "packer/source/source.h"

struct sizes;

int sizes_open(struct sizes **sizes, struct scan *scan, struct sheaf_error *err);
/* Waits for the requests that are still running, and frees the state. NULL is allowed. */
void sizes_close(struct sizes *sizes);

/* Starts a request for the size of the object at `url`, which becomes the file `path` of the
 * catalog. `is_below` means that `url` is the root of the source followed by `path`, so that the
 * catalog need not store `url`. The call may first wait for the answer about an earlier object. If
 * that answer is an error, the call may return it. */
int sizes_add(struct sizes *sizes, const char *path, const char *url, bool is_below,
              uint32_t label, struct sheaf_error *err);
/* Waits for all. */
int sizes_drain(struct sizes *sizes, struct sheaf_error *err);

#endif
