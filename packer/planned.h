/* SPDX-License-Identifier: MIT
 *
 * A stored plan together with its destination. Used by the functions that pack a part of the plan,
 * commit the data set, or show the progress. */
#ifndef PACKER_PLANNED_H
#define PACKER_PLANNED_H

#include <stdbool.h>

#include "packer/block.h"
#include "packer/pack_output.h"
#include "packer/plan/plan_file.h"
#include "publish/entries.h"

struct planned {
    struct plan_file file;
    struct block_setup setup;   /* settings from the plan's options */
    struct output output;
};

int planned_open(const char *url, struct planned *planned, struct sheaf_error *err);
void planned_close(struct planned *planned);
/* Returns an error if the plan converts images with libraries that this machine does not have in
 * the same version. Otherwise the bytes of the data set would depend on which machine packed which
 * part. */
int planned_check_libraries(const struct plan_file *file, struct sheaf_error *err);

/* Sets *first and *end so that part `part` of `parts` consists of the shards from *first up to, but
 * not including, *end. These shards are consecutive, so that the part reads one range of the plan
 * file. All parts have about the same number of payload bytes. A part may have no shards. */
int planned_part(const struct plan *plan, uint32_t part, uint32_t parts, size_t *first,
                 size_t *end, struct sheaf_error *err);

/* Returns a shard of the plan and its name. */
struct entries_shard planned_shard(const struct planned *planned, size_t shard);
int planned_name(const struct planned *planned, size_t shard, char name[SHARD_NAME_BYTES],
                 struct sheaf_error *err);

#endif
