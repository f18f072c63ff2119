/* SPDX-License-Identifier: MIT
 *
 * Notices: what is worth knowing and belongs to no call that could report it, since it is found on
 * a thread of the library's own. */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include "sheaf.h"

/* A wait that a person may be in the dark about is told of, once, when it has lasted this long. */
#define NOTICE_WAIT_NS ((uint64_t)5000000000u)

/* Tells the program that asked for notices (sheaf_on_notice) about `where`. */
void notice_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
