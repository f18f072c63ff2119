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

/* Zero-initialised. */
struct planned {
    struct plan_file file;
    struct sheaf_pack_options options;  /* the caller's options, and then those of the plan */
    struct block_setup setup;
    struct output output;
    /* used only with planned_run() */
    struct problems problems, converted;
    struct watch watch;
    struct sheaf_pack_result result;
};

/* Opens a stored plan. Replaces the options that the plan states, and keeps the other options. */
int planned_open(const char *url, struct planned *planned, struct sheaf_error *err);
void planned_close(struct planned *planned);

typedef int planned_run_fn(void *context, struct sheaf_error *err);
/* Opens a stored plan, calls run(context), and closes the plan. `options` are the caller's options.
 * At the end, sets *result to planned->result, and *error if there was an error. Both may be
 * NULL. */
int planned_run(struct planned *planned, const char *url, const struct sheaf_pack_options *options,
                planned_run_fn *run, void *context, struct sheaf_pack_result *result,
                struct sheaf_error *error);
/* Returns an error if the plan converts images with libraries that this machine does not have in
 * the same version. Otherwise the bytes of the data set would depend on which machine packed which
 * part. */
int planned_check_libraries(const struct plan_file *file, struct sheaf_error *err);

/* Sets *first and *end so that part `part` of `parts` consists of the shards from *first up to, but
 * not including, *end. These shards are consecutive, so that the part reads one range of the plan
 * file. All parts have about the same number of payload bytes. A part may have no shards. */
int planned_part(const struct plan *plan, uint32_t part, uint32_t parts, size_t *first,
                 size_t *end, struct sheaf_error *err);

#endif
