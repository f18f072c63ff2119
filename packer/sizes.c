/* SPDX-License-Identifier: MIT
 *
 * A ring of questions; the oldest is answered first. */
#include "packer/sizes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/store.h"

/* A question takes some 20 ms: this makes ten thousand a second. */
#define WINDOW 192

struct question {
    struct store_stat stat;
    struct sizes *owner;
    char *url, *path;
    bool is_below;
    uint32_t label;
    bool answered;              /* guarded by the owner's lock */
};

struct sizes {
    struct scan *scan;
    struct question ring[WINDOW];
    size_t head, count;
    pthread_mutex_t lock;
    pthread_cond_t answer;
};

int sizes_open(struct sizes **out, struct scan *scan, struct sheaf_error *err)
{
    struct sizes *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->scan = scan;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->answer, NULL);
    *out = s;
    return SHEAF_OK;
}

static void answered(struct store_stat *stat)
{
    struct question *q = (struct question *)stat;
    struct sizes *s = q->owner;

    pthread_mutex_lock(&s->lock);
    q->answered = true;
    pthread_cond_signal(&s->answer);
    pthread_mutex_unlock(&s->lock);
}

/* Waits for the oldest answer. */
static struct question *take(struct sizes *s)
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

static void clear(struct question *q)
{
    free(q->url);
    free(q->path);
    q->url = q->path = NULL;
}

static bool is_of_object(int code)
{
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ACCESS ||
           code == SHEAF_ERR_ARGUMENT || code == SHEAF_ERR_UNSUPPORTED || code == SHEAF_ERR_LIMIT;
}

static int consume(struct sizes *s, struct sheaf_error *err)
{
    struct question *q = take(s);
    const struct catalog_stat found = { .bytes = q->stat.bytes, .stamp = q->stat.stamp,
                                        .url = q->is_below ? NULL : q->url };
    int code = q->stat.code;

    if (code == SHEAF_OK)
        code = scan_add_object(s->scan, q->path, &found, q->label, err);
    else if (is_of_object(code))
        code = scan_add_problem(s->scan, q->path, &q->stat.error, err);
    else
        *err = q->stat.error;
    clear(q);
    return code;
}

int sizes_add(struct sizes *s, const char *path, const char *url, bool is_below, uint32_t label,
              struct sheaf_error *err)
{
    struct question *q;
    int code = s->count == WINDOW ? consume(s, err) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    q = &s->ring[(s->head + s->count) % WINDOW];
    *q = (struct question){ .owner = s, .url = strdup(url), .path = strdup(path),
                            .is_below = is_below, .label = label };
    if (q->url == NULL || q->path == NULL) {
        clear(q);
        return err_memory(err, strlen(url));
    }
    s->count++;
    q->stat = (struct store_stat){ .url = q->url, .done = answered };
    store_stat_start(&q->stat);
    return SHEAF_OK;
}

int sizes_drain(struct sizes *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && s->count != 0)
        code = consume(s, err);
    return code;
}

void sizes_close(struct sizes *s)
{
    if (s == NULL)
        return;
    while (s->count != 0)
        clear(take(s));
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->answer);
    free(s);
}
