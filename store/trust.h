/* SPDX-License-Identifier: MIT
 *
 * Where the system keeps the certificates of the authorities that it trusts.  libcurl knows the
 * place of the system that it was built for; a program that carries libcurl runs on others. */
#ifndef STORE_TRUST_H
#define STORE_TRUST_H

#include <stdbool.h>

/* NULL: libcurl's own place exists, or there is none.  Any thread. */
const char *trust_file(void);

/* The system has no certificates where they are looked for. */
bool trust_is_missing(void);

/* trust_file() of given places, of which the last is NULL.  built_in: libcurl's own, or NULL. */
const char *trust_first(const char *built_in, const char *const *places);

#endif
