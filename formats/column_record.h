/* SPDX-License-Identifier: MIT
 *
 * Declares functions for the records of a column, and for the facts about the column's base. A
 * column adds fields to the samples of an existing data set, which is called its base. The column's
 * manifest and each of its records state facts about the base. doc/columns.md has the format. */
#ifndef FORMATS_COLUMN_RECORD_H
#define FORMATS_COLUMN_RECORD_H

#include "formats/format.h"
#include "formats/manifest.h"

#define COLUMNS_DIRECTORY "columns"     /* in the directory of a data set */
#define COLUMN_NAME_MOST  100           /* bytes of a column's name */
#define COLUMN_KEY_BYTES  32            /* of a record's key with its NUL */
#define COLUMN_RECORD_MOST ((uint64_t)UINT32_MAX)       /* bytes of a record */

/* The facts about one layer of a column. */
struct column_facts {
    char name[COLUMN_NAME_MOST + 1];
    char base[33];              /* fingerprint of the base when the layer was written */
    /* Number of the first sample that has a record in this layer. The samples are those of the base
     * (the data set to which the column adds a field). A column has one layer for each range of
     * samples whose values were written at once. */
    uint64_t first;
    uint64_t missing;           /* records without a value */
};

/* Checks the name of a column. Returns SHEAF_ERR_ARGUMENT if the name is not allowed. */
int column_check_name(const char *name, struct sheaf_error *err);

/* Makes the key of a column's record: "NUMBER-CRC". The record belongs to one sample of the base
 * (the data set to which the column adds a field). NUMBER is the number of this sample, and CRC is
 * its checksum in the base's index. */
void column_key(uint64_t number, uint32_t crc, char key[COLUMN_KEY_BYTES]);

/* Returns whether `key` equals the key that column_key() would make. This function is fast, because
 * the reader calls it for each sample. */
bool column_key_is(const struct text *key, uint64_t number, uint32_t crc);

/* A field in the record of a column. */
struct column_value {
    const char *extension;      /* not NUL-terminated */
    size_t extension_size;
    const uint8_t *data;
    size_t size;
};
#define COLUMN_VALUES_MOST 16u          /* fields that column_record_parse finds */

/* Finds the key and the fields of a record of a column. This is a fast path for the form that our
 * packer writes. Returns false if the record has another form; the caller then calls
 * example_decode, which decodes or refuses it. The results point into the record. The caller must
 * have checked the checksums of the record's frame. */
bool column_record_parse(const uint8_t *record, size_t size, struct text *key,
                         struct column_value values[COLUMN_VALUES_MOST], size_t *count);

/* Reads the facts about a column's base from `manifest`. The base is the data set to which the
 * column belongs, and `manifest` is the manifest of one layer of the column. Returns
 * SHEAF_ERR_CORRUPT if the manifest has no such facts. */
int column_facts_read(const struct manifest *manifest, struct column_facts *facts,
                      struct sheaf_error *err);
/* Returns a copy of the manifest options `options_json` with the facts about a column's base added.
 * (The base is the data set to which the column belongs.) The caller frees the copy. Returns NULL
 * if memory is exhausted. */
char *column_facts_add(const char *options_json, const struct column_facts *facts);

#define COLUMN_PLAN_SOURCE "column"     /* kind of source in a column's plan */
#define COLUMN_HASH_BYTES  33
/* Further facts in the plan of a column, in addition to struct column_facts (see
 * sheaf_column_plan): the source of the values, and a hash of all values at the time of
 * planning. */
struct column_values {          /* column_values_free frees the content */
    char *source;               /* NULL if a program makes the values */
    char hash[COLUMN_HASH_BYTES];
};
/* Returns a copy of the plan options `options_json` with three additions: the facts about the base
 * (the data set to which the column belongs), the source of the column's values, and the hash of
 * the values. The caller frees the copy. Returns NULL if memory is exhausted. */
char *column_plan_options(const char *options_json, const struct column_facts *facts,
                          const struct column_values *values);
int column_plan_read(const char *options_json, struct column_facts *facts,
                     struct column_values *values, struct sheaf_error *err);
void column_values_free(struct column_values *values);
/* Returns the options for the manifest of a finished layer (a data set with the column's values for
 * a range of samples). They are the options of the column's plan with two changes. The source of
 * the values is left out. The number `missing` of records without a value is added. The caller
 * frees the text. Returns NULL if memory is exhausted. */
char *column_layer_options(const char *plan_options_json, uint64_t missing);

#endif
