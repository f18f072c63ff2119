/* SPDX-License-Identifier: MIT
 *
 * Advice to the user about an error: which option of which command helps. The library's messages
 * state only the fault, because the library does not know the commands. */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include "sheaf.h"

/* Returns the advice for an error of `command`, or NULL if there is none. */
const char *advice_of(const char *command, const struct sheaf_error *error);

#endif
