/* SPDX-License-Identifier: MIT
 *
 * Asks the store for the sizes of objects. This is needed if the objects come from a manifest that
 * states only their names. */
#include "modes/objects.h"
#include "packer/source/size_queue.h"

struct objects_asking {
    struct objects *objects;
    struct size_queue *queue;
    uint64_t done;
};

static int objects_ask_take(void *context, void *about, const struct store_stat *stat,
                            struct sheaf_error *err)
{
    struct objects_asking *a = context;

    if (stat == NULL)
        return SHEAF_OK;
    a->done++;
    if (stat->code == SHEAF_OK)
        return object_answer(a->objects, about, stat, err);
    *err = stat->error;
    return stat->code;
}

static int ask_unit(struct objects_asking *a, size_t unit, struct sheaf_error *err)
{
    const size_t end = objects_unit(a->objects, unit + 1);
    int code = SHEAF_OK;

    for (size_t i = objects_unit(a->objects, unit); i < end && code == SHEAF_OK; i++) {
        struct object *object = &a->objects->items[i];

        if (object->bytes == OBJECT_UNKNOWN)
            code = size_queue_ask(a->queue, object_url(a->objects, object), object, err);
    }
    return code;
}

int objects_ask(struct objects *objects, const uint32_t *units, size_t count,
                struct watch *watch, struct sheaf_error *err)
{
    struct objects_asking a = { .objects = objects };
    int code = size_queue_open(&a.queue, objects_ask_take, &a, err);

    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        const struct sheaf_progress progress = { .stage = "look", .done_count = a.done,
                                                 .total_count = count };

        watch_show(watch, &progress);
        code = watch_check(watch, err);
        if (code == SHEAF_OK)
            code = ask_unit(&a, units[i], err);
    }
    if (code == SHEAF_OK)
        code = size_queue_drain(a.queue, err);
    size_queue_close(a.queue);
    return code;
}
