/* SPDX-License-Identifier: MIT
 *
 * Parses the JSON of a service's response. */
#ifndef STORE_JSON_ANSWER_H
#define STORE_JSON_ANSWER_H

#include <jansson.h>

#include "store/request.h"

/* Parses a server's response as JSON. On success, *root becomes the value. If the text is not JSON,
 * *root becomes NULL and an error is returned. The error's message does not quote the text, because
 * the text may contain secrets. */
int json_answer(const char *text, size_t size, json_t **root, struct sheaf_error *err);

/* A request.check function: the response must be JSON. */
int json_answer_check(struct request *request, struct sheaf_error *err);

#endif
