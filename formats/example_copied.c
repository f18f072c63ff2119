/* SPDX-License-Identifier: MIT
 *
 * Copies a record of a TFRecord shard to another TFRecord shard, if the features of the record
 * cannot become fields of a sample. Such a record is a tf.train.Example with too many features or
 * odd names, or a tf.train.SequenceExample.
 *
 * The copy has all bytes of the record. They are followed by a second Features message with the
 * sample's key. This message is protobuf field 1, and its only feature is `__key__`. protobuf
 * merges two messages with the same field number, both in an Example and in the context of a
 * SequenceExample. So a program that parses the copy finds all features as before, and in addition
 * the feature `__key__`. */
#include "formats/example_copied.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "formats/example_wire.h"
#include "formats/name.h"

#define KEY_NAME "__key__"

/* Returns whether the bytes are a valid Feature message: empty, or with one list of bytes, floats
 * or integers. */
static bool is_feature(struct wire feature)
{
    struct wire list;
    uint8_t tag;

    return !wire_tag(&feature, &tag) ||
           ((tag == TAG_DELIMITED_1 || tag == TAG_DELIMITED_2 || tag == TAG_DELIMITED_3) &&
            wire_delimited(&feature, &list) && wire_left(&feature) == 0);
}

static bool is_feature_list(struct wire list)
{
    struct wire feature;
    uint8_t tag;

    while (wire_tag(&list, &tag))
        if (tag != TAG_DELIMITED_1 || !wire_delimited(&list, &feature) || !is_feature(feature))
            return false;
    return true;
}

/* Splits an entry of a protobuf map into its name and its value. Returns false if the entry is
 * malformed. */
static bool example_copied_take_entry(struct wire entry, struct wire *name, struct wire *value)
{
    struct wire content;
    uint8_t tag;

    *name = *value = (struct wire){ NULL, NULL };
    while (wire_tag(&entry, &tag)) {
        if ((tag != TAG_DELIMITED_1 && tag != TAG_DELIMITED_2) || !wire_delimited(&entry, &content))
            return false;
        *(tag == TAG_DELIMITED_1 ? name : value) = content;
    }
    return true;
}

/* Returns whether a message is a valid protobuf map without an entry `__key__`. The values must be
 * features, or lists of features if `of_lists` is set. */
static bool is_map(struct wire map, bool of_lists)
{
    struct wire entry, name, value;
    uint8_t tag;

    while (wire_tag(&map, &tag)) {
        if (tag != TAG_DELIMITED_1 || !wire_delimited(&map, &entry) ||
            !example_copied_take_entry(entry, &name, &value) ||
            !(of_lists ? is_feature_list(value) : is_feature(value)))
            return false;
        if (!of_lists && wire_left(&name) == strlen(KEY_NAME) &&
            memcmp(name.p, KEY_NAME, strlen(KEY_NAME)) == 0)
            return false;
    }
    return true;
}

bool example_can_be_copied(const uint8_t *data, size_t size)
{
    struct wire record = { data, data + size }, map;
    uint8_t tag;

    while (wire_tag(&record, &tag))
        if ((tag != TAG_DELIMITED_1 && tag != TAG_DELIMITED_2) || !wire_delimited(&record, &map) ||
            !is_map(map, tag == TAG_DELIMITED_2))
            return false;
    return size != 0;
}

/* ---- The key --------------------------------------------------------------------------------- */

/* Appends a tag and the length of what follows. */
static int example_copied_put_lead(struct buf *out, uint8_t tag, size_t size,
                                   struct sheaf_error *err)
{
    uint8_t lead[1 + 10] = { tag };
    size_t used = 1;

    for (; size >= 0x80; size >>= 7)
        lead[used++] = (uint8_t)(size | 0x80);
    lead[used++] = (uint8_t)size;
    return buf_append(out, lead, used, err);
}

static size_t with_lead(size_t size)
{
    size_t lead = 2;

    for (size_t rest = size; rest >= 0x80; rest >>= 7)
        lead++;
    return lead + size;
}

int example_copy(const struct sheaf_field *field, const char *key, struct buf *out,
                 struct sheaf_error *err)
{
    const size_t size = strlen(key), before = out->size, name = strlen(KEY_NAME);
    const size_t value = with_lead(size), feature = with_lead(value);
    const size_t entry = with_lead(name) + with_lead(feature);
    int code = buf_append(out, field->data, field->size, err);

    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_1, with_lead(entry), err);
    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_1, entry, err);
    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_1, name, err);
    if (code == SHEAF_OK)
        code = buf_append(out, KEY_NAME, name, err);
    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_2, feature, err);
    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_1, value, err);
    if (code == SHEAF_OK)
        code = example_copied_put_lead(out, TAG_DELIMITED_1, size, err);
    if (code == SHEAF_OK)
        code = buf_append(out, key, size, err);
    if (code != SHEAF_OK)
        out->size = before;
    return code;
}

/* Returns whether a Features message has `__key__` as its only entry. If so, sets *key to its
 * value. */
static bool example_copied_is_key(struct wire features, struct text *key)
{
    struct wire entry, name, value, list, bytes;
    char path[KEY_LIMIT + sizeof(".none")];
    uint8_t tag;

    if (!wire_tag(&features, &tag) || tag != TAG_DELIMITED_1 ||
        !wire_delimited(&features, &entry) || wire_left(&features) != 0 ||
        !example_copied_take_entry(entry, &name, &value) || wire_left(&name) != strlen(KEY_NAME) ||
        memcmp(name.p, KEY_NAME, strlen(KEY_NAME)) != 0 ||
        !wire_tag(&value, &tag) || tag != TAG_DELIMITED_1 || !wire_delimited(&value, &list) ||
        wire_left(&value) != 0 || !wire_tag(&list, &tag) || tag != TAG_DELIMITED_1 ||
        !wire_delimited(&list, &bytes) || wire_left(&list) != 0)
        return false;
    *key = (struct text){ (const char *)bytes.p, wire_left(&bytes) };
    if (key->size == 0 || key->size > KEY_LIMIT || !name_is_text(key->data, key->size))
        return false;
    snprintf(path, sizeof(path), "%.*s.none", (int)key->size, key->data);
    return name_problem(path) == NULL;
}

bool example_is_copied(const uint8_t *data, size_t size, size_t *own, struct text *key)
{
    struct wire record = { data, data + size }, part = { NULL, NULL };
    uint8_t tag = 0;

    *own = 0;
    while (wire_left(&record) != 0) {
        *own = (size_t)(record.p - data);
        if (!wire_tag(&record, &tag) || (tag != TAG_DELIMITED_1 && tag != TAG_DELIMITED_2) ||
            !wire_delimited(&record, &part))
            return false;
    }
    return *own != 0 && tag == TAG_DELIMITED_1 && example_copied_is_key(part, key);
}
