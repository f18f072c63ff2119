/* SPDX-License-Identifier: MIT
 *
 * Errors of AWS services: their codes, our code for each, whether a retry may help, and advice for
 * the user. */
#ifndef STORE_S3_AWS_ERROR_H
#define STORE_S3_AWS_ERROR_H

#include "store/request.h"

/* A request's classify: accepts any 2xx, unless the text is an <Error>. */
int aws_classify(struct request *request, bool *again, struct sheaf_error *err);

/* Copies the <Code> of the response's <Error>, or "" if there is none. */
void aws_error_code(const struct request *request, char code[64]);

#endif
