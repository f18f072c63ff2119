/* SPDX-License-Identifier: MIT
 *
 * WebDataset's rule for keys and extensions: the key is the path up to the first dot of its base
 * name, the suffix is the part after that dot. Names that this rule, or a common reader, would lose
 * silently are found here before anything is packed under them. */
#ifndef FORMATS_NAME_H
#define FORMATS_NAME_H

#include "formats/format.h"

/* Splits a path into the length of its key and the start of its suffix, after the dot. Returns
 * false if it has no key or no suffix by that rule ("README", ".hidden"). webdataset drops such
 * files silently. */
bool name_split(const char *path, size_t *key_size, const char **suffix);

/* Removes meaningless parts of a path: slashes at its start, empty components, and components ".".
 * So "/a//b.jpg" and "./a/b.jpg" become "a/b.jpg", which is where an archiver would extract them.
 * The same rule applies to members of archives, to lists and to objects, in sources and in shards.
 * Returns the new size. Sets *climbs to whether the path has a component "..". */
size_t name_clean(char *path, size_t size, bool *climbs);

/* Returns the beginning of the keys that are made up for the records of a shard: its base name
 * without the suffix of a container (format_stem), or "shard" if no key can begin with that name.
 * It points into `name`, or is static. */
struct text name_stem(const char *name);

/* Returns why a path cannot be packed, or NULL if it can. Reasons are: not UTF-8, control
 * characters, an absolute path, components that are empty, "." or "..", names that webdataset's
 * readers skip (__x__), no key, no suffix, too long. The text is static and fits after "path: ". */
const char *name_problem(const char *path);

/* Returns what is wrong with the suffix alone, or NULL. */
const char *name_suffix_problem(const char *suffix);

/* Returns whether webdataset's readers treat the path as their own, because its first component is
 * like __this__. */
bool name_is_passed_over(const char *path);

/* Valid UTF-8 without control characters. */
bool name_is_text(const char *name, size_t size);
/* Returns why a name is not text, as in "the name holds ...", or NULL if it is. */
const char *name_text_problem(const char *name, size_t size);

/* Converts a name to lower case as webdataset does: only ASCII letters change. Returns whether
 * anything changed. */
bool name_lower(char *name);

#endif
