/* SPDX-License-Identifier: MIT
 *
 * Other names for the fields of samples that are converted ("image=jpg,y=label").
 *
 * Others' records call their image "image" and hold the class as a feature of its own; a container
 * knows the image by the field jpg, and the label beside the fields.  Keys stay as they are. */
#ifndef PACKER_FIELD_MAP_H
#define PACKER_FIELD_MAP_H

#include "sheaf.h"

struct field_map;
struct kept_features;

/* Parses "FROM=TO,...".  SHEAF_ERR_ARGUMENT: the text is malformed, or names a field twice. */
int field_map_open(const char *text, struct field_map **map, struct sheaf_error *err);
/* NULL is fine here, and below. */
void field_map_free(struct field_map *map);

/* Notes that some samples have a field of this name. */
void field_map_meet(struct field_map *map, const char *name);
/* Gives the sample its new fields and label, valid until the next call; what was kept of its record
 * gets the new names, too.  SHEAF_ERR_UNSUPPORTED: the field that becomes the label is not an
 * integer, or the sample already has a label. */
int field_map_apply(struct field_map *map, struct sheaf_sample *sample, struct kept_features *kept,
                    struct sheaf_error *err);
/* SHEAF_ERR_ARGUMENT: no sample so far has a field that the map names. */
int field_map_check(const struct field_map *map, struct sheaf_error *err);

#endif
