/* SPDX-License-Identifier: MIT
 *
 * The sizes of objects that a manifest only names: a ring of questions, of which the oldest is
 * answered first. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/objects.h"
#include "store/store.h"

/* A question takes some 20 ms: this makes ten thousand a second. */
#define WINDOW 192

struct question {
    struct store_stat stat;
    struct asking *owner;
    struct object *object;
    char *url;
    bool answered;              /* guarded by the owner's lock */
};

struct asking {
    struct objects *objects;
    struct question ring[WINDOW];
    size_t head, count;
    uint64_t done;
    pthread_mutex_t lock;
    pthread_cond_t answer;
};

static void answered(struct store_stat *stat)
{
    struct question *q = (struct question *)stat;

    pthread_mutex_lock(&q->owner->lock);
    q->answered = true;
    pthread_cond_signal(&q->owner->answer);
    pthread_mutex_unlock(&q->owner->lock);
}

/* Waits for the oldest answer. */
static int take(struct asking *a, struct sheaf_error *err)
{
    struct question *q = &a->ring[a->head];
    int code;

    pthread_mutex_lock(&a->lock);
    while (!q->answered)
        pthread_cond_wait(&a->answer, &a->lock);
    pthread_mutex_unlock(&a->lock);
    a->head = (a->head + 1) % WINDOW;
    a->count--;
    a->done++;
    code = q->stat.code;
    if (code == SHEAF_OK)
        code = object_answer(a->objects, q->object, &q->stat, err);
    else if (err != NULL)
        *err = q->stat.error;
    free(q->url);
    return code;
}

static int ask(struct asking *a, struct object *object, struct sheaf_error *err)
{
    struct question *q;
    int code = a->count == WINDOW ? take(a, err) : SHEAF_OK;

    if (code != SHEAF_OK)
        return code;
    q = &a->ring[(a->head + a->count) % WINDOW];
    *q = (struct question){ .owner = a, .object = object,
                            .url = object_url(a->objects, object) };
    if (q->url == NULL)
        return err_memory(err, strlen(object->name));
    q->stat = (struct store_stat){ .url = q->url, .done = answered };
    a->count++;
    store_stat_start(&q->stat);
    return SHEAF_OK;
}

static int ask_unit(struct asking *a, size_t unit, struct sheaf_error *err)
{
    const size_t end = objects_unit(a->objects, unit + 1);
    int code = SHEAF_OK;

    for (size_t i = objects_unit(a->objects, unit); i < end && code == SHEAF_OK; i++)
        if (a->objects->items[i].bytes == OBJECT_UNKNOWN)
            code = ask(a, &a->objects->items[i], err);
    return code;
}

int objects_ask(struct objects *objects, const uint32_t *units, size_t count,
                struct watch *watch, struct sheaf_error *err)
{
    struct asking *a = calloc(1, sizeof(*a));
    int code = SHEAF_OK;

    if (a == NULL)
        return err_memory(err, sizeof(*a));
    a->objects = objects;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->answer, NULL);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const struct sheaf_progress progress = { .stage = "look", .done_count = a->done,
                                                 .total_count = count };

        watch_show(watch, &progress);
        code = watch_check(watch, err);
        if (code == SHEAF_OK)
            code = ask_unit(a, units[i], err);
    }
    while (a->count != 0) {
        const int last = take(a, code == SHEAF_OK ? err : NULL);

        if (code == SHEAF_OK)
            code = last;
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->answer);
    free(a);
    return code;
}
