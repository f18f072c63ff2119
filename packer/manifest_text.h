/* SPDX-License-Identifier: MIT
 *
 * The text of SageMaker's manifest file: a JSON array, first {"prefix": "s3://bucket/prefix/"},
 * then the rest of each object's URL.
 *
 * The array may have millions of entries: its text is held, but parsed one entry at a time. */
#ifndef PACKER_MANIFEST_TEXT_H
#define PACKER_MANIFEST_TEXT_H

#include <jansson.h>

#include "sheaf.h"

struct manifest_text {
    const char *url;            /* for messages; borrowed */
    const char *at, *end;       /* what is not taken yet */
    size_t number;              /* of the entry taken last; the first is 1 */
    char *text;
};

/* Gets the text.  manifest_text_close is due whatever the result. */
int manifest_text_open(struct manifest_text *m, const char *url, struct sheaf_error *err);
void manifest_text_close(struct manifest_text *m);

/* The first entry: *prefix is the caller's. */
int manifest_text_prefix(struct manifest_text *m, char **prefix, struct sheaf_error *err);

/* The next entry, a string that is not empty; the caller gives *entry back whatever the result.
 * SHEAF_END after the last. */
int manifest_text_next(struct manifest_text *m, json_t **entry, struct sheaf_error *err);

#endif
