/* SPDX-License-Identifier: MIT
 *
 * Checks a shard by its hash, and the files beside the shard by its records. These files are its
 * .lst file, and the index files for other programs. */
#ifndef READER_VERIFY_VERIFY_SIDES_H
#define READER_VERIFY_VERIFY_SIDES_H

#include "reader/verify/peer_index.h"

/* Reads a shard once. Sets *intact to whether the shard has the hash that the manifest states. If
 * so, calls `tell` for each file beside the shard that contradicts the shard or its index section.
 * A missing file is not reported. If the index section is damaged, the .lst file is not compared.
 * If a file beside the shard cannot be read from a local disk, some comparisons are left out, and
 * this is not an error.
 *
 * `limit` is the size in bytes of the largest record that is accepted. A remote shard is read ahead
 * with up to limit / 2 bytes of memory. `interrupt` may be NULL. */
int verify_sides(const struct sheaf_dataset *dataset, uint32_t shard, size_t limit,
                 const volatile int *interrupt, peer_index_tell_fn *tell, void *context,
                 bool *intact, struct sheaf_error *err);

#endif
