/* SPDX-License-Identifier: MIT
 *
 * The options of a run: copied from the caller's struct, checked, and recorded in the manifest. */
#ifndef PACKER_PACK_OPTIONS_H
#define PACKER_PACK_OPTIONS_H

#include "base/watch.h"
#include "packer/block.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* Copies the caller's options over the defaults, as far as the caller's version has them. */
int pack_options_take(const struct sheaf_pack_options *given, struct sheaf_pack_options *options,
                 struct sheaf_error *err);

/* What follows from them. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* The JSON object that the manifest keeps: all options that determine the bytes, and nothing
 * else.  `source`: its kind; plan_hash: NULL if there is none; split_name: "" without splits,
 * NULL if the samples are a program's, whose order is its own.  NULL: out of memory. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

/* SHEAF_ERR_ARGUMENT: images are to be converted, where no files are packed. */
int pack_options_refuse_images(const struct sheaf_pack_options *options, struct sheaf_error *err);

#endif
