/* SPDX-License-Identifier: MIT
 *
 * Finds the file with the certificates that the system trusts. libcurl has a built-in path, which
 * is right for the system on which libcurl was built. A program that contains its own libcurl may
 * run on other systems, where this path may not exist. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <stdbool.h>

/* Returns the path of the file with certificates that libcurl must use instead of its built-in
 * path. Returns NULL if the built-in path has a file, or if no file with certificates was found.
 * May be called on any thread. */
const char *trust_file(void);

/* Returns whether this system has none of the files in which certificates are usually stored. */
bool trust_is_missing(void);

/* Chooses a file with certificates like trust_file, but takes the paths as arguments: built_in is
 * the built-in path of libcurl or NULL, and `places` is a list of other paths that ends with
 * NULL. */
const char *trust_first(const char *built_in, const char *const *places);

#endif
