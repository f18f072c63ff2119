/* SPDX-License-Identifier: MIT
 *
 * Functions that set and return the fields of an exchange (an HTTP request and its response).
 * http.c runs the exchange. */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/http.h"

int http_add_header(struct http_exchange *x, const char *name, const char *value,
                    struct sheaf_error *err)
{
    struct http_header *header = &x->headers[x->header_count];

    if (x->header_count == HTTP_HEADERS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "more than %d headers", HTTP_HEADERS_MOST);
    if (strpbrk(value, "\r\n") != NULL)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a line break in the value of header %s", name);
    header->name = name;
    header->value = strdup(value);
    if (header->value == NULL)
        return err_memory(err, strlen(value));
    x->header_count++;
    return SHEAF_OK;
}

void http_clear_headers(struct http_exchange *x)
{
    for (size_t i = 0; i < x->header_count; i++) {
        explicit_bzero(x->headers[i].value, strlen(x->headers[i].value));
        free(x->headers[i].value);
    }
    x->header_count = 0;
}

void http_exchange_free(struct http_exchange *x)
{
    http_clear_headers(x);
    buf_free(&x->reply);
}

const char *http_answer_header(const struct http_exchange *x, const char *name)
{
    struct curl_header *header;

    if (x->easy == NULL ||
        curl_easy_header(x->easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return NULL;
    return header->value;
}
