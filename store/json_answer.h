/* SPDX-License-Identifier: MIT
 *
 * The JSON of a service's answer. */
#ifndef STORE_JSON_ANSWER_H
#define STORE_JSON_ANSWER_H

#include <jansson.h>

#include "store/request.h"

/* The root of a JSON text, NULL if it is none.  No message holds any of the text. */
int json_answer(const char *text, size_t size, json_t **root, struct sheaf_error *err);

/* request.check: the answer's text is JSON. */
int json_answer_check(struct request *request, struct sheaf_error *err);

#endif
