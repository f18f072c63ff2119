/* SPDX-License-Identifier: MIT
 *
 * Prints what a data set has of each field and class. */
#ifndef TOOLS_FIELDS_H
#define TOOLS_FIELDS_H

#include "sheaf.h"

/* What was packed at `dest`, in short: "fields: jpg 30,607  json 30,600", and the classes with the
 * fewest and the most samples; of each split (`split`: as the option is given, or NULL).  Says
 * which fields few samples lack. */
void fields_say_packed(const char *dest, const char *split);

/* One field, as the lines of `info`; a sheaf_field_fn. */
void fields_print_one(void *context, const struct sheaf_field_info *field, uint64_t samples);
/* The same as an object; *context, an int, counts them. */
void fields_json_one(void *context, const struct sheaf_field_info *field, uint64_t samples);

/* All of a data set, if they are counted. */
void fields_print(const struct sheaf_dataset *dataset);
void fields_json(const struct sheaf_dataset *dataset);

/* How many samples the classes have, if that is counted. */
void classes_print(const struct sheaf_dataset *dataset);
void classes_json(const struct sheaf_dataset *dataset);

#endif
