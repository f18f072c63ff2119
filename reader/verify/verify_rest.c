/* SPDX-License-Identifier: MIT
 *
 * Reads the rest of a damaged shard; see verify_rest.h. */
#include "reader/verify/verify_rest.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "reader/load/unpack.h"

/* Largest number of records, and their largest total size in bytes, that are read at once from a
 * shard without compression. From a compressed shard, all records of a codec block are read at
 * once. */
#define RECORDS_MOST ((uint64_t)4096)
#define BYTES_MOST   ((uint64_t)4 << 20)

/* Returns the number of records from `first` on that lie in one codec block. If the shard is not
 * compressed, returns the number of records that should be read at once. */
static uint64_t rest_together(const struct index_section *s, uint64_t first)
{
    const uint64_t most = s->blocks != NULL ? s->samples - first
                                            : MIN(s->samples - first, RECORDS_MOST);
    const uint64_t end = s->blocks != NULL
                             ? s->blocks[index_block_of(s, s->offsets[first]) + 1].raw_offset
                             : s->offsets[first] + BYTES_MOST;
    uint64_t count = 1;

    while (count < most && s->offsets[first + count] < end)
        count++;
    return count;
}

/* Plans the next read, which begins with record `first`. If the memory is too small for all records
 * that should be read at once, decompresses in small steps, and then takes fewer records. */
static struct read_needs rest_plan(const struct rest *rest, uint64_t first, struct run *run,
                                   struct read_plan *plan)
{
    *run = (struct run){ .shard = rest->shard, .first = first,
                         .count = rest_together(rest->shard->section, first) };
    *plan = (struct read_plan){ .runs = run, .run_count = 1 };
    for (;;) {
        const struct read_needs n = read_needs_of(plan);

        if (n.work + n.block <= rest->limit)
            return n;
        if (plan->step_bytes == 0 && extent_is_in_block(run))
            plan->step_bytes = unpack_step(rest->shard->object->is_remote);
        else if (run->count > 1)
            run->count /= 2;
        else
            return n;
    }
}

static int rest_take(const struct rest *rest, struct read *r, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < r->span; i++) {
        struct item *item = read_item(r, i);

        if (code == SHEAF_OK)
            code = rest->take(rest->context, item, err);
        item_free_error(item);
    }
    return code;
}

/* Reads the records of a plan with the needs `n`. */
static int rest_read_plan(const struct rest *rest, struct work *w, const struct read_plan *plan,
                          const struct read_needs *n, struct sheaf_error *err)
{
    struct read r = { .next = NULL };
    int code;

    if (w->room.capacity + n->block > rest->limit)      /* from an earlier read */
        buf_free(&w->room);
    r.table = malloc(n->block);
    if (r.table == NULL)
        return err_memory(err, n->block);
    code = read_open(&r, w, plan, n, rest->dataset, NULL, err);
    if (code == SHEAF_OK) {
        read_start(&r);
        code = w->code;
        if (code == SHEAF_OK)
            code = rest_take(rest, &r, err);
        else
            *err = w->error;
    }
    free(r.table);
    return code;
}

/* Reads a record that needs more memory than `limit`. */
static int rest_read_large(const struct rest *rest, struct work *w, const struct read_plan *plan,
                           const struct read_needs *n, struct sheaf_error *err)
{
    const struct index_section *s = rest->shard->section;
    const uint64_t record = plan->runs[0].first;
    int code = frames_allow(index_frame_bytes(s, record), rest->large->limit, err);

    if (code != SHEAF_OK) {
        err_prefix(err, "%s: offset %" PRIu64 ", record %" PRIu64 ": ",
                   rest->dataset->urls[rest->shard->number], s->offsets[record], record);
        return code;
    }
    pthread_mutex_lock(&rest->large->lock);
    code = rest_read_plan(rest, w, plan, n, err);
    buf_free(&w->room);
    pthread_mutex_unlock(&rest->large->lock);
    return code;
}

/* Reads the next records, and sets *next to the number of the record after them. */
static int rest_read_some(const struct rest *rest, struct work *w, uint64_t *next,
                          struct sheaf_error *err)
{
    struct read_plan plan;
    struct run run;
    const struct read_needs n = rest_plan(rest, *next, &run, &plan);

    *next += run.count;
    return n.work + n.block > rest->limit ? rest_read_large(rest, w, &plan, &n, err)
                                          : rest_read_plan(rest, w, &plan, &n, err);
}

int rest_read(const struct rest *rest, uint64_t first, struct sheaf_error *err)
{
    struct work *w = calloc(1, sizeof(*w));
    int code = w == NULL ? err_memory(err, sizeof(*w)) : SHEAF_OK;

    while (code == SHEAF_OK && first < rest->shard->section->samples) {
        code = rest_read_some(rest, w, &first, err);
        if (code == SHEAF_OK && flag_is_raised(rest->interrupt))
            code = err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    }
    work_free(w);
    return code == SHEAF_END ? SHEAF_OK : code;
}
