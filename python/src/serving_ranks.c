/* SPDX-License-Identifier: MIT
 *
 * Keeps the state of the ranks of a host that share the serving thread, because they read a channel
 * of pipes (Amazon SageMaker's Pipe mode).
 *
 * The thread begins another pass (iteration over the loader) when all ranks have finished the
 * present pass. If a rank has not begun the pass, the thread waits for this rank, up to a time
 * limit.
 *
 * A rank reads with one or several workers. It has finished a pass when each of its workers was
 * told the end of the pass or has closed its connection. It has also finished a pass when one of
 * its workers makes a request in a later pass. In this case, the rest of the rank's samples is
 * skipped, and the other ranks are not affected. */
#include "serving_inside.h"

static bool serving_ranks_is_of(const struct client *c, uint32_t rank)
{
    return c->is_welcome && c->hello.rank == rank;
}

static bool has_moved_on(const struct serving *s, uint32_t rank)
{
    for (size_t i = 0; i < s->client_count; i++) {
        const struct client *c = &s->clients[i];

        if (serving_ranks_is_of(c, rank) && c->ask.count != 0 && c->ask.pass > s->pass.number)
            return true;
    }
    return false;
}

/* Returns whether the rank still reads in the present pass (iteration over the loader): one of its
 * workers has made requests in this pass, and was not told the end of the pass yet. */
static bool is_reading(const struct serving *s, uint32_t rank)
{
    for (size_t i = 0; i < s->client_count; i++) {
        const struct client *c = &s->clients[i];

        if (serving_ranks_is_of(c, rank) && c->pass == s->pass.number && c->end == UINT64_MAX)
            return true;
    }
    return false;
}

static bool has_come(const struct serving *s, uint32_t rank)
{
    const struct member *m = &s->members[rank];

    return (m->workers != 0 && m->joined >= m->workers) || has_moved_on(s, rank);
}

static bool is_done(const struct serving *s, uint32_t rank)
{
    return has_moved_on(s, rank) || (has_come(s, rank) && !is_reading(s, rank));
}

static bool is_past(const struct serving *s, uint32_t rank, uint32_t workers, uint64_t ordinal)
{
    uint32_t past = serving_is_shared(s) ? s->members[rank].left : 0;

    for (size_t i = 0; i < s->client_count; i++) {
        const struct client *c = &s->clients[i];

        past += serving_ranks_is_of(c, rank) && c->pass == s->pass.number && c->latest > ordinal;
    }
    return past >= workers;
}

uint32_t serving_missing(const struct serving *s)
{
    uint32_t missing = 0;

    for (uint32_t rank = 0; rank < s->ranks; rank++)
        missing += !has_come(s, rank);
    return missing;
}

bool serving_pass_is_over(const struct serving *s)
{
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (!is_done(s, rank))
            return false;
    return true;
}

bool serving_all_are_past(const struct serving *s, const struct client *asker, uint64_t ordinal)
{
    if (!serving_is_shared(s))
        return is_past(s, 0, asker->hello.workers, ordinal);
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        const uint32_t workers = s->members[rank].workers;

        if (!has_moved_on(s, rank) && (workers == 0 || !is_past(s, rank, workers, ordinal)))
            return false;
    }
    return true;
}

bool serving_some_have_left(const struct serving *s)
{
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (s->members[rank].left != 0 || has_moved_on(s, rank))
            return true;
    return false;
}
