/* SPDX-License-Identifier: MIT
 *
 * The functions with which the program controls the serving thread; see serving.h. They start and
 * end the thread, tell it where passes (iterations over the loader) begin, ask for its state, and
 * make requests without a socket. */
#include "serving_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct serving *all;         /* of this process */

static void serving_life_wake(struct serving *s)
{
    const uint64_t one = 1;

    (void)!write(s->wake, &one, sizeof(one));
}

static int listen_at(const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const size_t size = strlen(name);
    const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

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

bool serving_listen(struct serving *s, const char *name)
{
    const int listener = listen_at(name);

    if (listener < 0)
        return false;
    pthread_mutex_lock(&s->lock);
    s->locked.listener = listener;
    pthread_mutex_unlock(&s->lock);
    serving_life_wake(s);
    return true;
}

struct serving *serving_start(struct sheaf_reader *reader, uint64_t epoch, uint32_t ranks,
                              uint64_t wait_seconds, struct shared_arena *arena)
{
    struct serving *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->ranks = ranks;
    s->wait_ns = wait_seconds * 1000000000u;
    s->locked.listener = -1;
    s->clients[0] = (struct client){ .descriptor = HELD_OWN, .is_welcome = true, .end = UINT64_MAX,
                                     .hello = { .workers = 1 } };
    s->client_count = 1;
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&s->lock, NULL);
    tick_condition_init(&s->done);
    if (s->wake >= 0 && held_open(&s->held, reader, epoch, arena)) {
        if (thread_start(&s->thread, serving_run, s)) {
            pthread_mutex_lock(&all_lock);
            s->next = all;
            all = s;
            pthread_mutex_unlock(&all_lock);
            return s;
        }
        held_free(&s->held);
    }
    close(s->wake);
    free(s);
    return NULL;
}

void serving_begin(struct serving *s, const struct serving_pass *pass)
{
    pthread_mutex_lock(&s->lock);
    s->locked.passes[s->locked.pass_count++ % PASSES_MOST] = *pass;
    pthread_mutex_unlock(&s->lock);
    serving_life_wake(s);                        /* another rank may wait for it */
}

void serving_get_stats(struct serving *s, struct sheaf_reader_stats *stats, bool *failed)
{
    pthread_mutex_lock(&s->lock);
    *stats = s->locked.stats;
    *failed = s->locked.failed;
    pthread_mutex_unlock(&s->lock);
}

bool serving_is_over(struct serving *s, uint64_t pass, uint32_t *missing)
{
    bool is;

    pthread_mutex_lock(&s->lock);
    is = s->locked.over >= pass;
    *missing = s->locked.missing;
    pthread_mutex_unlock(&s->lock);
    return is;
}

uint64_t serving_skipped(struct serving *s, uint64_t pass, uint64_t end)
{
    uint64_t count = 0;

    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; s->locked.holes_pass == pass && i < s->locked.holes.count; i++) {
        const struct range *hole = &s->locked.holes.items[i];

        if (hole->first < end)
            count += (hole->end < end ? hole->end : end) - hole->first;
    }
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* ---- Requests of this process --------------------------------------------------------------- */

static bool serving_life_wait_for(struct serving *s, enum post state)
{
    const struct timespec at = next_tick();

    while (s->locked.post != state)
        if (pthread_cond_timedwait(&s->done, &s->lock, &at) != 0)
            return s->locked.post == state;
    return true;
}

bool serving_post(struct serving *s, const struct serving_ask *ask)
{
    bool is_posted;

    pthread_mutex_lock(&s->lock);
    is_posted = serving_life_wait_for(s, POST_NONE);
    if (is_posted) {
        s->locked.ask = *ask;
        s->locked.post = POST_ASKED;
    }
    pthread_mutex_unlock(&s->lock);
    if (is_posted)
        serving_life_wake(s);
    return is_posted;
}

bool serving_collect(struct serving *s, struct serving_reply *reply)
{
    bool is_done;

    pthread_mutex_lock(&s->lock);
    is_done = serving_life_wait_for(s, POST_DONE);
    if (is_done) {
        *reply = s->locked.reply;
        s->locked.reply = (struct serving_reply){ .message = NULL };
        s->locked.post = POST_NONE;
        pthread_cond_broadcast(&s->done);
    }
    pthread_mutex_unlock(&s->lock);
    return is_done;
}

void serving_leave(struct serving *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->locked.post == POST_DONE)
        held_reply_free(&s->locked.reply);
    s->locked.is_left = s->locked.post == POST_TAKEN;
    if (!s->locked.is_left)
        s->locked.post = POST_NONE;
    pthread_mutex_unlock(&s->lock);
}

struct shared_arena *serving_arena(struct serving *s)
{
    return s->held.arena;
}

/* ---- The end -------------------------------------------------------------------------------- */

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
    pthread_mutex_lock(&s->lock);
    s->locked.ending = true;
    pthread_mutex_unlock(&s->lock);
    sheaf_reader_interrupt(s->held.reader);
    serving_life_wake(s);
    pthread_join(s->thread, NULL);
    while (s->client_count > 1)
        serving_drop_client(s, &s->clients[1]);
    if (s->locked.listener >= 0)
        close(s->locked.listener);
    close(s->wake);
    held_free(&s->held);
    sheaf_reader_free(s->held.reader);
    arena_leave(s->held.arena);
    arena_close(s->held.arena);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    free(s->locked.holes.items);
    held_reply_free(&s->locked.reply);
    free(s);
}

void serving_forked(void)
{
    for (struct serving *s = all; s != NULL; s = s->next) {
        for (size_t i = 1; i < s->client_count && i < CLIENTS_MOST; i++)
            close(s->clients[i].descriptor);
        if (s->locked.listener >= 0)
            close(s->locked.listener);
        close(s->wake);
    }
    all = NULL;
    pthread_mutex_init(&all_lock, NULL);
}
