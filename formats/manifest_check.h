/* SPDX-License-Identifier: MIT
 *
 * Declares the check of the rules that hold for every manifest. The check runs before a manifest is
 * written and after a manifest was read. */
#ifndef FORMATS_MANIFEST_CHECK_H
#define FORMATS_MANIFEST_CHECK_H

#include <jansson.h>

#include "formats/manifest_data.h"

/* The sums over all shards. */
struct manifest_totals {
    uint64_t samples, bytes, raw_bytes, payload_bytes;
};

/* Checks every part of the manifest and sets *totals to the sums over all shards. Returns
 * SHEAF_ERR_CORRUPT if a rule is violated. The message names the faulty part. */
int manifest_check(const struct manifest *m, struct manifest_totals *totals,
                   struct sheaf_error *err);

/* Checks that the totals that the manifest states equal the sums over its shards. */
int manifest_check_totals(const struct manifest_totals *stated,
                          const struct manifest_totals *totals, struct sheaf_error *err);

/* Checks that the packing options in a manifest are an object or null, and contain no fractions.
 * Two JSON libraries may write the same fraction differently, which would change the
 * fingerprint. */
int manifest_check_options(const json_t *options, struct sheaf_error *err);

#endif
