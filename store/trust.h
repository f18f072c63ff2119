/* SPDX-License-Identifier: MIT
 *
 * Finds the system's certificates of trusted authorities. libcurl knows the place on the system
 * that it was built for, but a program that carries libcurl also runs on other systems. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <stdbool.h>

/* Returns the certificates' file, or NULL if libcurl's own place exists or no file does. May be
 * called on any thread. */
const char *trust_file(void);

/* Returns whether the system has no certificates in any known place. */
bool trust_is_missing(void);

/* Does the work of trust_file() for given places, ended by NULL. built_in is libcurl's own place,
 * or NULL. */
const char *trust_first(const char *built_in, const char *const *places);

#endif
