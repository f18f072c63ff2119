/* SPDX-License-Identifier: MIT
 *
 * A manifest's text, for tests of what is written and read again. */
#ifndef TESTS_COMMON_MANIFEST_H
#define TESTS_COMMON_MANIFEST_H

#include "formats/manifest.h"

/* Fails the test where it cannot be written; buf_free() is the caller's. */
static struct buf manifest_text(struct manifest *m)
{
    struct buf out = BUF_INIT(MANIFEST_LIMIT);
    struct sheaf_error err = { 0 };

    if (manifest_write(m, &out, &err) != SHEAF_OK)
        fail_msg("manifest_write: %s", err.message);
    return out;
}

#endif
