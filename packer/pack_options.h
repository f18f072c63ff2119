/* SPDX-License-Identifier: MIT
 *
 * The options of a run. They are copied from the caller's struct, checked, and recorded in the
 * manifest. */
#ifndef PACKER_PACK_OPTIONS_H
#define PACKER_PACK_OPTIONS_H

#include "base/watch.h"
#include "packer/block.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* Copies the caller's options. Options that the caller's version of the struct does not have get
 * their defaults. */
int pack_options_take(const struct sheaf_pack_options *given, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Copies the caller's options like pack_options_take, except check_images. If this option is
 * SHEAF_CHECK_USUAL, it is not replaced yet, because it is not known whether samples are packed or
 * converted. */
int pack_options_take_usual(const struct sheaf_pack_options *given,
                            struct sheaf_pack_options *options, struct sheaf_error *err);

/* Returns a text that identifies the samples that a program passes to the packer; it becomes part
 * of hashes. The text is `samples`, followed by the options by which the packer changes the
 * samples, if there are any. The caller frees the text. Returns NULL if memory is exhausted. */
char *pack_options_origin(const struct sheaf_pack_options *options, const char *samples);

/* Like pack_options_origin for the text options->identity, with the version of the records that
 * this release writes. So a run of an older release that wrote other records cannot be resumed. */
char *pack_options_identity(const struct sheaf_pack_options *options);

/* Fills in those settings of blocks that the options determine. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* Returns the JSON object for the manifest with all options that determine the bytes of the data
 * set, and nothing else. `source` is the kind of the source. `plan_hash` is NULL if there is no
 * plan. `split_name` is "" if the data set has no splits, and NULL if a program passes the samples
 * in its own order. Returns NULL if memory is exhausted. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

#endif
