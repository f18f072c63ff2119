/* SPDX-License-Identifier: MIT
 *
 * The rules of every manifest, checked before it is written and after it was read. */
#ifndef FORMATS_MANIFEST_CHECK_H
#define FORMATS_MANIFEST_CHECK_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* The sums over all shards. */
struct manifest_totals {
    uint64_t samples, bytes, raw_bytes, payload_bytes;
};

/* Checks every part and sums up.  SHEAF_ERR_CORRUPT, saying which part. */
int manifest_check(const struct manifest *m, struct manifest_totals *totals,
                   struct sheaf_error *err);

/* Do the sums that the document states agree with its shards? */
int manifest_check_totals(const struct manifest_totals *stated,
                          const struct manifest_totals *totals, struct sheaf_error *err);

/* Options are an object or null, without fractions: their text would differ from one JSON
 * library to another, and the fingerprint with it. */
int manifest_check_options(const json_t *options, struct sheaf_error *err);

#endif
