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
/* The same, but SHEAF_CHECK_USUAL stays, because it is not known yet what is packed. */
int pack_options_take_usual(const struct sheaf_pack_options *given,
                            struct sheaf_pack_options *options, struct sheaf_error *err);

/* Returns the text for the hash of a program's samples that says what the packer changes in them,
 * to be freed: `samples` if it changes nothing.  NULL: out of memory. */
char *pack_options_origin(const struct sheaf_pack_options *options, const char *samples);

/* What follows from them. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* The JSON object that the manifest keeps: all options that determine the bytes, and nothing
 * else.  `source`: its kind; plan_hash: NULL if there is none; split_name: "" without splits,
 * NULL if the samples are a program's, whose order is its own.  NULL: out of memory. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

#endif
