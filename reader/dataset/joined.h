/* SPDX-License-Identifier: MIT
 *
 * Reads a tar in which the files of a sample are not adjacent. A store_object presents the files of
 * each sample one after another, in the order of the index, and reads them from the stored tar. */
#ifndef READER_JOINED_H
#define READER_JOINED_H

#include "formats/index.h"
#include "store/store.h"

/* If the index section lists pieces, replaces *object by a new object that reads these pieces in
 * order. The section must outlive the new object. Closing the new object also closes the original
 * one. On failure, *object does not change. */
int joined_wrap(struct store_object **object, const struct index_section *section,
                struct sheaf_error *err);
/* Returns the original object if joined_wrap has replaced it, otherwise `object` itself. */
struct store_object *joined_stored(struct store_object *object);

#endif
