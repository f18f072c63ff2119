/* SPDX-License-Identifier: MIT
 *
 * The mark of a finished file is its size and its modification time. A later run recognises a
 * finished file by its mark, so no list of finished files is needed.
 *
 * The whole seconds of the modification time are those of the object's time. The fraction of a
 * second comes from a hash of the object's ETag. So the mark also changes if an object is replaced,
 * within a second, by another object of the same size. The fraction is a multiple of 100 ns,
 * because some file systems cannot store smaller steps.
 *
 * Some file systems (Lustre) and some programs that copy files keep only whole seconds. So a file
 * with the fraction zero is accepted if its size and its seconds match. */
#include "modes/fetch.h"

#define STEP_NS 100

static long fraction_of(const struct object *o)
{
    return (long)(o->stamp % (1000000000 / STEP_NS)) * STEP_NS;
}

void fetch_mark_times(const struct object *o, struct timespec times[2])
{
    times[0] = (struct timespec){ .tv_nsec = UTIME_NOW };
    times[1] = (struct timespec){ .tv_sec = o->modified_s, .tv_nsec = fraction_of(o) };
}

bool fetch_mark_fits(const struct object *o, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size != o->bytes || o->stamp == 0)
        return false;
    return st->st_mtim.tv_sec == o->modified_s &&
           (st->st_mtim.tv_nsec == fraction_of(o) ||
            (st->st_mtim.tv_nsec == 0 && o->modified_s != 0));
}
