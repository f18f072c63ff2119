/* SPDX-License-Identifier: MIT
 *
 * Answers reads of the object, each on a thread of its own. */
#include "tests/common_object.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static void far_close(struct store_object *object)
{
    free(object->url);
}

/* `state` is NULL, or &cancelled after a call of read_cancel. */
static char cancelled;

static void *answer(void *context)
{
    struct store_read *read = context;
    struct far_object *o = (struct far_object *)read->object;
    const unsigned number = __atomic_add_fetch(&o->reads, 1, __ATOMIC_ACQ_REL);
    const bool is_stuck = __atomic_load_n(&o->is_stuck, __ATOMIC_RELAXED);

    __atomic_add_fetch(&o->read_bytes, read->size, __ATOMIC_RELAXED);
    usleep(rand() % 300);
    while (is_stuck && __atomic_load_n(&read->state, __ATOMIC_ACQUIRE) == NULL)
        usleep(100);
    read->code = SHEAF_OK;
    if (is_stuck)
        read->code = err_set(&read->error, SHEAF_ERR_INTERRUPTED, "cancelled");
    else if (o->fail_from != 0 && number >= o->fail_from)
        read->code = err_set(&read->error, o->failure, "read %u fails", number);
    else if (read->size > o->base.bytes || read->offset > o->base.bytes - read->size)
        read->code = err_set(&read->error, SHEAF_ERR_TRUNCATED, "beyond the end");
    else
        memcpy(read->data, o->data + read->offset, read->size);
    read->done(read);
    return NULL;
}

static void far_read_start(struct store_read *read)
{
    pthread_t thread;

    read->state = NULL;
    if (pthread_create(&thread, NULL, answer, read) != 0)
        abort();
    pthread_detach(thread);
}

static void far_read_cancel(struct store_read *read)
{
    __atomic_store_n(&read->state, &cancelled, __ATOMIC_RELEASE);
}

static const struct store_ops far_ops = {
    .scheme = "far", .read_start = far_read_start, .read_cancel = far_read_cancel,
    .close = far_close,
};

void far_object_init(struct far_object *o, const char *url, const char *version,
                     const void *data, size_t size)
{
    *o = (struct far_object){ .data = data };
    o->base = (struct store_object){ .ops = &far_ops, .url = strdup(url), .version = version,
                                     .bytes = size, .is_remote = true };
}
