/* SPDX-License-Identifier: MIT
 *
 * dataset.json: the manifest, which describes a data set. formats/FORMATS.md has the schema.
 *
 * The fingerprint in it is the XXH3-128 of the document without the fingerprint (keys sorted,
 * compact text). So every part of the manifest is checked when it is read. A position in an epoch
 * contains the fingerprint, to identify its data set. */
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

/* Appends the manifest as JSON text, indented and with a final newline. Computes the totals. */
int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err);

/* Parses a manifest strictly. Returns SHEAF_ERR_UNSUPPORTED if the manifest has another version.
 * Returns SHEAF_ERR_CORRUPT for a missing or repeated key, a wrong type, sums that do not agree, a
 * name with a slash, or a wrong fingerprint. */
int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err);

/* The stand-in: a text with the number of a run, which a running packer can leave under the
 * manifest's name. It makes readers, even those of release 0.1, refuse the directory. For this
 * text, manifest_parse returns SHEAF_ERR_NOT_FOUND. */
#define MANIFEST_UNFINISHED_LIMIT ((size_t)100)    /* its bytes */
#define MANIFEST_UNFINISHED "{\"unfinished\": \"%s\"}\n"
#define MANIFEST_HOLDS_UNFINISHED \
    "holds an unfinished run: packing is in progress, or was interrupted"
/* Returns whether a text is the stand-in that a running packer leaves in place of the manifest. If
 * so, copies the number of the run. */
bool manifest_is_unfinished(const char *text, size_t size, char run[33]);
/* Returns whether a text is the claim (the file that says which run works in a directory) of a run
 * that appends or makes an index. During such a run, the existing data set or shards may still be
 * used. */
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
/* Copies the plan hash of the last append or edit, in the same way as manifest_option. */
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
/* Sets *sum to the total of a count that packing and each append have stored in their options. For
 * example, "skipped" is the number of files (in a conversion, of samples) that were left out, and
 * "left_out_values" is the number of values in lists that could not become fields. */
int manifest_sum(const struct manifest *manifest, const char *name, uint64_t *sum,
                 struct sheaf_error *err);
/* Used for a data set that is made of the samples of other data sets, the `sources`. Adds those
 * options of the sources to the new data set's options that also hold for its samples: class_depth,
 * field_aliases, key_end and the options for images. Does not add an option if the sources have
 * different values for it, or if the new data set has the option already. `whole` tells that the
 * new data set has all samples of the sources, so that the sources' numbers of changed images hold
 * as well. */
int manifest_inherit(const struct manifest *const *sources, size_t count, bool whole,
                     char **options_json, struct sheaf_error *err);
/* The images of both. */
struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b);

#endif
