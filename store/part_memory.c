/* SPDX-License-Identifier: MIT
 *
 * The memory for upload parts; see part_memory.h. */
#include "store/part_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/huge.h"
#include "base/transfer_window.h"
#include "base/workers.h"

/* Limits for the number of parts that are sent at the same time. The limit is PARTS_FIRST at the
 * beginning, and may rise to PARTS_MOST if that makes the uploads faster. PART_BYTES is the usual
 * size of a part in bytes. */
#define PARTS_FIRST 8u
#define PARTS_MOST  32u
#define PART_BYTES  ((uint64_t)8 << 20)

/* The first bytes of an unused buffer, which store a pointer to the next unused buffer. */
struct idle {
    struct idle *next;
};

struct part_memory {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct {
        struct budget budget;
        uint64_t given;
        struct idle *idle;
        size_t idle_size;           /* of each idle buffer */
        unsigned under_way;
        uint64_t waited_ns;         /* by writers, in total */
        struct window window;
    } locked;
};

int part_memory_open(struct part_memory **memory, uint64_t limit_bytes, struct sheaf_error *err)
{
    const uint64_t room = MAX(limit_bytes / PART_BYTES, 1);
    struct part_memory *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return err_memory(err, sizeof(*m));
    m->locked.budget.limit = limit_bytes;
    window_fit(&m->locked.window, (unsigned)MIN(room, PARTS_FIRST),
               (unsigned)MIN(room, PARTS_MOST), PART_BYTES);
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    *memory = m;
    return SHEAF_OK;
}

static uint8_t *take_idle_locked(struct part_memory *m)
{
    struct idle *first = m->locked.idle;

    m->locked.idle = first->next;
    return (uint8_t *)first;
}

static void free_idle_locked(struct part_memory *m)
{
    while (m->locked.idle != NULL) {
        free(take_idle_locked(m));
        budget_give(&m->locked.budget, m->locked.idle_size);
    }
}

void part_memory_close(struct part_memory *m)
{
    if (m == NULL)
        return;
    free_idle_locked(m);
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* Allocates a new buffer. Returns NULL and sets *has_room to false if the limit leaves no room for
 * the buffer. Returns NULL and sets *has_room to true if memory is exhausted. */
static uint8_t *take_new_locked(struct part_memory *m, size_t size, bool *has_room)
{
    uint8_t *data;

    *has_room = budget_take(&m->locked.budget, size);
    if (!*has_room)
        return NULL;
    data = malloc(size);
    if (data == NULL)
        budget_give(&m->locked.budget, size);
    else
        huge_advise(data, size);
    return data;
}

int part_memory_take(struct part_memory *m, size_t size, uint8_t **data, struct sheaf_error *err)
{
    bool has_room = true;
    uint64_t limit;

    pthread_mutex_lock(&m->lock);
    limit = m->locked.budget.limit;
    if (m->locked.idle_size != size)
        free_idle_locked(m);
    *data = m->locked.idle != NULL ? take_idle_locked(m) : take_new_locked(m, size, &has_room);
    pthread_mutex_unlock(&m->lock);
    if (*data != NULL)
        return SHEAF_OK;
    if (size > limit)
        return err_set(err, SHEAF_ERR_LIMIT, "a part of %zu byte%s, but the memory for parts is "
                       "%llu bytes", size, plural(size), (unsigned long long)limit);
    return has_room ? err_memory(err, size) : SHEAF_END;
}

void part_memory_wait(struct part_memory *m, uint64_t seen)
{
    const uint64_t begin_ns = clock_ns();

    pthread_mutex_lock(&m->lock);
    while (m->locked.given == seen)
        pthread_cond_wait(&m->changed, &m->lock);
    m->locked.waited_ns += clock_ns() - begin_ns;
    pthread_mutex_unlock(&m->lock);
}

uint64_t part_memory_given(struct part_memory *m)
{
    uint64_t given;

    pthread_mutex_lock(&m->lock);
    given = m->locked.given;
    pthread_mutex_unlock(&m->lock);
    return given;
}

void part_memory_give(struct part_memory *m, uint8_t *data, size_t size)
{
    struct idle *idle = (struct idle *)(void *)data;

    if (data == NULL)
        return;
    pthread_mutex_lock(&m->lock);
    if (m->locked.idle_size != size)
        free_idle_locked(m);
    m->locked.idle_size = size;
    idle->next = m->locked.idle;
    m->locked.idle = idle;
    m->locked.given++;
    pthread_cond_broadcast(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

void part_memory_begin(struct part_memory *m)
{
    pthread_mutex_lock(&m->lock);
    m->locked.under_way++;
    pthread_mutex_unlock(&m->lock);
}

void part_memory_end(struct part_memory *m, size_t size)
{
    pthread_mutex_lock(&m->lock);
    m->locked.under_way--;
    (void)window_took(&m->locked.window, size, m->locked.waited_ns, clock_ns());
    pthread_mutex_unlock(&m->lock);
}

bool part_memory_is_busy(struct part_memory *m)
{
    bool is_busy;

    pthread_mutex_lock(&m->lock);
    is_busy = m->locked.under_way >= m->locked.window.now;
    pthread_mutex_unlock(&m->lock);
    return is_busy;
}

uint64_t part_memory_peak(struct part_memory *m)
{
    uint64_t peak;

    if (m == NULL)
        return 0;
    pthread_mutex_lock(&m->lock);
    peak = m->locked.budget.peak;
    pthread_mutex_unlock(&m->lock);
    return peak;
}
