/* SPDX-License-Identifier: MIT
 *
 * Rules for samples that are the same in every container: checks before encoding, and making a
 * sample from the slices of a frame that a decoder found. */
#ifndef FORMATS_SAMPLE_H
#define FORMATS_SAMPLE_H

#include "formats/format.h"

/* ---- Encoding ----------------------------------------------------------------------------- */

/* Checks key, fields and labels, and gives the fields in byte order of suffix.
 * SHEAF_ERR_ARGUMENT says what is wrong, with the key before it. */
int sample_check(const struct sheaf_sample *sample, const struct sheaf_field *sorted[FIELD_LIMIT],
                 struct sheaf_error *err);

static inline const char *field_suffix(const struct sheaf_field *field)
{
    return field->suffix != NULL ? field->suffix : field->name;
}

/* The index of the image field among fields in byte order: the first that is named just jpg or
 * jpeg, else the first whose name ends in one of them behind a dot.  `count` if there is none. */
size_t sample_image(const struct sheaf_field *const *sorted, size_t count);

/* The name of a class label: the sample's own, else by its one integer label; or NULL. */
const char *sample_class(const struct sheaf_sample *sample, const char *const *classes,
                         size_t class_count, int label_base);

/* ---- Decoding ----------------------------------------------------------------------------- */

/* A field as a decoder has found it, pointing into the frame (or scratch->joined). */
struct slice {
    const char *suffix;         /* not NUL-terminated; a slash in it becomes a dot.  Once the sample
                                   is made: the field's */
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

/* Appends one label.  SHEAF_ERR_LIMIT past LABEL_LIMIT. */
int sample_add_label(struct decode_scratch *scratch, double label, struct sheaf_error *err);

/* Makes the sample of the slices and labels: fields in byte order of suffix, names in lower
 * case.  The class name, if none is given, is that of the label.  SHEAF_ERR_CORRUPT if two
 * fields have one name. */
int sample_finish(struct decode_scratch *scratch, const struct record *record,
                  const struct decode_context *context, struct text key, struct text class_name,
                  struct sheaf_sample *sample, struct sheaf_error *err);

/* A key for a record that has none: "<the shard's stem>/<record>". */
struct text sample_made_up_key(const struct record *record, const struct decode_context *context,
                               char key[KEY_LIMIT + 1]);

/* Makes the sample of a record that says nothing of itself: one field `data`, and a made-up
 * key. */
int sample_make_opaque(const uint8_t *data, size_t size, const struct record *record,
                       const struct decode_context *context, struct decode_scratch *scratch,
                       struct sheaf_sample *sample, struct sheaf_error *err);

/* The suffix that content speaks for: "jpg", "png", "gif", "webp", "bmp", "npy"; or NULL. */
const char *sniff_suffix(const uint8_t *data, size_t size);

#endif
