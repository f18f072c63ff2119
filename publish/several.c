/* SPDX-License-Identifier: MIT
 *
 * The window of files; see several.h. */
#include "publish/several.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/interrupt.h"
#include "store/over.h"

#define AT_ONCE 16u

struct file {
    struct inflight_item item;          /* the first member */
    struct several *several;
    struct store_seen listed;
    bool is_listed;
    int code;
    struct sheaf_error error;
    char name[];
};

static void run(struct inflight_item *item)
{
    struct file *f = (struct file *)item;
    const volatile int *before = interrupt_watch(f->several->interrupt);

    f->code = f->several->each(f->several->context, f->name, f->is_listed ? &f->listed : NULL,
                               &f->error);
    interrupt_watch(before);
}

/* Keeps the first failure. */
static void settle(struct several *s, struct file *f)
{
    if (s->code == SHEAF_OK && f->code != SHEAF_OK) {
        s->code = f->code;
        s->error = f->error;
    }
    free(f);
}

static int failed(const struct several *s, struct sheaf_error *err)
{
    if (s->code != SHEAF_OK && err != NULL)
        *err = s->error;
    return s->code;
}

int several_open(struct several *s, const char *directory, several_fn *each, void *context,
                 struct sheaf_error *err)
{
    *s = (struct several){ .each = each, .context = context, .interrupt = interrupt_watched() };
    inflight_open(&s->window, INFLIGHT_ANY, NULL, NULL);
    return store_is_remote(directory) ? workers_open(&s->workers, AT_ONCE, err) : SHEAF_OK;
}

int several_add(struct several *s, const char *name, const struct store_seen *listed,
                struct sheaf_error *err)
{
    const size_t size = strlen(name) + 1;
    struct inflight_item *item;
    struct file *f;

    while ((item = s->window.count == AT_ONCE ? inflight_next(&s->window)
                                              : inflight_take(&s->window)) != NULL)
        settle(s, (struct file *)item);
    if (s->code != SHEAF_OK)
        return failed(s, err);
    f = calloc(1, sizeof(*f) + size);
    if (f == NULL)
        return err_memory(err, sizeof(*f) + size);
    f->several = s;
    f->is_listed = listed != NULL;
    if (listed != NULL)
        f->listed = *listed;
    memcpy(f->name, name, size);
    f->item.run = run;
    inflight_run(&s->window, s->workers, &f->item);
    if (s->workers == NULL)
        settle(s, (struct file *)inflight_next(&s->window));
    return failed(s, err);
}

int several_close(struct several *s, int code, struct sheaf_error *err)
{
    struct inflight_item *item;

    while ((item = inflight_next(&s->window)) != NULL)
        settle(s, (struct file *)item);
    workers_close(s->workers);
    inflight_close(&s->window);
    return code != SHEAF_OK ? code : failed(s, err);
}
