/* SPDX-License-Identifier: MIT
 *
 * Chooses a proxy; see proxy.h. */
#include "store/proxy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns the value of the environment variable `lower` if it is set, even to the empty string.
 * Otherwise returns the value of `upper`, or "" if that is not set either. */
static const char *either(const char *lower, const char *upper)
{
    const char *value = getenv(lower);

    if (value == NULL)
        value = getenv(upper);
    return value != NULL ? value : "";
}

/* Returns whether `host` is `name`, or is a host in the domain `name`. For example, "a.b.org" is in
 * the domain "b.org". */
static bool proxy_is_suffix(const char *host, size_t host_size, const char *name, size_t size)
{
    const char *end = host + host_size - size;

    return size <= host_size && strncasecmp(end, name, size) == 0 &&
           (size == host_size || end[-1] == '.');
}

/* "example.org, .local, 10.0.0.1:9000", or "*" */
static bool is_excepted(const char *host, size_t host_size, const char *list)
{
    const char *colon = memrchr(host, ':', host_size);
    const bool has_port = colon != NULL && memchr(colon, ']', (size_t)(host + host_size - colon)) ==
                                           NULL;
    const size_t bare_size = has_port ? (size_t)(colon - host) : host_size;

    if (strcmp(list, "*") == 0)
        return true;
    while (*list != '\0') {
        size_t size;

        list += strspn(list, ", \t.");
        size = strcspn(list, ", \t");
        if (size != 0 && (proxy_is_suffix(host, host_size, list, size) ||
                          proxy_is_suffix(host, bare_size, list, size)))
            return true;
        list += size;
    }
    return false;
}

const char *proxy_of(const char *url)
{
    const bool tls = strncmp(url, "https://", 8) == 0;
    const char *host = url + (tls ? 8 : 7);
    const char *proxy;

    if (is_excepted(host, strcspn(host, "/?#"), either("no_proxy", "NO_PROXY")))
        return "";
    if (tls)
        proxy = either("https_proxy", "HTTPS_PROXY");
    else if (getenv("REQUEST_METHOD") != NULL)
        proxy = either("http_proxy", "http_proxy");
    else
        proxy = either("http_proxy", "HTTP_PROXY");
    return *proxy != '\0' ? proxy : either("all_proxy", "ALL_PROXY");
}
