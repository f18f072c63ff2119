/* SPDX-License-Identifier: MIT
 *
 * Makes text from outside (names, messages of servers) safe for display. The public function
 * sheaf_show (sheaf.h) does the work. base/error.c calls this function for the library's error
 * messages, and tools/tool.c for the output of the command. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Hides secrets in the URLs of a text. In every http:// and https:// URL, removes the user name and
 * password before the host, and the query and fragment after the path. */
void text_hide_secrets(char *text);
/* Returns an allocated copy of a URL or path without secrets, or NULL if memory is exhausted. */
char *text_shown_url(const char *url);

#endif
