/* SPDX-License-Identifier: MIT
 *
 * Writes a manifest as text, for tests that write and read manifests. */
#ifndef TESTS_COMMON_MANIFEST_H
#define TESTS_COMMON_MANIFEST_H

#include "formats/manifest.h"

/* Returns the text of a manifest. Fails the test if the manifest cannot be written. The caller
 * frees the buffer. */
static struct buf manifest_text(struct manifest *m)
{
    struct buf out = BUF_INIT(MANIFEST_LIMIT);
    struct sheaf_error err = { 0 };

    if (manifest_write(m, &out, &err) != SHEAF_OK)
        fail_msg("manifest_write: %s", err.message);
    return out;
}

#endif
