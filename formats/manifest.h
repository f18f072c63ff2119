/* SPDX-License-Identifier: MIT
 *
 * The manifest dataset.json describes a data set. formats/FORMATS.md lists its keys.
 *
 * The manifest contains its own fingerprint, which is the XXH3-128 of the document without the
 * fingerprint (keys sorted, compact text). The fingerprint is checked whenever a manifest is read,
 * so that damage anywhere in it is found. The saved state of a reader contains the fingerprint of
 * its data set. */
#ifndef FORMATS_MANIFEST_H
#define FORMATS_MANIFEST_H

#include "base/buf.h"
#include "formats/manifest_data.h"

#define MANIFEST_NAME "dataset.json"
#define INDEX_NAME    "dataset.index"
#define KEYS_NAME     "dataset.keys"
#define SKIPPED_NAME   "skipped.tsv"
#define CONVERTED_NAME "converted.tsv"
#define MANIFEST_LIMIT ((size_t)1 << 30)    /* bytes of a dataset.json */

/* Appends the manifest to `out` as JSON text, indented and with a final newline. The text also
 * states totals over all shards, such as the number of samples. Sets m->fingerprint. */
int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err);

/* Parses a manifest strictly. Returns SHEAF_ERR_UNSUPPORTED if the manifest has another version.
 * Returns SHEAF_ERR_CORRUPT if a key is missing or repeated, a type or the fingerprint is wrong,
 * totals do not agree, or a name contains a slash. */
int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err);

/* The stand-in for a manifest is a short text that dataset.json may contain while a packer runs.
 * The text has the number that identifies the packer's run. Readers of every release, even 0.1,
 * refuse a directory with a stand-in. manifest_parse() returns SHEAF_ERR_NOT_FOUND for it. */
#define MANIFEST_UNFINISHED_LIMIT ((size_t)100)    /* largest size of a stand-in in bytes */
#define MANIFEST_UNFINISHED "{\"unfinished\": \"%s\"}\n"
/* Text that `sheaf` writes into dataset.json in place of the manifest when a column is dropped; see
 * columns/column_drop.c. The two %s are the number that identifies the run, and the time. */
#define MANIFEST_DROPPED "{\"unfinished\": \"%s\", \"dropped\": \"%s\"}\n"
#define MANIFEST_DATE_BYTES 21              /* "2026-11-26T12:00:00Z" */
#define MANIFEST_HOLDS_UNFINISHED \
    "holds an unfinished run: packing is in progress, or was interrupted"
/* Returns whether a text is the stand-in for the manifest that a running packer leaves. If so,
 * copies to `run` the number that identifies the packer's run. */
bool manifest_is_unfinished(const char *text, size_t size, char run[33]);
/* Returns whether a text is the stand-in for the manifest of a dropped column. If so, copies to
 * `date` the time at which the column was dropped. */
bool manifest_is_dropped(const char *text, size_t size, char date[MANIFEST_DATE_BYTES]);
/* The claim is a file that a run puts into the directory in which it works. `text` is the content
 * of a claim. Returns whether readers may use the directory while the run works. They may if the
 * run only appends samples or makes an index, because such a run does not change the existing
 * samples. */
bool manifest_claim_keeps(const char *text, size_t size);
#define MANIFEST_CLAIM_LIMIT ((size_t)64 << 10)     /* bytes of a claim */
/* Sets an error which says that the directory contains an unfinished run. Returns
 * SHEAF_ERR_NOT_FOUND. All callers use this function, so that the message is always the same. */
int manifest_refuse_unfinished(const char *directory, struct sheaf_error *err);

/* Frees everything that m points to, and zeroes m. */
void manifest_clear(struct manifest *m);

/* Sets *value to a copy of the text of the packing option `name`, which the manifest stores. The
 * caller frees the copy. Sets *value to NULL if the manifest does not have the option. */
int manifest_option(const struct manifest *manifest, const char *name, char **value,
                    struct sheaf_error *err);
/* Sets *values to a copy of the packing option `name`, whose value is an array of strings. The copy
 * ends with NULL. Sets *values to NULL if the manifest does not have the option. The caller frees
 * the strings and the array. */
int manifest_option_texts(const struct manifest *manifest, const char *name, char ***values,
                          struct sheaf_error *err);
/* Sets *hash to a copy of the hash that identifies the last change of the data set (append or
 * edit). The caller frees the copy. Sets *hash to NULL if the data set was never changed. */
int manifest_change_plan(const struct manifest *manifest, char **hash, struct sheaf_error *err);
/* Two functions that set *has to true if a manifest stores an option called `name`, of any type,
 * and to false otherwise. The second function takes the manifest's options as JSON text. NULL
 * stands for no options. */
int manifest_has_option(const struct manifest *manifest, const char *name, bool *has,
                        struct sheaf_error *err);
int manifest_options_have(const char *options_json, const char *name, bool *has,
                          struct sheaf_error *err);
/* Sets *value to the number in the packing option `name`. Sets *value to 0 if the manifest does not
 * have the option. */
int manifest_option_number(const struct manifest *manifest, const char *name, uint64_t *value,
                           struct sheaf_error *err);

/* How many images were changed when the data set was packed, or when samples were appended to it. A
 * number has the value IMAGES_UNKNOWN if an older release changed images, because older releases
 * did not count them. */
#define IMAGES_UNKNOWN UINT64_MAX
struct manifest_images {
    /* number of images that were converted to plain JPEGs; the file converted.tsv lists them */
    uint64_t converted;
    uint64_t resized;           /* number of images that were only shrunk */
};
int manifest_images(const struct manifest *manifest, struct manifest_images *images,
                    struct sheaf_error *err);
/* Sets *sum to the sum of a count over the packing and all appends of a data set. The manifest
 * stores such a count with the options of the packing and of each append. For example,
 * "left_out_values" is the number of values, such as cells of a CSV list file, that were left out
 * because the packer could not store them as fields. "skipped" is the number of files (after a
 * conversion: samples) that were left out. */
int manifest_sum(const struct manifest *manifest, const char *name, uint64_t *sum,
                 struct sheaf_error *err);
/* Completes the options of a new data set that consists of samples of the data sets `sources`.
 * Copies the following options from the sources' manifests, because they also hold for the new data
 * set: class_depth, field_aliases, key_end and the options for images. An option is not copied if
 * the sources have different values for it, or if the new data set already has the option.
 *
 * `whole` means that the new data set has all samples of the sources. The sources' numbers of
 * changed images are copied only in this case. */
int manifest_inherit(const struct manifest *const *sources, size_t count, bool whole,
                     char **options_json, struct sheaf_error *err);
/* Adds up two counts of changed images. */
struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b);

#endif
