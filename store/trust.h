/* SPDX-License-Identifier: MIT
 *
 * Finds the file with the certificates of the authorities that the system trusts. libcurl knows
 * where this file is on the system that libcurl was built for. But a program that carries a copy of
 * libcurl also runs on other systems. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <stdbool.h>

/* Returns the path of the file with certificates that libcurl is to use instead of its built-in
 * path. Returns NULL if the built-in path is to be used: because it exists, or because no other
 * known path exists. May be called on any thread. */
const char *trust_file(void);

/* Returns whether none of the known paths of certificates exists on this system. */
bool trust_is_missing(void);

/* Does the work of trust_file() for a given list of paths, which NULL ends. `built_in` is libcurl's
 * built-in path, or NULL. */
const char *trust_first(const char *built_in, const char *const *places);

#endif
