/* SPDX-License-Identifier: MIT
 *
 * Errors of AWS services: their codes, our code for each, whether a retry may help, and what the
 * user should do. */
#ifndef STORE_S3_AWS_ERROR_H
#define STORE_S3_AWS_ERROR_H

#include "store/request.h"

/* A request's classify: any 2xx is right, unless its text is an <Error>. */
int aws_classify(struct request *request, bool *again, struct sheaf_error *err);

/* The <Code> of the answer's <Error>, "" if there is none. */
void aws_error_code(const struct request *request, char code[64]);

#endif
