/* SPDX-License-Identifier: MIT
 *
 * Reads SageMaker's manifest files entry by entry. */
#include "formats/object_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

void object_list_begin(struct object_list *l, const char *url, const char *text, size_t size)
{
    utf8_pass_mark(&text, &size);
    *l = (struct object_list){ .url = url, .at = text, .end = text + size };
}

static int object_list_malformed(const struct object_list *l, const char *what,
                                 struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: entry %zu of the manifest: %s", l->url, l->number,
                   what);
}

static int next_value(struct object_list *l, json_t **entry, struct sheaf_error *err)
{
    json_error_t found;
    const char *start;
    int code;

    l->at = json_text_blanks(l->at, l->end);
    l->number++;
    if (l->at < l->end && *l->at == ']') {
        l->at = json_text_blanks(l->at + 1, l->end);
        return l->at == l->end ? SHEAF_END : object_list_malformed(l, "text after the array", err);
    }
    if (l->at == l->end || *l->at != (l->number == 1 ? '[' : ','))
        return object_list_malformed(l, l->number == 1 ? "expected a JSON array"
                                           : "expected a comma or the array's end", err);
    start = json_text_blanks(l->at + 1, l->end);
    if (l->number == 1 && start < l->end && *start == ']') {
        l->at = start + 1;
        return object_list_malformed(l, "expected {\"prefix\": \"s3://...\"}", err);
    }
    l->at = json_text_value(start, l->end);
    code = json_load_text(start, (size_t)(l->at - start), JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                          entry, &found, err);
    return code == SHEAF_ERR_CORRUPT ? object_list_malformed(l, found.text, err) : code;
}

int object_list_prefix(struct object_list *l, char **out, struct sheaf_error *err)
{
    json_t *entry = NULL;
    const char *prefix;
    int code = next_value(l, &entry, err);

    *out = NULL;
    if (code != SHEAF_OK)
        return code;
    prefix = json_string_value(json_object_get(entry, "prefix"));
    if (prefix == NULL || strstr(prefix, "://") == NULL) {
        code = object_list_malformed(l, "expected {\"prefix\": \"s3://...\"}", err);
    } else {
        *out = strdup(prefix);
        code = *out == NULL ? err_memory(err, strlen(prefix)) : SHEAF_OK;
    }
    json_decref(entry);
    return code;
}

int object_list_next(struct object_list *l, json_t **entry, struct sheaf_error *err)
{
    int code;

    *entry = NULL;
    code = next_value(l, entry, err);
    if (code == SHEAF_OK && json_string_length(*entry) == 0)
        code = object_list_malformed(l, "expected the rest of an object's URL, a string", err);
    return code;
}
