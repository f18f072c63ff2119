/* SPDX-License-Identifier: MIT
 *
 * Text from outside (names, server messages), made safe for display. The public sheaf_show
 * (sheaf.h) does the work. The library passes its messages through it where they are made
 * (base/error.c), and the command passes its output through it in tools/tool.c. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Shortens every http:// and https:// URL in the text to its public part: removes the user name and
 * password before the host, and the query and fragment after the path. */
void text_hide_secrets(char *text);
/* Returns an allocated copy of a URL or path without secrets, or NULL if memory is exhausted. */
char *text_shown_url(const char *url);

#endif
