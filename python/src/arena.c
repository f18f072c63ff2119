/* SPDX-License-Identifier: MIT
 *
 * The memory of an arena; see arena.h. */
#include "arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23          /* since Linux 5.14; an older one returns EINVAL */
#endif

static size_t whole_grains(size_t bytes)
{
    return (bytes + ARENA_GRAIN - 1) / ARENA_GRAIN * ARENA_GRAIN;
}

static void one_user_less_and_unlock(struct shared_arena *a)
{
    const bool is_last = --a->locked.users == 0;

    pthread_mutex_unlock(&a->lock);
    if (!is_last)
        return;
    munmap(a->base, a->bytes);
    close(a->descriptor);
    pthread_mutex_destroy(&a->lock);
    free(a->locked.gaps);
    free(a);
}

struct shared_arena *arena_open(size_t piece_bytes, size_t reader_bytes)
{
    const size_t most = whole_grains(piece_bytes), bytes = most + whole_grains(reader_bytes);
    struct shared_arena *a = calloc(1, sizeof(*a));
    struct arena_gap *gaps = malloc(sizeof(*gaps));
    int descriptor = -1;
    void *base = MAP_FAILED;

    if (a != NULL && gaps != NULL)
        descriptor = memfd_create("sheaf-arena", MFD_CLOEXEC);
    if (descriptor >= 0 && ftruncate(descriptor, (off_t)bytes) == 0)
        base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED) {
        if (descriptor >= 0)
            close(descriptor);
        free(gaps);
        free(a);
        return NULL;
    }
    gaps[0] = (struct arena_gap){ 0, most };
    *a = (struct shared_arena){ .descriptor = descriptor, .base = base, .bytes = bytes,
                         .piece_bytes = most, .forks = fork_count,
                         .locked = { .gaps = gaps, .gap_count = 1, .gap_capacity = 1,
                                     .reader_backed = most, .users = 1 } };
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

/* Allocates memory for the bytes of the arena (shared memory) from *backed to `end`. Returns false
 * if there is no memory. If the memory were not allocated in advance, the system might kill a
 * process that writes to it. */
static bool back_locked(struct shared_arena *a, size_t *backed, size_t end)
{
    int code;

    if (end <= *backed)
        return true;
    do {
        code = posix_fallocate(a->descriptor, (off_t)*backed, (off_t)(end - *backed));
    } while (code == EINTR);
    if (code != 0)
        return false;
    madvise(a->base + *backed, end - *backed, MADV_POPULATE_WRITE);     /* else page by page */
    *backed = end;
    return true;
}

/* ---- Pieces --------------------------------------------------------------------------------- */

static void *take_locked(struct shared_arena *a, size_t bytes)
{
    struct arena_gap *gaps = a->locked.gaps, *g;

    if (a->locked.pieces + 2 > a->locked.gap_capacity) {    /* so that giving back cannot fail */
        gaps = realloc(gaps, 2 * (a->locked.pieces + 2) * sizeof(*gaps));
        if (gaps == NULL)
            return NULL;
        a->locked.gaps = gaps;
        a->locked.gap_capacity = 2 * (a->locked.pieces + 2);
    }
    for (g = gaps; g < gaps + a->locked.gap_count && g->bytes < bytes; g++)
        ;
    if (g == gaps + a->locked.gap_count || !back_locked(a, &a->locked.backed, g->at + bytes))
        return NULL;
    g->at += bytes;
    g->bytes -= bytes;
    a->locked.pieces++;
    a->locked.users++;
    return a->base + g->at - bytes;
}

void *arena_take_piece(struct shared_arena *a, size_t bytes)
{
    void *piece;

    if (bytes > a->piece_bytes)
        return NULL;
    pthread_mutex_lock(&a->lock);
    piece = take_locked(a, whole_grains(bytes));
    pthread_mutex_unlock(&a->lock);
    return piece;
}

static void give_locked(struct shared_arena *a, size_t at, size_t bytes)
{
    struct arena_gap *gaps = a->locked.gaps;
    size_t i = 0, count = a->locked.gap_count;

    while (i < count && gaps[i].at + gaps[i].bytes < at)
        i++;
    if (i < count && gaps[i].at + gaps[i].bytes == at) {
        gaps[i].bytes += bytes;
        if (i + 1 < count && gaps[i + 1].at == at + bytes) {
            gaps[i].bytes += gaps[i + 1].bytes;
            memmove(&gaps[i + 1], &gaps[i + 2], (count - i - 2) * sizeof(*gaps));
            a->locked.gap_count--;
        }
    } else if (i < count && gaps[i].at == at + bytes) {
        gaps[i].at = at;
        gaps[i].bytes += bytes;
    } else {
        memmove(&gaps[i + 1], &gaps[i], (count - i) * sizeof(*gaps));
        gaps[i] = (struct arena_gap){ at, bytes };
        a->locked.gap_count++;
    }
    a->locked.pieces--;
}

void arena_give_piece(struct shared_arena *a, void *piece, size_t bytes)
{
    if (piece == NULL || a->forks != fork_count)
        /* a forked child does not free the memory, because it belongs to the parent */
        return;
    pthread_mutex_lock(&a->lock);
    give_locked(a, (size_t)((char *)piece - a->base), whole_grains(bytes));
    one_user_less_and_unlock(a);
}

void arena_close(struct shared_arena *a)
{
    if (a == NULL || a->forks != fork_count)
        return;
    pthread_mutex_lock(&a->lock);
    one_user_less_and_unlock(a);
}

/* ---- The reader's part ---------------------------------------------------------------------- */

static int reader_needs(void *context, size_t bytes)
{
    struct shared_arena *a = context;
    bool is_there;

    pthread_mutex_lock(&a->lock);
    is_there = back_locked(a, &a->locked.reader_backed, a->piece_bytes + bytes);
    pthread_mutex_unlock(&a->lock);
    return is_there ? 0 : -1;
}

bool arena_serve(struct shared_arena *a, struct sheaf_reader_options *options)
{
    bool is_free;

    if (a->forks != fork_count || options->memory_bytes > a->bytes - a->piece_bytes)
        return false;
    pthread_mutex_lock(&a->lock);
    is_free = a->locked.reader_users == 0;
    a->locked.reader_users += is_free;
    a->locked.users += is_free;
    pthread_mutex_unlock(&a->lock);
    if (!is_free)
        return false;
    options->memory = a->base + a->piece_bytes;
    options->memory_needed = reader_needs;
    options->memory_context = a;
    return true;
}

void arena_use(struct shared_arena *a)
{
    pthread_mutex_lock(&a->lock);
    a->locked.reader_users++;
    a->locked.users++;
    pthread_mutex_unlock(&a->lock);
}

void arena_leave(struct shared_arena *a)
{
    if (a == NULL || a->forks != fork_count)
        return;
    pthread_mutex_lock(&a->lock);
    a->locked.reader_users--;
    one_user_less_and_unlock(a);
}
