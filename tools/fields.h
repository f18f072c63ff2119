/* SPDX-License-Identifier: MIT
 *
 * Prints a data set's statistics of each field and class. */
#ifndef TOOLS_FIELDS_H
#define TOOLS_FIELDS_H

#include "sheaf.h"

/* Prints a summary of the data set packed at `dest`: "fields: jpg 30,607 json 30,600", the classes
 * with the fewest and the most samples, and the fields that a few samples lack. If `split` (the
 * text of the option) is not NULL, prints a summary for each split. */
void fields_say_packed(const char *dest, const char *split);

/* A function of the type sheaf_field_fn. Prints one field in the lines of `sheaf info`. */
void fields_print_one(void *context, const struct sheaf_field_info *field, uint64_t samples);
/* A function of the type sheaf_field_fn. Prints one field as a JSON object. *context is an int that
 * counts the fields. */
void fields_json_one(void *context, const struct sheaf_field_info *field, uint64_t samples);

/* Prints all fields of a data set, if fields were counted when the data set was packed. */
void fields_print(const struct sheaf_dataset *dataset);
void fields_json(const struct sheaf_dataset *dataset);

/* Prints the number of samples of each class, if they were counted when the data set was packed. */
void classes_print(const struct sheaf_dataset *dataset);
void classes_json(const struct sheaf_dataset *dataset);

#endif
