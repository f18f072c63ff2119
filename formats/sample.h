/* SPDX-License-Identifier: MIT
 *
 * Declares the rules for samples that hold in every container. The encoders check a sample with
 * them. The decoders use them to make a sample from the slices (fields) that they found in a frame
 * (stored record). */
#ifndef FORMATS_SAMPLE_H
#define FORMATS_SAMPLE_H

#include "formats/format.h"

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Checks a sample's key, fields and labels, and sets `sorted` to its fields in byte order of their
 * suffixes. Returns SHEAF_ERR_ARGUMENT, with a message that begins with the key, if the sample is
 * invalid. */
int sample_check(const struct sheaf_sample *sample, const struct sheaf_field *sorted[FIELD_LIMIT],
                 struct sheaf_error *err);

static inline const char *field_suffix(const struct sheaf_field *field)
{
    return field->suffix != NULL ? field->suffix : field->name;
}

/* Returns the index of the sample's JPEG in the array of fields `sorted`. This is the field named
 * jpg or jpeg, or else the first field whose name ends in .jpg or .jpeg. Returns `count` if the
 * sample has no such field. */
size_t sample_image(const struct sheaf_field *const *sorted, size_t count);

/* Returns the name of the sample's class. This is its own class_name, or else the name in `classes`
 * that belongs to its label, if the label is a single integer. Returns NULL if the class is
 * unknown. */
const char *sample_class(const struct sheaf_sample *sample, const char *const *classes,
                         size_t class_count, int label_base);

/* ---- Decoding ----------------------------------------------------------------------------- */

/* A field that a decoder has found in a record. The bytes of the field lie in the frame (stored
 * record) or in scratch->joined. */
struct slice {
    /* The suffix of the field. A decoder sets this pointer to a text in the frame, which is not
     * NUL-terminated. sample_finish() sets it to a copy in which each slash has become a dot. */
    const char *suffix;
    size_t suffix_size;
    const uint8_t *data;
    size_t size;
    int form;                   /* for the decoder's own use */
    unsigned place;             /* index of its feature in scratch->kept */
};

/* Empties the scratch. */
void sample_begin(struct decode_scratch *scratch);

/* Returns SHEAF_ERR_LIMIT if there are already FIELD_LIMIT slices. */
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

/* Appends one label to the sample that is being decoded. Returns SHEAF_ERR_LIMIT if the sample
 * already has LABEL_LIMIT labels. */
int sample_add_label(struct decode_scratch *scratch, double label, struct sheaf_error *err);

/* Makes a sample from the slices (fields) and labels that a decoder has stored in `scratch`. The
 * sample's fields are in byte order of their suffixes, and their names are in lower case.
 *
 * The class of the sample is `class_name`. If `class_name` is empty, the class is found by the
 * label, provided that the data set has names of classes. Returns SHEAF_ERR_CORRUPT if two fields
 * have the same name. */
int sample_finish(struct decode_scratch *scratch, const struct record *record,
                  const struct decode_context *context, struct text key, struct text class_name,
                  struct sheaf_sample *sample, struct sheaf_error *err);

/* Makes up a key for a record without a key: the shard's stem (a text that differs from shard to
 * shard; see stems.h), a slash, and the number of the record in the shard. */
struct text sample_made_up_key(const struct record *record, const struct decode_context *context,
                               char key[KEY_LIMIT + 1]);

/* Makes a sample from a record whose content is unknown. The sample has the content as its field
 * `data`, and a made-up key. */
int sample_make_opaque(const uint8_t *data, size_t size, const struct record *record,
                       const struct decode_context *context, struct decode_scratch *scratch,
                       struct sheaf_sample *sample, struct sheaf_error *err);

/* Recognises an image or array by its first bytes. Returns the suffix for its kind: "jpg", "png",
 * "gif", "webp", "bmp" or "npy". Returns NULL if the kind is unknown. */
const char *sniff_suffix(const uint8_t *data, size_t size);

/* Returns whether a sample has a field `cls`. */
bool sample_has_cls(const struct sheaf_sample *sample);

#endif
