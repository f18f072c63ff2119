/* SPDX-License-Identifier: MIT
 *
 * Reads an object ahead in pieces. A piece is a range of bytes. The caller reads from the current
 * piece (`here`). The window has the pieces after the current piece, which are being read or are
 * already in memory. */
#include "store/read_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/read_item.h"

#define PIECE_MOST  ((uint64_t)4 << 20)
#define PIECE_LEAST ((uint64_t)256 << 10)

struct ahead_piece {
    struct read_item base;          /* the first member */
    uint8_t *data;
};

struct ahead {
    struct store_object base;
    struct store_object *inner;
    size_t piece_bytes;
    struct ahead_piece pieces[AHEAD_PIECES_MOST];
    struct inflight window;         /* the pieces after `here`, without gaps */
    struct ahead_piece *here;             /* the current piece, or NULL */
    uint64_t next;                  /* the offset at which the next piece begins */
};

uint64_t ahead_memory(uint64_t budget_bytes, unsigned most)
{
    return MAX(MIN(budget_bytes / 16, most * PIECE_MOST), PIECE_LEAST);
}

unsigned ahead_pieces(uint64_t memory_bytes, unsigned most)
{
    return (unsigned)MIN(MAX(memory_bytes / PIECE_LEAST, 1), (uint64_t)most);
}

static void begin_pieces(struct ahead *a)
{
    struct ahead_piece *p;

    while (a->next < a->inner->bytes &&
           (p = (struct ahead_piece *)inflight_idle(&a->window)) != NULL) {
        p->base.read = (struct store_read){
            .object = a->inner, .offset = a->next, .data = p->data,
            .size = (size_t)MIN((uint64_t)a->piece_bytes, a->inner->bytes - a->next),
        };
        a->next += p->base.read.size;
        read_item_start(&a->window, &p->base);
    }
}

/* Makes the next piece of the window (the pieces that are read ahead) the current piece, and sets
 * a->here to it. If no further piece was requested, sets a->here to NULL. */
static void turn(struct ahead *a)
{
    if (a->here != NULL)
        inflight_add(&a->window, &a->here->base.item);
    begin_pieces(a);
    a->here = (struct ahead_piece *)inflight_next(&a->window);
}

/* Makes the piece with the byte at `offset` the current piece, and waits for it. If this piece was
 * not requested, cancels all requested pieces and begins to read ahead again at `offset`. */
static const struct store_read *read_ahead_go_to(struct ahead *a, uint64_t offset)
{
    if (a->here == NULL || offset < a->here->base.read.offset || offset >= a->next) {
        inflight_cancel(&a->window);
        a->next = a->inner->bytes;      /* begins no further piece */
        do
            turn(a);
        while (a->here != NULL);
        a->next = offset;
    }
    while (a->here == NULL || offset - a->here->base.read.offset >= a->here->base.read.size)
        turn(a);
    return &a->here->base.read;
}

static int ahead_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                      struct sheaf_error *err)
{
    struct ahead *a = (struct ahead *)object;
    uint8_t *out = data;

    if (size > object->bytes || offset > object->bytes - size)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: has %llu byte%s, cannot read %zu at offset "
                       "%llu", object->url, (unsigned long long)object->bytes,
                       plural(object->bytes), size, (unsigned long long)offset);
    a->window.interrupt = object->interrupt;
    while (size != 0) {
        const struct store_read *read = read_ahead_go_to(a, offset);
        size_t skip, part;

        if (read->code != SHEAF_OK) {
            if (err != NULL)
                *err = read->error;
            return read->code;
        }
        skip = (size_t)(offset - read->offset);
        part = MIN(size, read->size - skip);
        memcpy(out, (const uint8_t *)read->data + skip, part);
        out += part;
        offset += part;
        size -= part;
    }
    return SHEAF_OK;
}

static void ahead_distrust(struct store_object *object, uint64_t offset, uint64_t size)
{
    struct ahead *a = (struct ahead *)object;

    if (a->here != NULL)
        inflight_add(&a->window, &a->here->base.item);
    a->here = NULL;             /* the next read then drops the other pieces */
    store_distrust(a->inner, offset, size);
}

static void ahead_close(struct store_object *object)
{
    struct ahead *a = (struct ahead *)object;

    inflight_close(&a->window);
    for (unsigned i = 0; i < AHEAD_PIECES_MOST; i++)
        free(a->pieces[i].data);
    store_close(a->inner);
    free(a);
}

static const struct store_ops ahead_ops = {
    .scheme = "", .read = ahead_read, .distrust = ahead_distrust, .close = ahead_close,
};

int ahead_wrap(struct store_object **object, uint64_t memory_bytes, unsigned most,
               struct sheaf_error *err)
{
    const unsigned pieces = ahead_pieces(memory_bytes, most);
    struct ahead *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return err_memory(err, sizeof(*a));
    a->inner = *object;
    a->piece_bytes = (size_t)(memory_bytes / pieces);
    a->base = (struct store_object){ .ops = &ahead_ops, .url = a->inner->url,
                                     .bytes = a->inner->bytes, .is_remote = true };
    inflight_open(&a->window, INFLIGHT_OLDEST, read_item_cancel, NULL);
    for (unsigned i = 0; i < pieces; i++) {
        inflight_add(&a->window, &a->pieces[i].base.item);
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
