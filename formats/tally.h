/* SPDX-License-Identifier: MIT
 *
 * A tally counts, for each field of the samples (such as `jpg`), how many samples have it and how
 * large its content is.
 *
 * Samples are counted block by block. The tallies of blocks, shards and machines are merged, in the
 * order of the samples, into the tally of the data set. The result does not depend on how the
 * samples were divided.
 *
 * The exact median of the sizes cannot be computed from merged tallies. So the tally counts
 * sizes that are rounded down to their first two digits, and the median is estimated from these
 * counts. */
#ifndef FORMATS_TALLY_H
#define FORMATS_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Largest number of different field names that are counted. The limit exists because every sample
 * may have field names of its own, which contain dates or numbers. */
#define TALLY_NAMES_MOST 256u

/* The number of samples whose field has a size in a certain range. The range begins with `floor`
 * and contains all sizes with the same number of digits and the same two leading digits. For
 * example, the range with the floor 4600 ends with 4699. */
struct tally_size {
    uint64_t floor, count;
};

struct tally_field {
    char *name;
    uint64_t samples, bytes, least, most;
    struct buf sizes;           /* struct tally_size[], ascending */
    /* key of the first sample that lacks the field; NULL if all samples have the field, or if the
     * key is unknown */
    char *lacking;
};

struct tally {
    struct tally_field *fields; /* in byte order of names */
    size_t count;
    uint64_t samples;
    char *first;                /* key of the first sample, or NULL if unknown */
    /* true if some samples were not counted, so that all other members of the struct are
     * meaningless */
    bool is_unknown;
    /* true if the samples had more than TALLY_NAMES_MOST different field names; `fields` is then
     * empty */
    bool has_too_many;
};

/* Counts the fields of one sample. The caller must pass the samples in their order. */
int tally_add(struct tally *tally, const struct sheaf_sample *sample, struct sheaf_error *err);
/* Adds the tally of the samples that follow. */
int tally_merge(struct tally *tally, const struct tally *behind, struct sheaf_error *err);
/* Subtracts the counts of samples that were removed from the data set. `removed` is the tally of
 * these samples. The new smallest and largest sizes of a field are not known, so `least` and `most`
 * do not change. From then on, they are only limits for the sizes: no size lies outside them. */
void tally_subtract(struct tally *tally, const struct tally *removed);
/* Makes `lacking` unknown where it is this key. */
void tally_forget_key(struct tally *tally, const char *key);
/* Frees the tally's memory and empties it. */
void tally_clear(struct tally *tally);

/* Returns the median size of a field in bytes, with an error of at most 5 %. The result is exact if
 * all sizes are equal. */
uint64_t tally_median(const struct tally_field *field);
/* Counts how many samples have a field of less than 1 kB, of 1 kB to 10 kB, and so on by powers of
 * ten. The last element of `decades` counts all larger sizes. */
void tally_decades(const struct tally_field *field, uint64_t decades[SHEAF_SURVEY_DECADES]);

/* Compares two tallies of the same samples. Returns a text about the first difference, or NULL if
 * the tallies are equal. `limits` means that tally_subtract() has changed `b`. The smallest and
 * largest sizes in `b` are then only limits and need not equal the sizes in `a`. */
const char *tally_difference(const struct tally *a, const struct tally *b, bool limits,
                             const char **name);

/* ---- As JSON --------------------------------------------------------------------------------- */

/* Returns the fields as a JSON array, or the JSON value null if there were too many field names.
 * Returns NULL if memory is exhausted. */
json_t *tally_tree(const struct tally *tally);
/* Reads a tally from the JSON that tally_tree() has made. `samples` is the number of samples of the
 * data set. Returns SHEAF_ERR_CORRUPT if the JSON is invalid. */
int tally_of_tree(const json_t *tree, uint64_t samples, struct tally *tally,
                  struct sheaf_error *err);
/* Copies the numbers in a JSON array to `numbers`. (json_make_array() with json_make_number() makes
 * such an array.) */
int tally_numbers_of_tree(const json_t *tree, uint64_t *numbers, struct sheaf_error *err);
/* Appends the whole tally to `out` as text, which tally_parse() reads. The text is empty if
 * tally->is_unknown is set. */
int tally_write(const struct tally *tally, struct buf *out, struct sheaf_error *err);
int tally_parse(const void *text, size_t size, struct tally *tally, struct sheaf_error *err);

#endif
