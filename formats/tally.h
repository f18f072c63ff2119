/* SPDX-License-Identifier: MIT
 *
 * A tally of fields: for each field, the number of samples that have it, and the sizes of its
 * content.
 *
 * Samples are counted block by block. The tallies of blocks, shards and machines are merged, in the
 * order of the samples, into the tally of the data set. The result does not depend on how the
 * samples were divided. The exact median of the sizes cannot be computed from merged tallies. So
 * the tally counts sizes that are rounded down to their first two digits, and the median is
 * estimated from these counts. */
#ifndef FORMATS_TALLY_H
#define FORMATS_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Largest number of different field names. If field names contain dates or numbers, every sample
 * may have different ones. */
#define TALLY_NAMES_MOST 256u

/* A number of samples whose field has a size between `floor` and the next floor. A floor is a size
 * rounded down to its first two digits. */
struct tally_size {
    uint64_t floor, count;
};

struct tally_field {
    char *name;
    uint64_t samples, bytes, least, most;
    struct buf sizes;           /* struct tally_size[], ascending */
    /* key of the first sample without the field; NULL if no sample lacks it or the key is
     * unknown */
    char *lacking;
};

struct tally {
    struct tally_field *fields; /* in byte order of names */
    size_t count;
    uint64_t samples;
    char *first;                /* key of the first sample, or NULL if unknown */
    /* whether some samples were not counted; the other fields of this struct are then
     * meaningless */
    bool is_unknown;
    /* whether there were more than TALLY_NAMES_MOST field names; `fields` is then empty */
    bool has_too_many;
};

/* Counts the fields of a sample, which must follow the samples counted before. */
int tally_add(struct tally *tally, const struct sheaf_sample *sample, struct sheaf_error *err);
/* Adds the tally of the samples that follow. */
int tally_merge(struct tally *tally, const struct tally *behind, struct sheaf_error *err);
/* Subtracts the counts of removed samples, which have the tally `removed`. The removed samples may
 * have included the smallest or the largest one. So afterwards `least` and `most` are only limits:
 * no remaining sample is smaller or larger. */
void tally_subtract(struct tally *tally, const struct tally *removed);
/* Makes `lacking` unknown where it is this key. */
void tally_forget_key(struct tally *tally, const char *key);
/* Frees the tally's memory and empties it. */
void tally_clear(struct tally *tally);

/* Returns the median size of a field, with an error of at most 5 %. It is exact if all sizes are
 * equal. */
uint64_t tally_median(const struct tally_field *field);
/* Counts a field's sizes by powers of ten: less than 1 kB, less than 10 kB, and so on; the last
 * count is the rest. */
void tally_decades(const struct tally_field *field, uint64_t decades[SHEAF_SURVEY_DECADES]);

/* Returns a text about the first difference between two tallies of the same samples, or NULL if
 * they are equal. If `limits` is set, the smallest and largest sizes in `b` are only limits (see
 * tally_subtract). */
const char *tally_difference(const struct tally *a, const struct tally *b, bool limits,
                             const char **name);

/* ---- As JSON --------------------------------------------------------------------------------- */

/* Returns the fields as a JSON array, or as JSON null if there are too many names. Returns NULL if
 * memory is exhausted. */
json_t *tally_tree(const struct tally *tally);
/* Reads the tally of `samples` samples from JSON. Returns SHEAF_ERR_CORRUPT if it is invalid. */
int tally_of_tree(const json_t *tree, uint64_t samples, struct tally *tally,
                  struct sheaf_error *err);
/* Reads the numbers of an array, which json_make_array has made with json_make_number. */
int tally_numbers_of_tree(const json_t *tree, uint64_t *numbers, struct sheaf_error *err);
/* Appends the whole tally as text. For an unknown tally, the text is empty. */
int tally_write(const struct tally *tally, struct buf *out, struct sheaf_error *err);
int tally_parse(const void *text, size_t size, struct tally *tally, struct sheaf_error *err);

#endif
