/* SPDX-License-Identifier: MIT
 *
 * Arithmetic on positions.  The library says where a reader is after a batch; a program that
 * takes samples one by one wants to know where it is within one.  Each sample is one turn of the
 * lanes, and so is each record that was skipped; a position holds the turns as rounds of this
 * member's lanes and what is over (reader/ORDER.md, section 7). */
#include "module.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What follows " name=" in the text. */
static bool number_of(const char *text, const char *name, uint64_t *number, const char **at)
{
    *at = strstr(text, name);
    if (*at != NULL)
        *at += strlen(name);
    return *at != NULL && sscanf(*at, "%" SCNu64, number) == 1;
}

bool place_epoch(const char *text, uint64_t *epoch)
{
    const char *at;

    return number_of(text, " epoch=", epoch, &at);
}

bool place_after(const char *text, uint64_t turns, char after[SHEAF_POSITION_SIZE])
{
    uint64_t lanes, rounds, extra, rank, world_size, worker, workers, own;
    const char *at, *rounds_at, *of;
    int size;

    if (!number_of(text, " lanes=", &lanes, &at) ||
        !number_of(text, " rounds=", &rounds, &rounds_at) ||
        !number_of(text, " extra=", &extra, &at) ||
        !number_of(text, " of=", &rank, &of) ||
        sscanf(of, "%" SCNu64 "/%" SCNu64 "/%" SCNu64 "/%" SCNu64, &rank, &world_size, &worker,
               &workers) != 4 || world_size == 0 || workers == 0)
        return false;
    own = lanes / world_size / workers;
    if (own == 0)
        return false;
    turns += rounds * own + extra;
    size = snprintf(after, SHEAF_POSITION_SIZE, "%.*s%" PRIu64 " extra=%" PRIu64 " of=%s",
                    (int)(rounds_at - text), text, turns / own, turns % own, of);
    return size > 0 && size < SHEAF_POSITION_SIZE;
}
