/* SPDX-License-Identifier: MIT
 *
 * A ring of pieces; the first of them holds the place that is read, or follows it. */
#include "reader/read_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/timed_wait.h"

#define PIECES      4u
#define PIECE_MOST  ((uint64_t)4 << 20)
#define PIECE_LEAST ((uint64_t)64 << 10)
#define LOOK_NS     50000000        /* how often an interruption is looked for */

struct ahead;

struct piece {
    struct store_read read;
    struct ahead *owner;
    uint8_t *data;
    bool done;                      /* guarded by the owner's lock */
};

struct ahead {
    struct store_object base;
    struct store_object *inner;
    size_t piece_bytes;
    struct piece pieces[PIECES];
    unsigned head, count;           /* pieces that were begun, in order */
    uint64_t next;                  /* where the next one begins */
    pthread_mutex_t lock;
    pthread_cond_t done;
};

uint64_t ahead_memory(uint64_t budget_bytes)
{
    return PIECES * MAX(MIN(budget_bytes / 64, PIECE_MOST), PIECE_LEAST);
}

/* On a thread of the store. */
static void piece_done(struct store_read *read)
{
    struct piece *p = (struct piece *)read;

    pthread_mutex_lock(&p->owner->lock);
    p->done = true;
    pthread_cond_signal(&p->owner->done);
    pthread_mutex_unlock(&p->owner->lock);
}

static void begin_pieces(struct ahead *a)
{
    while (a->count < PIECES && a->next < a->inner->bytes) {
        struct piece *p = &a->pieces[(a->head + a->count) % PIECES];

        p->owner = a;
        p->done = false;
        p->read = (struct store_read){
            .object = a->inner, .offset = a->next, .data = p->data, .done = piece_done,
            .size = (size_t)MIN((uint64_t)a->piece_bytes, a->inner->bytes - a->next),
        };
        a->next += p->read.size;
        a->count++;
        store_read_start(&p->read);
    }
}

static void cancel(struct ahead *a)
{
    for (unsigned i = 0; i < a->count; i++)
        store_read_cancel(&a->pieces[(a->head + i) % PIECES].read);
}

/* Waits for the first piece. */
static void wait_for_first(struct ahead *a)
{
    struct piece *p = &a->pieces[a->head];

    pthread_mutex_lock(&a->lock);
    while (!p->done) {
        if (!wait_for(&a->done, &a->lock, LOOK_NS) && flag_is_raised(a->base.interrupt)) {
            pthread_mutex_unlock(&a->lock);     /* a piece may end in the call */
            cancel(a);
            pthread_mutex_lock(&a->lock);
        }
    }
    pthread_mutex_unlock(&a->lock);
}

static void drop_first(struct ahead *a)
{
    wait_for_first(a);
    a->head = (a->head + 1) % PIECES;
    a->count--;
}

static void drop_all(struct ahead *a)
{
    cancel(a);
    while (a->count != 0)
        drop_first(a);
}

/* Makes the first piece the one that has the byte at `offset`. */
static void go_to(struct ahead *a, uint64_t offset)
{
    if (a->count != 0 && (offset < a->pieces[a->head].read.offset || offset >= a->next))
        drop_all(a);
    while (a->count != 0 && offset - a->pieces[a->head].read.offset >=
                                a->pieces[a->head].read.size)
        drop_first(a);
    if (a->count == 0)
        a->next = offset;
    begin_pieces(a);
}

static int ahead_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                      struct sheaf_error *err)
{
    struct ahead *a = (struct ahead *)object;
    uint8_t *out = data;

    if (size > object->bytes || offset > object->bytes - size)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %llu bytes, cannot read %zu at offset "
                       "%llu", object->url, (unsigned long long)object->bytes, size,
                       (unsigned long long)offset);
    while (size != 0) {
        const struct piece *p;
        size_t skip, part;

        go_to(a, offset);
        wait_for_first(a);
        p = &a->pieces[a->head];
        if (p->read.code != SHEAF_OK) {
            if (err != NULL)
                *err = p->read.error;
            return p->read.code;
        }
        skip = (size_t)(offset - p->read.offset);
        part = MIN(size, p->read.size - skip);
        memcpy(out, p->data + skip, part);
        out += part;
        offset += part;
        size -= part;
    }
    return SHEAF_OK;
}

static void ahead_close(struct store_object *object)
{
    struct ahead *a = (struct ahead *)object;

    drop_all(a);
    for (unsigned i = 0; i < PIECES; i++)
        free(a->pieces[i].data);
    store_close(a->inner);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->done);
    free(a);
}

static const struct store_ops ahead_ops = {
    .scheme = "", .read = ahead_read, .close = ahead_close,
};

int ahead_wrap(struct store_object **object, uint64_t memory_bytes, struct sheaf_error *err)
{
    struct ahead *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return err_memory(err, sizeof(*a));
    a->inner = *object;
    a->piece_bytes = (size_t)(memory_bytes / PIECES);
    a->base = (struct store_object){ .ops = &ahead_ops, .url = a->inner->url,
                                     .bytes = a->inner->bytes };
    pthread_mutex_init(&a->lock, NULL);
    timed_cond_init(&a->done);
    for (unsigned i = 0; i < PIECES; i++) {
        a->pieces[i].data = malloc(a->piece_bytes);
        if (a->pieces[i].data != NULL)
            continue;
        a->inner = NULL;
        ahead_close(&a->base);
        return err_memory(err, (size_t)memory_bytes);
    }
    *object = &a->base;
    return SHEAF_OK;
}
