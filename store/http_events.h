/* SPDX-License-Identifier: MIT
 *
 * Waiting for the sockets of a libcurl multi handle, with epoll.
 *
 * curl_multi_poll would look at every socket at each turn, and curl_multi_perform then ask the
 * kernel about each once more; here only those are touched on which something has happened. */
#ifndef STORE_HTTP_EVENTS_H
#define STORE_HTTP_EVENTS_H

#include <stdbool.h>

#include "sheaf.h"

struct http_events;

/* `multi` is a CURLM; it stays the caller's, and must be cleaned up before the events are closed,
 * since it speaks of its sockets until then. */
int http_events_open(struct http_events **events, void *multi, struct sheaf_error *err);
void http_events_close(struct http_events *events);     /* NULL is fine */

/* Another multi handle, with the settings of all, after the one before was cleaned up. */
void http_events_use(struct http_events *events, void *multi);

/* Waits for at most that long, and has libcurl do what is to be done.  On one thread.  False if
 * libcurl could not, as without memory: then it may never hear of some socket again. */
bool http_events_handle(struct http_events *events, int most_ms);

/* Ends the wait of this moment, or else the next.  From any thread. */
void http_events_wake(struct http_events *events);

#endif
