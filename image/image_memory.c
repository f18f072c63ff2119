/* SPDX-License-Identifier: MIT
 *
 * Counts the memory for decoded images. */
#include "image/image_memory.h"

#include "base/error.h"

static int image_memory_take(void *context, uint64_t bytes, struct sheaf_error *err)
{
    struct image_memory *m = context;
    int code = SHEAF_OK;

    pthread_mutex_lock(&m->lock);
    if (bytes > m->locked.budget.limit) {
        err_set(err, SHEAF_ERR_LIMIT, "decoding the image needs %llu bytes of memory, but %llu are "
                "for images", (unsigned long long)bytes,
                (unsigned long long)m->locked.budget.limit);
        code = err_because(err, SHEAF_ERR_LIMIT, SHEAF_REASON_MEMORY);
    } else {
        while (!budget_take(&m->locked.budget, bytes))
            pthread_cond_wait(&m->given, &m->lock);
    }
    pthread_mutex_unlock(&m->lock);
    return code;
}

static void image_memory_give(void *context, uint64_t bytes)
{
    struct image_memory *m = context;

    pthread_mutex_lock(&m->lock);
    budget_give(&m->locked.budget, bytes);
    pthread_cond_broadcast(&m->given);
    pthread_mutex_unlock(&m->lock);
}

void image_memory_open(struct image_memory *m, uint64_t limit)
{
    *m = (struct image_memory){ .room = { image_memory_take, image_memory_give, m },
        .locked.budget.limit = limit };
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->given, NULL);
}

void image_memory_close(struct image_memory *m)
{
    if (m->room.context == NULL)
        return;
    pthread_cond_destroy(&m->given);
    pthread_mutex_destroy(&m->lock);
    m->room.context = NULL;
}

uint64_t image_memory_peak(struct image_memory *m)
{
    uint64_t peak;

    if (m->room.context == NULL)
        return 0;
    pthread_mutex_lock(&m->lock);
    peak = m->locked.budget.peak;
    pthread_mutex_unlock(&m->lock);
    return peak;
}
