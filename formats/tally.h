/* SPDX-License-Identifier: MIT
 *
 * A tally of fields: the number of samples that have each field, and its sizes.
 *
 * Samples are counted block by block. The tallies of blocks, shards and machines are merged in the
 * order of the samples into the tally of the data set. The result does not depend on the division.
 * The median cannot be merged exactly, so it is taken from sizes that are rounded down to their
 * first two digits. */
#ifndef FORMATS_TALLY_H
#define FORMATS_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Limit of field names. Names made of dates or numbers may differ from sample to sample. */
#define TALLY_NAMES_MOST 256u

/* The number of fields whose size has the same first two digits and the same number of digits as
 * `floor`. */
struct tally_size {
    uint64_t floor, count;
};

struct tally_field {
    char *name;
    uint64_t samples, bytes, least, most;
    struct buf sizes;           /* struct tally_size[], ascending */
    char *lacking;              /* key of the first sample without the field; NULL if there is
                                   none or it is unknown */
};

struct tally {
    struct tally_field *fields; /* in byte order of names */
    size_t count;
    uint64_t samples;
    char *first;                /* key of the first sample, or NULL if unknown */
    bool is_unknown;            /* whether some samples were not counted; the other members are
                                   then meaningless */
    bool has_too_many;          /* whether there were more than TALLY_NAMES_MOST names; `fields`
                                   is then empty */
};

/* Counts a sample, which must follow the samples counted before. */
int tally_add(struct tally *tally, const struct sheaf_sample *sample, struct sheaf_error *err);
/* Adds the tally of the samples that follow. */
int tally_merge(struct tally *tally, const struct tally *behind, struct sheaf_error *err);
/* Removes samples that the tally of a manifest counts. Sizes that no sample need have any more stay
 * limits: `least` is at most the smallest size, and `most` at least the largest. */
void tally_subtract(struct tally *tally, const struct tally *removed);
/* Makes `lacking` unknown where it is this key. */
void tally_forget_key(struct tally *tally, const char *key);
/* Frees the tally's memory and empties it. */
void tally_clear(struct tally *tally);

/* Returns the median size, within 5 % of the true one. It is exact if all sizes are equal. */
uint64_t tally_median(const struct tally_field *field);
/* Counts the fields of less than 1 kB, of less than 10 kB, and so on, and the rest. */
void tally_decades(const struct tally_field *field, uint64_t decades[SHEAF_SURVEY_DECADES]);

/* Returns the first difference between two tallies of the same samples, or NULL if they are
 * equal. With `limits`, the smallest and largest sizes of `b` are only limits (tally_subtract). */
const char *tally_difference(const struct tally *a, const struct tally *b, bool limits,
                             const char **name);

/* ---- As JSON --------------------------------------------------------------------------------- */

/* Returns the fields as a JSON array, or as JSON null if there are too many names. Returns NULL if
 * memory is exhausted. */
json_t *tally_tree(const struct tally *tally);
/* Reads the tally of `samples` samples from JSON. Returns SHEAF_ERR_CORRUPT if it is invalid. */
int tally_of_tree(const json_t *tree, uint64_t samples, struct tally *tally,
                  struct sheaf_error *err);
/* Returns a JSON array of the numbers; the next function reads it. */
json_t *tally_numbers_tree(const uint64_t *numbers, size_t count);
int tally_numbers_of_tree(const json_t *tree, uint64_t *numbers, struct sheaf_error *err);
/* Appends the whole tally as text. An unknown tally is an empty text. */
int tally_write(const struct tally *tally, struct buf *out, struct sheaf_error *err);
int tally_parse(const void *text, size_t size, struct tally *tally, struct sheaf_error *err);

#endif
