/* SPDX-License-Identifier: MIT
 *
 * Chooses the proxy for a URL. It uses the environment variables http_proxy, https_proxy and
 * no_proxy, in lower or upper case, like AWS's own tools. Lower case takes precedence. If these are
 * not set, it uses ALL_PROXY, like libcurl. HTTP_PROXY is ignored if REQUEST_METHOD is set. The
 * program is then a CGI script, and HTTP_PROXY may come from a header of the request. */
#ifndef STORE_PROXY_H
#define STORE_PROXY_H

/* Returns the proxy for a URL, or "" if it has none. */
const char *proxy_of(const char *url);

#endif
