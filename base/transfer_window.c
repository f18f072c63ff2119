/* SPDX-License-Identifier: MIT
 *
 * The window of transfers; see transfer_window.h. */
#include "base/transfer_window.h"

#include "base/bytes.h"

/* the consumer counts as waiting in a round of measurement only if it waited for at least 1/32 of
 * the round */
#define HARDLY_WAITED 32u
/* when the number of reads is doubled, the rate must rise by this factor; a smaller gain may be
 * chance */
#define WORTH_IT 1.3
#define REST_ROUNDS 16u
/* number of rounds of measurement before the first trial with more reads; a slow link gets more
 * reads without waiting for these rounds */
#define FIRST_REST 8u
/* bytes per nanosecond; before the first round of measurement, a link with a lower rate gets more
 * simultaneous reads */
#define QUICK 0.75
/* bytes per nanosecond; after the first round, a link with a lower rate gets more simultaneous
 * reads without a trial */
#define SLOW 0.2
/* If N reads run at once, a rate is measured over MEASURED_WINDOWS x N reads. Simultaneous reads
 * tend to finish in bursts, so N reads could measure the rate of a single burst. */
#define MEASURED_WINDOWS 3u

void window_fit(struct window *w, unsigned least, unsigned most, uint64_t read_bytes)
{
    w->read_bytes = read_bytes;
    w->reads = 0;
    w->bytes = 0;
    w->is_settled = false;
    w->most = most;
    if (w->now == 0)
        w->rest = FIRST_REST;
    w->now = MIN(MAX(w->now, least), most);
    w->before = MIN(w->before, w->now);
}

static void transfer_window_set(struct window *w, unsigned now)
{
    w->now = now;
    w->is_settled = false;
}

/* Adjusts the number of reads at once after a round of measurement in which the consumer had to
 * wait. `rate` is the throughput of that round. */
static void judge(struct window *w, double rate)
{
    if (w->before != 0 && rate < w->before_rate * WORTH_IT) {
        transfer_window_set(w, w->before);
        w->rest = REST_ROUNDS;
    } else if (w->rest != 0) {
        w->rest--;
    } else if (w->now < w->most) {
        w->before = w->now;
        w->before_rate = rate;
        transfer_window_set(w, MIN(2 * w->now, w->most));
        return;
    }
    w->before = 0;
}

/* Decides whether the current round of measurement ends. If it does, adjusts the number of reads at
 * once (`now`) and returns true. Called each time that `now` more reads are complete. */
static bool end_round(struct window *w, uint64_t stall_ns, uint64_t now_ns)
{
    const uint64_t took_ns = now_ns - w->began_ns + 1;
    const bool waited = stall_ns - w->stall_ns >= took_ns / HARDLY_WAITED;
    const double rate = (double)w->bytes / (double)took_ns;

    if (!w->is_settled)
        w->is_settled = true;
    else if (waited && rate < SLOW && w->before == 0 && w->now < w->most)
        transfer_window_set(w, MIN(2 * w->now, w->most));
    else if (w->reads < MEASURED_WINDOWS * w->now)
        return false;
    else if (waited)
        judge(w, rate);
    return true;
}

/* Raises the number of reads at once (`now`) before the first round ends, if the link is slow.
 * Returns whether the number was raised. A link counts as slow if the consumer has already waited
 * longer than `now` reads of usual size would take at the rate QUICK. `now` is then multiplied by
 * QUICK / (bytes received / time waited). A shorter wait does not show that the link is slow,
 * because the first reads are smaller than usual, and most of their time is latency. */
static bool begins_slowly(struct window *w, uint64_t stall_ns)
{
    const double quick_ns = (double)w->read_bytes * w->now / QUICK;
    const double more = QUICK * (double)stall_ns / (double)MAX(w->bytes, 1) * w->now;

    if (w->began_ns != 0 || w->now >= w->most || (double)stall_ns < quick_ns || more <= w->now)
        return false;
    transfer_window_set(w, more < (double)w->most ? (unsigned)more : w->most);
    return true;
}

bool window_took(struct window *w, uint64_t bytes, uint64_t stall_ns, uint64_t now_ns)
{
    const unsigned was = w->now;

    w->reads++;
    w->bytes += bytes;
    if (!begins_slowly(w, stall_ns) &&
        (w->reads % w->now != 0 || !end_round(w, stall_ns, now_ns)))
        return false;
    w->reads = 0;
    w->bytes = 0;
    w->began_ns = now_ns;
    w->stall_ns = stall_ns;
    return w->now != was;
}
