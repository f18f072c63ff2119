/* SPDX-License-Identifier: MIT
 *
 * The window of files, and of tasks; see several.h. */
#include "publish/several.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/interrupt.h"
#include "store/over.h"

/* ---- Tasks ----------------------------------------------------------------------------------- */

struct task_item {
    struct inflight_item item;          /* the first member */
    const struct several_task *task;
    const volatile int *interrupt;      /* the flag of the caller's thread */
    int code;
    struct sheaf_error error;
};

static void several_run_task(struct inflight_item *item)
{
    struct task_item *t = (struct task_item *)item;
    const volatile int *before = interrupt_watch(t->interrupt);

    t->code = t->task->run(t->task->context, &t->error);
    interrupt_watch(before);
}

/* Waits until all files are handled. If several files could not be handled, returns the error of
 * the file that was added first. */
static int collect(struct inflight *window, struct sheaf_error *err)
{
    struct inflight_item *item;
    int code = SHEAF_OK;

    while ((item = inflight_next(window)) != NULL) {
        const struct task_item *t = (const struct task_item *)item;

        if (code != SHEAF_OK || t->code == SHEAF_OK)
            continue;
        code = t->code;
        if (err != NULL)
            *err = t->error;
    }
    return code;
}

static int run_at_once(const struct several_task tasks[], size_t count, struct sheaf_error *err)
{
    struct task_item *items = calloc(count, sizeof(items[0]));
    struct workers *workers = NULL;
    struct inflight window;
    int code = items == NULL ? err_memory(err, count * sizeof(items[0]))
                             : workers_open(&workers, (unsigned)MIN(count, SEVERAL_AT_ONCE), err);

    if (code == SHEAF_OK) {
        inflight_open(&window, INFLIGHT_OLDEST, NULL, NULL);
        for (size_t i = 0; i < count; i++) {
            items[i].item.run = several_run_task;
            items[i].task = &tasks[i];
            items[i].interrupt = interrupt_watched();
            inflight_run(&window, workers, &items[i].item);
        }
        code = collect(&window, err);
        workers_close(workers);
        inflight_close(&window);
    }
    free(items);
    return code;
}

int several_tasks(const char *directory, const struct several_task tasks[], size_t count,
                  struct sheaf_error *err)
{
    int code = SHEAF_OK;

    if (count > 1 && store_is_remote(directory))
        return run_at_once(tasks, count, err);
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        code = tasks[i].run(tasks[i].context, err);
    return code;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct file {
    struct inflight_item item;          /* the first member */
    struct several *several;
    struct store_seen listed;
    bool is_listed;
    int code;
    struct sheaf_error error;
    char name[];
};

static void several_run(struct inflight_item *item)
{
    struct file *f = (struct file *)item;
    const volatile int *before = interrupt_watch(f->several->interrupt);

    f->code = f->several->each(f->several->context, f->name, f->is_listed ? &f->listed : NULL,
                               &f->error);
    interrupt_watch(before);
}

/* Keeps the first failure. */
static void several_settle(struct several *s, struct file *f)
{
    if (s->code == SHEAF_OK && f->code != SHEAF_OK) {
        s->code = f->code;
        s->error = f->error;
    }
    free(f);
}

static int several_failed(const struct several *s, struct sheaf_error *err)
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
    return store_is_remote(directory) ? workers_open(&s->workers, SEVERAL_AT_ONCE, err) : SHEAF_OK;
}

int several_add(struct several *s, const char *name, const struct store_seen *listed,
                struct sheaf_error *err)
{
    const size_t size = strlen(name) + 1;
    struct inflight_item *item;
    struct file *f;

    while ((item = s->window.count == SEVERAL_AT_ONCE ? inflight_next(&s->window)
                                              : inflight_take(&s->window)) != NULL)
        several_settle(s, (struct file *)item);
    if (s->code != SHEAF_OK)
        return several_failed(s, err);
    f = calloc(1, sizeof(*f) + size);
    if (f == NULL)
        return err_memory(err, sizeof(*f) + size);
    f->several = s;
    f->is_listed = listed != NULL;
    if (listed != NULL)
        f->listed = *listed;
    memcpy(f->name, name, size);
    f->item.run = several_run;
    inflight_run(&s->window, s->workers, &f->item);
    if (s->workers == NULL)
        several_settle(s, (struct file *)inflight_next(&s->window));
    return several_failed(s, err);
}

int several_close(struct several *s, int code, struct sheaf_error *err)
{
    struct inflight_item *item;

    while ((item = inflight_next(&s->window)) != NULL)
        several_settle(s, (struct file *)item);
    workers_close(s->workers);
    inflight_close(&s->window);
    return code != SHEAF_OK ? code : several_failed(s, err);
}
