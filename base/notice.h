/* SPDX-License-Identifier: MIT
 *
 * Notices: information that is worth reporting but belongs to no call that could return it, because
 * it is found on one of the library's own threads. */
#ifndef BASE_NOTICE_H
#define BASE_NOTICE_H

#include "sheaf.h"

/* A wait of unknown length is reported once, when it has lasted this long. */
#define NOTICE_WAIT_NS ((uint64_t)5000000000u)

/* Reports a notice about `where` to the program's function (sheaf_on_notice), if there is one. */
void notice_say(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
