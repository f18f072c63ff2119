/* SPDX-License-Identifier: MIT
 *
 * Decodes a line of a SageMaker augmented manifest as Pipe mode delivers it: one RecordIO record
 * for each attribute, without the names of the attributes. The caller must know the names and their
 * order. The name of an attribute decides which part of the sample the attribute becomes:
 *
 * - "NAME-ref": the record holds the bytes of an object, which become a field. The suffix of the
 *   field is the kind of the content (such as "jpg"), or NAME if the kind is unknown. If another
 *   field of the sample already has this suffix, the suffix is NAME.SUFFIX.
 * - "label" or "labels" states the label. If neither exists, "class" or "class_name" states it.
 * - Any other attribute NAME becomes a field NAME with the value unchanged.
 *
 * The label is a number, an array of numbers, or a text. A text is the name of the class, and also
 * becomes a field. If the label is a number, the text in "class" or "class_name" is the name of the
 * class, and does not become a field.
 *
 * The names "label", "class" and so on may be in upper or lower case; see column_names.h. */
#ifndef FORMATS_ATTRIBUTES_H
#define FORMATS_ATTRIBUTES_H

#include "formats/format.h"

/* largest number of attributes that one line may have (SageMaker's limit for a request) */
#define ATTRIBUTES_MOST 16
#define ATTRIBUTE_NAME_MOST 256     /* largest size of a name in bytes */
#define ATTRIBUTES_CONTAINER SHEAF_RECORDIO     /* the container in which the platform delivers
                                                   attributes */

struct attributes {
    char *text;                 /* the text to which the names point */
    const char *names[ATTRIBUTES_MOST];
    size_t count;
};

/* Parses a list of attribute names such as "a-ref,b" into `attributes`. Returns SHEAF_ERR_ARGUMENT
 * if the list has more than ATTRIBUTES_MOST names, the same name twice, or an invalid name. */
int attributes_parse(const char *list, struct attributes *attributes, struct sheaf_error *err);
void attributes_free(struct attributes *attributes);

/* Returns the length of NAME if the attribute is called "NAME-ref" and so refers to an object in a
 * store. Returns 0 for any other attribute. */
size_t attribute_ref_size(const char *name);

/* Decodes one line of an augmented manifest into a sample. `record` must have the RecordIO records
 * of this line, one for each attribute, directly after one another. */
int attributes_decode(const struct attributes *attributes, const struct record *record,
                      const struct decode_context *context, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err);

#endif
