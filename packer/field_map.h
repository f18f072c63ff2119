/* SPDX-License-Identifier: MIT
 *
 * Gives new names to the fields of samples that are converted. The names come from a list such as
 * "image=jpg,y=label".
 *
 * Such a list is useful for records that other programs wrote. These records often have the image
 * in a field "image", and the class in a field such as "y". Sheaf's containers expect the image in
 * a field "jpg", and the class as the label of the sample. The keys of samples do not change. */
#ifndef PACKER_FIELD_MAP_H
#define PACKER_FIELD_MAP_H

#include "sheaf.h"

struct field_map;
struct kept_features;

/* Parses a list of new names for fields, "FROM=TO,...", into *map. Returns SHEAF_ERR_ARGUMENT if
 * the text is malformed or if a field occurs twice in it. */
int field_map_open(const char *text, struct field_map **map, struct sheaf_error *err);
/* NULL is accepted here and in the functions below. */
void field_map_free(struct field_map *map);

/* Records that at least one sample has a field called `name`. field_map_check() uses this. */
void field_map_meet(struct field_map *map, const char *name);
/* Renames the fields of a sample, and turns the field that is mapped to "label" into its label.
 * `kept` has the features (parts) of the TFRecord Example from which the sample was read. These
 * features also get the new names. The new fields are valid until the next call.
 *
 * Returns SHEAF_ERR_UNSUPPORTED if the field for the label is not an integer, or if the sample
 * already has a label. */
int field_map_apply(struct field_map *map, struct sheaf_sample *sample, struct kept_features *kept,
                    struct sheaf_error *err);
/* Returns SHEAF_ERR_ARGUMENT if the map renames a field that no sample has had so far. The user has
 * probably misspelt the name of this field. */
int field_map_check(const struct field_map *map, struct sheaf_error *err);

#endif
