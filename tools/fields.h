/* SPDX-License-Identifier: MIT
 *
 * Prints how many samples of a data set have each field, how large the fields are, and how many
 * samples each class has. */
#ifndef TOOLS_FIELDS_H
#define TOOLS_FIELDS_H

#include "sheaf.h"

/* Prints a summary of the data set that was packed to `dest`: the fields, as in "fields: jpg 30,607
 * json 30,600", the classes with the fewest and the most samples, and the fields that only a few
 * samples lack. If `split` (the text of the option --split) is not NULL, prints a summary of each
 * split. */
void fields_say_packed(const char *dest, const char *split);
/* Prints the same summary as fields_say_packed for a data set of a column, such as
 * "set/columns/cap/1". A sample without a field is named by its key in the base, the data set to
 * which the column belongs. */
void fields_say_column(const char *directory);

/* Prints the counts and sizes of one field as a line of `sheaf info`. A function of the type
 * sheaf_field_fn. */
void fields_print_one(void *context, const struct sheaf_field_info *field, uint64_t samples);
/* Prints the counts and sizes of one field as a JSON object. A function of the type sheaf_field_fn.
 * *context is an int that counts the printed fields. */
void fields_json_one(void *context, const struct sheaf_field_info *field, uint64_t samples);

/* Prints the counts and sizes of all fields of a data set, if fields were counted when the data set
 * was packed. */
void fields_print(const struct sheaf_dataset *dataset);
void fields_json(const struct sheaf_dataset *dataset);

/* Prints the number of samples of each class, if they were counted when the data set was packed. */
void classes_print(const struct sheaf_dataset *dataset);
void classes_json(const struct sheaf_dataset *dataset);

#endif
