/* SPDX-License-Identifier: MIT
 *
 * Appending: a data set grows by the shards of a plan.
 *
 * The run claims the data set as any run does, but its claim says that it appends: the data set
 * stays what it is to everybody else.  New shards get names that follow; their index and their keys
 * are files of their own.  Then the manifest is replaced, if it is still the one that the plan was
 * made for. */
#ifndef PACKER_GROW_H
#define PACKER_GROW_H

#include "formats/manifest.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "sheaf.h"

/* What is to grow. */
struct grow {
    struct plan_grow plan;      /* what the plan must know of it */
    struct manifest manifest;
    size_t part;                /* of its parts, what is appended: 1, 2, ... */
    char *prefix, *index;       /* how its shards are named, and its other readers; or NULL */
    uint64_t shard_bytes;       /* how large they were to be; 0: not known */
};

/* Takes what is needed from a manifest's text; `known` and its context are set.
 * SHEAF_ERR_UNSUPPORTED: it was not packed. */
int grow_open(struct grow *grow, const char *text, size_t size, struct sheaf_error *err);
/* Finds the number of the first new sample; the data set, as the struct has it, is in `dest`. */
int grow_number(struct grow *grow, const char *dest, struct sheaf_error *err);
/* Goes back to what the data set was before it grew last.  False: it never did. */
bool grow_undo(struct grow *grow);
/* Sets the options that are the data set's own.  SHEAF_ERR_ARGUMENT: others are not allowed. */
int grow_options(const struct grow *grow, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Notes what was done with the data set's files and is not with those that are appended. */
int grow_tell(const struct grow *grow, const struct sheaf_pack_options *options,
              struct sheaf_error *err);
/* The same of new classes, where other splits may number theirs otherwise. */
int grow_tell_classes(const struct grow *grow, const struct plan *plan,
                      const struct sheaf_pack_options *options, struct sheaf_error *err);
void grow_close(struct grow *grow);

#endif
