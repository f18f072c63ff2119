/* SPDX-License-Identifier: MIT
 *
 * SageMaker's manifest file: a JSON array, first {"prefix": "s3://bucket/some/prefix/"}, then the
 * rest of each object's URL.  It stands for the part of a prefix that it lists, so the class of an
 * object is the directory in its path, as for a prefix.
 *
 * The array may have millions of entries: its text is held, but parsed one entry at a time. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/json_text.h"
#include "packer/sizes.h"
#include "packer/source.h"
#include "store/store.h"

#define MANIFEST_MOST ((size_t)1 << 30)

struct manifest_text {
    const char *url;
    const char *at, *end;       /* what is not taken yet */
    size_t number;              /* of the entry taken last; the first is 1 */
};

static int malformed(const struct manifest_text *m, const char *what, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: entry %zu of the manifest: %s", m->url, m->number,
                   what);
}

/* The next entry, to be given back; SHEAF_END after the last. */
static int next_entry(struct manifest_text *m, json_t **entry, struct sheaf_error *err)
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

static int take_prefix(struct manifest_text *m, char **root, struct sheaf_error *err)
{
    json_t *entry = NULL;
    const char *prefix;
    int code = next_entry(m, &entry, err);

    if (code != SHEAF_OK)
        return code;
    prefix = json_string_value(json_object_get(entry, "prefix"));
    if (prefix == NULL || strstr(prefix, "://") == NULL) {
        code = malformed(m, "expected {\"prefix\": \"s3://...\"}", err);
    } else {
        free(*root);
        *root = strdup(prefix);
        code = *root == NULL ? err_memory(err, strlen(prefix)) : SHEAF_OK;
    }
    json_decref(entry);
    return code;
}

/* The URL is prefix and path, one after the other. */
static int take_path(const char *root, const char *entry, struct sizes *sizes,
                     struct scan *scan, struct sheaf_error *err)
{
    const char *path = entry;
    const size_t size = strlen(root);
    uint32_t label;
    char *url;
    int code;

    if (size != 0 && root[size - 1] != '/')
        path += *path == '/';
    code = scan_class_of(scan, path, &label, err);
    if (code != SHEAF_OK)
        return code;
    if (asprintf(&url, "%s%s", root, entry) < 0)
        return err_memory(err, size);
    code = sizes_add(sizes, path, url, path == entry, label, err);
    free(url);
    return code;
}

static int take_entries(struct source *s, struct manifest_text *m, struct sizes *sizes,
                        struct scan *scan, struct sheaf_error *err)
{
    int code = take_prefix(m, &s->root, err);

    while (code == SHEAF_OK) {
        json_t *entry = NULL;

        code = next_entry(m, &entry, err);
        if (code == SHEAF_OK && json_string_length(entry) == 0)
            code = malformed(m, "expected the rest of an object's URL, a string", err);
        else if (code == SHEAF_OK)
            code = take_path(s->root, json_string_value(entry), sizes, scan, err);
        json_decref(entry);
    }
    return code == SHEAF_END ? sizes_drain(sizes, err) : code;
}

int source_scan_manifest(struct source *s, struct scan *scan, struct sheaf_error *err)
{
    struct manifest_text m = { .url = s->url };
    struct sizes *sizes = NULL;
    char *text = NULL;
    size_t size;
    int code = store_get(s->url, MANIFEST_MOST, &text, &size, err);

    if (code == SHEAF_OK)
        code = sizes_open(&sizes, scan, err);
    if (code == SHEAF_OK) {
        m.at = text;
        m.end = text + size;
        if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
            m.at += 3;
        code = take_entries(s, &m, sizes, scan, err);
    }
    sizes_close(sizes);
    free(text);
    return code;
}
