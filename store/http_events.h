/* SPDX-License-Identifier: MIT
 *
 * Waits with epoll for the sockets of a libcurl multi handle, and tells libcurl only about the
 * sockets that have an event. libcurl's own functions are slower with many sockets: curl_multi_poll
 * examines every socket each time, and curl_multi_perform asks the kernel about every socket
 * again. */
#ifndef STORE_HTTP_EVENTS_H
#define STORE_HTTP_EVENTS_H

#include <stdbool.h>

#include "sheaf.h"

struct http_events;

/* Prepares the events for `multi`, a libcurl multi handle of the caller. The caller must clean up
 * `multi` before it closes the events, because `multi` still uses them until then. */
int http_events_open(struct http_events **events, void *multi, struct sheaf_error *err);
void http_events_close(struct http_events *events);     /* NULL is fine */

/* Continues with another multi handle of libcurl, and gives it the settings of the old one. The
 * caller must already have cleaned up the old multi handle. */
void http_events_use(struct http_events *events, void *multi);

/* Waits up to most_ms milliseconds for events, and lets libcurl handle them. Must always be called
 * on the same thread. Returns false if libcurl failed, for example because memory was exhausted.
 * libcurl may then no longer get the events of some sockets, so its multi handle must be
 * replaced. */
bool http_events_handle(struct http_events *events, int most_ms);

/* Makes the running call of http_events_handle return early. If no call is running, the next call
 * returns early. May be called on any thread. */
void http_events_wake(struct http_events *events);

#endif
