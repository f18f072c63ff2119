/* SPDX-License-Identifier: MIT
 *
 * Copies an archive from a store with several reads at the same time, because the store delivers
 * bytes faster than a single connection transfers them. */
#include "packer/source/archive_fetch.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tempfile.h"
#include "store/interrupt.h"
#include "store/read_item.h"

#define READS      4u
#define READ_BYTES ((size_t)4 << 20)

struct fetching {
    struct store_object *object;
    int to;
    uint64_t bytes, asked;
    struct watch *watch;
    struct sheaf_progress progress;
    struct inflight window;
    struct read_item items[READS];
    uint8_t *data;              /* READ_BYTES for each read */
};

static void archive_fetch_ask(struct fetching *f)
{
    struct read_item *item;

    while (f->asked < f->bytes &&
           (item = (struct read_item *)(void *)inflight_idle(&f->window)) != NULL) {
        item->read = (struct store_read){
            .object = f->object, .offset = f->asked,
            .data = f->data + (size_t)(item - f->items) * READ_BYTES,
            .size = (size_t)MIN(f->bytes - f->asked, (uint64_t)READ_BYTES),
        };
        f->asked += item->read.size;
        read_item_start(&f->window, item);
    }
}

static int archive_fetch_take(struct fetching *f, const struct read_item *item,
                              struct sheaf_error *err)
{
    const struct store_read *read = &item->read;

    if (read->code != SHEAF_OK) {
        *err = read->error;
        return read->code;
    }
    f->progress.done_bytes += read->size;
    if (f->watch != NULL)
        watch_show(f->watch, &f->progress);
    return tempfile_write_at(f->to, read->offset, read->data, read->size, err);
}

static int archive_fetch_all(struct fetching *f, struct sheaf_error *err)
{
    struct inflight_item *item;
    int code = SHEAF_OK;

    inflight_open(&f->window, INFLIGHT_ANY, read_item_cancel, interrupt_watched());
    for (unsigned i = 0; i < READS; i++)
        inflight_add(&f->window, &f->items[i].item);
    archive_fetch_ask(f);
    while (code == SHEAF_OK && (item = inflight_next(&f->window)) != NULL) {
        code = archive_fetch_take(f, (struct read_item *)(void *)item, err);
        inflight_add(&f->window, item);
        if (code == SHEAF_OK)
            archive_fetch_ask(f);
    }
    inflight_close(&f->window);
    return code;
}

/* Without a version, only the size distinguishes two archives. */
static uint64_t archive_fetch_stamp_of(const struct store_object *object)
{
    return object->version == NULL ? object->bytes
                                   : XXH3_64bits(object->version, strlen(object->version));
}

int archive_fetch(const char *url, int to, uint64_t *bytes, uint64_t *stamp, struct watch *watch,
                  struct sheaf_error *err)
{
    struct fetching f = {
        .to = to, .watch = watch, .progress.stage = "fetch", .data = malloc(READS * READ_BYTES),
    };
    int code = f.data == NULL ? err_memory(err, READS * READ_BYTES)
                              : store_open(url, &f.object, err);

    if (code == SHEAF_OK) {
        *bytes = f.bytes = f.progress.total_bytes = f.object->bytes;
        *stamp = archive_fetch_stamp_of(f.object);
        code = archive_fetch_all(&f, err);
    }
    store_close(f.object);
    free(f.data);
    return code;
}
