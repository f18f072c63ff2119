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
/* Copies the caller's options like pack_options_take(). The only difference is that check_images
 * may keep the value SHEAF_CHECK_USUAL. The meaning of this value depends on whether samples are
 * packed or converted, which is not known yet. */
int pack_options_take_usual(const struct sheaf_pack_options *given,
                            struct sheaf_pack_options *options, struct sheaf_error *err);

/* Returns a text that identifies the packed samples of a program. The text consists of `samples`, a
 * text from the program, and of options that make the packer change the samples. Options that are
 * not set are left out. Hashes are computed from this text. The caller frees the text. Returns NULL
 * if memory is exhausted. */
char *pack_options_origin(const struct sheaf_pack_options *options, const char *samples);

/* Returns a text that identifies the run. The text consists of the result of pack_options_origin()
 * for options->identity, and of the version of the records that this release writes. Because of the
 * version, a run of an older release is not resumed if its records differ. The caller frees the
 * text. Returns NULL if memory is exhausted. */
char *pack_options_identity(const struct sheaf_pack_options *options);

/* Fills in the settings of blocks (the packer's jobs) as far as the options determine these
 * settings. */
void pack_options_setup(const struct sheaf_pack_options *options, struct block_setup *setup);
/* Initialises `watch` and `problems` with the functions and limits of the caller. If the limit is a
 * share of the files, it has no effect until problems_limit() gets the number of files. */
void pack_options_watch(const struct sheaf_pack_options *options, struct watch *watch,
                   struct problems *problems);

/* Returns the options of a packing run as JSON for the manifest: all options that determine the
 * bytes of the data set, and no others. Returns NULL if memory is exhausted.
 *
 * `source` is the kind of the source. `plan_hash` is the hash of the plan, or NULL if there is no
 * plan. `split_name` is the name of the data set's split, or "" if it has no splits. If a program
 * passes the samples (the source is "program"), options about order are left out, because the
 * program has chosen the order. */
char *pack_options_json(const struct sheaf_pack_options *options, const char *source,
                   const char *plan_hash, const char *split_name);

#endif
