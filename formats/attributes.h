/* SPDX-License-Identifier: MIT
 *
 * A line of an augmented manifest as Pipe mode delivers it: one RecordIO record per attribute, in
 * the order of the attribute names, which the caller must know.
 *
 *     NAME-ref        an object's bytes, which become a field. Its suffix follows from the content;
 *                     it is NAME if the content does not tell, or NAME.SUFFIX if the sample has
 *                     that suffix already.
 *     label, labels,  the label, if the value is a number or an array of numbers. Otherwise the
 *     class,          value is the name of a class and becomes a field too. column_names.h has the
 *     class_name      names, in any case. A class beside a label that is a number is its name.
 *     anything else   a field NAME with the value as it came */
#ifndef FORMATS_ATTRIBUTES_H
#define FORMATS_ATTRIBUTES_H

#include "formats/format.h"

#define ATTRIBUTES_MOST 16          /* largest number of attributes in one request, which is the
                                       platform's limit */
#define ATTRIBUTE_NAME_MOST 256     /* bytes of a name */
#define ATTRIBUTES_CONTAINER SHEAF_RECORDIO     /* the container in which the platform delivers
                                                   attributes */

struct attributes {
    char *text;                 /* what the names point into */
    const char *names[ATTRIBUTES_MOST];
    size_t count;
};

/* Parses "a-ref,b": at most ATTRIBUTES_MOST names, all different. Returns SHEAF_ERR_ARGUMENT if the
 * list is invalid. */
int attributes_parse(const char *list, struct attributes *attributes, struct sheaf_error *err);
void attributes_free(struct attributes *attributes);

/* Returns the size of NAME if the attribute is an object ("NAME-ref"), otherwise 0. */
size_t attribute_ref_size(const char *name);

/* Decodes the consecutive records of one line into a sample. */
int attributes_decode(const struct attributes *attributes, const struct record *record,
                      const struct decode_context *context, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err);

#endif
