/* SPDX-License-Identifier: MIT
 *
 * Requests the sizes of the objects that a list names, and adds the objects to the catalog of
 * files. */
#include "packer/source/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/source/size_queue.h"

struct sizes {
    struct scan *scan;
    struct size_queue *queue;
};

struct sizes_entry {
    bool is_below;
    uint32_t label;
    char path[];
};

static bool sizes_is_of_object(int code)
{
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_ACCESS ||
           code == SHEAF_ERR_ARGUMENT || code == SHEAF_ERR_UNSUPPORTED || code == SHEAF_ERR_LIMIT;
}

static int sizes_do_add(struct scan *scan, const struct sizes_entry *e,
                        const struct store_stat *stat, struct sheaf_error *err)
{
    const struct catalog_stat found = { .bytes = stat->bytes, .stamp = stat->stamp,
                                        .url = e->is_below ? NULL : stat->url };

    if (stat->code == SHEAF_OK)
        return scan_add_object(scan, e->path, &found, e->label, err);
    if (sizes_is_of_object(stat->code))
        return scan_add_problem(scan, e->path, &stat->error, err);
    *err = stat->error;
    return stat->code;
}

static int sizes_take(void *context, void *about, const struct store_stat *stat,
                      struct sheaf_error *err)
{
    struct sizes *s = context;
    int code = stat == NULL ? SHEAF_OK : sizes_do_add(s->scan, about, stat, err);

    free(about);
    return code;
}

int sizes_open(struct sizes **out, struct scan *scan, struct sheaf_error *err)
{
    struct sizes *s = calloc(1, sizeof(*s));
    int code;

    if (s == NULL)
        return err_memory(err, sizeof(*s));
    s->scan = scan;
    code = size_queue_open(&s->queue, sizes_take, s, err);
    if (code == SHEAF_OK)
        *out = s;
    else
        free(s);
    return code;
}

int sizes_add(struct sizes *s, const char *path, const char *url, bool is_below, uint32_t label,
              struct sheaf_error *err)
{
    const size_t size = strlen(path) + 1;
    struct sizes_entry *e = malloc(sizeof(*e) + size);
    int code;

    if (e == NULL)
        return err_memory(err, sizeof(*e) + size);
    e->is_below = is_below;
    e->label = label;
    memcpy(e->path, path, size);
    code = size_queue_ask(s->queue, strdup(url), e, err);
    if (code != SHEAF_OK)
        free(e);
    return code;
}

int sizes_drain(struct sizes *s, struct sheaf_error *err)
{
    return size_queue_drain(s->queue, err);
}

void sizes_close(struct sizes *s)
{
    if (s == NULL)
        return;
    size_queue_close(s->queue);
    free(s);
}
