/* SPDX-License-Identifier: MIT
 *
 * Positions: a place in an epoch as a line of text, and back.  ORDER.md, section 7, has the
 * form. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "reader/reader.h"

struct position {
    char fingerprint[33];
    struct order order;
    uint64_t rounds, extra;
    struct order_member member;     /* for which `extra` is meant */
};

static const char *const remainder_names[] = { "auto", "keep", "drop", "pad" };

int sheaf_reader_position(const struct sheaf_reader *r, char text[SHEAF_POSITION_SIZE])
{
    const struct order *o = &r->feed.order;
    const char *fingerprint = r->dataset->manifest.fingerprint;
    int size;

    if (fingerprint[0] == '\0')
        return SHEAF_ERR_UNSUPPORTED;
    size = snprintf(text, SHEAF_POSITION_SIZE, "sheaf1 %s seed=%" PRIu64 " epoch=%" PRIu64
                    " shuffle=%d buffer=%" PRIu64 " lanes=%u remainder=%s rounds=%" PRIu64
                    " extra=%" PRIu64 " of=%u/%u/%u/%u", fingerprint, o->seed, o->epoch,
                    o->shuffle, o->buffer, o->lanes, remainder_names[o->remainder],
                    r->turns / r->feed.lane_count, r->turns % r->feed.lane_count,
                    r->member.rank, r->member.world_size, r->member.worker, r->member.workers);
    return size > 0 && size < SHEAF_POSITION_SIZE ? SHEAF_OK : SHEAF_ERR_LIMIT;
}

static int parse(const char *text, struct position *p, struct sheaf_error *err)
{
    char remainder[8];
    int shuffle, end = 0;

    if (strlen(text) >= SHEAF_POSITION_SIZE)
        return err_set(err, SHEAF_ERR_ARGUMENT, "a position has at most %d bytes, this one %zu",
                       SHEAF_POSITION_SIZE - 1, strlen(text));
    if (sscanf(text, "sheaf1 %32[0-9a-f] seed=%" SCNu64 " epoch=%" SCNu64 " shuffle=%d buffer=%"
               SCNu64 " lanes=%" SCNu32 " remainder=%7[a-z] rounds=%" SCNu64 " extra=%" SCNu64
               " of=%" SCNu32 "/%" SCNu32 "/%" SCNu32 "/%" SCNu32 "%n", p->fingerprint,
               &p->order.seed, &p->order.epoch, &shuffle, &p->order.buffer, &p->order.lanes,
               remainder, &p->rounds, &p->extra, &p->member.rank, &p->member.world_size,
               &p->member.worker, &p->member.workers, &end) != 13
        || (text[end] != '\0' && strcmp(text + end, "\n") != 0)
        || (shuffle != 0 && shuffle != 1) || p->order.lanes == 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "this is no position: \"%.60s\"", text);
    p->order.shuffle = shuffle;
    p->order.remainder = strcmp(remainder, "keep") == 0 ? SHEAF_KEEP
                       : strcmp(remainder, "drop") == 0 ? SHEAF_DROP
                       : strcmp(remainder, "pad") == 0 ? SHEAF_PAD : SHEAF_REMAINDER_AUTO;
    if (p->order.remainder == SHEAF_REMAINDER_AUTO)
        return err_set(err, SHEAF_ERR_ARGUMENT, "this is no position: remainder \"%s\"",
                       remainder);
    return SHEAF_OK;
}

static bool same_member(const struct order_member *a, const struct order_member *b)
{
    return a->rank == b->rank && a->world_size == b->world_size && a->worker == b->worker
           && a->workers == b->workers;
}

/* Whether this reader may go on from there. */
static int check_fit(const struct sheaf_reader *r, const struct position *p,
                     struct sheaf_error *err)
{
    const uint32_t members = r->member.world_size * r->member.workers;

    if (strcmp(p->fingerprint, r->dataset->manifest.fingerprint) != 0)
        return err_set(err, SHEAF_ERR_CHANGED, "the position is of data set %s, but this one is "
                       "%s", p->fingerprint, r->dataset->manifest.fingerprint);
    if (p->order.lanes % members != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position has %u lanes, which do not divide "
                       "among %u ranks x %u workers", p->order.lanes, r->member.world_size,
                       r->member.workers);
    if (p->extra != 0 && !same_member(&p->member, &r->member))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position is within a round of its %u lanes, "
                       "so only rank %u of %u, worker %u of %u, can go on from it: take positions "
                       "after a multiple of the lanes", p->order.lanes, p->member.rank,
                       p->member.world_size, p->member.worker, p->member.workers);
    if (p->extra >= p->order.lanes / members)
        return err_set(err, SHEAF_ERR_ARGUMENT, "this is no position: %" PRIu64 " lanes of %u",
                       p->extra, p->order.lanes / members);
    if (r->dataset->is_stream && p->order.lanes != 1)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "a stream has one lane, not %u",
                       p->order.lanes);
    return SHEAF_OK;
}

int sheaf_reader_resume(struct sheaf_reader *r, const char *text)
{
    struct position p;
    int code;

    if (r->dead)
        return err_set(&r->error, SHEAF_ERR_STATE, "the reader has failed; only free is of use");
    code = parse(text, &p, &r->error);
    if (code == SHEAF_OK)
        code = check_fit(r, &p, &r->error);
    if (code != SHEAF_OK)
        return code;
    epoch_end(r);
    code = epoch_set_lanes(r, p.order.lanes);
    r->feed.order = p.order;
    if (code == SHEAF_OK)
        code = epoch_begin(r, p.rounds, p.extra);
    r->dead = code != SHEAF_OK;
    return code;
}
