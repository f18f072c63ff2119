/* SPDX-License-Identifier: MIT
 *
 * Reads the content of objects ahead, in the order in which they are needed, for any number of
 * epochs. Many requests run at the same time: one for each small object, and one for each range of
 * a large object.
 *
 * The bytes are returned in order, in pieces. A piece usually has the bytes of one request. After
 * the last piece of an epoch, an entry without data marks the end of the epoch. A piece is begun
 * only if the memory budget has room for it. All functions must be called on the same thread. */
#ifndef MODES_SUPPLY_H
#define MODES_SUPPLY_H

#include <stdbool.h>

#include "modes/objects.h"
#include "modes/share.h"

struct supply;

struct supply_setup {
    const struct objects *objects;
    struct share share;
    /* first_epoch: number of the first epoch; end_epoch: number of the last epoch + 1, or
     * UINT64_MAX if the epochs do not end */
    uint64_t first_epoch, end_epoch;
    uint64_t memory_bytes;              /* at least SUPPLY_LEAST */
    const volatile int *interrupt;      /* NULL: never */
};
#define SUPPLY_LEAST ((uint64_t)16 << 20)

struct supply_piece {
    uint64_t epoch;
    uint64_t epoch_objects, epoch_bytes;    /* the host's in it */
    /* the object to which this piece (range of bytes) belongs; NULL for the entry without data that
     * marks the end of an epoch */
    const struct object *object;
    bool begins, ends;          /* the object */
    const void *data;
    size_t size;
};

int supply_open(struct supply **supply, const struct supply_setup *setup,
                struct sheaf_error *err);
/* Cancels the requests that are still running, and frees `supply`, which may be NULL. */
void supply_close(struct supply *supply);

/* Waits until the next piece (range of bytes of an object) is read, and returns it in *piece. The
 * piece stays valid until the next call. Returns SHEAF_END after the end of the last epoch. */
int supply_next(struct supply *supply, const struct supply_piece **piece, struct sheaf_error *err);
/* Returns whether supply_next would return at once. */
bool supply_is_ready(struct supply *supply);
/* Begins requests until the memory budget or the limit of requests is reached. The caller may call
 * this function while it waits for something else, so that reading goes on. */
int supply_fill(struct supply *supply, struct sheaf_error *err);
/* Skips the rest of an epoch, including its end. */
int supply_pass(struct supply *supply, uint64_t epoch, struct sheaf_error *err);

uint64_t supply_memory_peak(const struct supply *supply);

#endif
