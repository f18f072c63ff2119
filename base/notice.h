/* SPDX-License-Identifier: MIT
 *
 * Notices: messages for the program that are not the error of a call, for example that a server is
 * slow. Any thread of the library may send a notice. */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include "sheaf.h"

/* Time in nanoseconds after which the library reports a wait, once for each wait. For example, it
 * reports that a server is slow. */
#define NOTICE_WAIT_NS ((uint64_t)5000000000u)

/* Sends a notice to the function that the program has set with sheaf_on_notice, if there is one.
 * `where` says what the notice is about, such as a URL. */
void notice_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
