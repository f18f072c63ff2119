/* SPDX-License-Identifier: MIT
 *
 * Chooses the proxy for a URL from environment variables. It uses http_proxy, https_proxy and
 * no_proxy, in lower or upper case, like AWS's own tools; lower case takes precedence. If they are
 * not set, it uses ALL_PROXY, like libcurl. If REQUEST_METHOD is set, the program is a CGI script.
 * Then HTTP_PROXY is ignored, because it may come from a header of a request. */
#ifndef STORE_PROXY_H
#define STORE_PROXY_H

/* "" for none. */
const char *proxy_of(const char *url);

#endif
