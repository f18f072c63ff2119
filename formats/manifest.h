/* SPDX-License-Identifier: MIT
 *
 * dataset.json: the manifest, which describes a data set. formats/FORMATS.md has the schema.
 *
 * The fingerprint in it is the XXH3-128 of the document without the fingerprint (keys sorted,
 * compact text). It is checked when a manifest is read, so that damage anywhere in the manifest is
 * found. The saved state of a reader contains the fingerprint of its data set. */
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

/* Appends the manifest as JSON text, indented and with a final newline. The text also states totals
 * over all shards, such as the number of samples. Sets m->fingerprint. */
int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err);

/* Parses a manifest strictly. Returns SHEAF_ERR_UNSUPPORTED if the manifest has another version.
 * Returns SHEAF_ERR_CORRUPT for a missing or repeated key, a wrong type, sums that do not agree, a
 * name with a slash, or a wrong fingerprint. */
int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err);

/* While a packer runs, dataset.json may contain a stand-in instead of a manifest: a short text with
 * the number that identifies the packer's run. Readers, even those of release 0.1, then refuse the
 * directory. For a stand-in, manifest_parse returns SHEAF_ERR_NOT_FOUND. */
#define MANIFEST_UNFINISHED_LIMIT ((size_t)100)    /* largest size of a stand-in in bytes */
#define MANIFEST_UNFINISHED "{\"unfinished\": \"%s\"}\n"
/* The stand-in that a drop of a column leaves; see columns/column_drop.c. */
#define MANIFEST_DROPPED "{\"unfinished\": \"%s\", \"dropped\": \"%s\"}\n"
#define MANIFEST_DATE_BYTES 21              /* "2026-11-26T12:00:00Z" */
#define MANIFEST_HOLDS_UNFINISHED \
    "holds an unfinished run: packing is in progress, or was interrupted"
/* Returns whether a text is the stand-in that a running packer leaves in place of the manifest. If
 * so, copies the number of the packer's run to `run`. */
bool manifest_is_unfinished(const char *text, size_t size, char run[33]);
/* Returns whether a text is the stand-in of a column that was dropped. If so, copies the time of
 * the drop to `date`. */
bool manifest_is_dropped(const char *text, size_t size, char date[MANIFEST_DATE_BYTES]);
/* A run that works in a directory puts a file there, its claim. Returns whether `text`, the content
 * of a claim, belongs to a run that only appends samples or makes an index. Such a run keeps the
 * existing data set or shards usable. */
bool manifest_claim_keeps(const char *text, size_t size);
#define MANIFEST_CLAIM_LIMIT ((size_t)64 << 10)     /* bytes of a claim */
/* Sets the error SHEAF_ERR_NOT_FOUND for a directory in which a run has not finished. All callers
 * use this function, so that the message is always the same. */
int manifest_refuse_unfinished(const char *directory, struct sheaf_error *err);

/* Frees everything that m points to, and zeroes m. */
void manifest_clear(struct manifest *m);

/* Copies a string option of the manifest to *value, which the caller frees. Sets *value to NULL if
 * the manifest does not have the option. */
int manifest_option(const struct manifest *manifest, const char *name, char **value,
                    struct sheaf_error *err);
/* Copies an option that is an array of strings, and ends the copy with NULL. Sets *values to NULL
 * if the manifest does not have the option. The caller frees the strings and the array. */
int manifest_option_texts(const struct manifest *manifest, const char *name, char ***values,
                          struct sheaf_error *err);
/* Copies the hash that identifies the last append or edit to *hash, which the caller frees. Sets
 * *hash to NULL if nothing was appended or edited. */
int manifest_change_plan(const struct manifest *manifest, char **hash, struct sheaf_error *err);
/* manifest_has_option sets *has to whether a manifest has an option with this name, of any type.
 * manifest_options_have does the same for the JSON text of a manifest's options, which may be
 * NULL. */
int manifest_has_option(const struct manifest *manifest, const char *name, bool *has,
                        struct sheaf_error *err);
int manifest_options_have(const char *options_json, const char *name, bool *has,
                          struct sheaf_error *err);
/* Reads an option that is a number. Sets *value to 0 if the manifest does not have the option. */
int manifest_option_number(const struct manifest *manifest, const char *name, uint64_t *value,
                           struct sheaf_error *err);

/* The numbers of images that packing and appending have changed. A number is IMAGES_UNKNOWN if an
 * older release packed with options that change images, because it did not count the changes. */
#define IMAGES_UNKNOWN UINT64_MAX
struct manifest_images {
    /* number of images that were converted to plain JPEGs; converted.tsv has a line for each of
     * them */
    uint64_t converted;
    uint64_t resized;           /* only made smaller */
};
int manifest_images(const struct manifest *manifest, struct manifest_images *images,
                    struct sheaf_error *err);
/* The options of the packing and of each append, which the manifest stores, include some counts.
 * Adds up the count called `name` over the packing and all appends. For example, "skipped" is the
 * number of files (in a conversion, of samples) that were left out, and "left_out_values" is the
 * number of values in lists that could not become fields. */
int manifest_sum(const struct manifest *manifest, const char *name, uint64_t *sum,
                 struct sheaf_error *err);
/* Copies options from the manifests `sources` to the options of a new data set, which consists of
 * samples of these data sets. Copies only options that are also true for the new data set:
 * class_depth, field_aliases, key_end and the options for images. Does not copy an option if the
 * sources have different values for it, or if the new data set has the option already. `whole`
 * tells that the new data set has all samples of the sources. Only then the sources' numbers of
 * changed images are copied as well. */
int manifest_inherit(const struct manifest *const *sources, size_t count, bool whole,
                     char **options_json, struct sheaf_error *err);
/* The images of both. */
struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b);

#endif
