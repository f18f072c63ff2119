/* SPDX-License-Identifier: MIT
 *
 * Implements WebDataset's rule for names: the key of a file is the path up to the first dot of its
 * base name, and the suffix is the part after that dot. `a/b.seg.png` has the key `a/b` and the
 * suffix `seg.png`.
 *
 * The functions also find names that readers of WebDataset would silently skip, so that the packer
 * can refuse them. */
#ifndef FORMATS_NAME_H
#define FORMATS_NAME_H

#include "formats/format.h"

/* Splits a path into key and suffix: sets *key_size to the length of the key, and *suffix to the
 * text after the dot. `a/b.seg.png` has the key `a/b` and the suffix `seg.png`. Returns false if
 * the path has no key or no suffix ("README", ".hidden"), because webdataset silently drops such
 * files. */
bool name_split(const char *path, size_t *key_size, const char **suffix);

/* Removes the meaningless parts of a path: slashes at its start, empty components, and components
 * ".". So "/a//b.jpg" and "./a/b.jpg" become "a/b.jpg", the path to which an archiver would extract
 * the file. Returns the new size. Sets *climbs to whether the path has a component "..".
 *
 * All paths are cleaned in this way: paths of files and S3 objects, and paths in lists, source
 * archives and tar shards. */
size_t name_clean(char *path, size_t size, bool *climbs);

/* Returns the stem of a shard, which is the text at the beginning of the keys that Sheaf makes up
 * for records without keys. The stem is the shard's base name without the suffix of a container
 * (see format_stem). It is "shard" if a key cannot begin with this name. The result points into
 * `name` or is static. */
struct text name_stem(const char *name);

/* Returns why a path cannot be packed, as static text that fits after "path: ", or NULL if it can
 * be packed.
 *
 * A path is refused if it is not UTF-8, has control characters, is absolute, is too long, or has no
 * key or no suffix. A path is also refused if a component is empty, "." or "..", or if webdataset's
 * readers skip the path because of a name like `__x__`. */
const char *name_problem(const char *path);

/* Returns why a text cannot be the suffix of a file, as static text, or NULL if it can. */
const char *name_suffix_problem(const char *suffix);

/* Returns whether webdataset's readers skip the path. A path is skipped if its first component
 * begins and ends with two underscores: `__this__`. */
bool name_is_passed_over(const char *path);

/* Valid UTF-8 without control characters. */
bool name_is_text(const char *name, size_t size);
/* Returns why a name is not valid text, in words that fit after "the name holds ", or NULL if it is
 * valid. */
const char *name_text_problem(const char *name, size_t size);

/* Converts a name to lower case as webdataset does: only ASCII letters change. Returns whether
 * anything changed. */
bool name_lower(char *name);

#endif
