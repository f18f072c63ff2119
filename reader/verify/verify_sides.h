/* SPDX-License-Identifier: MIT
 *
 * Compares the files beside a shard with the shard: its .lst file, and the index files for other
 * programs. */
#ifndef READER_VERIFY_VERIFY_SIDES_H
#define READER_VERIFY_VERIFY_SIDES_H

#include "reader/verify/peer_index.h"

/* Calls `tell` for each file beside the shard that differs from what the shard and its index
 * section say. The shard must be intact. A missing file is not reported. If the index section is
 * damaged, the .lst file is not compared. `interrupt` may be NULL. */
int verify_sides(const struct sheaf_dataset *dataset, uint32_t shard, const volatile int *interrupt,
                 peer_index_tell_fn *tell, void *context, struct sheaf_error *err);

#endif
