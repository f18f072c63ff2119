/* SPDX-License-Identifier: MIT
 *
 * Counts turns (in a turn, a lane is asked for one sample). At the end of an epoch, checks that
 * each sample was returned once. */
#include "reader/sum.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/error.h"
#include "reader/load/stream.h"
#include "reader/epoch_order.h"

void sum_begin(struct sheaf_reader *r, uint64_t rounds, uint64_t extra)
{
    r->sum = (struct sum){ .promised = r->epoch_samples };
    for (uint32_t i = 0; !r->dataset->is_stream && i < r->own_lanes; i++)
        r->sum.promised -= MIN(rounds + (i < extra ? 1 : 0), r->epoch_order->steps(r, i));
}

bool sum_is_open(const struct sheaf_reader *r)
{
    return r->turns != r->start_turns + r->handed + r->sum.corrupt + r->sum.missing +
           r->sum.empty;
}

/* Returns the number of samples and bad records that the streams of all lanes (sequences of
 * samples) have found so far. */
static uint64_t framed(const struct sheaf_reader *r)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < r->load.lane_count; i++)
        count += stream_framed(r->load.queues[i].stream);
    return count;
}

int sum_check_start(struct sheaf_reader *r)
{
    if (r->load.lane_count != r->load.order.lanes)
        return SHEAF_OK;
    return err_set(&r->error, SHEAF_ERR_ARGUMENT, "the position is after %" PRIu64 " sample%s of "
                   "the epoch, which has %" PRIu64, r->start_turns, plural(r->start_turns),
                   r->turns);
}

/* Returns an error if all records of the epoch were damaged. Without this check, an epoch in which
 * all records are skipped as damaged would look like a success. */
static int check_rest(struct sheaf_reader *r)
{
    const uint64_t bad = r->sum.corrupt + r->dataset->damage_count;

    if (r->handed != 0 || r->start_turns != 0 || bad == 0)
        return SHEAF_END;
    return err_set(&r->error, SHEAF_ERR_CORRUPT, "no sample could be read: all that was found was "
                   "corrupt (records: %" PRIu64 ")", bad);
}

int sum_check(struct sheaf_reader *r)
{
    const struct sum *s = &r->sum;
    const bool is_stream = r->dataset->is_stream;
    const uint64_t given = r->handed + s->corrupt + s->missing;
    const uint64_t expected = is_stream ? framed(r) - MIN(framed(r), s->read_past) : s->promised;

    if (given == expected && (!sum_is_open(r) || r->turns < r->start_turns))
        return check_rest(r);
    return err_set(&r->error, SHEAF_ERR_MISMATCH, "epoch %" PRIu64 " ends after %" PRIu64 " "
                   "sample%s and %" PRIu64 " corrupt record%s (and %" PRIu64 " left out, because a "
                   "column has no value for them), but %" PRIu64 " were %s", r->load.order.epoch,
                   r->handed, plural(r->handed), s->corrupt, plural(s->corrupt), s->missing,
                   expected, is_stream ? "found" : "promised");
}
