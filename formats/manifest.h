/* SPDX-License-Identifier: MIT
 *
 * dataset.json: what a data set consists of.  formats/FORMATS.md has the schema.
 *
 * The fingerprint is XXH3-128 of the document without it (keys sorted, compact), so every part of
 * the manifest is checked when it is read, and a position knows the data set that it is of. */
#ifndef FORMATS_MANIFEST_H
#define FORMATS_MANIFEST_H

#include "base/buf.h"
#include "formats/manifest_data.h"

#define MANIFEST_NAME "dataset.json"
#define INDEX_NAME    "dataset.index"
#define KEYS_NAME     "dataset.keys"
#define MANIFEST_LIMIT ((size_t)1 << 30)    /* bytes of a dataset.json */

/* Appends the JSON text (indented, final newline).  Totals are computed here. */
int manifest_write(struct manifest *m, struct buf *out, struct sheaf_error *err);

/* Strict: unknown version, missing or doubled key, wrong type, sums that do not agree, names with
 * a slash, a wrong fingerprint are SHEAF_ERR_CORRUPT (another version: _UNSUPPORTED). */
int manifest_parse(const char *text, size_t size, struct manifest *m, struct sheaf_error *err);

/* What a run that packs can leave under a manifest's name, with its number: it makes readers, also
 * of release 0.1, refuse the place, and manifest_parse say SHEAF_ERR_NOT_FOUND. */
#define MANIFEST_UNFINISHED_LIMIT ((size_t)100)    /* its bytes */
#define MANIFEST_UNFINISHED "{\"unfinished\": \"%s\"}\n"
#define MANIFEST_HOLDS_UNFINISHED \
    "holds an unfinished run: packing is in progress, or was interrupted"
/* Whether a text is that, and the number. */
bool manifest_is_unfinished(const char *text, size_t size, char run[33]);
/* Whether a text is a claim (packer/journal_claim.c) which says that its run appends: to everybody
 * else, the data set stays what it is. */
bool manifest_claim_grows(const char *text, size_t size);
/* SHEAF_ERR_NOT_FOUND, in the same words whatever trace of a run a place has, and whoever finds
 * it. */
int manifest_refuse_unfinished(const char *directory, struct sheaf_error *err);

/* Frees what m points to, and zeroes it. */
void manifest_clear(struct manifest *m);

/* Copies a string option of the manifest to *value, to be freed; NULL: it has no such option. */
int manifest_option(const struct manifest *manifest, const char *name, char **value,
                    struct sheaf_error *err);
/* The same of the options of the last time that it grew. */
int manifest_growth_option(const struct manifest *manifest, const char *name, char **value,
                           struct sheaf_error *err);
/* Whether it has such an option, of any type; or whether such a JSON text, or NULL, has. */
int manifest_has_option(const struct manifest *manifest, const char *name, bool *has,
                        struct sheaf_error *err);
int manifest_options_have(const char *options_json, const char *name, bool *has,
                          struct sheaf_error *err);
/* A number; 0: it has no such option. */
int manifest_option_number(const struct manifest *manifest, const char *name, uint64_t *value,
                           struct sheaf_error *err);

/* What packing, and later appending, did to images.  IMAGES_UNKNOWN: some were packed with options
 * that change images, by a release that did not count what came of it. */
#define IMAGES_UNKNOWN UINT64_MAX
struct manifest_images {
    uint64_t converted;         /* into plain JPEGs: the lines of converted.tsv */
    uint64_t resized;           /* only made smaller */
};
int manifest_images(const struct manifest *manifest, struct manifest_images *images,
                    struct sheaf_error *err);
/* The images of both. */
struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b);

#endif
