/* SPDX-License-Identifier: MIT
 *
 * Waits for the sockets of a libcurl multi handle with epoll.
 *
 * curl_multi_poll would examine every socket each time, and curl_multi_perform would then ask the
 * kernel about each one again. Here only sockets with an event are handled. */
#ifndef STORE_HTTP_EVENTS_H
#define STORE_HTTP_EVENTS_H

#include <stdbool.h>

#include "sheaf.h"

struct http_events;

/* Opens the events of the libcurl multi handle `multi`, which the caller still owns. The caller
 * must clean up `multi` before it closes the events, because `multi` reports its sockets until
 * then. */
int http_events_open(struct http_events **events, void *multi, struct sheaf_error *err);
void http_events_close(struct http_events *events);     /* NULL is fine */

/* Uses another multi handle with the same settings. The previous handle must have been cleaned
 * up. */
void http_events_use(struct http_events *events, void *multi);

/* Waits for events for at most `most_ms` milliseconds, and lets libcurl handle them. Must always be
 * called on the same thread. Returns false if libcurl failed, for example because memory was
 * exhausted. libcurl may then miss the events of some socket. */
bool http_events_handle(struct http_events *events, int most_ms);

/* Ends the current wait of http_events_handle, or the next one. May be called on any thread. */
void http_events_wake(struct http_events *events);

#endif
