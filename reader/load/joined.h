/* SPDX-License-Identifier: MIT
 *
 * Reads a shard whose samples were joined as if the files of each sample lay side by side: an
 * object whose bytes are the pieces of another object, in the order of the index. */
#ifndef READER_LOAD_JOINED_H
#define READER_LOAD_JOINED_H

#include "formats/index.h"
#include "store/store.h"

/* Wraps *object if the section has pieces. The section must outlive the object. Closing the new
 * object closes the wrapped one. On failure *object stays as it was. */
int joined_wrap(struct store_object **object, const struct index_section *section,
                struct sheaf_error *err);
/* Returns the wrapped object, or `object` itself if it does not wrap one. */
struct store_object *joined_stored(struct store_object *object);

#endif
