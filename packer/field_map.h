/* SPDX-License-Identifier: MIT
 *
 * New names for the fields of converted samples ("image=jpg,y=label").
 *
 * Records of other programs often call their image "image" and store the class as a feature of its
 * own. Sheaf's containers expect the image in a field "jpg", and the label not in a field but as
 * the sample's label. The keys of samples do not change. */
#ifndef PACKER_FIELD_MAP_H
#define PACKER_FIELD_MAP_H

#include "sheaf.h"

struct field_map;
struct kept_features;

/* Parses "FROM=TO,...". Returns SHEAF_ERR_ARGUMENT if the text is malformed or if a field occurs
 * twice in it. */
int field_map_open(const char *text, struct field_map **map, struct sheaf_error *err);
/* NULL is accepted here and in the functions below. */
void field_map_free(struct field_map *map);

/* Records that some sample has a field with this name. */
void field_map_meet(struct field_map *map, const char *name);
/* Renames the fields of a sample and sets its label. The new fields are valid until the next call.
 * Features that were kept from the sample's record also get the new names. Returns
 * SHEAF_ERR_UNSUPPORTED if the field that becomes the label is not an integer, or if the sample
 * already has a label. */
int field_map_apply(struct field_map *map, struct sheaf_sample *sample, struct kept_features *kept,
                    struct sheaf_error *err);
/* Returns SHEAF_ERR_ARGUMENT if the map names a field that no sample so far has had. */
int field_map_check(const struct field_map *map, struct sheaf_error *err);

#endif
