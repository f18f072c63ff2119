/* SPDX-License-Identifier: MIT
 *
 * Errors of AWS services: their codes, our corresponding codes, whether a retry may help, and
 * advice for the user. */
#ifndef STORE_S3_AWS_ERROR_H
#define STORE_S3_AWS_ERROR_H

#include "store/request.h"

/* A function `classify` for requests to AWS services. Accepts any 2xx status, unless the text is an
 * <Error>. */
int aws_classify(struct request *request, bool *again, struct sheaf_error *err);

/* Copies the <Code> in the response's <Error>, or "" if the response has none. */
void aws_error_code(const struct request *request, char code[64]);

#endif
