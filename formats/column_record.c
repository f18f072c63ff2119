/* SPDX-License-Identifier: MIT
 *
 * Makes and parses the records of a column, and the facts about the column's base, which are in the
 * column's manifests. A column is a field that is added to an existing data set, its base. See
 * column_record.h. */
#include "formats/column_record.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/example_wire.h"

/* number of characters at the end of a record's key "NUMBER-CRC": the "-" and 8 hexadecimal
 * digits */
#define CRC_TEXT 9u

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

bool column_key_is(const struct text *key, uint64_t number, uint32_t crc)
{
    const size_t digits = key->size - MIN(key->size, CRC_TEXT);
    const char *at = key->data;
    uint64_t value = 0, rest = crc;

    if (digits == 0 || (digits > 1 && *at == '0'))
        return false;
    for (size_t i = 0; i < digits; i++)
        if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(at[i] - '0'), &value))
            return false;
    if (value != number)
        return false;
    at += digits;
    for (size_t i = CRC_TEXT - 1; i != 0; i--, rest >>= 4)
        if (at[i] != "0123456789abcdef"[rest & 15])
            return false;
    return *at == '-';
}

/* ---- Records --------------------------------------------------------------------------------- */

#define FRAME_HEAD 12u          /* of a TFRecord: the length and its CRC-32C; */
#define FRAME_TAIL 4u           /* the data's CRC-32C */

/* Reads the next length-delimited protobuf field from `w` and sets `part` to its content. Returns
 * false if the next tag is not `expected` or the field is malformed. */
static inline bool column_record_take_part(struct wire *w, uint8_t expected, struct wire *part)
{
    uint8_t tag;

    return wire_tag(w, &tag) && tag == expected && wire_delimited(w, part);
}

/* Replaces `w` by the content of the only protobuf field in it. Returns false if the tag of the
 * field is not `expected`, or if the field does not end where `w` ends. */
static inline bool column_record_enter(struct wire *w, uint8_t expected)
{
    uint64_t size;
    uint8_t tag;

    return wire_tag(w, &tag) && tag == expected && wire_varint(w, &size) && size == wire_left(w);
}

/* Reads the next feature of a tf.train.Example: sets `name` and `value`. Returns false unless the
 * feature consists of a name and a list with exactly one byte string. */
static inline bool column_record_take_value(struct wire *features, struct wire *name,
                                            struct wire *value)
{
    return column_record_take_part(features, TAG_DELIMITED_1, value) &&
           column_record_take_part(value, TAG_DELIMITED_1, name) &&
           column_record_enter(value, TAG_DELIMITED_2) &&
           column_record_enter(value, TAG_DELIMITED_1) &&
           column_record_enter(value, TAG_DELIMITED_1);
}

bool column_record_parse(const uint8_t *record, size_t size, struct text *key,
                         struct column_value values[COLUMN_VALUES_MOST], size_t *count)
{
    static const char key_name[] = "__key__";
    struct wire features, name, value;

    *count = 0;
    if (size < FRAME_HEAD + FRAME_TAIL)
        return false;
    features = (struct wire){ record + FRAME_HEAD, record + size - FRAME_TAIL };
    if (!column_record_enter(&features, TAG_DELIMITED_1) ||
        !column_record_take_value(&features, &name, &value) ||
        wire_left(&name) != sizeof(key_name) - 1 ||
        memcmp(name.p, key_name, sizeof(key_name) - 1) != 0)
        return false;
    *key = (struct text){ (const char *)value.p, wire_left(&value) };
    for (; wire_left(&features) != 0; ++*count) {
        /* Names such as image/encoded stand for other fields. */
        if (*count == COLUMN_VALUES_MOST || !column_record_take_value(&features, &name, &value) ||
            wire_left(&name) == 0 || *name.p == 'i' || *name.p == '_')
            return false;
        values[*count] = (struct column_value){ (const char *)name.p, wire_left(&name), value.p,
                                                wire_left(&value) };
    }
    return true;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Copies a string option into `text`. */
static int column_record_read_text(const struct manifest *m, const char *name, char *text,
                                   size_t room, struct sheaf_error *err)
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
    int code = column_record_read_text(m, "column", f->name, sizeof(f->name), err);

    if (code == SHEAF_OK)
        code = column_record_read_text(m, "base", f->base, sizeof(f->base), err);
    if (code == SHEAF_OK)
        code = manifest_option_number(m, "base_first", &f->first, err);
    if (code == SHEAF_OK)
        code = manifest_option_number(m, "missing", &f->missing, err);
    return code;
}

/* Parses the options of a column. Returns NULL if they are not JSON, or if memory is exhausted. */
static json_t *column_options_load(const char *options_json)
{
    json_t *object;

    (void)json_load_text(options_json, strlen(options_json), 0, &object, NULL, NULL);
    return object;
}

char *column_facts_add(const char *options_json, const struct column_facts *f)
{
    json_t *object = column_options_load(options_json);
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

/* ---- Plans ----------------------------------------------------------------------------------- */

#define VALUES_SOURCE "values"
#define VALUES_HASH   "values_hash"

char *column_plan_options(const char *options_json, const struct column_facts *f,
                          const struct column_values *v)
{
    char *with_facts = column_facts_add(options_json, f), *text = NULL;
    json_t *object = with_facts == NULL ? NULL : column_options_load(with_facts);
    int failed = object == NULL;

    if (v->source != NULL) {
        failed |= json_object_set_new(object, VALUES_SOURCE, json_string(v->source));
        failed |= json_object_set_new(object, VALUES_HASH, json_string(v->hash));
    }
    if (!failed)
        text = json_dump_text(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    free(with_facts);
    return text;
}

int column_plan_read(const char *options_json, struct column_facts *f, struct column_values *v,
                     struct sheaf_error *err)
{
    char *text = strdup(options_json);
    const struct manifest m = { .options_json = text };
    int code = text == NULL ? err_memory(err, strlen(options_json)) : SHEAF_OK;

    *v = (struct column_values){ .source = NULL };
    if (code == SHEAF_OK)
        code = column_facts_read(&m, f, err);
    if (code == SHEAF_OK)
        code = manifest_option(&m, VALUES_SOURCE, &v->source, err);
    if (code == SHEAF_OK && v->source != NULL)
        code = column_record_read_text(&m, VALUES_HASH, v->hash, sizeof(v->hash), err);
    free(text);
    return code;
}

void column_values_free(struct column_values *v)
{
    free(v->source);
    v->source = NULL;
}

char *column_layer_options(const char *plan_options_json, uint64_t missing)
{
    json_t *object = column_options_load(plan_options_json);
    char *text = NULL;

    (void)json_object_del(object, VALUES_SOURCE);
    (void)json_object_del(object, VALUES_HASH);
    if (object != NULL &&
        json_object_set_new(object, "missing", json_integer((json_int_t)missing)) == 0)
        text = json_dump_text(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    return text;
}
