/* SPDX-License-Identifier: MIT
 *
 * Text from outside (names, messages of servers), made safe for display. sheaf_show, which sheaf.h
 * describes, is all there is: messages of the library pass through it where they are made
 * (base/error.c), and what the commands print in tools/tool.c. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

/* Shortens every http:// and https:// URL in the text to what may be known to all: without the user
 * name and password before its host, and without what follows its path. */
void text_hide_secrets(char *text);
/* A copy of a URL or path without them, to be freed; NULL: out of memory. */
char *text_shown_url(const char *url);

#endif
