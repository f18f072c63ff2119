/* SPDX-License-Identifier: MIT
 *
 * Text as a JSON string. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdio.h>

/* Prints a text as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD. NULL becomes
 * null. */
void print_json_string(FILE *file, const char *text);

#endif
