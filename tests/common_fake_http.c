/* SPDX-License-Identifier: MIT
 *
 * The scripted server. One thread accepts connections, and each connection has a thread. One lock
 * protects everything. */
#include "tests/common_fake_http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"

#define HEAD_MOST 65536
#define FAULTS_MOST 16
#define LOG_MOST 100000
#define CONNECTIONS_MOST 2048

struct counted_fault {
    struct fake_fault fault;
    unsigned seen;
};

struct fake_server {
    int listener, port;
    pthread_t acceptor;
    fake_serve_fn *serve;
    void *context;
    pthread_mutex_t lock;
    struct {
        bool ending;
        int sockets[CONNECTIONS_MOST];
        pthread_t threads[CONNECTIONS_MOST];
        size_t connections;
        struct counted_fault faults[FAULTS_MOST];
        size_t fault_count;
        fake_choose_fn *choose;
        fake_served_fn *served;
        bool is_mute;                   /* does not send 100 Continue */
        unsigned failed;
        unsigned requests;
        char *log[LOG_MOST];            /* "GET /path?query" of the first requests */
        unsigned busy, peak;
        unsigned bytes_per_ms;          /* 0 for no limit */
    } locked;
};

struct connection {
    struct fake_server *server;
    int fd;
    unsigned bytes_per_ms;
    bool is_mute;
    char buffer[HEAD_MOST];
    size_t have;
};

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

/* ---- Requests and answers -------------------------------------------------------------------- */

char *fake_header(const struct fake_request *r, const char *name)
{
    const size_t size = strlen(name);
    const char *line = r->headers;

    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");

        if (strncmp(line, name, size) == 0 && line[size] == ':')
            return strndup(line + size + 2, length - size - 2);
        line += length + 1;
    }
    return NULL;
}

static void append(struct buf *out, const char *format, va_list args)
{
    char *text;

    check(vasprintf(&text, format, args) >= 0, "vasprintf");
    check(buf_append(out, text, strlen(text), NULL) == SHEAF_OK, "buf_append");
    free(text);
}

void fake_answer_header(struct fake_answer *answer, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(&answer->headers, format, args);
    va_end(args);
    check(buf_append(&answer->headers, "\r\n", 2, NULL) == SHEAF_OK, "buf_append");
}

void fake_answer_body(struct fake_answer *answer, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(&answer->body, format, args);
    va_end(args);
}

char *fake_answer_remove(struct fake_answer *answer, const char *name)
{
    char *value = NULL, *at = (char *)answer->headers.data;
    const char *end = at + answer->headers.size;

    while (at < end) {
        char *next = (char *)memchr(at, '\n', (size_t)(end - at)) + 1;
        const char *colon = memchr(at, ':', (size_t)(end - at));

        if (strncasecmp(at, name, strlen(name)) != 0) {
            at = next;
            continue;
        }
        free(value);
        value = strndup(colon + 2, (size_t)(next - colon) - 4);
        memmove(at, next, (size_t)(end - next));
        end -= next - at;
    }
    answer->headers.size = (size_t)(end - (char *)answer->headers.data);
    return value;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static bool matches(const char *line, const char *method, const char *match)
{
    const size_t size = method != NULL ? strlen(method) : 0;

    if (method != NULL && (strncmp(line, method, size) != 0 || line[size] != ' '))
        return false;
    return match == NULL || strstr(line, match) != NULL;
}

static bool find_fault_locked(struct fake_server *s, const char *line, struct fake_fault *out)
{
    for (size_t i = 0; i < s->locked.fault_count; i++) {
        struct counted_fault *f = &s->locked.faults[i];
        unsigned number;

        if (!matches(line, f->fault.method, f->fault.match))
            continue;
        number = f->seen++;
        if (number < f->fault.skip ||
            (f->fault.times != 0 && number >= f->fault.skip + f->fault.times))
            continue;
        *out = f->fault;
        return true;
    }
    return false;
}

size_t fake_fault_at(const struct fake_fault *fault, size_t size)
{
    return fault->anywhere && size != 0 ? fault->at % size : MIN(fault->at, size);
}

/* Chooses the fault of a request, which is also recorded. Takes ownership of the line. */
static bool begin_request(struct fake_server *s, const struct fake_request *r, char *line,
                          struct fake_fault *fault)
{
    fake_choose_fn *choose;
    bool found;

    pthread_mutex_lock(&s->lock);
    s->locked.busy++;
    s->locked.peak = MAX(s->locked.peak, s->locked.busy);
    found = find_fault_locked(s, line, fault);
    if (s->locked.requests < LOG_MOST)
        s->locked.log[s->locked.requests] = line;
    else
        free(line);
    s->locked.requests++;
    choose = s->locked.choose;
    pthread_mutex_unlock(&s->lock);
    if (!found && choose != NULL)
        found = choose(s->context, r, fault);
    pthread_mutex_lock(&s->lock);
    s->locked.failed += found;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- Sending --------------------------------------------------------------------------------- */

static bool send_all(int fd, const void *data, size_t size)
{
    const char *from = data;

    while (size != 0) {
        const ssize_t sent = send(fd, from, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        from += sent;
        size -= (size_t)sent;
    }
    return true;
}

static void reset(int fd)
{
    const struct linger now = { 1, 0 };

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

/* Waits until the client closes the connection. */
static void wait_for_end(int fd)
{
    struct pollfd end = { .fd = fd, .events = POLLIN | POLLRDHUP };
    char ignored[65536];

    while (poll(&end, 1, 60000) == 1 && recv(fd, ignored, sizeof(ignored), 0) > 0)
        ;
}

static bool drip(int fd, const uint8_t *data, size_t size)
{
    struct pollfd end = { .fd = fd, .events = POLLIN | POLLRDHUP };

    for (size_t i = 0; i < size; i++)
        if (!send_all(fd, data + i, 1) || poll(&end, 1, 100) != 0)
            return false;
    return true;
}

/* Sends the body. Returns false if the connection has ended. */
static bool send_body(int fd, const struct fake_answer *a, const struct fake_fault *fault)
{
    const enum fake_kind kind = fault != NULL ? fault->kind : 0;
    const size_t at = kind == FAKE_PAUSE ? a->body.size / 2
                    : kind != 0 ? fake_fault_at(fault, a->body.size) : 0;

    if (kind != FAKE_CUT && kind != FAKE_CLOSE && kind != FAKE_STALL && kind != FAKE_DRIP &&
        kind != FAKE_PAUSE)
        return send_all(fd, a->body.data, a->body.size);
    if (!send_all(fd, a->body.data, at))
        return false;
    if (kind == FAKE_DRIP)
        return drip(fd, a->body.data + at, a->body.size - at);
    if (kind == FAKE_PAUSE)
        return usleep(1000000) == 0 && send_all(fd, a->body.data + at, a->body.size - at);
    if (kind == FAKE_CLOSE)
        return false;
    if (kind == FAKE_STALL)
        wait_for_end(fd);
    else
        usleep(2000);       /* the client must read the sent bytes before the reset discards them */
    reset(fd);
    return false;
}

static void send_headers(int fd)
{
    static const char line[] = "x-more: and more and more and more and more and more\r\n";

    if (send_all(fd, "HTTP/1.1 200 Said\r\n", 19))
        while (send_all(fd, line, strlen(line)))
            continue;
}

static bool send_answer(int fd, const struct fake_request *r, const struct fake_answer *a,
                        const struct fake_fault *fault)
{
    const bool is_head = strcmp(r->method, "HEAD") == 0;
    const bool has_length = fault == NULL || fault->kind != FAKE_NO_LENGTH;
    const bool is_stray = fault != NULL && fault->kind == FAKE_STRAY && a->body.size != 0;
    char head[512], length[64] = "";

    if (fault != NULL && (fault->kind == FAKE_LOSE || fault->kind == FAKE_SILENCE)) {
        if (fault->kind == FAKE_SILENCE)
            wait_for_end(fd);
        reset(fd);
        return false;
    }
    if (fault != NULL && fault->kind == FAKE_HEADERS) {
        send_headers(fd);
        return false;
    }
    if (has_length && !a->has_no_length)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n",
                 is_head ? a->content_length : a->body.size - is_stray);
    snprintf(head, sizeof(head), "HTTP/1.1 %d Said\r\n%s%s%s", a->status, length,
             fault != NULL && fault->header != NULL ? fault->header : "",
             fault != NULL && fault->header != NULL ? "\r\n" : "");
    if (!send_all(fd, head, strlen(head)) || !send_all(fd, a->headers.data, a->headers.size) ||
        !send_all(fd, "\r\n", 2))
        return false;
    return (is_head || send_body(fd, a, fault)) && has_length;
}

/* ---- A request ------------------------------------------------------------------------------- */

static void damage(uint8_t *data, size_t size, const struct fake_fault *fault)
{
    if (size != 0)
        data[fake_fault_at(fault, size)] ^= (uint8_t)(1 << (fault->at / size % 8));
}

/* Computes the response. Returns false if a fault keeps the service from its work. Called with the
 * lock held. */
static bool serve_locked(struct fake_server *s, struct fake_request *r,
                         const struct fake_fault *fault, struct fake_answer *a)
{
    const enum fake_kind kind = fault != NULL ? fault->kind : 0;

    if (kind == FAKE_STATUS) {
        a->status = fault->status;
        if (fault->code != NULL)
            fake_answer_body(a, "<?xml version=\"1.0\"?><Error><Code>%s</Code>"
                             "<Message>%s</Message></Error>", fault->code,
                             fault->message != NULL ? fault->message : "as the test wants it");
        return false;
    }
    if (kind == FAKE_RESET || kind == FAKE_SILENCE)
        return false;
    if (kind == FAKE_DAMAGED_REQUEST)
        damage(r->body, r->body_size, fault);
    s->serve(s->context, r, fault, a);
    if (kind == FAKE_TWICE) {
        a->status = 200;
        a->headers.size = a->body.size = 0;
        s->serve(s->context, r, fault, a);
    }
    if (kind == FAKE_DAMAGED_BODY && a->status / 100 == 2)
        damage(a->body.data, a->body.size, fault);
    if (kind == FAKE_TORN)
        a->body.size = fake_fault_at(fault, a->body.size);
    if (kind == FAKE_NUL && a->body.size != 0)
        a->body.data[fake_fault_at(fault, a->body.size)] = '\0';
    return true;
}

static bool answer(struct connection *c, struct fake_request *r)
{
    struct fake_server *s = c->server;
    struct fake_answer a = { .status = 200, .headers = BUF_INIT(HEAD_MOST),
                             .body = BUF_INIT(SIZE_MAX / 4) };
    struct fake_fault chosen, *fault;
    fake_served_fn *served;
    bool more;
    char *line;

    check(asprintf(&line, "%s %s?%s", r->method, r->path, r->query) >= 0, "asprintf");
    fault = begin_request(s, r, line, &chosen) ? &chosen : NULL;
    pthread_mutex_lock(&s->lock);
    served = serve_locked(s, r, fault, &a) ? s->locked.served : NULL;
    pthread_mutex_unlock(&s->lock);
    if (served != NULL)
        served(s->context, r);
    if (fault != NULL && fault->kind == FAKE_RESET)
        reset(c->fd);
    more = (fault == NULL || fault->kind != FAKE_RESET) && send_answer(c->fd, r, &a, fault);
    pthread_mutex_lock(&s->lock);
    s->locked.busy--;
    pthread_mutex_unlock(&s->lock);
    buf_free(&a.headers);
    buf_free(&a.body);
    return more;
}

/* Parses the head of a request. If the server is used as a proxy, the target begins with the scheme
 * and the host, which are skipped.
 *
 * "GET /path?query HTTP/1.1\r\nName: value\r\n..." */
static void parse(char *head, struct fake_request *r)
{
    char *line = strsep(&head, "\n"), *word = strsep(&line, " ");
    char *out;

    snprintf(r->method, sizeof(r->method), "%s", word);
    word = strsep(&line, " ");
    check(word != NULL, "a request line");
    if (strncmp(word, "http://", 7) == 0)
        word += 7 + strcspn(word + 7, "/");
    r->path = strdup(strsep(&word, "?"));
    r->query = strdup(word != NULL ? word : "");
    r->headers = out = malloc(strlen(head) + 1);
    for (bool in_name = true; *head != '\0'; head++) {
        if (*head == '\r')
            continue;
        *out++ = in_name ? (char)tolower((unsigned char)*head) : *head;
        in_name = *head == '\n' || (in_name && *head != ':');
    }
    *out = '\0';
}

static bool read_body(struct connection *c, struct fake_request *r)
{
    char *length = fake_header(r, "content-length"), *expect = fake_header(r, "expect");
    size_t have;
    bool ok = true;

    r->body_size = length != NULL ? strtoull(length, NULL, 10) : 0;
    r->body = malloc(r->body_size + 1);
    have = MIN(c->have, r->body_size);
    memcpy(r->body, c->buffer, have);
    memmove(c->buffer, c->buffer + have, c->have - have);
    c->have -= have;
    if (expect != NULL && have == 0 && !c->is_mute)
        ok = send_all(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    while (ok && have < r->body_size) {
        const size_t most = c->bytes_per_ms != 0 ? c->bytes_per_ms * 10 : r->body_size;
        const ssize_t got = recv(c->fd, r->body + have, MIN(most, r->body_size - have), 0);

        if (c->bytes_per_ms != 0)
            usleep(10000);
        ok = got > 0;
        have += ok ? (size_t)got : 0;
    }
    free(length);
    free(expect);
    return ok;
}

/* Returns the head of the next request without its last line end, or NULL at the end of the
 * connection. */
static char *read_head(struct connection *c)
{
    for (;;) {
        char *end = memmem(c->buffer, c->have, "\r\n\r\n", 4);
        ssize_t got;

        if (end != NULL) {
            const size_t size = (size_t)(end - c->buffer) + 2;
            char *head = strndup(c->buffer, size);

            c->have -= size + 2;
            memmove(c->buffer, c->buffer + size + 2, c->have);
            return head;
        }
        if (c->have == sizeof(c->buffer))
            return NULL;
        got = recv(c->fd, c->buffer + c->have, sizeof(c->buffer) - c->have, 0);
        if (got <= 0)
            return NULL;
        c->have += (size_t)got;
    }
}

static void *serve_connection(void *argument)
{
    struct connection *c = argument;
    bool more = true;
    char *head;

    while (more && (head = read_head(c)) != NULL) {
        struct fake_request r = { .body_size = 0 };

        parse(head, &r);
        more = read_body(c, &r) && answer(c, &r);
        free(head);
        free(r.path);
        free(r.query);
        free(r.headers);
        free(r.body);
    }
    shutdown(c->fd, SHUT_WR);
    pthread_mutex_lock(&c->server->lock);
    for (size_t i = 0; i < c->server->locked.connections; i++)
        if (c->server->locked.sockets[i] == c->fd)
            c->server->locked.sockets[i] = -1;
    close(c->fd);
    pthread_mutex_unlock(&c->server->lock);
    free(c);
    return NULL;
}

/* ---- The server ------------------------------------------------------------------------------ */

static void *accept_all(void *argument)
{
    struct fake_server *s = argument;
    const int yes = 1;

    for (;;) {
        struct connection *c = calloc(1, sizeof(*c));
        size_t slot = 0;

        c->server = s;
        c->fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_mutex_lock(&s->lock);
        if (c->fd < 0 || s->locked.ending) {
            pthread_mutex_unlock(&s->lock);
            if (c->fd >= 0)
                close(c->fd);
            free(c);
            return NULL;
        }
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        c->bytes_per_ms = s->locked.bytes_per_ms;
        c->is_mute = s->locked.is_mute;
        while (slot < s->locked.connections && s->locked.sockets[slot] >= 0)
            slot++;
        check(slot < CONNECTIONS_MOST, "more connections than there is room for");
        if (slot < s->locked.connections)
            pthread_join(s->locked.threads[slot], NULL);    /* the body ends with the connection */
        else
            s->locked.connections++;
        s->locked.sockets[slot] = c->fd;
        check(pthread_create(&s->locked.threads[slot], NULL, serve_connection, c) == 0, "thread");
        pthread_mutex_unlock(&s->lock);
    }
}

struct fake_server *fake_server_start(fake_serve_fn *serve, void *context)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    struct fake_server *s = calloc(1, sizeof(*s));

    check(s != NULL, "calloc");
    s->serve = serve;
    s->context = context;
    pthread_mutex_init(&s->lock, NULL);
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(s->listener, (struct sockaddr *)&address, size) == 0, "bind");
    check(listen(s->listener, 256) == 0, "listen");
    check(getsockname(s->listener, (struct sockaddr *)&address, &size) == 0, "getsockname");
    s->port = ntohs(address.sin_port);
    check(pthread_create(&s->acceptor, NULL, accept_all, s) == 0, "thread");
    return s;
}

void fake_server_stop(struct fake_server *s)
{
    size_t count;

    pthread_mutex_lock(&s->lock);
    s->locked.ending = true;
    shutdown(s->listener, SHUT_RDWR);
    for (size_t i = 0; i < s->locked.connections; i++)
        if (s->locked.sockets[i] >= 0)
            shutdown(s->locked.sockets[i], SHUT_RDWR);
    count = s->locked.connections;
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->acceptor, NULL);
    for (size_t i = 0; i < count; i++)
        pthread_join(s->locked.threads[i], NULL);
    close(s->listener);
    for (size_t i = 0; i < MIN(s->locked.requests, LOG_MOST); i++)
        free(s->locked.log[i]);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

unsigned fake_server_port(const struct fake_server *s)
{
    return (unsigned)s->port;
}

void fake_server_add_fault(struct fake_server *s, const struct fake_fault *fault)
{
    pthread_mutex_lock(&s->lock);
    check(s->locked.fault_count < FAULTS_MOST, "more faults than there is room for");
    s->locked.faults[s->locked.fault_count++] = (struct counted_fault){ .fault = *fault };
    pthread_mutex_unlock(&s->lock);
}

void fake_server_clear_faults(struct fake_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->locked.fault_count = 0;
    pthread_mutex_unlock(&s->lock);
}

void fake_server_watch(struct fake_server *s, fake_choose_fn *choose, fake_served_fn *served)
{
    pthread_mutex_lock(&s->lock);
    s->locked.choose = choose;
    s->locked.served = served;
    pthread_mutex_unlock(&s->lock);
}

void fake_server_continues(struct fake_server *s, bool continues)
{
    pthread_mutex_lock(&s->lock);
    s->locked.is_mute = !continues;
    pthread_mutex_unlock(&s->lock);
}

void fake_server_read_slowly(struct fake_server *s, unsigned bytes_per_ms)
{
    const int room = 65536;

    pthread_mutex_lock(&s->lock);
    s->locked.bytes_per_ms = bytes_per_ms;
    pthread_mutex_unlock(&s->lock);
    setsockopt(s->listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
}

unsigned fake_server_count(struct fake_server *s, const char *method, const char *match)
{
    unsigned count = 0;

    pthread_mutex_lock(&s->lock);
    check(s->locked.requests <= LOG_MOST, "more requests than the log holds");
    for (size_t i = 0; i < s->locked.requests; i++)
        count += matches(s->locked.log[i], method, match);
    pthread_mutex_unlock(&s->lock);
    return count;
}

static unsigned locked_value(struct fake_server *s, const unsigned *value)
{
    unsigned copy;

    pthread_mutex_lock(&s->lock);
    copy = *value;
    pthread_mutex_unlock(&s->lock);
    return copy;
}

unsigned fake_server_requests(struct fake_server *s)
{
    return locked_value(s, &s->locked.requests);
}

unsigned fake_server_faults(struct fake_server *s)
{
    return locked_value(s, &s->locked.failed);
}

unsigned fake_server_peak(struct fake_server *s)
{
    return locked_value(s, &s->locked.peak);
}

void fake_server_lock(struct fake_server *server)
{
    pthread_mutex_lock(&server->lock);
}

void fake_server_unlock(struct fake_server *server)
{
    pthread_mutex_unlock(&server->lock);
}
