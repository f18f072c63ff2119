/* SPDX-License-Identifier: MIT
 *
 * Reads objects ahead in pieces. A piece is a small object, or a range of a large object. The
 * pieces that are being read form a list, the window, in the order in which they are delivered. The
 * planning thread begins further pieces as long as the memory budget and the limit of requests
 * allow. It delivers the oldest piece first. */
#include "modes/supply.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "store/read_item.h"

/* Largest number of requests that run at once. If a request takes 20 ms, 128 requests at once fetch
 * about 6000 small objects per second. For large objects, fewer requests are enough. */
#define REQUESTS   128
#define PIECE_BYTES ((size_t)8 << 20)

/* An open object. All pieces (ranges) of the object share this struct. */
struct opened {
    struct store_object *object;
    size_t users;
};

struct supply_entry {
    struct read_item base;      /* the first member */
    struct opened *opened;      /* NULL if the piece needs no read */
    struct supply_piece piece;
    uint8_t data[];
};

/* Where the sequence continues. */
struct supply_cursor {
    uint64_t epoch;
    bool begun;                 /* `order` is the epoch's */
    uint64_t epoch_objects, epoch_bytes;
    size_t unit;                /* of order */
    size_t item;                /* of the unit */
    uint64_t offset;            /* of the object */
    struct opened *opened;      /* the object, while its pieces are being requested */
};

struct supply {
    struct supply_setup setup;
    struct supply_cursor at;
    uint32_t *order;
    size_t order_count;
    struct budget budget;
    struct inflight window;
    const struct supply_entry *newest; /* the newest piece in the window, or NULL */
    struct supply_entry *given;        /* what supply_next handed out last */
};

/* ---- Objects --------------------------------------------------------------------------------- */

static void close_object(struct opened *o)
{
    if (o == NULL || --o->users != 0)
        return;
    store_close(o->object);
    free(o);
}

static int supply_open_object(struct supply *s, const struct object *object,
                              struct sheaf_error *err)
{
    char *url = object_url(s->setup.objects, object);
    struct opened *o = calloc(1, sizeof(*o));
    int code = url == NULL || o == NULL ? err_memory(err, sizeof(*o)) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = store_open_known(url, object->bytes, object->stamp, &o->object, err);
    free(url);
    if (code != SHEAF_OK) {
        free(o);
        return code;
    }
    o->users = 1;               /* the cursor */
    s->at.opened = o;
    return SHEAF_OK;
}

/* ---- The queue ------------------------------------------------------------------------------- */

static void supply_cancel(struct inflight_item *item)
{
    if (((struct supply_entry *)item)->opened != NULL)
        read_item_cancel(item);
}

/* Appends a piece of `size` bytes to the window (the list of pieces that are being read). The bytes
 * come from the open object `opened`. If `opened` is NULL, the piece needs no reading. */
static struct supply_entry *supply_append(struct supply *s, size_t size, struct opened *opened)
{
    struct supply_entry *e = malloc(sizeof(*e) + size);

    if (e == NULL)
        return NULL;
    *e = (struct supply_entry){
        .opened = opened,
        .piece = { .epoch = s->at.epoch, .epoch_objects = s->at.epoch_objects,
                   .epoch_bytes = s->at.epoch_bytes, .data = e->data, .size = size },
    };
    s->newest = e;
    if (opened == NULL) {
        inflight_begin(&s->window, &e->base.item);
        inflight_done(&e->base.item);
        return e;
    }
    opened->users++;
    e->base.read = (struct store_read){ .object = opened->object, .offset = s->at.offset,
                                        .data = e->data, .size = size };
    read_item_start(&s->window, &e->base);
    return e;
}

static void supply_drop(struct supply *s, struct supply_entry *e)
{
    if (e == NULL)
        return;
    budget_give(&s->budget, sizeof(*e) + e->piece.size);
    close_object(e->opened);
    free(e);
}

/* ---- The sequence ---------------------------------------------------------------------------- */

static const struct object *current(const struct supply *s)
{
    const struct objects *o = s->setup.objects;

    return &o->items[objects_unit(o, s->order[s->at.unit]) + s->at.item];
}

static void supply_begin_epoch(struct supply *s)
{
    const struct objects *o = s->setup.objects;

    s->at.begun = true;
    share_order(&s->setup.share, s->at.epoch, s->order, o->unit_count);
    for (size_t k = 0; k < s->order_count; k++)
        for (size_t i = objects_unit(o, s->order[k]); i < objects_unit(o, s->order[k] + 1); i++) {
            s->at.epoch_bytes += o->items[i].bytes;
            s->at.epoch_objects++;
        }
}

/* Moves on to the next object of the epoch, and skips units (groups of objects) that are empty.
 * Returns false at the end of the epoch. */
static bool supply_has_more(struct supply *s)
{
    const struct objects *o = s->setup.objects;

    if (!s->at.begun)
        supply_begin_epoch(s);
    while (s->at.unit < s->order_count) {
        const uint32_t unit = s->order[s->at.unit];

        if (objects_unit(o, unit) + s->at.item < objects_unit(o, unit + 1))
            return true;
        s->at.unit++;
        s->at.item = 0;
    }
    return false;
}

static void supply_end_object(struct supply *s)
{
    close_object(s->at.opened);
    s->at.opened = NULL;
    s->at.offset = 0;
    s->at.item++;
}

static void supply_end_epoch(struct supply *s)
{
    close_object(s->at.opened);
    s->at = (struct supply_cursor){ .epoch = s->at.epoch + 1 };
}

/* Begins to read the next piece (range of bytes) of an object. The caller must already have taken
 * `size` bytes from the memory budget. */
static int begin_piece(struct supply *s, const struct object *object, size_t size,
                       struct sheaf_error *err)
{
    const uint64_t offset = s->at.offset;
    const bool is_read = size != 0 && object->text == NULL;
    struct supply_entry *e;
    int code = SHEAF_OK;

    if (is_read && s->at.opened == NULL)
        code = supply_open_object(s, object, err);
    if (code != SHEAF_OK)
        return code;
    e = supply_append(s, size, is_read ? s->at.opened : NULL);
    if (e == NULL)
        return err_memory(err, size);
    e->piece.object = object;
    e->piece.begins = offset == 0;
    e->piece.ends = offset + size == object->bytes;
    if (object->text != NULL)
        memcpy(e->data, object->text + offset, size);
    s->at.offset += size;
    if (e->piece.ends)
        supply_end_object(s);
    return SHEAF_OK;
}

/* Returns whether another piece (range of bytes of an object) may be begun now. Pieces of local
 * files are begun one at a time. Beginning such a piece also reads it, which would delay the
 * delivery of the pieces before it. */
static bool supply_may_begin(struct supply *s)
{
    const struct supply_entry *oldest = (struct supply_entry *)s->window.first;

    if (s->at.epoch == s->setup.end_epoch)
        return false;
    if (oldest == NULL)
        return true;
    return inflight_busy(&s->window) < REQUESTS && s->at.epoch <= oldest->piece.epoch + 1 &&
           (s->newest->opened == NULL || s->newest->opened->object->is_remote);
}

int supply_fill(struct supply *s, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    while (code == SHEAF_OK && supply_may_begin(s)) {
        const struct object *object = supply_has_more(s) ? current(s) : NULL;
        const size_t size = object == NULL ? 0
                          : (size_t)MIN(object->bytes - s->at.offset, PIECE_BYTES);

        if (!budget_take(&s->budget, sizeof(struct supply_entry) + size))
            break;
        if (object != NULL) {
            code = begin_piece(s, object, size, err);
            continue;
        }
        if (supply_append(s, 0, NULL) == NULL)
            return err_memory(err, sizeof(struct supply_entry));
        supply_end_epoch(s);
    }
    return code;
}

/* ---- Handing out ----------------------------------------------------------------------------- */

bool supply_is_ready(struct supply *s)
{
    return inflight_is_ready(&s->window);
}

int supply_next(struct supply *s, const struct supply_piece **piece, struct sheaf_error *err)
{
    const struct store_read *read;
    int code;

    supply_drop(s, s->given);
    s->given = NULL;
    while (s->given == NULL) {
        if (flag_is_raised(s->setup.interrupt))
            return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
        code = supply_fill(s, err);
        if (code != SHEAF_OK)
            return code;
        if (s->window.count == 0)
            return SHEAF_END;
        s->given = (struct supply_entry *)inflight_take(&s->window);
        if (s->given == NULL)
            inflight_wait(&s->window);  /* for the piece, or for one that makes room */
    }
    *piece = &s->given->piece;
    read = &s->given->base.read;
    if (read->code != SHEAF_OK && err != NULL)
        *err = read->error;
    return read->code;
}

/* Drops all pieces, or those of one epoch. */
static void supply_drop_pieces(struct supply *s, bool all, uint64_t epoch)
{
    const struct supply_entry *e;

    for (struct inflight_item *i = s->window.first; i != NULL; i = i->next)
        if (all || ((struct supply_entry *)i)->piece.epoch == epoch)
            supply_cancel(i);
    while ((e = (struct supply_entry *)s->window.first) != NULL && (all || e->piece.epoch == epoch))
        supply_drop(s, (struct supply_entry *)inflight_next(&s->window));
}

int supply_pass(struct supply *s, uint64_t epoch, struct sheaf_error *err)
{
    supply_drop(s, s->given);
    s->given = NULL;
    supply_drop_pieces(s, false, epoch);
    if (s->at.epoch == epoch)
        supply_end_epoch(s);
    return supply_fill(s, err);
}

int supply_open(struct supply **out, const struct supply_setup *setup, struct sheaf_error *err)
{
    const size_t units = setup->objects->unit_count;
    struct supply *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->setup = *setup;
    s->budget.limit = MAX(setup->memory_bytes, SUPPLY_LEAST);
    s->at.epoch = setup->first_epoch;
    s->order_count = share_size(&setup->share, units);
    s->order = calloc(MAX(units, 1), sizeof(s->order[0]));
    inflight_open(&s->window, INFLIGHT_OLDEST, supply_cancel, NULL);
    if (s->order == NULL) {
        supply_close(s);
        return err_memory(err, units * sizeof(s->order[0]));
    }
    *out = s;
    return SHEAF_OK;
}

void supply_close(struct supply *s)
{
    if (s == NULL)
        return;
    supply_drop(s, s->given);
    supply_drop_pieces(s, true, 0);
    close_object(s->at.opened);
    inflight_close(&s->window);
    free(s->order);
    free(s);
}

uint64_t supply_memory_peak(const struct supply *s)
{
    return s->budget.peak;
}
