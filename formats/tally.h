/* SPDX-License-Identifier: MIT
 *
 * A tally of fields: how many samples have each, and how large it is.
 *
 * Samples are counted block by block; the tallies of blocks, shards and machines are merged, in the
 * order of the samples, into the one of the data set, which is the same however it was divided.
 * What cannot be merged exactly, the median, is taken from sizes that are rounded down to their
 * first two digits. */
#ifndef FORMATS_TALLY_H
#define FORMATS_TALLY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "sheaf.h"

/* Names may differ from sample to sample, where they are made of dates or numbers. */
#define TALLY_NAMES_MOST 256u

/* How many fields have a size that begins with the two digits of `floor`, and as many digits. */
struct tally_size {
    uint64_t floor, count;
};

struct tally_field {
    char *name;
    uint64_t samples, bytes, least, most;
    struct buf sizes;           /* struct tally_size[], ascending */
    char *lacking;              /* the key of the first sample without it; NULL: it has none, or is
                                   not known */
};

struct tally {
    struct tally_field *fields; /* in byte order of names */
    size_t count;
    uint64_t samples;
    char *first;                /* the key of the first sample; NULL: not known */
    bool is_unknown;            /* some samples were not counted: nothing else holds */
    bool has_too_many;          /* there were more than TALLY_NAMES_MOST names: `fields` is empty */
};

/* Counts the sample behind those that were counted. */
int tally_add(struct tally *tally, const struct sheaf_sample *sample, struct sheaf_error *err);
/* Adds what was counted of the samples behind. */
int tally_merge(struct tally *tally, const struct tally *behind, struct sheaf_error *err);
/* Frees what it has, and empties it. */
void tally_clear(struct tally *tally);

/* Within 5 % of the true one, and exact where all sizes are equal. */
uint64_t tally_median(const struct tally_field *field);
/* How many fields have less than 1 kB, 10 kB, ...; and the rest. */
void tally_decades(const struct tally_field *field, uint64_t decades[SHEAF_SURVEY_DECADES]);

/* What differs first between two tallies of the same samples; NULL: nothing. */
const char *tally_difference(const struct tally *a, const struct tally *b, const char **name);

/* ---- As JSON --------------------------------------------------------------------------------- */

/* The fields as an array, or null if there are too many names; NULL: no memory. */
json_t *tally_tree(const struct tally *tally);
/* The reverse, of `samples` samples.  SHEAF_ERR_CORRUPT. */
int tally_of_tree(const json_t *tree, uint64_t samples, struct tally *tally,
                  struct sheaf_error *err);
/* An array of numbers, and the reverse. */
json_t *tally_numbers_tree(const uint64_t *numbers, size_t count);
int tally_numbers_of_tree(const json_t *tree, uint64_t *numbers, struct sheaf_error *err);
/* All of it as one text; nothing if it is unknown.  An empty text is an unknown tally. */
int tally_write(const struct tally *tally, struct buf *out, struct sheaf_error *err);
int tally_parse(const void *text, size_t size, struct tally *tally, struct sheaf_error *err);

#endif
