/* SPDX-License-Identifier: MIT
 *
 * Reads a tar in which files of other samples lie between the files of one sample. The tar is read
 * through a store_object, an object that can be read like a file. In this object, the files of each
 * sample are adjacent, and the samples are in the order of the index. */
#ifndef READER_JOINED_H
#define READER_JOINED_H

#include "formats/index.h"
#include "store/store.h"

/* The index section of a tar may list pieces, which are ranges of adjacent files of one sample. If
 * it lists pieces, replaces *object by an object that reads the pieces in the order of the list.
 * `section` must stay valid until the new object is closed. Closing the new object also closes the
 * old object. If the function fails, *object stays as it was. */
int joined_wrap(struct store_object **object, const struct index_section *section,
                struct sheaf_error *err);
/* If joined_wrap has made `object`, returns the object that was wrapped, which has the bytes of the
 * tar as they are stored. Otherwise returns `object`. */
struct store_object *joined_stored(struct store_object *object);

#endif
