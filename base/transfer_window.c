/* SPDX-License-Identifier: MIT
 *
 * The window of transfers; see transfer_window.h. */
#include "base/transfer_window.h"

#include "base/bytes.h"

/* If the consumer has waited for less than 1/32 of the time of a round of measurement, the round
 * counts as a round without waiting. */
#define HARDLY_WAITED 32u
/* If the number of simultaneous reads is doubled in a trial, the rate must become at least WORTH_IT
 * times as high. Otherwise the number is set back, because a smaller rise may be chance. */
#define WORTH_IT 1.3
#define REST_ROUNDS 16u
/* Number of rounds of measurement before the first trial, which doubles the number of simultaneous
 * reads. On a slow link, the number rises without a trial. */
#define FIRST_REST 8u
/* A rate in bytes per nanosecond. If the first reads are slower than this rate, the number of
 * simultaneous reads is raised at once, before the first round of measurement ends. */
#define QUICK 0.75
/* A rate in bytes per nanosecond. If a round of measurement is slower than this rate, the number of
 * simultaneous reads is doubled without a trial. On such a slow link, waiting costs much more than
 * the memory for more reads. */
#define SLOW 0.2
/* With N simultaneous reads, a round of measurement lasts until MEASURED_WINDOWS x N reads are
 * complete. Simultaneous reads often finish in bursts, so a round of only N reads might measure a
 * single burst. */
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

/* Changes the number of simultaneous reads, if necessary, after a round of measurement in which the
 * consumer has waited. `rate` is the rate of this round in bytes per nanosecond. */
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

/* Ends the current round of measurement if it was long enough. Returns whether the round has ended.
 * May change w->now, the number of simultaneous reads. Must be called only when the number of
 * completed reads in this round is a multiple of w->now. */
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

/* Raises w->now, the number of simultaneous reads, if the link is slow in the first round of
 * measurement. Returns whether w->now was raised.
 *
 * The rate is the number of received bytes divided by the time that the consumer has waited. If the
 * rate is half of QUICK, w->now is doubled. If it is a third of QUICK, w->now is tripled, and so
 * on.
 *
 * The first reads are small and consist mostly of latency, so their rate would be too low.
 * Therefore the rate is ignored until the consumer has waited for quick_ns. This is the time in
 * which w->now reads of the usual size would arrive at the rate QUICK. */
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
