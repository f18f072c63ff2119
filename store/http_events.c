/* SPDX-License-Identifier: MIT
 *
 * Connects libcurl with epoll. libcurl tells this file which sockets to watch, and when to call
 * libcurl at the latest.
 *
 * When libcurl reads a socket, it continues as long as the socket has data. With a nearby server, a
 * single socket might keep the thread busy, and other requests would wait. Therefore events are
 * handled only for a short time, and then new requests are sent. Sockets of earlier requests are
 * handled first, because their data is needed first. */
#include "store/http_events.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/workers.h"

#define MS 1000000ull
#define CONNECTIONS_KEPT 128L
#define EVENTS_MOST 64          /* events reported by one call; the others follow */
/* Time in nanoseconds after which one round of handling events ends, so that new requests can be
 * sent. Events that were not handled are reported again in the next round. */
#define TURN_NS (MS / 5)

struct http_events {
    CURLM *multi;
    int epoll;
    int wake;                   /* an eventfd */
    uint32_t asked;             /* counts changes of what libcurl wants to hear about */
    uint64_t due_ns;            /* when libcurl wants to be called; UINT64_MAX for never */
};

static int http_events_on_socket(CURL *easy, curl_socket_t fd, int what, void *context,
                                 void *unused)
{
    struct http_events *e = context;
    struct epoll_event event = {
        .events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
        .data.u64 = (uint64_t)e->asked++ << 32 | (uint32_t)fd,
    };
    int failed;

    (void)easy, (void)unused;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(e->epoll, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    failed = epoll_ctl(e->epoll, EPOLL_CTL_MOD, fd, &event);
    if (failed != 0 && errno == ENOENT)
        failed = epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event);
    return failed;
}

static int on_timer(CURLM *multi, long in_ms, void *context)
{
    struct http_events *e = context;

    (void)multi;
    e->due_ns = in_ms < 0 ? UINT64_MAX : clock_ns() + (uint64_t)in_ms * MS;
    return 0;
}

void http_events_use(struct http_events *e, void *multi)
{
    e->multi = multi;
    e->due_ns = UINT64_MAX;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, http_events_on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, e);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, e);
}

int http_events_open(struct http_events **events, void *multi, struct sheaf_error *err)
{
    struct http_events *e = calloc(1, sizeof(*e));
    struct epoll_event event = { .events = EPOLLIN };

    if (e == NULL)
        return err_memory(err, sizeof(*e));
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    event.data.u64 = (uint32_t)e->wake;     /* before all others */
    if (e->epoll < 0 || e->wake < 0 || epoll_ctl(e->epoll, EPOLL_CTL_ADD, e->wake, &event) != 0) {
        const int why = errno;

        http_events_close(e);
        return err_errno(err, why, "cannot wait for the network");
    }
    http_events_use(e, multi);
    *events = e;
    return SHEAF_OK;
}

void http_events_close(struct http_events *e)
{
    if (e == NULL)
        return;
    if (e->wake >= 0)
        close(e->wake);
    if (e->epoll >= 0)
        close(e->epoll);
    free(e);
}

static int until_due_ms(const struct http_events *e, int most_ms)
{
    const uint64_t now_ns = clock_ns();

    if (e->due_ns <= now_ns)
        return 0;
    return (int)MIN((uint64_t)most_ms, (e->due_ns - now_ns - 1) / MS + 1);
}

static bool handle(struct http_events *e, const struct epoll_event *event)
{
    /* Report an error of the socket to libcurl as readable and writable. libcurl then finds the
     * error when it reads or writes. The error itself is not reported to libcurl, because it may
     * belong to an earlier socket that had the number of this socket. */
    const uint32_t in = EPOLLIN | EPOLLERR | EPOLLHUP, out = EPOLLOUT | EPOLLERR | EPOLLHUP;
    const int what = (event->events & in ? CURL_CSELECT_IN : 0) |
                     (event->events & out ? CURL_CSELECT_OUT : 0);
    const int fd = (int)(uint32_t)event->data.u64;
    uint64_t count;
    int running;

    if (fd != e->wake)
        return curl_multi_socket_action(e->multi, fd, what, &running) == CURLM_OK;
    (void)(read(e->wake, &count, sizeof(count)) < 0);   /* EAGAIN: nothing more to read */
    return true;
}

static int http_events_compare(const void *a, const void *b)
{
    const uint64_t x = ((const struct epoll_event *)a)->data.u64;
    const uint64_t y = ((const struct epoll_event *)b)->data.u64;

    return x < y ? -1 : x > y;
}

bool http_events_handle(struct http_events *e, int most_ms)
{
    struct epoll_event events[EVENTS_MOST];
    const int count = epoll_wait(e->epoll, events, EVENTS_MOST, until_due_ms(e, most_ms));
    const uint64_t began_ns = clock_ns();
    bool good = true;
    int running;

    if (count > 1)
        qsort(events, (size_t)count, sizeof(events[0]), http_events_compare);
    for (int i = 0; i < count && good && (i == 0 || clock_ns() - began_ns < TURN_NS); i++)
        good = handle(e, &events[i]);
    if (!good || e->due_ns > clock_ns())
        return good;
    e->due_ns = UINT64_MAX;     /* libcurl will tell if there is more */
    return curl_multi_socket_action(e->multi, CURL_SOCKET_TIMEOUT, 0, &running) == CURLM_OK;
}

void http_events_wake(struct http_events *e)
{
    const uint64_t one = 1;

    /* This write can fail only if the counter of the eventfd is full. A full counter also wakes the
     * thread, so the failure does not matter. */
    while (write(e->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}
