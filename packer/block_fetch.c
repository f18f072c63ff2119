/* SPDX-License-Identifier: MIT
 *
 * The objects of a block, fetched at once: each is one GET, whose time is mostly that of waiting,
 * so WINDOW of them are under way for every block that is worked on.
 *
 *     scratch   | file 0 | file 1 | ...           each in its place, as large as was planned
 *     fetched     code     code     ... */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/timed_wait.h"
#include "packer/block.h"
#include "store/store.h"

#define WINDOW 64
#define LOOK_NS 50000000        /* how often an interruption is looked for */

struct fetching;

struct fetch {
    struct store_read read;
    struct fetching *owner;
    size_t number;              /* of the file, among the block's */
    bool busy;                  /* from its start until finish(); the caller's */
    bool done;                  /* guarded by the owner's lock */
};

struct fetching {
    struct block *block;
    struct fetch window[WINDOW];
    size_t busy;                /* so many are */
    pthread_mutex_t lock;
    pthread_cond_t done;
};

/* On a thread of the store. */
static void fetch_done(struct store_read *read)
{
    struct fetch *f = (struct fetch *)read;

    pthread_mutex_lock(&f->owner->lock);
    f->done = true;
    pthread_cond_signal(&f->owner->done);
    pthread_mutex_unlock(&f->owner->lock);
}

/* What has happened to the object, and not to the machine or the network. */
static bool is_of_object(int code)
{
    return code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_NOT_FOUND ||
           code == SHEAF_ERR_TRUNCATED;
}

static int note(struct block *b, size_t number, const struct sheaf_error *found,
                struct sheaf_error *err)
{
    struct block_fetched *fetched = (struct block_fetched *)(void *)b->fetched.data + number;

    fetched->code = found->code;
    fetched->reason = b->texts.size;
    return buf_append(&b->texts, found->message, strlen(found->message) + 1, err);
}

/* Takes what has come; an object's own error is noted. */
static int finish(struct fetching *x, struct fetch *f, struct sheaf_error *err)
{
    int code = f->read.code;

    store_close(f->read.object);
    f->busy = false;
    x->busy--;
    if (code != SHEAF_OK && is_of_object(code))
        return note(x->block, f->number, &f->read.error, err);
    if (code != SHEAF_OK)
        *err = f->read.error;
    return code;
}

static bool is_interrupted(const struct fetching *x)
{
    return flag_is_raised(x->block->setup->interrupt);
}

/* Makes what is under way end soon. */
static void cancel(struct fetching *x)
{
    for (size_t i = 0; i < WINDOW; i++)
        if (x->window[i].busy)
            store_read_cancel(&x->window[i].read);
}

/* Waits until one is done; NULL if none is busy. */
static struct fetch *wait_for_one(struct fetching *x)
{
    struct fetch *found = NULL;

    if (x->busy == 0)
        return NULL;
    pthread_mutex_lock(&x->lock);
    while (found == NULL) {
        for (size_t i = 0; i < WINDOW && found == NULL; i++)
            if (x->window[i].busy && x->window[i].done)
                found = &x->window[i];
        if (found != NULL)
            break;
        (void)wait_for(&x->done, &x->lock, LOOK_NS);
        if (is_interrupted(x))
            cancel(x);
    }
    pthread_mutex_unlock(&x->lock);
    return found;
}

static int open_object(const struct block *b, const struct catalog_file *f,
                       struct store_object **object, struct sheaf_error *err)
{
    char *url;
    int code;

    if (f->place == CATALOG_OBJECT)
        return store_open_known(f->object->url, f->bytes, f->object->stamp, object, err);
    if (asprintf(&url, "%s%s", b->setup->root_url, f->path) < 0)
        return err_memory(err, strlen(f->path));
    code = store_open_known(url, f->bytes, f->stamp, object, err);
    free(url);
    return code;
}

/* Begins to fetch one; there is room in the window. */
static int start(struct fetching *x, const struct catalog_file *file, size_t number, uint64_t at,
                 struct sheaf_error *err)
{
    struct fetch *f = x->window;
    struct store_object *object;
    struct sheaf_error found;
    int code;

    if (file->place == CATALOG_TEXT) {
        memcpy(x->block->scratch.data + at, file->text, file->bytes);
        return SHEAF_OK;
    }
    code = open_object(x->block, file, &object, &found);
    if (code != SHEAF_OK && is_of_object(code))
        return note(x->block, number, &found, err);
    if (code != SHEAF_OK) {
        *err = found;
        return code;
    }
    while (f->busy)
        f++;
    f->owner = x;
    f->number = number;
    f->busy = true;
    f->done = false;
    f->read = (struct store_read){ .object = object, .data = x->block->scratch.data + at,
                                   .size = file->bytes, .done = fetch_done };
    x->busy++;
    store_read_start(&f->read);
    return SHEAF_OK;
}

/* The next file, once there is room for it. */
static int add(struct fetching *x, const struct catalog_file *file, size_t number, uint64_t at,
               struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (x->busy == WINDOW)
        code = finish(x, wait_for_one(x), err);
    if (code == SHEAF_OK && is_interrupted(x))
        code = err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return code == SHEAF_OK ? start(x, file, number, at, err) : code;
}

static int fetch_all(struct fetching *x, struct sheaf_error *err)
{
    const struct block *b = x->block;
    const struct plan *plan = b->plan;
    uint64_t at = 0;
    size_t number = 0;

    for (uint64_t i = b->first; i < b->end; i++) {
        const struct plan_sample *s = &plan->samples[i];

        for (uint32_t k = 0; k < s->file_count; k++) {
            const struct catalog_file *file = &plan->files[s->file + k];
            int code = add(x, file, number, at, err);

            if (code != SHEAF_OK)
                return code;
            at += file->bytes;
            number++;
        }
    }
    return SHEAF_OK;
}

/* Room for everything, before anything is under way. */
static int reserve(struct block *b, struct sheaf_error *err)
{
    const struct plan *plan = b->plan;
    uint64_t bytes = 0;
    size_t files = 0;
    int code;

    for (uint64_t i = b->first; i < b->end; i++) {
        bytes += plan->samples[i].payload_bytes;
        files += plan->samples[i].file_count;
    }
    b->scratch.size = 0;
    code = buf_reserve(&b->scratch, bytes, err);
    if (code == SHEAF_OK)
        code = buf_reserve(&b->fetched, files * sizeof(struct block_fetched), err);
    if (code != SHEAF_OK)
        return code;
    b->scratch.size = bytes;
    b->fetched.size = files * sizeof(struct block_fetched);
    if (files != 0)
        memset(b->fetched.data, 0, b->fetched.size);
    return SHEAF_OK;
}

int block_fetch(struct block *b, struct sheaf_error *err)
{
    struct fetching *x = calloc(1, sizeof(*x));
    struct fetch *f;
    int code;

    if (x == NULL)
        return err_memory(err, sizeof(*x));
    x->block = b;
    pthread_mutex_init(&x->lock, NULL);
    timed_cond_init(&x->done);
    code = reserve(b, err);
    if (code == SHEAF_OK)
        code = fetch_all(x, err);
    if (code != SHEAF_OK)
        cancel(x);
    while ((f = wait_for_one(x)) != NULL) {
        struct sheaf_error later;
        const int ended = finish(x, f, &later);

        if (code == SHEAF_OK && ended != SHEAF_OK) {
            code = ended;
            *err = later;
        }
    }
    pthread_mutex_destroy(&x->lock);
    pthread_cond_destroy(&x->done);
    free(x);
    return code;
}
