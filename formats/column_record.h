/* SPDX-License-Identifier: MIT
 *
 * The records of a column, and the facts about the base in the column's manifest and in each
 * record. A column adds fields to the samples of an existing data set, which is called the column's
 * base. doc/columns.md has the format. */
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
    /* number of the first sample of the base for which this part of the column has a record */
    uint64_t first;
    uint64_t missing;           /* records without a value */
};

/* Returns SHEAF_ERR_ARGUMENT if a text cannot be the name of a column. */
int column_check_name(const char *name, struct sheaf_error *err);

/* Makes the key of the record for a sample of the base: "NUMBER-CRC", from the sample's number and
 * the CRC of its index entry. */
void column_key(uint64_t number, uint32_t crc, char key[COLUMN_KEY_BYTES]);

/* Returns whether `key` is the text that column_key makes. A reader calls this for each sample. */
bool column_key_is(const struct text *key, uint64_t number, uint32_t crc);

/* A field in the record of a column. */
struct column_value {
    const char *extension;      /* not NUL-terminated */
    size_t extension_size;
    const uint8_t *data;
    size_t size;
};
#define COLUMN_VALUES_MOST 16u          /* fields that column_record_parse finds */

/* Finds the key and the fields of a record that has the form in which our packer writes it. The
 * results point into the record. The caller must have checked the record's frame. Returns false if
 * the record has another form; the caller then lets example_decode decode or refuse the record. */
bool column_record_parse(const uint8_t *record, size_t size, struct text *key,
                         struct column_value values[COLUMN_VALUES_MOST], size_t *count);

/* Reads the facts about the base (the data set to which the column belongs) from the manifest
 * `manifest`, which describes a part of the column's shards. Returns SHEAF_ERR_CORRUPT if the
 * manifest has no such facts. */
int column_facts_read(const struct manifest *manifest, struct column_facts *facts,
                      struct sheaf_error *err);
/* Returns a copy of a manifest's options to which the facts about the base (the data set to which
 * the column belongs) have been added. The caller frees the copy. Returns NULL if memory is
 * exhausted. */
char *column_facts_add(const char *options_json, const struct column_facts *facts);

/* The plan of a column (see sheaf_column_plan) stores struct column_facts and this struct: the
 * source of the values, and a hash of all values that the source had when the plan was made. */
#define COLUMN_PLAN_SOURCE "column"     /* the kind of source in the plan of a column */
#define COLUMN_HASH_BYTES  33
struct column_values {          /* column_values_free frees the content */
    char *source;               /* NULL if a program makes the values */
    char hash[COLUMN_HASH_BYTES];
};
/* Like column_facts_add, but also adds the source and the hash of the values. */
char *column_plan_options(const char *options_json, const struct column_facts *facts,
                          const struct column_values *values);
int column_plan_read(const char *options_json, struct column_facts *facts,
                     struct column_values *values, struct sheaf_error *err);
void column_values_free(struct column_values *values);
/* Makes the options for the manifest of finished shards of a column from the options in its plan.
 * Leaves out the source of the values. `missing` is the number of records without a value. The
 * caller frees the text. Returns NULL if memory is exhausted. */
char *column_layer_options(const char *plan_options_json, uint64_t missing);

#endif
