/* SPDX-License-Identifier: MIT
 *
 * Attributes as records; see attributes.h. */
#include "formats/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/column_names.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/recordio.h"
#include "formats/sample.h"

/* ---- Names ---------------------------------------------------------------------------------- */

static int attributes_add_name(struct attributes *a, const char *name, struct sheaf_error *err)
{
    if (name[0] == '\0' || !name_is_text(name, strlen(name)) || strchr(name, '/') != NULL
        || strlen(name) > ATTRIBUTE_NAME_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid attribute name \"%.80s\"", name);
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->names[i], name) == 0)
            return err_set(err, SHEAF_ERR_ARGUMENT, "the attribute %s is named twice", name);
    if (a->count == ATTRIBUTES_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "more than %d attributes", ATTRIBUTES_MOST);
    a->names[a->count++] = name;
    return SHEAF_OK;
}

int attributes_parse(const char *list, struct attributes *a, struct sheaf_error *err)
{
    char *rest, *name;
    int code = SHEAF_OK;

    memset(a, 0, sizeof(*a));
    rest = a->text = strdup(list);
    if (rest == NULL)
        return err_memory(err, strlen(list));
    while (code == SHEAF_OK && (name = strsep(&rest, ",")) != NULL)
        code = attributes_add_name(a, name, err);
    if (code != SHEAF_OK)
        attributes_free(a);
    return code;
}

void attributes_free(struct attributes *a)
{
    free(a->text);
    memset(a, 0, sizeof(*a));
}

/* Returns the index of the attribute that has the role `role`, such as COLUMN_LABEL. An attribute
 * is a named value of a manifest line. If several attributes have the role, returns the preferred
 * one: the attribute with the lowest column_rank(). Returns the number of attributes if none has
 * the role. */
static size_t attribute_of(const struct attributes *a, enum column_role role)
{
    unsigned least = COLUMN_RANK_NONE;
    size_t found = a->count;

    for (size_t i = 0; i < a->count; i++) {
        const unsigned rank = column_rank(role, a->names[i]);

        if (rank < least) {
            least = rank;
            found = i;
        }
    }
    return found;
}

size_t attribute_ref_size(const char *name)
{
    const size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, "-ref") == 0 ? size - 4 : 0;
}

/* ---- Values --------------------------------------------------------------------------------- */

struct attribute_content {
    const uint8_t *data;
    size_t size;
};

static bool has_suffix(const struct decode_scratch *scratch, const char *suffix, size_t size)
{
    const struct slice *slices = sample_slices(scratch);

    for (size_t i = 0; i < sample_slice_count(scratch); i++)
        if (slices[i].suffix_size == size && memcmp(slices[i].suffix, suffix, size) == 0)
            return true;
    return false;
}

/* Returns an empty field with the suffix "NAME.SUFFIX", where NAME is the name of the attribute.
 * This suffix is used if another field of the sample already has the suffix SUFFIX. It is written
 * to the end of scratch->joined, where the caller must have reserved room. */
static struct slice named_twice(struct decode_scratch *scratch, const char *name, size_t size,
                                const char *suffix)
{
    const char *text = (const char *)scratch->joined.data + scratch->joined.size;

    buf_put(&scratch->joined, name, size);
    buf_put(&scratch->joined, ".", 1);
    buf_put(&scratch->joined, suffix, strlen(suffix));
    return (struct slice){ .suffix = text, .suffix_size = size + 1 + strlen(suffix) };
}

static int attributes_add_object(struct decode_scratch *scratch, const char *name, size_t name_size,
                                 struct attribute_content c, struct sheaf_error *err)
{
    const char *suffix = sniff_suffix(c.data, c.size);
    struct slice slice = { .suffix = name, .suffix_size = name_size };

    if (suffix != NULL && has_suffix(scratch, suffix, strlen(suffix)))
        slice = named_twice(scratch, name, name_size, suffix);
    else if (suffix != NULL)
        slice = (struct slice){ .suffix = suffix, .suffix_size = strlen(suffix) };
    slice.data = c.data;
    slice.size = c.size;
    return sample_add(scratch, &slice, err);
}

/* Parses a number or a JSON array of numbers. Returns false if the content is something else. */
static bool attributes_parse_labels(struct attribute_content c, double *labels, size_t most,
                                    long *count)
{
    const char *text = (const char *)c.data;
    size_t size = c.size;

    if (size >= 2 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    *count = label_parse(text, size, labels, most);
    return *count > 0;
}

/* Adds the numbers in an attribute's value to the sample's labels. Returns SHEAF_END if the value
 * is not a number or an array of numbers. The value may then be the name of a class. */
static int attributes_add_labels(struct decode_scratch *scratch, struct attribute_content c,
                                 struct sheaf_error *err)
{
    /* largest number of labels that the value can hold, because each label except the last takes at
     * least one digit and one comma */
    const size_t most = MIN(c.size / 2 + 1, (size_t)LABEL_LIMIT);
    double *labels = malloc(most * sizeof(*labels));
    long count;
    int code = SHEAF_END;

    if (labels == NULL)
        return err_memory(err, most * sizeof(*labels));
    if (attributes_parse_labels(c, labels, most, &count)) {
        code = SHEAF_OK;
        for (long i = 0; code == SHEAF_OK && i < count; i++)
            code = sample_add_label(scratch, labels[i], err);
    }
    free(labels);
    return code;
}

static int attributes_add_value(struct decode_scratch *scratch, const char *name,
                                struct attribute_content c, struct sheaf_error *err)
{
    const struct slice slice = { .suffix = name, .suffix_size = strlen(name), .data = c.data,
                                 .size = c.size };

    return sample_add(scratch, &slice, err);
}

/* The attributes that can state the label and the name of its class, and the values that these
 * attributes have in the current line. */
struct said {
    /* indexes of the two attributes; equal to `count` if the line does not have the attribute */
    size_t label, class_name;
    struct attribute_content word;        /* of the attribute class_name */
    struct text name;           /* name of the class */
    bool has_number;            /* the label is a number, or several */
};

static struct said said_by(const struct attributes *a)
{
    struct said said = { attribute_of(a, COLUMN_LABEL), attribute_of(a, COLUMN_CLASS),
                         { NULL, 0 }, { NULL, 0 }, false };

    if (said.label == a->count) {       /* then the class is the label */
        said.label = said.class_name;
        said.class_name = a->count;
    }
    return said;
}

/* Adds one attribute to the sample, as a field or as labels. A value that may be the name of the
 * label's class is only stored in said->word. add_word() later makes it the class name or a
 * field. */
static int add_attribute(const struct attributes *a, size_t i, struct attribute_content c,
                         struct decode_scratch *scratch, struct said *said,
                         struct sheaf_error *err)
{
    const char *name = a->names[i];
    const size_t object = attribute_ref_size(name);
    const bool is_text = c.size != 0 && name_is_text((const char *)c.data, c.size);
    int code = SHEAF_END;

    if (object != 0)
        return attributes_add_object(scratch, name, object, c, err);
    if (i == said->class_name && is_text) {
        said->word = c;
        return SHEAF_OK;
    }
    if (i == said->label) {
        code = attributes_add_labels(scratch, c, err);
        said->has_number = code == SHEAF_OK;
        if (code == SHEAF_END && is_text)
            said->name = (struct text){ (const char *)c.data, c.size };
    }
    return code == SHEAF_END ? attributes_add_value(scratch, name, c, err) : code;
}

/* Uses said->word, the text of the attribute "class" or "class_name". If the label is a number, the
 * text becomes the name of the label's class. Otherwise it becomes a field of the sample. Does
 * nothing if the line has no such text. */
static int add_word(const struct attributes *a, struct decode_scratch *scratch, struct said *said,
                    struct sheaf_error *err)
{
    if (said->word.data == NULL)
        return SHEAF_OK;
    if (!said->has_number)
        return attributes_add_value(scratch, a->names[said->class_name], said->word, err);
    said->name = (struct text){ (const char *)said->word.data, said->word.size };
    return SHEAF_OK;
}

int attributes_decode(const struct attributes *a, const struct record *record,
                      const struct decode_context *context, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err)
{
    struct said said = said_by(a);
    char key[KEY_LIMIT + 1];
    size_t at = 0;
    int code;

    sample_begin(scratch);
    /* Reserves all memory that scratch->joined needs: for records whose parts must be joined, and
     * for names of fields. The buffer must not move later, because the sample will point into
     * it. */
    code = buf_reserve(&scratch->joined,
                       record->size + ATTRIBUTES_MOST * (ATTRIBUTE_NAME_MOST + 16), err);
    for (size_t i = 0; code == SHEAF_OK && i < a->count; i++) {
        struct attribute_content c;
        size_t used;

        code = recordio_content(record->data + at, record->size - at, &scratch->joined, &c.data,
                                &c.size, &used, err);
        if (code == SHEAF_OK)
            code = add_attribute(a, i, c, scratch, &said, err);
        at += code == SHEAF_OK ? used : 0;
    }
    if (code == SHEAF_OK)
        code = add_word(a, scratch, &said, err);
    if (code != SHEAF_OK)
        return code;
    return sample_finish(scratch, record, context, sample_made_up_key(record, context, key),
                         said.name, sample, err);
}
