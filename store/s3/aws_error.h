/* SPDX-License-Identifier: MIT
 *
 * Interprets errors of AWS services. A table says for each error code of these services: the error
 * code of Sheaf, whether a retry may help, and advice for the user. */
#ifndef STORE_S3_AWS_ERROR_H
#define STORE_S3_AWS_ERROR_H

#include "store/request.h"

/* The function `classify` of requests to AWS services. This function accepts every response with a
 * status 2xx whose text is not an <Error>. */
int aws_classify(struct request *request, bool *again, struct sheaf_error *err);

/* Copies the <Code> of the <Error> in a response to `code`. If the response has no <Error>, `code`
 * becomes "". */
void aws_error_code(const struct request *request, char code[64]);

#endif
