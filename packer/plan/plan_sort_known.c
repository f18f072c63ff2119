/* SPDX-License-Identifier: MIT
 *
 * For an append, finds samples whose keys already exist in the data set. Their files are reported
 * as bad files and not packed. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "packer/plan/plan_sort.h"

#define KEYS_ONCE 1024      /* asked for together */

/* Samples that wait for the answer. */
struct known_asking {
    struct plan_sort *sort;
    struct sample_stream *all, *kept;
    struct buf records;         /* one after another, */
    size_t ends[KEYS_ONCE];     /* up to here; */
    uint64_t payloads[KEYS_ONCE];
    char *keys[KEYS_ONCE];
    const char *known[KEYS_ONCE];   /* as for plan_known_fn */
    size_t count;
};

static int plan_sort_known_take(struct known_asking *a, struct buf *record, struct sheaf_error *err)
{
    struct plan_record_head head;
    int code = samples_get(a->all, record, &a->payloads[a->count], err);

    if (code == SHEAF_OK)
        code = plan_record_head(record->data, record->size, &head, err);
    if (code == SHEAF_OK)
        code = buf_append(&a->records, record->data, record->size, err);
    if (code != SHEAF_OK)
        return code;
    a->ends[a->count] = a->records.size;
    a->keys[a->count] = strndup((const char *)head.key, head.key_size);
    if (a->keys[a->count] == NULL)
        return err_memory(err, head.key_size);
    a->count++;
    return SHEAF_OK;
}

/* Records each file of a sample as a problem, because the sample's key already exists. `split` is
 * the name of the other split that has the key, or "" if the data set itself has it. */
static int plan_sort_known_leave_out(struct known_asking *a, const uint8_t *record, size_t size,
                                     const char *split, struct sheaf_error *err)
{
    struct catalog files = { .file_count = 0 };
    struct plan_sample sample;
    int code = plan_record_read(&record, record + size, &files, &sample, err);

    for (uint64_t i = 0; i < files.file_count && code == SHEAF_OK; i++)
        code = split[0] == '\0'
             ? problems_add_known(a->sort->problems, err, files.files[i].path)
             : problems_add(a->sort->problems, err, files.files[i].path, SHEAF_ERR_EXISTS,
                            "the split %s of the same data has a sample with this key", split);
    if (code == SHEAF_OK)
        *plan_sort_count(a->sort, sample.label, sample.has_cls) -= 1;
    catalog_free(&files);
    return code;
}

static int sort_out(struct known_asking *a, struct sheaf_error *err)
{
    const struct plan_grow *grow = a->sort->grow;
    size_t begin = 0;
    int code = grow->known(grow->context, grow, (const char *const *)a->keys, a->count, a->known,
                           err);

    for (size_t i = 0; i < a->count && code == SHEAF_OK; begin = a->ends[i++]) {
        const uint8_t *record = a->records.data + begin;
        const size_t size = a->ends[i] - begin;
        struct plan_record_head head;

        if (a->known[i] != NULL) {
            code = plan_sort_known_leave_out(a, record, size, a->known[i], err);
            continue;
        }
        code = plan_record_head(record, size, &head, err);
        if (code == SHEAF_OK)
            code = samples_put(a->kept, record, size, a->payloads[i], head.has_cls, err);
    }
    for (; a->count != 0; a->count--)
        free(a->keys[a->count - 1]);
    a->records.size = 0;
    return code;
}

static int sort_out_all(struct known_asking *a, struct sheaf_error *err)
{
    struct buf record = BUF_INIT(SIZE_MAX / 4);
    int code = samples_rewind(a->all, err);

    for (uint64_t i = 0; i < a->all->count && code == SHEAF_OK; i++) {
        code = plan_sort_known_take(a, &record, err);
        if (code == SHEAF_OK && (a->count == KEYS_ONCE || i + 1 == a->all->count))
            code = sort_out(a, err);
        if (code == SHEAF_OK)
            code = watch_check(a->sort->watch, err);
    }
    for (; a->count != 0; a->count--)
        free(a->keys[a->count - 1]);
    buf_free(&record);
    return code;
}

int plan_sort_known(struct plan_sort *g, struct sample_stream *all, struct sheaf_error *err)
{
    struct known_asking *a = calloc(1, sizeof(*a));
    struct sample_stream kept;
    int code;

    if (a == NULL)
        return err_memory(err, sizeof(*a));
    *a = (struct known_asking){ .sort = g, .all = all, .kept = &kept,
                          .records = BUF_INIT(SIZE_MAX / 4) };
    code = samples_open(&kept, g->directory, g->memory_bytes, err);
    if (code == SHEAF_OK)
        code = sort_out_all(a, err);
    samples_close(all);
    *all = kept;
    buf_free(&a->records);
    free(a);
    return code;
}
