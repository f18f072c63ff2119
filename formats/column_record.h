/* SPDX-License-Identifier: MIT
 *
 * The facts about its base that a column's data set has in its manifest and in each record.
 * doc/columns.md has the format. */
#ifndef FORMATS_COLUMN_RECORD_H
#define FORMATS_COLUMN_RECORD_H

#include "formats/manifest.h"

#define COLUMNS_DIRECTORY "columns"     /* in the directory of a data set */
#define COLUMN_NAME_MOST  100           /* bytes of a column's name */
#define COLUMN_KEY_BYTES  32            /* of a record's key with its NUL */
#define COLUMN_RECORD_MOST ((uint64_t)UINT32_MAX)       /* bytes of a record */

/* The facts about one layer of a column. */
struct column_facts {
    char name[COLUMN_NAME_MOST + 1];
    char base[33];              /* fingerprint of the base when the layer was written */
    uint64_t first;             /* number of the base's first sample for which it has a record */
    uint64_t missing;           /* records without a value */
};

/* Returns SHEAF_ERR_ARGUMENT if a text is not a name of a column. */
int column_check_name(const char *name, struct sheaf_error *err);

/* Makes the key of the record for a base sample: "NUMBER-CRC". */
void column_key(uint64_t number, uint32_t crc, char key[COLUMN_KEY_BYTES]);

/* Reads the facts from a layer's manifest. Returns SHEAF_ERR_CORRUPT if there are none. */
int column_facts_read(const struct manifest *manifest, struct column_facts *facts,
                      struct sheaf_error *err);
/* Returns a copy of a manifest's options with the facts, to be freed; NULL if memory is
 * exhausted. */
char *column_facts_add(const char *options_json, const struct column_facts *facts);

#endif
