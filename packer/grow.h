/* SPDX-License-Identifier: MIT
 *
 * Appends samples to a data set: the shards of a plan are added to the existing shards. The run
 * claims the data set's directory, as every packing run does, by a file in it (see
 * publish/journal.h). The claim of this run states that it appends, so that other processes still
 * read the data set.
 *
 * New shards get the next names, and their index and table of keys are separate files. At the end
 * the manifest is replaced, if it is still the manifest for which the plan was made. */
#ifndef PACKER_GROW_H
#define PACKER_GROW_H

#include "formats/manifest.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "sheaf.h"

/* The data set that grows. */
struct grow {
    struct plan_grow_split facts;       /* its facts that the plan needs */
    struct manifest manifest;
    size_t part;                /* number of the appended part: 1, 2, ... */
    /* `prefix` is the beginning of the names of the data set's shards. `index` lists the programs
     * for which the data set has index files. Each may be NULL. */
    char *prefix, *index;
    uint64_t shard_bytes;       /* intended size of its shards; 0: unknown */
    char **aliases;             /* its field_aliases, ended by NULL; or NULL */
};

/* Takes the facts about the data set from the text of its manifest. Returns SHEAF_ERR_UNSUPPORTED
 * if Sheaf did not pack the data set. */
int grow_open(struct grow *grow, const char *text, size_t size, struct sheaf_error *err);
/* Finds the number for the first appended sample. `dest` is the directory of the data set that
 * `grow` describes. */
int grow_number(struct grow *grow, const char *dest, struct sheaf_error *err);
/* Changes the facts to those that held before the last append. Returns false if nothing was ever
 * appended. */
bool grow_undo(struct grow *grow);
/* Joins the facts about `count` data sets, which are all splits of the same data, for a plan that
 * appends to all of them. Keeps plan->known and its context. The caller frees *fingerprints after
 * the plan was used. Returns SHEAF_ERR_UNSUPPORTED if the splits differ in their container, codec
 * or classes. */
int grow_join(const struct grow *splits, uint32_t count, struct plan_grow *plan,
              char **fingerprints, struct sheaf_error *err);
/* Sets the options that the data set determines. If the caller left the options for names and
 * images at their defaults, they get the values with which the data set was packed. If the caller
 * set a split and no seed, the seed of the data set is used, so that the same keys belong to the
 * same split. */
int grow_options(const struct grow *grow, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Prints a notice if the images that are appended will have another size than the existing
 * images. */
int grow_tell(const struct grow *grow, const struct sheaf_pack_options *options,
              struct sheaf_error *err);
/* Reports new classes, because other splits of the same data may give these classes other
 * numbers. */
int grow_tell_classes(const struct grow *grow, const struct plan *plan,
                      const struct sheaf_pack_options *options, struct sheaf_error *err);
void grow_close(struct grow *grow);

#endif
