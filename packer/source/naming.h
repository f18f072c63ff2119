/* SPDX-License-Identifier: MIT
 *
 * Chooses the names that files get in their samples, if they differ from the names on disk. There
 * are two ways to change names:
 *
 * - An alias ("jpeg=jpg") renames a field. So files with the suffixes jpeg and jpg both become the
 *   field jpg.
 * - Keys can end at the last dot of the base name instead of the first one. Every reader of a shard
 *   ends a key at its first dot. So the dots inside such a key become underscores: the file
 *   IMG.2024.01.02.jpg becomes the field jpg of the sample IMG_2024_01_02. */
#ifndef PACKER_SOURCE_NAMING_H
#define PACKER_SOURCE_NAMING_H

#include <stdbool.h>

#include "base/buf.h"

/* Zero-initialised: names do not change. */
struct naming {
    const char *const *aliases;     /* ended by NULL; borrowed */
    bool *used;                     /* for each alias, whether it has renamed a field */
    bool last_dot;
    bool renames;                   /* some files, perhaps */
    struct buf path;
};

/* Returns NULL if `field` can be the name of a field. Otherwise returns a text that says why it
 * cannot. */
const char *naming_problem(const char *field);

/* Takes the aliases and the rule for keys from the options. Returns SHEAF_ERR_ARGUMENT if an alias
 * does not have the form FROM=TO, or if TO is not a valid field name. */
int naming_open(struct naming *naming, const struct sheaf_pack_options *options,
                struct sheaf_error *err);
void naming_close(struct naming *naming);

/* Returns the new name of a field if the user gave it an alias ("jpeg=jpg"), and otherwise `field`.
 * The case of the name does not matter. */
const char *naming_alias(struct naming *naming, const char *field);
/* Sets *named to the path under which the file `path` is packed. `path` must be valid for packing.
 * *named is `path` itself, or another path that is valid until the next call. */
int naming_apply(struct naming *naming, const char *path, const char **named,
                 struct sheaf_error *err);

#endif
