/* SPDX-License-Identifier: MIT
 *
 * Rules for samples that hold in every container: checks before encoding; and making a sample of
 * the slices (fields) that a decoder found in a frame. */
#ifndef FORMATS_SAMPLE_H
#define FORMATS_SAMPLE_H

#include "formats/format.h"

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Checks a sample's key, fields and labels, and sorts the fields in byte order of their suffixes.
 * Returns SHEAF_ERR_ARGUMENT, with a message that begins with the key, if the sample is invalid. */
int sample_check(const struct sheaf_sample *sample, const struct sheaf_field *sorted[FIELD_LIMIT],
                 struct sheaf_error *err);

static inline const char *field_suffix(const struct sheaf_field *field)
{
    return field->suffix != NULL ? field->suffix : field->name;
}

/* Returns the index of the image among fields in byte order. This is the first field named jpg or
 * jpeg, or else the first field whose name ends in .jpg or .jpeg. Returns `count` if there is no
 * such field. */
size_t sample_image(const struct sheaf_field *const *sorted, size_t count);

/* Returns the name of the sample's class: its own class_name, or the class that its one integer
 * label stands for. Returns NULL if the class is unknown. */
const char *sample_class(const struct sheaf_sample *sample, const char *const *classes,
                         size_t class_count, int label_base);

/* ---- Decoding ----------------------------------------------------------------------------- */

/* A field that a decoder has found. Its bytes lie in the frame (stored record) or in
 * scratch->joined. */
struct slice {
    /* before sample_finish: the suffix as the frame has it, not NUL-terminated; after it: a copy in
     * which slashes are dots, the same pointer as the suffix of the sample's field */
    const char *suffix;
    size_t suffix_size;
    const uint8_t *data;
    size_t size;
    int form;                   /* the decoder's own */
    unsigned place;             /* of it in scratch->kept */
};

/* Empties the scratch. */
void sample_begin(struct decode_scratch *scratch);

/* SHEAF_ERR_LIMIT past FIELD_LIMIT. */
int sample_add(struct decode_scratch *scratch, const struct slice *slice,
               struct sheaf_error *err);

static inline struct slice *sample_slices(const struct decode_scratch *scratch)
{
    return (struct slice *)(void *)scratch->slices.data;
}

static inline size_t sample_slice_count(const struct decode_scratch *scratch)
{
    return scratch->slices.size / sizeof(struct slice);
}

/* Appends one label to the sample. Returns SHEAF_ERR_LIMIT if the sample already has LABEL_LIMIT
 * labels. */
int sample_add_label(struct decode_scratch *scratch, double label, struct sheaf_error *err);

/* Makes a sample of the slices and labels in `scratch`. The sample's fields are in byte order of
 * their suffixes, and their names are in lower case. If `class_name` is empty, the sample gets the
 * name of its label's class, if that is known. Returns SHEAF_ERR_CORRUPT if two fields have the
 * same name. */
int sample_finish(struct decode_scratch *scratch, const struct record *record,
                  const struct decode_context *context, struct text key, struct text class_name,
                  struct sheaf_sample *sample, struct sheaf_error *err);

/* Makes up a key for a record that has none. The key consists of the shard's stem (see stems.h), a
 * slash, and the record's number. */
struct text sample_made_up_key(const struct record *record, const struct decode_context *context,
                               char key[KEY_LIMIT + 1]);

/* Makes a sample of a record that does not describe itself: one field `data` and a made-up key. */
int sample_make_opaque(const uint8_t *data, size_t size, const struct record *record,
                       const struct decode_context *context, struct decode_scratch *scratch,
                       struct sheaf_sample *sample, struct sheaf_error *err);

/* Returns the suffix for the kind of content ("jpg", "png", "gif", "webp", "bmp", "npy"), or NULL
 * if the kind is unknown. */
const char *sniff_suffix(const uint8_t *data, size_t size);

#endif
