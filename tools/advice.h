/* SPDX-License-Identifier: MIT
 *
 * Advice for the user about an error, which names the option that helps. The messages of the
 * library state only the error, because the library does not know the options of the commands. */
#ifndef TOOLS_ADVICE_H
#define TOOLS_ADVICE_H

#include "sheaf.h"

/* Returns a text with advice about an error that the command `command` got, or NULL if there is no
 * advice. */
const char *advice_of(const char *command, const struct sheaf_error *error);

#endif
