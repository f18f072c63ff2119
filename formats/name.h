/* SPDX-License-Identifier: MIT
 *
 * The key and extension rule of WebDataset: the key is the path up to the first dot of its base
 * name, the suffix what follows that dot.  Names that this rule, or a reader of the field, would
 * lose silently are found here, before anything is packed under them. */
#ifndef FORMATS_NAME_H
#define FORMATS_NAME_H

#include "formats/format.h"

/* Splits a path: the key's length, and where the suffix starts (after the dot).  False if it has
 * no key or no suffix by that rule ("README", ".hidden"), in which case webdataset would drop
 * the file silently. */
bool name_split(const char *path, size_t *key_size, const char **suffix);

/* What keys that have to be made up begin with: the base name of a shard up to its first dot, or
 * "shard" if there is none that a key can begin with.  It points into `name`, or is static. */
struct text name_stem(const char *name);

/* Why a path cannot be packed, or NULL if it can: not UTF-8, control characters, absolute, "."
 * or ".." or empty components, names that webdataset's readers pass over (__x__), no key, no
 * suffix, too long.  The text is static and fits after "path: ". */
const char *name_problem(const char *path);

/* Of these, what is wrong with the suffix alone. */
const char *name_suffix_problem(const char *suffix);

/* A path that webdataset's readers take for their own: its first component is like __this__. */
bool name_is_passed_over(const char *path);

/* Valid UTF-8 without control characters. */
bool name_is_text(const char *name, size_t size);
/* What a name is instead ("the name holds ..."); NULL if it is text. */
const char *name_text_problem(const char *name, size_t size);

/* Lower case as webdataset has it (ASCII letters only are changed).  Returns true if anything
 * changed. */
bool name_lower(char *name);

#endif
