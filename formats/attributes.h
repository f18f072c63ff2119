/* SPDX-License-Identifier: MIT
 *
 * A line of an augmented manifest as Pipe mode sends it: one RecordIO record per attribute, in the
 * order of their names, which the caller knows.
 *
 *   NAME-ref        an object's bytes: a field whose suffix the content says, or NAME if it says
 *                   none, or NAME.SUFFIX if the sample has that suffix already
 *   label, class    the label, if it is a number or an array of numbers; else the name of a class,
 *                   which stays a field as well ("class" is a label only where there is no "label")
 *   anything else   a field NAME, with the value as it came */
#ifndef FORMATS_ATTRIBUTES_H
#define FORMATS_ATTRIBUTES_H

#include "formats/format.h"

#define ATTRIBUTES_MOST 16          /* that one asks for: what the platform takes */
#define ATTRIBUTE_NAME_MOST 256     /* bytes of a name */
#define ATTRIBUTES_CONTAINER SHEAF_RECORDIO     /* what the platform gives them in */

struct attributes {
    char *text;                 /* what the names point into */
    const char *names[ATTRIBUTES_MOST];
    size_t count;
};

/* "a-ref,b" of at most ATTRIBUTES_MOST names, no two the same.  SHEAF_ERR_ARGUMENT. */
int attributes_parse(const char *list, struct attributes *attributes, struct sheaf_error *err);
void attributes_free(struct attributes *attributes);

/* The size of NAME in "NAME-ref", an object; 0: it is another kind of name. */
size_t attribute_ref_size(const char *name);

/* Decodes the records of one line, which lie behind each other. */
int attributes_decode(const struct attributes *attributes, const struct record *record,
                      const struct decode_context *context, struct decode_scratch *scratch,
                      struct sheaf_sample *sample, struct sheaf_error *err);

#endif
