/* SPDX-License-Identifier: MIT
 *
 * Copies the options of a packing run from the caller's struct, checks them, and writes them as
 * JSON for the manifest. */
#ifndef PACKER_PACK_OPTIONS_H
#define PACKER_PACK_OPTIONS_H

#include "base/watch.h"
#include "packer/block.h"
#include "packer/source/problems.h"
#include "sheaf.h"

/* Copies and checks the caller's options. If the caller was compiled with an older, shorter version
 * of the struct, options that it lacks get their defaults. */
int pack_options_take(const struct sheaf_pack_options *given, struct sheaf_pack_options *options,
                 struct sheaf_error *err);
/* Copies the caller's options like pack_options_take(), but leaves the value SHEAF_CHECK_USUAL of
 * check_images as it is. Its meaning depends on whether samples are packed or converted, which is
 * not known yet. */
int pack_options_take_usual(const struct sheaf_pack_options *given,
                            struct sheaf_pack_options *options, struct sheaf_error *err);

/* Returns a text that identifies the samples that a program passes to the packer. The text becomes
 * part of hashes. It consists of `samples` (a text from the program) and of the options by which
 * the packer changes the samples, if any are set. The caller frees the text. Returns NULL if memory
 * is exhausted. */
char *pack_options_origin(const struct sheaf_pack_options *options, const char *samples);

/* Returns a text that identifies the run, from options->identity and the version of the records
 * that this release writes. So a run of an older release whose records differ cannot be resumed.
 * Otherwise like pack_options_origin(). */
char *pack_options_identity(const struct sheaf_pack_options *options);

/* Sets those settings of blocks (the packer's jobs) that follow from the options. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* Returns the options of a packing run as JSON for the manifest: all options that determine the
 * bytes of the data set, and no others. `source` is the kind of the source. `plan_hash` is NULL
 * if there is no plan. `split_name` is "" if the data set has no splits. `split_name` is NULL if
 * a program passes the samples, which have the program's order. Returns NULL if memory is
 * exhausted. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

#endif
