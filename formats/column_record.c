/* SPDX-License-Identifier: MIT
 *
 * The facts about a column's layer; see column_record.h. */
#include "formats/column_record.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

int column_check_name(const char *name, struct sheaf_error *err)
{
    const size_t size = strlen(name);
    const size_t fits = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    if (size != 0 && size <= COLUMN_NAME_MOST && fits == size && name[0] != '-')
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "\"%.120s\" is not a name of a column: expected 1 to "
                   "%d lower-case letters, digits, hyphens and underscores, and no hyphen first",
                   name, COLUMN_NAME_MOST);
}

void column_key(uint64_t number, uint32_t crc, char key[COLUMN_KEY_BYTES])
{
    snprintf(key, COLUMN_KEY_BYTES, "%" PRIu64 "-%08" PRIx32, number, crc);
}

/* Copies a string option into `text`. */
static int read_text(const struct manifest *m, const char *name, char *text, size_t room,
                     struct sheaf_error *err)
{
    char *value;
    int code = manifest_option(m, name, &value, err);

    if (code != SHEAF_OK)
        return code;
    if (value == NULL || strlen(value) >= room)
        code = err_set(err, SHEAF_ERR_CORRUPT, "is not part of a column: its manifest has no "
                       "valid option \"%s\"", name);
    else
        memcpy(text, value, strlen(value) + 1);
    free(value);
    return code;
}

int column_facts_read(const struct manifest *m, struct column_facts *f, struct sheaf_error *err)
{
    int code = read_text(m, "column", f->name, sizeof(f->name), err);

    if (code == SHEAF_OK)
        code = read_text(m, "base", f->base, sizeof(f->base), err);
    if (code == SHEAF_OK)
        code = manifest_option_number(m, "base_first", &f->first, err);
    if (code == SHEAF_OK)
        code = manifest_option_number(m, "missing", &f->missing, err);
    return code;
}

char *column_facts_add(const char *options_json, const struct column_facts *f)
{
    json_t *object = json_loads(options_json, 0, NULL);
    char *text = NULL;
    int failed = object == NULL;

    failed |= json_object_set_new(object, "column", json_string(f->name));
    failed |= json_object_set_new(object, "base", json_string(f->base));
    failed |= json_object_set_new(object, "base_first", json_integer((json_int_t)f->first));
    failed |= json_object_set_new(object, "missing", json_integer((json_int_t)f->missing));
    if (!failed)
        text = json_dump_text(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}
