/* SPDX-License-Identifier: MIT
 *
 * Chooses the proxy for a URL. The environment variables http_proxy, https_proxy and no_proxy
 * determine the proxy, in lower or upper case, as in AWS's own tools. Lower case takes precedence.
 * If these variables are not set, ALL_PROXY is used, as in libcurl.
 *
 * HTTP_PROXY is ignored if REQUEST_METHOD is set, because the program is then a CGI script of a web
 * server. An attacker could set HTTP_PROXY for such a script by the header "Proxy" of a request. */
#ifndef STORE_PROXY_H
#define STORE_PROXY_H

/* Returns the proxy for a URL, or "" if the URL needs no proxy. */
const char *proxy_of(const char *url);

#endif
