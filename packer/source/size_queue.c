/* SPDX-License-Identifier: MIT
 *
 * A ring of questions; the oldest is answered first. */
#include "packer/source/size_queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

/* A question takes some 20 ms: this makes ten thousand a second. */
#define WINDOW 192

struct question {
    struct store_stat stat;
    struct questions *owner;
    char *url;
    void *about;
    bool answered;              /* guarded by the owner's lock */
};

struct questions {
    question_fn *take;
    void *context;
    struct question ring[WINDOW];
    size_t head, count;
    pthread_mutex_t lock;
    pthread_cond_t answer;
};

int questions_open(struct questions **out, question_fn *take, void *context,
                   struct sheaf_error *err)
{
    struct questions *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->take = take;
    s->context = context;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->answer, NULL);
    *out = s;
    return SHEAF_OK;
}

static void answered(struct store_stat *stat)
{
    struct question *q = (struct question *)stat;
    struct questions *s = q->owner;

    pthread_mutex_lock(&s->lock);
    q->answered = true;
    pthread_cond_signal(&s->answer);
    pthread_mutex_unlock(&s->lock);
}

/* Waits for the oldest answer. */
static struct question *next(struct questions *s)
{
    struct question *q = &s->ring[s->head];

    pthread_mutex_lock(&s->lock);
    while (!q->answered)
        pthread_cond_wait(&s->answer, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->head = (s->head + 1) % WINDOW;
    s->count--;
    return q;
}

static int consume(struct questions *s, struct sheaf_error *err)
{
    struct question *q = next(s);
    int code = s->take(s->context, q->about, &q->stat, err);

    free(q->url);
    return code;
}

int questions_ask(struct questions *s, char *url, void *about, struct sheaf_error *err)
{
    struct question *q;
    int code = url == NULL ? err_memory(err, 1) : SHEAF_OK;

    if (code == SHEAF_OK && s->count == WINDOW)
        code = consume(s, err);
    if (code != SHEAF_OK) {
        free(url);
        return code;
    }
    q = &s->ring[(s->head + s->count) % WINDOW];
    *q = (struct question){ .stat = { .url = url, .done = answered }, .owner = s, .url = url,
                            .about = about };
    s->count++;
    store_stat_start(&q->stat);
    return SHEAF_OK;
}

int questions_drain(struct questions *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && s->count != 0)
        code = consume(s, err);
    return code;
}

void questions_close(struct questions *s)
{
    if (s == NULL)
        return;
    while (s->count != 0) {
        struct question *q = next(s);

        (void)s->take(s->context, q->about, NULL, NULL);
        free(q->url);
    }
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->answer);
    free(s);
}
