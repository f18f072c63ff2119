/* SPDX-License-Identifier: MIT
 *
 * SageMaker's manifest files, entry by entry. */
#include "packer/manifest_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/json_text.h"
#include "store/store.h"

#define MANIFEST_MOST ((size_t)1 << 30)

int manifest_text_open(struct manifest_text *m, const char *url, struct sheaf_error *err)
{
    size_t size = 0;
    int code;

    *m = (struct manifest_text){ .url = url };
    code = store_get(url, MANIFEST_MOST, &m->text, &size, err);
    if (code != SHEAF_OK)
        return code;
    m->at = m->text;
    m->end = m->text + size;
    if (size >= 3 && memcmp(m->text, "\xef\xbb\xbf", 3) == 0)
        m->at += 3;
    return SHEAF_OK;
}

void manifest_text_close(struct manifest_text *m)
{
    free(m->text);
    m->text = NULL;
}

static int malformed(const struct manifest_text *m, const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: entry %zu of the manifest: %s", m->url, m->number,
                   what);
}

static int next_value(struct manifest_text *m, json_t **entry, struct sheaf_error *err)
{
    json_error_t found;
    const char *start;

    m->at = json_text_blanks(m->at, m->end);
    m->number++;
    if (m->at < m->end && *m->at == ']') {
        m->at = json_text_blanks(m->at + 1, m->end);
        return m->at == m->end ? SHEAF_END : malformed(m, "text after the array", err);
    }
    if (m->at == m->end || *m->at != (m->number == 1 ? '[' : ','))
        return malformed(m, m->number == 1 ? "expected a JSON array"
                                           : "expected a comma or the array's end", err);
    start = json_text_blanks(m->at + 1, m->end);
    if (m->number == 1 && start < m->end && *start == ']') {
        m->at = start + 1;
        return malformed(m, "expected {\"prefix\": \"s3://...\"}", err);
    }
    m->at = json_text_value(start, m->end);
    *entry = json_loadb(start, (size_t)(m->at - start),
                        JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &found);
    if (*entry == NULL)
        return malformed(m, found.text, err);
    return SHEAF_OK;
}

int manifest_text_prefix(struct manifest_text *m, char **out, struct sheaf_error *err)
{
    json_t *entry = NULL;
    const char *prefix;
    int code = next_value(m, &entry, err);

    *out = NULL;
    if (code != SHEAF_OK)
        return code;
    prefix = json_string_value(json_object_get(entry, "prefix"));
    if (prefix == NULL || strstr(prefix, "://") == NULL) {
        code = malformed(m, "expected {\"prefix\": \"s3://...\"}", err);
    } else {
        *out = strdup(prefix);
        code = *out == NULL ? err_memory(err, strlen(prefix)) : SHEAF_OK;
    }
    json_decref(entry);
    return code;
}

int manifest_text_next(struct manifest_text *m, json_t **entry, struct sheaf_error *err)
{
    int code;

    *entry = NULL;
    code = next_value(m, entry, err);
    if (code == SHEAF_OK && json_string_length(*entry) == 0)
        code = malformed(m, "expected the rest of an object's URL, a string", err);
    return code;
}
