/* SPDX-License-Identifier: MIT
 *
 * Chooses the proxy for a URL from the environment, as AWS's own tools do: http_proxy, https_proxy
 * and no_proxy in lower or upper case, where lower case takes precedence; and then ALL_PROXY, as
 * libcurl does. In a CGI script (REQUEST_METHOD), HTTP_PROXY may come from a header of a request
 * and is ignored. */
#ifndef STORE_PROXY_H
#define STORE_PROXY_H

/* "" for none. */
const char *proxy_of(const char *url);

#endif
