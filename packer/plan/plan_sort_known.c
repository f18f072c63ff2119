/* SPDX-License-Identifier: MIT
 *
 * For an append, finds samples whose keys already exist in the data set. Their files are reported
 * as bad files and not packed. */
#include "base/error.h"
#include "packer/plan/plan_sort.h"

struct known_asking {
    struct plan_sort *sort;
    struct sample_stream *kept;
    const char *known[SAMPLE_BATCH];    /* as for plan_known_fn */
};

/* Records each file of a sample as a problem, because a sample with the same key already exists.
 * `split` is "" if the data set itself has the existing sample. If another split has the existing
 * sample, `split` is the name of that split. */
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

static int sort_out(void *context, const struct sample_batch *batch, struct sheaf_error *err)
{
    struct known_asking *a = context;
    const struct plan_grow *grow = a->sort->grow;
    size_t begin = 0;
    int code = grow->known(grow->context, grow, (const char *const *)batch->keys, batch->count,
                           a->known, err);

    for (size_t i = 0; i < batch->count && code == SHEAF_OK; begin = batch->ends[i++]) {
        const uint8_t *record = batch->records.data + begin;
        const size_t size = batch->ends[i] - begin;
        struct plan_record_head head;

        if (a->known[i] != NULL) {
            code = plan_sort_known_leave_out(a, record, size, a->known[i], err);
            continue;
        }
        code = plan_record_head(record, size, &head, err);
        if (code == SHEAF_OK)
            code = samples_put(a->kept, record, size, batch->payloads[i], head.has_cls, err);
    }
    return code;
}

int plan_sort_known(struct plan_sort *g, struct sample_stream *all, struct sheaf_error *err)
{
    struct sample_stream kept;
    struct known_asking a = { .sort = g, .kept = &kept };
    int code = samples_open(&kept, g->directory, g->memory_bytes, err);

    if (code == SHEAF_OK)
        code = samples_each_batch(all, g->watch, sort_out, &a, err);
    samples_close(all);
    *all = kept;
    return code;
}
