/* SPDX-License-Identifier: MIT
 *
 * Repairs damaged files by copying them from a copy of the data set. Each file is compared with the
 * manifest before it gets its final name. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "copy/repair.h"
#include "publish/output_remove.h"
#include "publish/several.h"
#include "store/store.h"

#define COPY_BYTES ((size_t)4 << 20)    /* that are read at once */

/* A file that is being copied. */
struct file_copy {
    const struct repair *repair;
    const struct repair_file *file;
    struct store_object *object;
    XXH3_state_t *hash;
    uint8_t *buffer;
};

static int copy_bytes(struct file_copy *c, struct store_writer *writer, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint64_t at = 0; at < c->object->bytes && code == SHEAF_OK;) {
        const size_t size = (size_t)MIN(c->object->bytes - at, (uint64_t)COPY_BYTES);

        code = watch_check(&c->repair->watch, err);
        if (code == SHEAF_OK)
            code = store_read(c->object, at, c->buffer, size, err);
        if (code == SHEAF_OK) {
            XXH3_128bits_update(c->hash, c->buffer, size);
            code = store_write(writer, c->buffer, size, err);
        }
        at += size;
    }
    return code;
}

/* Compares a copied file with the manifest: its size and, if it is a shard, its hash. */
static int check_copied(const struct file_copy *c, struct sheaf_error *err)
{
    const struct repair_file *f = c->file;
    const struct manifest_shard *m = f->shard == REPAIR_NO_SHARD
                                         ? NULL : &c->repair->manifest->shards[f->shard];
    const uint64_t expected = f->kind == REPAIR_SHARD ? m->bytes
                            : f->kind == REPAIR_NAMES ? m->names_bytes : c->object->bytes;
    char found[HASH_TEXT_BYTES];

    hash_text(XXH3_128bits_digest(c->hash), found);
    if (c->object->bytes == expected &&
        (f->kind != REPAIR_SHARD || strcmp(found, m->xxh3) == 0))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: is damaged, too: it has %llu byte%s and the "
                   "XXH3-128 %s, expected %llu%s%s", c->object->url,
                   (unsigned long long)c->object->bytes, plural(c->object->bytes), found,
                   (unsigned long long)expected, f->kind == REPAIR_SHARD ? " and " : "",
                   f->kind == REPAIR_SHARD ? m->xxh3 : "");
}

static int copy_content(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    struct file_copy *c = context;
    char *url = store_join(c->repair->copy_directory, c->file->name);
    int code = url == NULL ? err_memory(err, strlen(c->file->name))
                           : store_open(url, &c->object, err);

    c->hash = XXH3_createState();
    c->buffer = malloc(COPY_BYTES);
    if (code == SHEAF_OK && (c->hash == NULL || c->buffer == NULL))
        code = err_memory(err, COPY_BYTES);
    if (code == SHEAF_OK) {
        XXH3_128bits_reset(c->hash);
        code = copy_bytes(c, writer, err);
    }
    if (code == SHEAF_OK)
        code = check_copied(c, err);
    store_close(c->object);
    XXH3_freeState(c->hash);
    free(c->buffer);
    free(url);
    return code;
}

static int copy_one(void *context, const char *name, const struct store_seen *listed,
                    struct sheaf_error *err)
{
    const struct repair *r = context;
    struct repair_file *f = repair_find(r, name);
    struct file_copy copied = { .repair = r, .file = f };
    struct sheaf_error found;
    int code = repair_check_table(r->copy, f->kind, name, &found);

    (void)listed;
    code = code == SHEAF_END ? SHEAF_OK : code;
    if (code == SHEAF_OK)
        code = output_write_over(&r->output, r->directory, name, copy_content, &copied, NULL,
                                 &found);
    f->is_repaired = code == SHEAF_OK;
    return code == SHEAF_OK ? SHEAF_OK : repair_fail(f, code, &found, err);
}

int repair_from_copy(struct repair *r, struct sheaf_error *err)
{
    struct several several;
    int code = several_open(&several, r->directory, copy_one, r, err);

    r->progress = (struct sheaf_progress){ .stage = "repair", .total_count = r->result.damaged };
    for (size_t i = 0; i < r->file_count && code == SHEAF_OK; i++) {
        if (r->files[i].damage == NULL)
            continue;
        code = watch_check(&r->watch, err);
        if (code == SHEAF_OK)
            code = several_add(&several, r->files[i].name, NULL, err);
        r->progress.done_count++;
        watch_show(&r->watch, &r->progress);
    }
    code = several_close(&several, code, err);
    return code == SHEAF_OK ? repair_check_again(r, err) : code;
}
