/* SPDX-License-Identifier: MIT
 *
 * Waits for the sockets of a libcurl multi handle with epoll.
 *
 * curl_multi_poll would look at every socket at each turn, and curl_multi_perform would then ask
 * the kernel about each one again. Here only sockets with an event are handled. */
#ifndef STORE_HTTP_EVENTS_H
#define STORE_HTTP_EVENTS_H

#include <stdbool.h>

#include "sheaf.h"

struct http_events;

/* Opens the events of `multi`, a CURLM, which the caller still owns. The caller must clean `multi`
 * up before closing the events, because `multi` reports its sockets until then. */
int http_events_open(struct http_events **events, void *multi, struct sheaf_error *err);
void http_events_close(struct http_events *events);     /* NULL is fine */

/* Uses another multi handle with the same settings, after the previous one was cleaned up. */
void http_events_use(struct http_events *events, void *multi);

/* Waits for at most `most_ms` and lets libcurl handle the events. Must be called on one thread.
 * Returns false if libcurl failed, for example without memory; it may then miss the events of some
 * socket. */
bool http_events_handle(struct http_events *events, int most_ms);

/* Ends the current wait, or else the next one. May be called on any thread. */
void http_events_wake(struct http_events *events);

#endif
