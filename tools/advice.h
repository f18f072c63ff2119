/* SPDX-License-Identifier: MIT
 *
 * What a user can do about an error: which option of which command helps.  The library's messages
 * say what is wrong, and know nothing of commands. */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include "sheaf.h"

/* NULL: there is none.  `command` is the name of the one that failed. */
const char *advice_of(const char *command, const struct sheaf_error *error);

#endif
