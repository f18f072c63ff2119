/* SPDX-License-Identifier: MIT
 *
 * Attributes as records; see attributes.h. */
#include "formats/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/label.h"
#include "formats/name.h"
#include "formats/recordio.h"
#include "formats/sample.h"

/* ---- Names ---------------------------------------------------------------------------------- */

static int add_name(struct attributes *a, const char *name, struct sheaf_error *err)
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
        code = add_name(a, name, err);
    if (code != SHEAF_OK)
        attributes_free(a);
    return code;
}

void attributes_free(struct attributes *a)
{
    free(a->text);
    memset(a, 0, sizeof(*a));
}

/* Returns the index of the attribute that is the label, or `count` if there is none. */
static size_t label_of(const struct attributes *a)
{
    size_t found = a->count;

    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->names[i], "label") == 0)
            return i;
        if (strcmp(a->names[i], "class") == 0)
            found = i;
    }
    return found;
}

size_t attribute_ref_size(const char *name)
{
    const size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, "-ref") == 0 ? size - 4 : 0;
}

/* ---- Values --------------------------------------------------------------------------------- */

struct content {
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

/* Writes "NAME.SUFFIX" into the sample's text, where room has been reserved for it. */
static struct slice named_twice(struct decode_scratch *scratch, const char *name, size_t size,
                                const char *suffix)
{
    const char *text = (const char *)scratch->joined.data + scratch->joined.size;

    buf_put(&scratch->joined, name, size);
    buf_put(&scratch->joined, ".", 1);
    buf_put(&scratch->joined, suffix, strlen(suffix));
    return (struct slice){ .suffix = text, .suffix_size = size + 1 + strlen(suffix) };
}

static int add_object(struct decode_scratch *scratch, const char *name, size_t name_size,
                      struct content c, struct sheaf_error *err)
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
static bool parse_labels(struct content c, double *labels, size_t most, long *count)
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

/* Adds the labels that the content states. Returns SHEAF_END if it is not a number; it is then the
 * name of a class. */
static int add_labels(struct decode_scratch *scratch, struct content c, struct sheaf_error *err)
{
    const size_t most = MIN(c.size / 2 + 1, (size_t)LABEL_LIMIT);   /* each label takes at least
                                                                       a digit and a comma */
    double *labels = malloc(most * sizeof(*labels));
    long count;
    int code = SHEAF_END;

    if (labels == NULL)
        return err_memory(err, most * sizeof(*labels));
    if (parse_labels(c, labels, most, &count)) {
        code = SHEAF_OK;
        for (long i = 0; code == SHEAF_OK && i < count; i++)
            code = sample_add_label(scratch, labels[i], err);
    }
    free(labels);
    return code;
}

static int add_value(struct decode_scratch *scratch, const char *name, struct content c,
                     struct sheaf_error *err)
{
    const struct slice slice = { .suffix = name, .suffix_size = strlen(name), .data = c.data,
                                 .size = c.size };

    return sample_add(scratch, &slice, err);
}

/* Adds one attribute to the sample. Sets *class_name if it is the name of a class. */
static int add_attribute(const struct attributes *a, size_t i, struct content c,
                         struct decode_scratch *scratch, struct text *class_name,
                         struct sheaf_error *err)
{
    const char *name = a->names[i];
    const size_t object = attribute_ref_size(name);
    int code = SHEAF_END;

    if (object != 0)
        return add_object(scratch, name, object, c, err);
    if (i == label_of(a)) {
        code = add_labels(scratch, c, err);
        if (code == SHEAF_END && name_is_text((const char *)c.data, c.size) && c.size != 0)
            *class_name = (struct text){ (const char *)c.data, c.size };
    }
    return code == SHEAF_END ? add_value(scratch, name, c, err) : code;
}

int attributes_decode(const struct attributes *a, const struct record *record,
                      const struct decode_context *context, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err)
{
    struct text class_name = { NULL, 0 };
    char key[KEY_LIMIT + 1];
    size_t at = 0;
    int code;

    sample_begin(scratch);
    /* Reserve the room for joined records and names at once, because nothing may move once it is
     * pointed to. */
    code = buf_reserve(&scratch->joined,
                       record->size + ATTRIBUTES_MOST * (ATTRIBUTE_NAME_MOST + 16), err);
    for (size_t i = 0; code == SHEAF_OK && i < a->count; i++) {
        struct content c;
        size_t used;

        code = recordio_content(record->data + at, record->size - at, &scratch->joined, &c.data,
                                &c.size, &used, err);
        if (code == SHEAF_OK)
            code = add_attribute(a, i, c, scratch, &class_name, err);
        at += code == SHEAF_OK ? used : 0;
    }
    if (code != SHEAF_OK)
        return code;
    return sample_finish(scratch, record, context, sample_made_up_key(record, context, key),
                         class_name, sample, err);
}
