/* SPDX-License-Identifier: MIT
 *
 * dataset.json: the description of a data set. formats/FORMATS.md has the schema.
 *
 * The fingerprint is the XXH3-128 of the document without the fingerprint (keys sorted, compact).
 * So every part of the manifest is checked when it is read, and a position identifies the data set
 * it belongs to. */
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

/* Appends the JSON text, indented and with a final newline. Computes the totals. */
int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err);

/* Parses a manifest strictly. Returns SHEAF_ERR_CORRUPT for a missing or repeated key, a wrong
 * type, sums that do not agree, a name with a slash, or a wrong fingerprint, and _UNSUPPORTED for
 * another version. */
int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err);

/* A text that a running packer can leave under the manifest's name, with the number of its run. It
 * makes readers, even those of release 0.1, refuse the directory, and makes manifest_parse return
 * SHEAF_ERR_NOT_FOUND. */
#define MANIFEST_UNFINISHED_LIMIT ((size_t)100)    /* its bytes */
#define MANIFEST_UNFINISHED "{\"unfinished\": \"%s\"}\n"
#define MANIFEST_HOLDS_UNFINISHED \
    "holds an unfinished run: packing is in progress, or was interrupted"
/* Returns whether a text is such a mark, and copies its run number. */
bool manifest_is_unfinished(const char *text, size_t size, char run[33]);
/* Returns whether a text is the claim (publish/journal_claim.c) of a run that appends or indexes.
 * Such a run does not hide the existing data set or shards from others. */
bool manifest_claim_keeps(const char *text, size_t size);
#define MANIFEST_CLAIM_LIMIT ((size_t)64 << 10)     /* bytes of a claim */
/* Sets SHEAF_ERR_NOT_FOUND for a directory with an unfinished run. All callers use it, so that the
 * words are the same. */
int manifest_refuse_unfinished(const char *directory, struct sheaf_error *err);

/* Frees everything that m points to, and zeroes m. */
void manifest_clear(struct manifest *m);

/* Copies a string option of the manifest to *value, which the caller frees. Sets *value to NULL if
 * there is no such option. */
int manifest_option(const struct manifest *manifest, const char *name, char **value,
                    struct sheaf_error *err);
/* Copies an option that is an array of strings, and ends the copy with NULL. Sets *values to NULL
 * if there is no such option. The caller frees the strings and the array. */
int manifest_option_texts(const struct manifest *manifest, const char *name, char ***values,
                          struct sheaf_error *err);
/* Copies the hash of the plan of the last append or edit, like manifest_option. */
int manifest_change_plan(const struct manifest *manifest, char **hash, struct sheaf_error *err);
/* Set *has to whether the manifest, or such a JSON text, has this option, of any type. The text may
 * be NULL. */
int manifest_has_option(const struct manifest *manifest, const char *name, bool *has,
                        struct sheaf_error *err);
int manifest_options_have(const char *options_json, const char *name, bool *has,
                          struct sheaf_error *err);
/* Reads a number among the options. Sets *value to 0 if there is no such option. */
int manifest_option_number(const struct manifest *manifest, const char *name, uint64_t *value,
                           struct sheaf_error *err);

/* The effects of packing and appending on images. IMAGES_UNKNOWN means that images were packed with
 * options that change them by a release that did not count the changes. */
#define IMAGES_UNKNOWN UINT64_MAX
struct manifest_images {
    uint64_t converted;         /* number of images converted into plain JPEGs; each has a line
                                   in converted.tsv */
    uint64_t resized;           /* only made smaller */
};
int manifest_images(const struct manifest *manifest, struct manifest_images *images,
                    struct sheaf_error *err);
/* Adds up a count that packing and appending wrote: "skipped", the files that were left out, or
 * samples in a conversion; "left_out_values", the values of lists that could not become fields. */
int manifest_sum(const struct manifest *manifest, const char *name, uint64_t *sum,
                 struct sheaf_error *err);
/* Adds to the options of a data set the options of its `sources` that also hold for its samples:
 * class_depth, field_aliases, key_end and the options for images. Options that differ between the
 * sources are not added, and no option replaces an existing one. `whole` says that the data set has
 * all samples of the sources, so that their numbers of changed images hold. */
int manifest_inherit(const struct manifest *const *sources, size_t count, bool whole,
                     char **options_json, struct sheaf_error *err);
/* The images of both. */
struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b);

#endif
