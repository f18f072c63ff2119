/* SPDX-License-Identifier: MIT
 *
 * Requests the sizes of objects in a store, and takes the answers in the order of the requests. At
 * most WINDOW requests run at the same time. */
#include "packer/source/size_queue.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/inflight.h"

/* Number of requests that run at the same time. One request takes about 20 ms, so this number
 * allows about ten thousand requests per second. */
#define WINDOW 192

struct size_request {
    struct inflight_item item;  /* the first member */
    struct store_stat stat;
    char *url;
    void *about;
};

struct size_queue {
    size_queue_fn *take;
    void *context;
    struct inflight window;
    struct size_request requests[WINDOW];
};

int size_queue_open(struct size_queue **out, size_queue_fn *take, void *context,
                   struct sheaf_error *err)
{
    struct size_queue *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->take = take;
    s->context = context;
    inflight_open(&s->window, INFLIGHT_OLDEST, NULL, NULL);
    for (size_t i = 0; i < WINDOW; i++)
        inflight_add(&s->window, &s->requests[i].item);
    *out = s;
    return SHEAF_OK;
}

static void size_queue_answered(struct store_stat *stat)
{
    inflight_done((struct inflight_item *)(void *)((char *)stat -
                                                   offsetof(struct size_request, stat)));
}

/* Waits for the answer to the oldest request and passes it to the function `take`. Returns
 * SHEAF_END if no request is running. */
static int size_queue_consume(struct size_queue *s, struct sheaf_error *err)
{
    struct size_request *q = (struct size_request *)inflight_next(&s->window);
    int code;

    if (q == NULL)
        return SHEAF_END;
    code = s->take(s->context, q->about, &q->stat, err);
    free(q->url);
    inflight_add(&s->window, &q->item);
    return code;
}

int size_queue_ask(struct size_queue *s, char *url, void *about, struct sheaf_error *err)
{
    int code = url == NULL ? err_memory(err, 1) : SHEAF_OK;
    struct size_request *q;

    if (code == SHEAF_OK && s->window.count == WINDOW)
        code = size_queue_consume(s, err);
    if (code != SHEAF_OK) {
        free(url);
        return code;
    }
    q = (struct size_request *)inflight_idle(&s->window);
    q->stat = (struct store_stat){ .url = url, .done = size_queue_answered };
    q->url = url;
    q->about = about;
    inflight_begin(&s->window, &q->item);
    store_stat_start(&q->stat);
    return SHEAF_OK;
}

int size_queue_drain(struct size_queue *s, struct sheaf_error *err)
{
    int code;

    while ((code = size_queue_consume(s, err)) == SHEAF_OK)
        ;
    return code == SHEAF_END ? SHEAF_OK : code;
}

void size_queue_close(struct size_queue *s)
{
    struct size_request *q;

    if (s == NULL)
        return;
    while ((q = (struct size_request *)inflight_next(&s->window)) != NULL) {
        (void)s->take(s->context, q->about, NULL, NULL);
        free(q->url);
    }
    inflight_close(&s->window);
    free(s);
}
