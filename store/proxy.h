/* SPDX-License-Identifier: MIT
 *
 * The proxy for a URL, chosen from the environment as AWS's own tools choose it: http_proxy,
 * https_proxy and no_proxy in either case, of which the lower one counts if both are there; and
 * then, as libcurl does, ALL_PROXY.  Where a program runs as a CGI script (REQUEST_METHOD),
 * HTTP_PROXY may be a header of a request, and is not believed. */
#ifndef STORE_PROXY_H
#define STORE_PROXY_H

/* "" for none. */
const char *proxy_of(const char *url);

#endif
