/* SPDX-License-Identifier: MIT
 *
 * Corrects the fingerprint of a changed manifest, so that tests reach the checks after the check of
 * the fingerprint. */
#ifndef TESTS_COMMON_SEAL_H
#define TESTS_COMMON_SEAL_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Returns the text of the document, which must be an object, with the correct fingerprint. The
 * caller frees the text. */
static inline char *seal_manifest(json_t *document)
{
    char hex[33], *canonical;
    XXH128_hash_t hash;

    json_object_del(document, "fingerprint");
    canonical = json_dumps(document, JSON_COMPACT | JSON_SORT_KEYS);
    hash = XXH3_128bits(canonical, strlen(canonical));
    free(canonical);
    snprintf(hex, sizeof(hex), "%016llx%016llx", (unsigned long long)hash.high64,
             (unsigned long long)hash.low64);
    json_object_set_new(document, "fingerprint", json_string(hex));
    return json_dumps(document, 0);
}

/* Like seal_manifest, for a text. Returns NULL if the text is not a JSON object. */
static inline char *seal_manifest_text(const void *text, size_t size)
{
    json_t *document = json_loadb(text, size, 0, NULL);
    char *sealed = json_is_object(document) ? seal_manifest(document) : NULL;

    json_decref(document);
    return sealed;
}

#endif
