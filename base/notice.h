/* SPDX-License-Identifier: MIT
 *
 * Notices: messages for the program that no function call can return as an error, because the
 * library finds their reason on one of its own threads. */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include "sheaf.h"

/* If the library waits for something outside, such as a slow server, it reports the wait once,
 * after this time. */
#define NOTICE_WAIT_NS ((uint64_t)5000000000u)

/* Reports a notice about `where` (such as a URL) to the function that the program has set with
 * sheaf_on_notice, if there is one. */
void notice_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
