/* SPDX-License-Identifier: MIT
 *
 * The options of a run: copied from the caller's struct, checked, and recorded in the manifest. */
#ifndef PACKER_PACK_OPTIONS_H
#define PACKER_PACK_OPTIONS_H

#include "base/watch.h"
#include "packer/block.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* Copies the options that the caller's version has over the defaults. */
int pack_options_take(const struct sheaf_pack_options *given, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Like pack_options_take, but leaves check_images as it is if it is SHEAF_CHECK_USUAL, because the
 * kind of samples is not known yet. */
int pack_options_take_usual(const struct sheaf_pack_options *given,
                            struct sheaf_pack_options *options, struct sheaf_error *err);

/* Returns the text about a program's samples that is hashed: `samples`, and what the packer changes
 * in the samples, if anything. The caller frees it. Returns NULL if memory is exhausted. */
char *pack_options_origin(const struct sheaf_pack_options *options, const char *samples);

/* Sets the settings of blocks that follow from the options. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* Returns the JSON object for the manifest: all options that determine the bytes, and nothing else.
 * `source` is the kind of the source. `plan_hash` is NULL without a plan. `split_name` is ""
 * without splits, and NULL for samples from a program, which have their own order. Returns NULL if
 * memory is exhausted. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

#endif
