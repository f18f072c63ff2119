/* SPDX-License-Identifier: MIT
 *
 * The thread that serves samples; see serving.h.  What it reads and keeps is in held.c. */
#include "serving.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "held.h"

#define CLIENTS_MOST 1024u
#define PASSES_MOST  16u            /* begun, and not asked for yet */
#define LOOK_MS      200

/* A worker's connection. */
struct client {
    int descriptor;
    bool is_welcome;
    struct serving_hello hello;
    struct serving_ask ask;         /* what it waits for; count 0: nothing */
    bool is_noted;                  /* in the pass */
    uint64_t pass, latest;          /* it has asked for this ordinal last, in this pass */
    char input[sizeof(struct serving_ask)];
    size_t input_size;
};

struct serving {
    pthread_t thread;
    int listener, wake;
    struct held held;
    struct client clients[CLIENTS_MOST];
    size_t client_count;
    struct serving_pass pass;       /* under way; number 0: none yet */
    uint64_t asked_first;           /* the least ordinal asked for in it; UINT64_MAX: none */
    volatile int ending;
    pthread_mutex_t lock;
    struct {
        struct serving_pass passes[PASSES_MOST];    /* a ring */
        size_t pass_count;
        struct sheaf_reader_stats stats;
        bool failed;
    } locked;
    struct serving *next;           /* of this process */
};

/* ---- Bytes ---------------------------------------------------------------------------------- */

static void drop_client(struct serving *s, struct client *c)
{
    close(c->descriptor);
    held_forget_owner(&s->held, c->descriptor);
    *c = s->clients[--s->client_count];
}

/* False: the client is gone, or the serving ends. */
static bool send_all(struct serving *s, const struct client *c, const void *data, size_t size)
{
    const char *at = data;

    while (size != 0) {
        const ssize_t sent = send(c->descriptor, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd p = { .fd = c->descriptor, .events = POLLOUT };

        if (sent >= 0) {
            at += sent;
            size -= (size_t)sent;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return false;
        if (s->ending != 0)
            return false;
        (void)poll(&p, 1, LOOK_MS);
    }
    return true;
}

static bool send_error(struct serving *s, struct client *c, int code, const char *message)
{
    const struct serving_answer answer = { .code = code, .word = SERVING_NO_WORD,
                                           .bytes = strlen(message) };

    c->ask.count = 0;
    return send_all(s, c, &answer, sizeof(answer)) && send_all(s, c, message, answer.bytes);
}

/* The arena goes with the first bytes. */
static bool welcome(struct serving *s, struct client *c)
{
    struct arena *arena = s->held.arena;
    struct serving_welcome w = { .bytes = arena == NULL ? 0 : arena->bytes };
    union { char bytes[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control = { 0 };
    struct iovec io = { &w, sizeof(w) };
    struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };

    if (arena != NULL) {
        struct cmsghdr *head;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &arena->descriptor, sizeof(int));
    }
    c->is_welcome = true;
    return sendmsg(c->descriptor, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(w);
}

/* ---- Clients -------------------------------------------------------------------------------- */

/* Processes of this user alone. */
static void accept_client(struct serving *s)
{
    const int descriptor = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    struct ucred who = { 0 };
    socklen_t size = sizeof(who);

    if (descriptor < 0)
        return;
    if (s->client_count == CLIENTS_MOST ||
        getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
        (who.uid != geteuid() && who.uid != 0)) {
        close(descriptor);
        return;
    }
    s->clients[s->client_count++] = (struct client){ .descriptor = descriptor };
}

/* What has come of a hello or an ask.  False: the client is gone. */
static bool receive(struct serving *s, struct client *c)
{
    const size_t wanted = c->is_welcome ? sizeof(c->ask) : sizeof(c->hello);
    const ssize_t got = recv(c->descriptor, c->input + c->input_size, wanted - c->input_size,
                             MSG_DONTWAIT);

    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    if (got == 0)
        return false;
    c->input_size += (size_t)got;
    if (c->input_size < wanted)
        return true;
    c->input_size = 0;
    if (!c->is_welcome) {
        memcpy(&c->hello, c->input, sizeof(c->hello));
        return welcome(s, c);
    }
    if (c->ask.count != 0)
        return false;               /* it asks before it has its answer */
    memcpy(&c->ask, c->input, sizeof(c->ask));
    c->is_noted = false;
    return c->ask.count != 0 && c->ask.count <= HELD_ASK_MOST &&
           c->ask.first < UINT64_MAX - c->ask.count;
}

/* ---- The pass ------------------------------------------------------------------------------- */

static bool find_pass(struct serving *s, uint64_t number, struct serving_pass *pass)
{
    bool found = false;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->locked.pass_count && i < PASSES_MOST && !found; i++) {
        *pass = s->locked.passes[i];
        found = pass->number == number;
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* Of all that wait, the first of the latest pass. */
static struct client *first_waiting(struct serving *s)
{
    struct client *first = NULL;

    for (size_t i = 0; i < s->client_count; i++) {
        struct client *c = &s->clients[i];

        if (c->ask.count != 0 &&
            (first == NULL || c->ask.pass < first->ask.pass ||
             (c->ask.pass == first->ask.pass && c->ask.first < first->ask.first)))
            first = c;
    }
    return first;
}

static void note_asks(struct serving *s)
{
    for (size_t i = 0; i < s->client_count; i++) {
        struct client *c = &s->clients[i];

        if (c->ask.count == 0 || c->is_noted || c->ask.pass != s->pass.number)
            continue;
        c->is_noted = true;
        c->pass = c->ask.pass;
        c->latest = c->ask.first;
        if (c->ask.first < s->asked_first)
            s->asked_first = c->ask.first;
        held_note(&s->held, c->ask.first, c->ask.first + c->ask.count);
    }
}

/* Whether every worker has gone past the ordinal. */
static bool all_are_past(const struct serving *s, const struct client *asker, uint64_t ordinal)
{
    const uint32_t workers = asker->hello.workers == 0 ? 1 : asker->hello.workers;
    uint32_t past = 0;

    for (size_t i = 0; i < s->client_count; i++)
        past += s->clients[i].is_welcome && s->clients[i].pass == s->pass.number &&
                s->clients[i].latest > ordinal;
    return past >= workers;
}

/* Turns to the pass that a client asks for.  False: it was answered with an error. */
static bool turn_to(struct serving *s, struct client *c)
{
    struct serving_pass pass;

    if (c->ask.pass == s->pass.number)
        return true;
    if (c->ask.pass < s->pass.number || !find_pass(s, c->ask.pass, &pass)) {
        if (!send_error(s, c, SHEAF_ERR_STATE, "this pass over the data has ended: another one has "
                        "begun with the same loader, which has one at a time"))
            drop_client(s, c);
        return false;
    }
    s->pass = pass;
    s->asked_first = UINT64_MAX;
    held_begin(&s->held, pass.epoch, pass.first);
    return true;
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* Before an answer is sent: who has it sees what it took. */
static void note_stats(struct serving *s)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(s->held.reader, &stats, sizeof(stats));
    pthread_mutex_lock(&s->lock);
    s->locked.stats = stats;
    s->locked.failed = s->held.failed.code != 0;
    pthread_mutex_unlock(&s->lock);
}

static void answer(struct serving *s, struct client *c)
{
    struct serving_answer a = { .word = SERVING_NO_WORD };
    char *message = NULL;
    struct sheaf_error error = { 0 };
    bool is_there;

    a.code = held_give(&s->held, c->ask.first, c->ask.count, c->descriptor, &a, &message, &error);
    note_stats(s);
    if (a.code != SHEAF_OK) {
        is_there = send_error(s, c, a.code, error.message);
    } else {
        c->ask.count = 0;
        is_there = send_all(s, c, &a, sizeof(a)) && send_all(s, c, message, a.bytes);
    }
    free(message);
    if (!is_there)
        drop_client(s, c);
}

static void answer_gap(struct serving *s, struct client *c, uint64_t from, uint64_t to)
{
    char text[600];

    snprintf(text, sizeof(text), "samples %llu to %llu of this rank's part of epoch %llu were left "
             "out: all workers are past them, and nobody has asked for them.  Something outside "
             "shares the samples out a second time, which would train on a part of the data: give "
             "sheaf.torch.DataLoader to the training loop, as it is, or turn the replacing of "
             "samplers off.  Or batches are skipped that a loaded state has skipped: do one of the "
             "two", (unsigned long long)from, (unsigned long long)to - 1,
             (unsigned long long)s->pass.epoch);
    if (!send_error(s, c, SHEAF_ERR_STATE, text))
        drop_client(s, c);
}

/* What lies before all that was asked for is sought over once nobody will ask for it, or where it
 * is more than may be held.  Not in a pass that goes on from a state: whoever skips there as well
 * would leave samples out. */
static void skip_beginning(struct serving *s, const struct client *c)
{
    const uint64_t first = s->asked_first;

    if (first > s->held.start && s->pass.first == 0 &&
        (all_are_past(s, c, s->held.start) ||
         !held_has_room(&s->held, first, c->ask.count, c->hello.workers)))
        held_skip(&s->held, first);
}

/* One step for the client whose turn it is.  False: it has to wait for others to ask. */
static bool step(struct serving *s)
{
    struct client *c = first_waiting(s);
    uint64_t gap;

    if (c == NULL)
        return false;
    if (!turn_to(s, c))
        return true;
    note_asks(s);
    skip_beginning(s, c);
    gap = s->pass.first > 0 && s->asked_first > s->pass.first ? s->pass.first : held_gap(&s->held);
    if (gap < c->ask.first) {
        if (all_are_past(s, c, gap)) {
            answer_gap(s, c, gap, c->ask.first);
            return true;
        }
        if (!held_has_room(&s->held, c->ask.first, c->ask.count, c->hello.workers))
            return false;
    }
    answer(s, c);
    return true;
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* Takes in what has come; waits for it unless there is `work`. */
static void take_in(struct serving *s, bool work)
{
    struct pollfd *polled = calloc(s->client_count + 2, sizeof(*polled));
    const size_t count = s->client_count;

    if (polled == NULL)
        return;
    polled[0] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
    polled[1] = (struct pollfd){ .fd = s->listener, .events = POLLIN };
    for (size_t i = 0; i < count; i++)
        polled[2 + i] = (struct pollfd){ .fd = s->clients[i].descriptor, .events = POLLIN };
    if (poll(polled, count + 2, work ? 0 : -1) > 0) {
        for (size_t i = count; i-- > 0;)    /* the last one takes the place of one dropped */
            if (polled[2 + i].revents != 0 && !receive(s, &s->clients[i]))
                drop_client(s, &s->clients[i]);
        if (polled[1].revents != 0)
            accept_client(s);
    }
    free(polled);
}

static void *serve(void *argument)
{
    struct serving *s = argument;
    bool work = false;

    while (s->ending == 0) {
        take_in(s, work);
        work = s->ending == 0 && step(s);
    }
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct serving *all;         /* of this process */

static int listen_at(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const size_t size = strlen(name);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0)
        return -1;
    memcpy(address.sun_path + 1, name, size);
    if (bind(descriptor, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size)) == 0 &&
        listen(descriptor, 1024) == 0)
        return descriptor;
    close(descriptor);
    return -1;
}

struct serving *serving_start(const char *name, struct sheaf_reader *reader, uint64_t epoch,
                              struct arena *arena)
{
    struct serving *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->wake = eventfd(0, EFD_CLOEXEC);
    s->listener = listen_at(name);
    pthread_mutex_init(&s->lock, NULL);
    if (s->wake >= 0 && s->listener >= 0 && held_open(&s->held, reader, epoch, arena)) {
        if (thread_start(&s->thread, serve, s)) {
            pthread_mutex_lock(&all_lock);
            s->next = all;
            all = s;
            pthread_mutex_unlock(&all_lock);
            return s;
        }
        held_free(&s->held);
    }
    close(s->wake);
    close(s->listener);
    free(s);
    return NULL;
}

static void wake(struct serving *s)
{
    const uint64_t one = 1;

    (void)!write(s->wake, &one, sizeof(one));
}

void serving_begin(struct serving *s, const struct serving_pass *pass)
{
    pthread_mutex_lock(&s->lock);
    s->locked.passes[s->locked.pass_count++ % PASSES_MOST] = *pass;
    pthread_mutex_unlock(&s->lock);
}

void serving_get_stats(struct serving *s, struct sheaf_reader_stats *stats, bool *failed)
{
    pthread_mutex_lock(&s->lock);
    *stats = s->locked.stats;
    *failed = s->locked.failed;
    pthread_mutex_unlock(&s->lock);
}

void serving_stop(struct serving *s)
{
    pthread_mutex_lock(&all_lock);
    for (struct serving **at = &all; *at != NULL; at = &(*at)->next) {
        if (*at == s) {
            *at = s->next;
            break;
        }
    }
    pthread_mutex_unlock(&all_lock);
    s->ending = 1;
    sheaf_reader_interrupt(s->held.reader);
    wake(s);
    pthread_join(s->thread, NULL);
    while (s->client_count != 0)
        drop_client(s, &s->clients[0]);
    close(s->listener);
    close(s->wake);
    held_free(&s->held);
    sheaf_reader_free(s->held.reader);
    arena_leave(s->held.arena);
    arena_close(s->held.arena);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void serving_forked(void)
{
    for (struct serving *s = all; s != NULL; s = s->next) {
        for (size_t i = 0; i < s->client_count && i < CLIENTS_MOST; i++)
            close(s->clients[i].descriptor);
        close(s->listener);
        close(s->wake);
    }
    all = NULL;
    pthread_mutex_init(&all_lock, NULL);
}
