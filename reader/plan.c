/* SPDX-License-Identifier: MIT
 *
 * Makes a list of an epoch: the ranges of shards that each worker of each rank reads. The ranges
 * are computed with order.h from the numbers of samples in the manifest. */
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/epoch_order.h"
#include "reader/reader_options.h"

/* Calls `each` for each range of samples that a lane (a sequence of samples) reads. A range ends at
 * the end of its shard. */
static void list_lane(const struct sheaf_dataset *d, const struct order *order,
                      const struct order_line *line, struct sheaf_stretch *stretch,
                      sheaf_stretch_fn *each, void *context)
{
    const struct order_lane lane = dataset_lane(d, order, stretch->lane);
    const uint64_t inputs = order_lane_inputs(&lane);
    uint64_t input = 0;

    while (input < inputs) {
        const struct order_run run = order_line_locate(line, order_lane_place(&lane, input));
        const uint64_t left = input < lane.count ? lane.count - input : 1;

        stretch->shard = run.shard;
        stretch->first_record = run.record;
        stretch->samples = MIN(run.count, left);
        each(context, stretch);
        input += stretch->samples;
    }
}

int sheaf_dataset_plan(const struct sheaf_dataset *d, const struct sheaf_reader_options *options,
                       sheaf_stretch_fn *each, void *context, struct sheaf_error *err)
{
    struct order_member m;
    struct order order;
    struct order_line line;
    const char *no_plan = epoch_order_of(d)->no_plan;
    int code = reader_options_order(d, options, &order, &m, err);

    if (code == SHEAF_OK && no_plan != NULL)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: %s", d->url, no_plan);
    if (code == SHEAF_OK && d->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is read as a stream, and has no plan",
                       d->url);
    if (code == SHEAF_OK)
        code = order_line_make(&order, d->samples, d->manifest.shard_count, &line, err);
    if (code != SHEAF_OK)
        return code;
    for (m.rank = 0; m.rank < m.world_size; m.rank++) {
        for (m.worker = 0; m.worker < m.workers; m.worker++) {
            for (uint32_t i = 0; i < order.lanes / (m.world_size * m.workers); i++) {
                struct sheaf_stretch stretch = { .rank = m.rank, .worker = m.worker,
                                                 .lane = order_member_lane(&m, i) };

                list_lane(d, &order, &line, &stretch, each, context);
            }
        }
    }
    order_line_free(&line);
    return SHEAF_OK;
}
