/* SPDX-License-Identifier: MIT
 *
 * shape UPSTREAM_PORT LATENCY_MS MB_PER_S MB_PER_S_EACH: a proxy that makes a local server behave
 * like a distant S3. It prints the port that it listens on, and runs until it is killed.
 *
 * A response begins no sooner than LATENCY_MS after the last byte of its request. All responses
 * together get at most MB_PER_S (10^6 bytes), and so do all requests. The responses of one
 * connection get at most MB_PER_S_EACH, and so do its requests. 0 means no limit. Bytes are passed
 * on unchanged, so signatures stay valid. On a connection, requests and responses must take turns,
 * as in HTTP/1.1 without pipelining, because the proxy does not parse them. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench/meter.h"

#define PIECE_BYTES ((size_t)64 << 10)

/* A limit for the rate of bytes. If the limit is 1000 bytes per second, for example, and 500 bytes
 * were sent, the next bytes may be sent half a second later. */
struct rate {
    pthread_mutex_t mutex;
    double ns_per_byte;         /* 0: no limit */
    uint64_t free_ns;           /* when the next byte may go */
};

struct connection {
    int client, server;
    /* time at which the last byte of the connection's request arrived; 0 when the response to this
     * request has begun */
    _Atomic uint64_t asked_ns;
    struct rate sent, received;
};

/* The settings and the state of the proxy. The settings do not change after the first connection.
 * The two rate limits change, and each of them has its own mutex. */
static struct {
    int upstream_port;
    uint64_t latency_ns;
    double own_ns_per_byte;
    struct rate sent, received;     /* by all connections */
} shape = { .sent.mutex = PTHREAD_MUTEX_INITIALIZER, .received.mutex = PTHREAD_MUTEX_INITIALIZER };

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* Waits until `size` more bytes may be sent. */
static void rate_wait(struct rate *rate, size_t size)
{
    uint64_t at, now;

    if (rate->ns_per_byte <= 0)
        return;
    now = now_ns();
    pthread_mutex_lock(&rate->mutex);
    at = rate->free_ns > now ? rate->free_ns : now;
    rate->free_ns = at + (uint64_t)((double)size * rate->ns_per_byte);
    pthread_mutex_unlock(&rate->mutex);
    if (at > now)
        sleep_until(at);
}

/* Returns false if the other side is gone. */
static int send_all(int to, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t n = send(to, data, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return 0;
        data += n;
        size -= (size_t)n;
    }
    return 1;
}

static void *copy_requests(void *context)
{
    struct connection *const c = context;
    char piece[PIECE_BYTES];
    ssize_t n;

    while ((n = recv(c->client, piece, sizeof(piece), 0)) > 0) {
        rate_wait(&c->sent, (size_t)n);
        rate_wait(&shape.sent, (size_t)n);
        atomic_store(&c->asked_ns, now_ns());
        if (!send_all(c->server, piece, (size_t)n))
            break;
    }
    shutdown(c->server, SHUT_WR);
    return NULL;
}

static void copy_answers(struct connection *c)
{
    char piece[PIECE_BYTES];
    ssize_t n;

    while ((n = recv(c->server, piece, sizeof(piece), 0)) > 0) {
        const uint64_t asked = atomic_exchange(&c->asked_ns, 0);

        if (asked > 0)
            sleep_until(asked + shape.latency_ns);
        rate_wait(&c->received, (size_t)n);
        rate_wait(&shape.received, (size_t)n);
        if (!send_all(c->client, piece, (size_t)n))
            break;
    }
    shutdown(c->client, SHUT_RDWR);
}

static int dial(int port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static void *serve(void *context)
{
    struct connection c = { .client = (int)(intptr_t)context,
                            .sent.ns_per_byte = shape.own_ns_per_byte,
                            .received.ns_per_byte = shape.own_ns_per_byte };
    const int one = 1;
    pthread_t thread;

    setsockopt(c.client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    pthread_mutex_init(&c.sent.mutex, NULL);
    pthread_mutex_init(&c.received.mutex, NULL);
    c.server = dial(shape.upstream_port);
    if (c.server >= 0 && pthread_create(&thread, NULL, copy_requests, &c) == 0) {
        copy_answers(&c);
        shutdown(c.server, SHUT_RDWR);
        pthread_join(thread, NULL);
    }
    if (c.server >= 0)
        close(c.server);
    close(c.client);
    pthread_mutex_destroy(&c.sent.mutex);
    pthread_mutex_destroy(&c.received.mutex);
    return NULL;
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        meter_die("listen", strerror(errno));
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static double ns_per_byte(uint64_t megabytes_per_second)
{
    return megabytes_per_second ? 1e3 / (double)megabytes_per_second : 0;
}

int main(int argc, char **argv)
{
    pthread_attr_t attr;
    pthread_t thread;
    int listening;

    if (argc != 5)
        meter_die(argv[0], "usage: shape UPSTREAM_PORT LATENCY_MS MB_PER_S MB_PER_S_EACH");
    shape.upstream_port = (int)meter_number(argv[1]);
    shape.latency_ns = meter_number(argv[2]) * 1000000;
    shape.sent.ns_per_byte = shape.received.ns_per_byte = ns_per_byte(meter_number(argv[3]));
    shape.own_ns_per_byte = ns_per_byte(meter_number(argv[4]));
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 4 * PIECE_BYTES);
    listening = listen_somewhere();
    for (;;) {
        const int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

        if (client >= 0 &&
            pthread_create(&thread, &attr, serve, (void *)(intptr_t)client) != 0)
            close(client);
    }
}
