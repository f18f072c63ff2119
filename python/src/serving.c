/* SPDX-License-Identifier: MIT
 *
 * The thread that serves samples to the workers of a loader; see serving.h. held.c reads and keeps
 * the samples. serving_ranks.c keeps the state of each rank that gets its samples from this thread.
 * serving_life.c has the functions that the program calls. */
#include "serving_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS      200

/* ---- Bytes ---------------------------------------------------------------------------------- */

static bool serving_is_own(const struct serving *s, const struct client *c)
{
    return c == &s->clients[0];
}

static bool is_ending(struct serving *s)
{
    bool is;

    pthread_mutex_lock(&s->lock);
    is = s->locked.ending;
    pthread_mutex_unlock(&s->lock);
    return is;
}

/* Removes a client from the list of clients, and closes the descriptor of its socket. A closed
 * descriptor must not stay in the list, because a forked child closes all descriptors in the list.
 * The number of the closed descriptor may already belong to another file. */
void serving_drop_client(struct serving *s, struct client *c)
{
    const int descriptor = c->descriptor;

    if (c->is_welcome && c->pass == s->pass.number)
        s->members[c->hello.rank].left++;
    *c = s->clients[--s->client_count];
    held_forget_owner(&s->held, descriptor);
    close(descriptor);
}

/* Sends `size` bytes to the client. Returns false if the client is gone or the serving thread is
 * about to end. */
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
        if (is_ending(s))
            return false;
        (void)poll(&p, 1, LOOK_MS);
    }
    return true;
}

/* Passes the reply to this process itself, which made the request without a socket. Takes over the
 * content of the reply. */
static void hand_over(struct serving *s, struct serving_reply *reply)
{
    pthread_mutex_lock(&s->lock);
    if (s->locked.is_left) {        /* nobody waits for it any more */
        held_reply_free(reply);
        s->locked.post = POST_NONE;
        s->locked.is_left = false;
    } else {
        s->locked.reply = *reply;
        s->locked.post = POST_DONE;
    }
    pthread_cond_broadcast(&s->done);
    pthread_mutex_unlock(&s->lock);
}

/* Sends the reply to a client, and frees its content. Removes the client if the connection to the
 * client has ended. */
static void deliver(struct serving *s, struct client *c, struct serving_reply *reply)
{
    c->ask.count = 0;
    if (serving_is_own(s, c)) {
        hand_over(s, reply);
        return;
    }
    if (!send_all(s, c, &reply->answer, sizeof(reply->answer)) ||
        !send_all(s, c, reply->message, reply->answer.bytes))
        serving_drop_client(s, c);
    held_reply_free(reply);
}

static void deliver_error(struct serving *s, struct client *c, int code, const char *text)
{
    const char *told = text == NULL ? "" : text;
    struct serving_reply reply = {
        .answer = { .code = code, .word = SERVING_NO_WORD, .real = s->held.real },
        .message = strdup(told),
    };

    reply.answer.bytes = reply.message == NULL ? 0 : strlen(told);
    deliver(s, c, &reply);
}

/* Replies to the first message of a client. Sends the file descriptor of the arena (shared memory)
 * together with the first bytes. */
static bool welcome(struct serving *s, struct client *c)
{
    struct shared_arena *arena = s->held.arena;
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
static void accept_client(struct serving *s, int listener)
{
    const int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
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
    s->clients[s->client_count++] = (struct client){ .descriptor = descriptor, .end = UINT64_MAX };
}

/* Receives further bytes of a client's first message, or of a client's request. Returns false if
 * the client is gone. */
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
        if (c->hello.rank >= s->ranks || c->hello.workers == 0)
            return false;
        s->members[c->hello.rank].workers = c->hello.workers;
        return welcome(s, c);
    }
    if (c->ask.count != 0)
        return false;               /* it makes a request before it has its answer */
    memcpy(&c->ask, c->input, sizeof(c->ask));
    c->is_noted = false;
    return serving_ask_is_valid(&c->ask);
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

static bool may_turn(struct serving *s, uint64_t number)
{
    struct serving_pass pass;

    return (s->pass.number == 0 || serving_pass_is_over(s)) && find_pass(s, number, &pass);
}

static void note_ranks(struct serving *s)
{
    const bool over = s->pass.number != 0 && serving_pass_is_over(s);
    const uint32_t missing = serving_missing(s);

    pthread_mutex_lock(&s->lock);
    if (over)
        s->locked.over = s->pass.number;
    s->locked.missing = missing;
    pthread_mutex_unlock(&s->lock);
}

/* Returns the client whose request is answered next, among all clients whose requests can be
 * answered now. A request for an earlier pass (iteration over the loader) comes before a request
 * for a later pass. */
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
    if (first != NULL && serving_is_shared(s) && first->ask.pass > s->pass.number &&
        !may_turn(s, first->ask.pass))
        return NULL;
    return first;
}

static void note_asks(struct serving *s)
{
    for (size_t i = 0; i < s->client_count; i++) {
        struct client *c = &s->clients[i];

        if (c->ask.count == 0 || c->is_noted || c->ask.pass != s->pass.number)
            continue;
        c->is_noted = true;
        if (c->pass != c->ask.pass) {
            c->end = UINT64_MAX;
            s->members[c->hello.rank].joined++;
        }
        c->pass = c->ask.pass;
        c->latest = c->ask.first;
        if (c->ask.first < s->asked_first)
            s->asked_first = c->ask.first;
        held_note(&s->held, c->ask.first, c->ask.first + c->ask.count);
    }
}

/* Returns whether another rank has begun the requested pass (iteration over the loader) at a
 * position that differs from the position in the client's request. */
static bool is_elsewhere(struct serving *s, const struct client *c)
{
    const uint64_t count = c->ask.pass >> SERVING_PLACE_BITS;
    bool is = false;

    if (c->ask.count == 0 || c->ask.pass == s->pass.number)
        return false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->locked.pass_count && i < PASSES_MOST && !is; i++)
        is = s->locked.passes[i].number >> SERVING_PLACE_BITS == count &&
             s->locked.passes[i].number != c->ask.pass;
    pthread_mutex_unlock(&s->lock);
    return is;
}

/* False: there was none. */
static bool refuse_one_elsewhere(struct serving *s)
{
    for (size_t i = 0; i < s->client_count; i++) {
        if (!is_elsewhere(s, &s->clients[i]))
            continue;
        deliver_error(s, &s->clients[i], SHEAF_ERR_STATE, "ranks that share a pipe must be at the "
                      "same place: this one has begun another epoch than the first rank of its "
                      "host, or with another state, batch size or order");
        return true;
    }
    return false;
}

/* Begins the pass (iteration over the loader) that a client requests, unless it has begun already.
 * If the pass has ended, sends the client an error and returns false. */
static bool turn_to(struct serving *s, struct client *c)
{
    struct serving_pass pass;

    if (c->ask.pass == s->pass.number)
        return true;
    if (c->ask.pass < s->pass.number || !find_pass(s, c->ask.pass, &pass)) {
        deliver_error(s, c, SHEAF_ERR_STATE, "this pass over the data has ended: another one has "
                      "begun with the same loader, which has one at a time");
        return false;
    }
    s->pass = pass;
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        s->members[rank].joined = s->members[rank].left = 0;
    s->asked_first = UINT64_MAX;
    held_begin(&s->held, pass.epoch, pass.first);
    return true;
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* Tells the program which samples the reader has skipped in this pass (iteration over the loader):
 * copies their ordinals (sample numbers) to s->locked.holes. If memory is exhausted, these samples
 * are not reported. */
static void note_holes_locked(struct serving *s)
{
    const struct ranges *holes = &s->held.holes;
    struct ranges *noted = &s->locked.holes;

    s->locked.holes_pass = s->pass.number;
    if (holes->count > noted->capacity) {
        struct range *items = realloc(noted->items, holes->capacity * sizeof(items[0]));

        if (items == NULL)
            return;
        noted->items = items;
        noted->capacity = holes->capacity;
    }
    noted->count = holes->count;
    if (holes->count != 0)
        memcpy(noted->items, holes->items, holes->count * sizeof(holes->items[0]));
}

/* Updates the statistics that the program can ask for. Called before an answer is sent, so that the
 * statistics include the reads for the samples in the answer. */
static void note_stats(struct serving *s)
{
    struct sheaf_reader_stats stats;

    sheaf_reader_get_stats(s->held.reader, &stats, sizeof(stats));
    /* adds the samples that held.c has repeated as padding, because a reader that repeats samples
     * itself counts them as well */
    stats.samples += s->held.repeats;
    stats.repeated += s->held.repeats;
    stats.payload_bytes += s->held.repeated_bytes;
    pthread_mutex_lock(&s->lock);
    s->locked.stats = stats;
    s->locked.failed = s->held.failed.code != 0;
    note_holes_locked(s);
    pthread_mutex_unlock(&s->lock);
}

static void serving_do_answer(struct serving *s, struct client *c)
{
    struct serving_reply reply = { .answer = { .word = SERVING_NO_WORD } };
    struct sheaf_error error = { 0 };

    reply.answer.code = held_give(&s->held, c->ask.first, c->ask.count, c->descriptor, &reply,
                                  &error);
    note_stats(s);
    if (s->held.real < c->ask.first + c->ask.count)
        c->end = s->held.real;
    if (reply.answer.code != SHEAF_OK)
        deliver_error(s, c, reply.answer.code, error.message);
    else
        deliver(s, c, &reply);
}

/* Answers the client with an error, because no worker has requested the samples `from` to `to` - 1.
 * There are two usual causes:
 *
 * - Other software, such as accelerate, distributes the samples among the ranks a second time.
 * - A pass continues from a saved state. The loader has already skipped the earlier batches, and
 *   the program skips further ones. */
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
    deliver_error(s, c, SHEAF_ERR_STATE, text);
}

/* Called at the beginning of a pass (iteration over the loader). Moves the reader to the first
 * requested sample in two cases: no worker will request earlier samples, or memory has no room for
 * the earlier samples.
 *
 * Does nothing if the pass continues from a saved state. Such a pass must begin exactly at its
 * saved position, because otherwise samples would be lost. */
static void skip_beginning(struct serving *s, const struct client *c)
{
    const uint64_t first = s->asked_first;

    if (first > s->held.start && s->pass.first == 0 &&
        (serving_all_are_past(s, c, s->held.start) ||
         (!serving_is_shared(s) &&
          !held_has_room(&s->held, first, c->ask.count, c->hello.workers))))
        held_skip(&s->held, first);
}

/* Skips the samples of ranks that have left the pass (iteration over the loader) early. `from` is
 * the ordinal (number) of the first of these samples. */
static void serving_pass_over(struct serving *s, const struct client *c, uint64_t from)
{
    const uint64_t to = held_gap_end(&s->held, from);
    uint64_t end = from + 1;

    while (end < to && serving_all_are_past(s, c, end))
        end++;
    held_drop(&s->held, from, end);
    if (from < s->asked_first)
        s->asked_first = from;
}

/* Handles a gap: samples from the ordinal (sample number) `from` on that no worker has requested.
 * Returns false if a worker may still request them. If a rank has left the pass early, skips the
 * samples. If no rank has left, answers the client with an error, because the program would lose
 * the samples. */
static bool close_gap(struct serving *s, struct client *c, uint64_t from)
{
    if (!serving_all_are_past(s, c, from))
        return false;
    if (serving_is_shared(s) && serving_some_have_left(s))
        serving_pass_over(s, c, from);
    else
        answer_gap(s, c, from, c->ask.first);
    return true;
}

/* Does a part of the work for the client whose request is answered next. Returns false if this
 * client must wait for requests of other clients. */
static bool step(struct serving *s)
{
    struct client *c;
    uint64_t gap;

    if (serving_is_shared(s) && refuse_one_elsewhere(s))
        return true;
    c = first_waiting(s);
    if (c == NULL)
        return false;
    if (!turn_to(s, c))
        return true;
    note_asks(s);
    skip_beginning(s, c);
    gap = s->pass.first > 0 && s->asked_first > s->pass.first ? s->pass.first : held_gap(&s->held);
    if (gap < c->ask.first) {
        if (close_gap(s, c, gap))
            return true;
        if (!held_has_room(&s->held, c->ask.first, c->ask.count, c->hello.workers * s->ranks))
            return false;
    }
    serving_do_answer(s, c);
    return true;
}

/* ---- Ranks that do not come ----------------------------------------------------------------- */

static uint64_t serving_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct client *one_waiting(struct serving *s)
{
    for (size_t i = 0; i < s->client_count; i++)
        if (s->clients[i].ask.count != 0)
            return &s->clients[i];
    return NULL;
}

/* Sends an error to a client that has waited too long for the requests of other ranks, because
 * these ranks may never connect. */
static void limit_wait(struct serving *s)
{
    struct client *c = one_waiting(s);
    const uint32_t missing = serving_missing(s);
    char text[200];

    if (c == NULL || missing == 0) {
        s->waits_since = 0;
    } else if (s->waits_since == 0) {
        s->waits_since = serving_now_ns();
    } else if (serving_now_ns() - s->waits_since > s->wait_ns) {
        snprintf(text, sizeof(text), "%u of the %u ranks of this host, which share a pipe, did not "
                 "ask for samples within %llu s", missing, s->ranks,
                 (unsigned long long)(s->wait_ns / 1000000000u));
        deliver_error(s, c, SHEAF_ERR_STATE, text);
        s->waits_since = 0;
    }
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* Takes the request that this process itself has made, if there is one. Returns false if the
 * serving thread is about to end. */
static bool take_post(struct serving *s, int *listener)
{
    struct client *own = &s->clients[0];
    bool goes_on;

    pthread_mutex_lock(&s->lock);
    if (s->locked.post == POST_ASKED) {
        s->locked.post = POST_TAKEN;
        own->ask = s->locked.ask;
        own->is_noted = false;
    }
    *listener = s->locked.listener;
    goes_on = !s->locked.ending;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

/* Receives the messages of all clients. If `work` is not set, the thread has nothing else to do,
 * so the function waits until a message arrives. Returns false if the serving thread is about to
 * end. */
static bool serving_take_in(struct serving *s, bool work)
{
    struct pollfd *polled = calloc(s->client_count + 2, sizeof(*polled));
    const size_t count = s->client_count;
    int listener;
    bool goes_on = take_post(s, &listener);

    if (polled == NULL || !goes_on)
        goto out;
    polled[0] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
    polled[1] = (struct pollfd){ .fd = listener, .events = POLLIN };
    for (size_t i = 0; i < count; i++)
        polled[2 + i] = (struct pollfd){ .fd = s->clients[i].descriptor, .events = POLLIN };
    work = work || s->clients[0].ask.count != 0;
    if (poll(polled, count + 2, work ? 0 : s->waits_since != 0 ? LOOK_MS : -1) <= 0)
        goto out;
    if (polled[0].revents != 0) {
        uint64_t ignored;

        (void)!read(s->wake, &ignored, sizeof(ignored));
    }
    /* The loop runs backwards, because removing a client moves the last client of the list to the
     * index of the removed client. */
    for (size_t i = count; i-- > 1;)
        if (polled[2 + i].revents != 0 && !receive(s, &s->clients[i]))
            serving_drop_client(s, &s->clients[i]);
    if (polled[1].revents != 0)
        accept_client(s, listener);
    goes_on = take_post(s, &listener);
out:
    free(polled);
    return goes_on;
}

void *serving_run(void *argument)
{
    struct serving *s = argument;
    bool work = false;

    while (serving_take_in(s, work)) {
        work = step(s);
        if (!serving_is_shared(s))
            continue;
        note_ranks(s);
        if (work)
            s->waits_since = 0;
        else
            limit_wait(s);
    }
    return NULL;
}
