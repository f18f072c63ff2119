/* SPDX-License-Identifier: MIT
 *
 * What files are called in a sample, where that is not what their names say: fields of one name by
 * aliases ("jpeg=jpg"), and keys that end at the last dot of a base name instead of the first.
 *
 * A key in a shard ends at its first dot for every reader, so the dots that a key keeps become
 * underscores: IMG.2024.01.02.jpg is the field jpg of IMG_2024_01_02. */
#ifndef PACKER_SOURCE_NAMING_H
#define PACKER_SOURCE_NAMING_H

#include <stdbool.h>

#include "base/buf.h"

/* Zero-initialised: as the names say. */
struct naming {
    const char *const *aliases;     /* up to a NULL; borrowed */
    bool *used;                     /* of each alias: it has renamed a field */
    bool last_dot;
    bool renames;                   /* some files, perhaps */
    struct buf path;
};

/* What makes `field` an invalid field name; NULL: it is valid. */
const char *naming_problem(const char *field);

/* SHEAF_ERR_ARGUMENT: an alias is not FROM=TO, or TO is no name of a field. */
int naming_open(struct naming *naming, const struct sheaf_pack_options *options,
                struct sheaf_error *err);
void naming_close(struct naming *naming);

/* Returns the alias of a field, whatever its case; else the field itself. */
const char *naming_alias(struct naming *naming, const char *field);
/* The path under which a file, whose path can be packed, is packed: `path` itself, or one that is
 * valid until the next call. */
int naming_apply(struct naming *naming, const char *path, const char **named,
                 struct sheaf_error *err);

#endif
