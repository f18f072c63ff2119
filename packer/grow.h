/* SPDX-License-Identifier: MIT
 *
 * Appends samples to a data set: the shards of a plan are added to the existing shards. The names
 * of the new shards continue the numbers of the existing shards. The new shards have their own
 * index and table of keys. At the end, the run replaces the manifest. This fails if another run has
 * replaced the manifest since the plan was made.
 *
 * The run claims the directory of the data set: it puts a file there that reserves the directory
 * (see publish/journal.h). This file says that the run only appends, so other processes can still
 * read the data set. */
#ifndef PACKER_GROW_H
#define PACKER_GROW_H

#include "formats/manifest.h"
#include "packer/plan/plan.h"
#include "packer/plan/plan_grow.h"
#include "sheaf.h"

/* The data set that grows. */
struct grow {
    struct plan_grow_split facts;       /* its facts that the plan needs */
    const char *directory;
    struct manifest manifest;
    size_t part;                /* number of the appended part: 1, 2, ... */
    /* `prefix` is the beginning of the names of the data set's shards, and `index` the list of
     * programs for which the data set has index files. Both come from options in the manifest. Each
     * of the two is NULL if the manifest does not have the option. */
    char *prefix, *index;
    uint64_t shard_bytes;       /* intended size of its shards; 0: unknown */
    char **aliases;             /* its field_aliases, ended by NULL; or NULL */
};

/* Fills `grow` with the facts about the data set in `directory`, whose manifest is `text`. The text
 * `directory` must stay valid. If `part` is not 0, options are taken from append number `part` (1,
 * 2, ...). If `part` is 0, options are taken from the first packing. Returns SHEAF_ERR_UNSUPPORTED
 * if Sheaf did not pack the data set, or if release 0.1 compressed its shards. */
int grow_open(struct grow *grow, const char *directory, const char *text, size_t size,
              size_t part, struct sheaf_error *err);
/* Finds the last sample in the shards 0 to `shard` - 1, and sets *number to the sample's number.
 * Sets *found to whether these shards contain samples. `dest` is the directory of the data set. The
 * container must be one that stores the numbers of samples
 * (format_ops.has_names). */
int grow_last_number(const struct manifest *manifest, size_t shard, const char *dest,
                     uint64_t *number, bool *found, struct sheaf_error *err);
/* Sets grow->facts.first_number to the number of the first appended sample. `dest` is the directory
 * of the data set. */
int grow_number(struct grow *grow, const char *dest, struct sheaf_error *err);
/* Changes the facts to the state before the last append to the data set in the directory `dest`. If
 * `counts` is true, subtracts the appended samples from the number of samples of each class. For
 * this purpose, the labels of these samples are read from the index. If `counts` is false, the
 * number of samples of each class becomes unknown. Does nothing if the last change of the data set
 * was not an append. */
int grow_undo(struct grow *grow, const char *dest, bool counts, struct sheaf_error *err);
/* Fills `plan` for an append to several data sets at once, which are splits of the same data.
 * Leaves plan->known and plan->context as they are. Returns SHEAF_ERR_UNSUPPORTED if the splits
 * differ in container, codec or classes. The caller frees plan->fingerprint. */
int grow_join(const struct grow *splits, uint32_t count, struct plan_grow *plan,
              struct sheaf_error *err);
/* Sets those options of an append that follow from the existing data set, such as the container. If
 * the caller left the options for names and images at their defaults, these options get the values
 * with which the data set was packed. If the caller set a split and no seed, the data set's seed is
 * used, so that a key belongs to the same split as before. */
int grow_options(const struct grow *grow, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Reports a notice if the options make the appended images larger or smaller than the existing
 * images. */
int grow_tell(const struct grow *grow, const struct sheaf_pack_options *options,
              struct sheaf_error *err);
/* Reports a notice if the data set is one of several splits and gets new classes. Another split may
 * give the number of a new class to a different class. */
int grow_tell_classes(const struct grow *grow, const struct plan *plan,
                      const struct sheaf_pack_options *options, struct sheaf_error *err);
void grow_close(struct grow *grow);

#endif
