/* SPDX-License-Identifier: MIT
 *
 * Appending: a data set grows by the shards of a plan.
 *
 * The run claims the data set as any run does, but its claim says that it appends, so that other
 * processes can still read the data set. New shards get the next names, and their index and keys
 * are separate files. At the end, the manifest is replaced if it is still the one for which the
 * plan was made. */
#ifndef PACKER_GROW_H
#define PACKER_GROW_H

#include "formats/manifest.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "sheaf.h"

/* The data set that grows. */
struct grow {
    struct plan_grow plan;      /* its facts that the plan needs */
    struct manifest manifest;
    size_t part;                /* number of the appended part: 1, 2, ... */
    char *prefix, *index;       /* prefix of the data set's shard names, and list of its other
                                   readers; or NULL */
    uint64_t shard_bytes;       /* intended size of its shards; 0: unknown */
    char **aliases;             /* its field_aliases, ended by NULL; or NULL */
};

/* Takes the facts from the text of a manifest. `known` and its context must be set. Returns
 * SHEAF_ERR_UNSUPPORTED if Sheaf did not pack the data set. */
int grow_open(struct grow *grow, const char *text, size_t size, struct sheaf_error *err);
/* Finds the number of the first new sample. `dest` contains the data set that the struct
 * describes. */
int grow_number(struct grow *grow, const char *dest, struct sheaf_error *err);
/* Restores the facts from before the last append. Returns false if nothing was ever appended. */
bool grow_undo(struct grow *grow);
/* Sets the options that the data set determines. Options for names and images that the caller left
 * at their defaults become those with which the data set was packed. Returns SHEAF_ERR_ARGUMENT if
 * the caller set a split. */
int grow_options(const struct grow *grow, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Reports that the appended images get another size than the existing ones. */
int grow_tell(const struct grow *grow, const struct sheaf_pack_options *options,
              struct sheaf_error *err);
/* Reports new classes, because the data set's other splits may give them other numbers. */
int grow_tell_classes(const struct grow *grow, const struct plan *plan,
                      const struct sheaf_pack_options *options, struct sheaf_error *err);
void grow_close(struct grow *grow);

#endif
