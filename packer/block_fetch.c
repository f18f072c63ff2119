/* SPDX-License-Identifier: MIT
 *
 * Fetches the objects of a block from a remote store, many of them at the same time. Each object
 * takes one GET request, which mostly waits for the store. So up to WINDOW requests of a block run
 * at the same time.
 *
 * block->scratch gets the content of the files. Each file has a fixed position there, with room for
 * the size that the plan states. block->fetched gets the result of each file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "packer/block.h"
#include "store/read_item.h"

#define WINDOW 64

struct object_fetch {
    struct read_item base;      /* the first member */
    size_t number;              /* index of the file in the block */
};

struct block_fetching {
    struct block *block;
    struct inflight window;
    struct object_fetch fetches[WINDOW];
};

/* Returns whether an error is the fault of this object (it is missing or has changed), and not of
 * the machine or the network. */
static bool block_fetch_is_of_object(int code)
{
    return code == SHEAF_ERR_CHANGED || code == SHEAF_ERR_NOT_FOUND ||
           code == SHEAF_ERR_TRUNCATED;
}

static int block_fetch_note(struct block *b, size_t number, const struct sheaf_error *found,
                            struct sheaf_error *err)
{
    struct block_fetched *fetched = (struct block_fetched *)(void *)b->fetched.data + number;

    fetched->code = found->code;
    fetched->reason = b->texts.size;
    return buf_append(&b->texts, found->message, strlen(found->message) + 1, err);
}

/* Waits for the oldest request and takes its result. If the object itself is faulty, this is
 * recorded in block->fetched, and is not an error here. Returns SHEAF_END if no request is
 * running. */
static int finish_one(struct block_fetching *x, struct sheaf_error *err)
{
    struct object_fetch *f = (struct object_fetch *)inflight_next(&x->window);
    const struct store_read *read;

    if (f == NULL)
        return SHEAF_END;
    read = &f->base.read;
    store_close(read->object);
    inflight_add(&x->window, &f->base.item);
    if (read->code != SHEAF_OK && block_fetch_is_of_object(read->code))
        return block_fetch_note(x->block, f->number, &read->error, err);
    if (read->code != SHEAF_OK)
        *err = read->error;
    return read->code;
}

static int block_fetch_open_object(const struct block *b, const struct catalog_file *f,
                                   struct store_object **object, struct sheaf_error *err)
{
    char *url;
    int code;

    if (f->origin == CATALOG_OBJECT)
        return store_open_known(f->object->url, f->bytes, f->object->stamp, object, err);
    if (asprintf(&url, "%s%s", b->setup->source->root, f->path) < 0)
        return err_memory(err, strlen(f->path));
    code = store_open_known(url, f->bytes, f->stamp, object, err);
    free(url);
    return code;
}

/* Starts the request for an object, or copies the content of a file that the plan itself contains.
 * Fewer than WINDOW requests must be running. */
static int block_fetch_start(struct block_fetching *x, const struct catalog_file *file,
                             size_t number, uint64_t at, struct sheaf_error *err)
{
    struct store_object *object;
    struct sheaf_error found;
    struct object_fetch *f;
    int code;

    if (file->origin == CATALOG_TEXT) {
        memcpy(x->block->scratch.data + at, file->text, file->bytes);
        return SHEAF_OK;
    }
    code = block_fetch_open_object(x->block, file, &object, &found);
    if (code != SHEAF_OK && block_fetch_is_of_object(code))
        return block_fetch_note(x->block, number, &found, err);
    if (code != SHEAF_OK) {
        *err = found;
        return code;
    }
    f = (struct object_fetch *)inflight_idle(&x->window);
    f->number = number;
    f->base.read = (struct store_read){ .object = object, .data = x->block->scratch.data + at,
                                        .size = file->bytes };
    read_item_start(&x->window, &f->base);
    return SHEAF_OK;
}

/* Starts the request for the next file. If WINDOW requests are running, first waits for the oldest
 * one. */
static int block_fetch_add(struct block_fetching *x, const struct catalog_file *file, size_t number,
                           uint64_t at, struct sheaf_error *err)
{
    int code = x->window.count == WINDOW ? finish_one(x, err) : SHEAF_OK;

    if (code == SHEAF_OK && flag_is_raised(x->window.interrupt))
        code = err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    return code == SHEAF_OK ? block_fetch_start(x, file, number, at, err) : code;
}

static int block_fetch_all(struct block_fetching *x, struct sheaf_error *err)
{
    const struct block *b = x->block;
    const struct plan *plan = b->plan;
    uint64_t at = 0;
    size_t number = 0;

    for (uint64_t i = b->first; i < b->end; i++) {
        const struct plan_sample *s = &plan->samples[i];

        for (uint32_t k = 0; k < s->file_count; k++) {
            const struct catalog_file *file = &plan->files[s->file + k];
            int code = block_fetch_add(x, file, number, at, err);

            if (code != SHEAF_OK)
                return code;
            at += file->bytes;
            number++;
        }
    }
    return SHEAF_OK;
}

/* Reserves all memory before any request is under way. */
static int block_fetch_reserve(struct block *b, struct sheaf_error *err)
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
    struct block_fetching *x = calloc(1, sizeof(*x));
    struct sheaf_error later;
    int code, ended;

    if (x == NULL)
        return err_memory(err, sizeof(*x));
    x->block = b;
    inflight_open(&x->window, INFLIGHT_ANY, read_item_cancel, b->setup->interrupt);
    for (size_t i = 0; i < WINDOW; i++)
        inflight_add(&x->window, &x->fetches[i].base.item);
    code = block_fetch_reserve(b, err);
    if (code == SHEAF_OK)
        code = block_fetch_all(x, err);
    if (code != SHEAF_OK)
        inflight_cancel(&x->window);
    while ((ended = finish_one(x, &later)) != SHEAF_END)
        if (code == SHEAF_OK && ended != SHEAF_OK) {
            code = ended;
            *err = later;
        }
    inflight_close(&x->window);
    free(x);
    return code;
}
