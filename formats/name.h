/* SPDX-License-Identifier: MIT
 *
 * WebDataset's rule for keys and extensions: the key is the path up to the first dot of its base
 * name, and the suffix is the part after that dot. The functions here also find names that this
 * rule, or a common reader, would silently lose, so that the packer can refuse them. */
#ifndef FORMATS_NAME_H
#define FORMATS_NAME_H

#include "formats/format.h"

/* Splits a path by WebDataset's rule: sets the length of its key, and the start of its suffix after
 * the dot. Returns false if the path has no key or no suffix ("README", ".hidden"). webdataset
 * silently drops such files. */
bool name_split(const char *path, size_t *key_size, const char **suffix);

/* Removes meaningless parts of a path: slashes at its start, empty components, and components ".".
 * So "/a//b.jpg" and "./a/b.jpg" become "a/b.jpg", the path to which an archiver would extract the
 * file. This function is used for all paths: of files and S3 objects, in lists, in source archives
 * and in tar shards. Returns the new size. Sets *climbs to whether the path has a component
 * "..". */
size_t name_clean(char *path, size_t size, bool *climbs);

/* Returns the beginning of the keys that are made up for the records of a shard. This is the
 * shard's base name without the suffix of a container (see format_stem), or "shard" if a key cannot
 * begin with this name. The result points into `name` or is static. */
struct text name_stem(const char *name);

/* Returns why a path cannot be packed, or NULL if it can. A path cannot be packed if it is not
 * UTF-8, has control characters, is absolute, is too long, or has no key or no suffix. A path is
 * also refused if a component is empty, "." or "..", or if webdataset's readers skip the path
 * (__x__). The text is static and fits after "path: ". */
const char *name_problem(const char *path);

/* Returns why a suffix alone is invalid, or NULL if it is valid. */
const char *name_suffix_problem(const char *suffix);

/* Returns whether webdataset's readers skip the path, because its first component has the form
 * __this__. */
bool name_is_passed_over(const char *path);

/* Valid UTF-8 without control characters. */
bool name_is_text(const char *name, size_t size);
/* Returns why a name is not text, in words that fit after "the name holds ". Returns NULL if it is
 * text. */
const char *name_text_problem(const char *name, size_t size);

/* Converts a name to lower case as webdataset does: only ASCII letters change. Returns whether
 * anything changed. */
bool name_lower(char *name);

#endif
