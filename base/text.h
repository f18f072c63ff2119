/* SPDX-License-Identifier: MIT
 *
 * Makes text from outside (names, messages of servers) safe for display. The public function
 * sheaf_show (sheaf.h) does the work. The library applies it to its error messages in base/error.c.
 * The command applies it to its output in tools/tool.c. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Hides secrets in the URLs of a text. In every http:// and https:// URL, removes the user name and
 * password before the host, and the query and fragment after the path. */
void text_hide_secrets(char *text);
/* Returns an allocated copy of a URL or path without secrets, or NULL if memory is exhausted. */
char *text_shown_url(const char *url);

#endif
