/* SPDX-License-Identifier: MIT
 *
 * Makes text from outside, such as names and messages of servers, safe for display. The public
 * function sheaf_show (sheaf.h) does this. base/error.c uses it for all error messages of the
 * library, and tools/tool.c for the output of the command. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Removes secrets from all http:// and https:// URLs in a text: the user name and password before
 * the host, and the query and fragment after the path. */
void text_hide_secrets(char *text);
/* Returns a copy of a URL or path without secrets, as allocated memory. Returns NULL if memory is
 * exhausted. */
char *text_shown_url(const char *url);

#endif
