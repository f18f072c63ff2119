/* SPDX-License-Identifier: MIT
 *
 * Finds the file with the certificates that the system trusts. libcurl has a built-in path, which
 * is right for the system on which libcurl was built. A program that carries its own libcurl may
 * run on other systems, where this path does not exist. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <stdbool.h>

/* Returns the path of the file with certificates that libcurl must use. Returns NULL if libcurl
 * must use its built-in path, because this path exists or because no other file was found. May be
 * called on any thread. */
const char *trust_file(void);

/* Returns whether none of the known files with certificates exists on this system. */
bool trust_is_missing(void);

/* Chooses a file with certificates as trust_file does, but from the list `places`, which NULL ends.
 * built_in is the built-in path of libcurl, or NULL. */
const char *trust_first(const char *built_in, const char *const *places);

#endif
