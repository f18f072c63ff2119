/* SPDX-License-Identifier: MIT
 *
 * Writes a position in an epoch as a line of text, and parses such a line. ORDER.md, section 7,
 * describes the format. */
#include "reader/position.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "formats/manifest_edit.h"
#include "formats/manifest_growth.h"
#include "reader/epoch.h"
#include "reader/epoch_order.h"
#include "reader/reader_options.h"

#define FINGERPRINT_SIZE 32u
#define CRC_WORD  " crc="
#define CRC_SIZE  (sizeof(CRC_WORD) - 1 + 8)
#define SOURCES_WORD   " sources="
#define SOURCE_DIGITS  4u       /* hexadecimal digits of each source's fingerprint */

struct position {
    char fingerprint[FINGERPRINT_SIZE + 1];
    struct order order;
    uint64_t rounds, extra;
    struct order_member member;     /* rank and worker to whose lanes `extra` refers */
    /* host and number of hosts; both are 0 for a whole data set */
    uint32_t host, hosts;
    /* in a view: the first SOURCE_DIGITS digits of the fingerprint of each source; otherwise "" */
    char sources[SHEAF_POSITION_SIZE];
};

static const char *const remainder_names[] = { "auto", "keep", "drop", "pad" };

/* ---- Where it is, and was ------------------------------------------------------------------- */

/* Makes room in the table of gaps for more entries. (A gap is a turn in which a lane, a sequence of
 * samples, gave no sample.) First removes entries that are no longer needed: positions can be
 * requested only for samples that were returned recently. If this removes only few entries,
 * enlarges the table. */
static int position_make_room(struct sheaf_reader *r)
{
    const size_t capacity = 2 * r->gap_capacity + 16;
    struct gap *gaps;
    size_t old = 0;

    while (old + 1 < r->gap_count && r->gaps[old + 1].first + SHEAF_BACK_MOST <= r->handed)
        old++;
    r->gap_count -= old;
    if (old != 0)
        memmove(r->gaps, r->gaps + old, r->gap_count * sizeof(r->gaps[0]));
    if (r->gap_capacity != 0 && r->gap_count <= r->gap_capacity / 2)
        return SHEAF_OK;
    gaps = realloc(r->gaps, capacity * sizeof(gaps[0]));
    if (gaps == NULL)
        return err_memory(&r->error, capacity * sizeof(gaps[0]));
    r->gaps = gaps;
    r->gap_capacity = capacity;
    return SHEAF_OK;
}

int position_count(struct sheaf_reader *r)
{
    const uint64_t turns = r->turns - r->start_turns - (r->handed + 1);
    const uint64_t known = r->gap_count == 0 ? 0 : r->gaps[r->gap_count - 1].turns;

    if (turns != known) {
        const int code = r->gap_count < r->gap_capacity ? SHEAF_OK : position_make_room(r);

        if (code != SHEAF_OK)
            return code;
        r->gaps[r->gap_count++] = (struct gap){ .first = r->handed + 1, .turns = turns };
    }
    r->handed++;
    return SHEAF_OK;
}

/* Returns the number of turns that were needed to return the first `samples` samples. In a turn, a
 * lane is asked for a sample. Turns in which the lane had no sample are included.
 *
 * A stream that was resumed is read up to its position only by the first call of sheaf_reader_next.
 * Before that call, the function returns the number of turns before this position. */
static uint64_t turns_after(const struct sheaf_reader *r, uint64_t samples)
{
    size_t i = r->gap_count;

    if (samples == r->handed)
        return MAX(r->turns, r->start_turns);
    while (i > 0 && r->gaps[i - 1].first > samples)
        i--;
    return r->start_turns + samples + (i == 0 ? 0 : r->gaps[i - 1].turns);
}

/* Returns the fingerprint that a position contains. `rounds` is the number of rounds that were
 * begun; in a round, each lane returns one sample. A view (a mix of data sets) may have stages
 * (parts of a training run with weights of their own). The fingerprint covers only the stages up to
 * the position. So it does not change if a later stage is appended. */
static const char *fingerprint_at(const struct sheaf_reader *r, const struct order *order,
                                  uint64_t rounds)
{
    const struct epoch_order *o = r->epoch_order;

    return o->fingerprint(r->dataset, o->stage(r->dataset, order, rounds));
}

int sheaf_dataset_fingerprint_at(const struct sheaf_dataset *d,
                                 const struct sheaf_reader_options *options, uint64_t samples,
                                 char fingerprint[33], struct sheaf_error *err)
{
    const struct epoch_order *o = epoch_order_of(d);
    size_t stage;
    int code = o->stage_after(d, options, samples, &stage, err);

    if (code == SHEAF_OK)
        memcpy(fingerprint, o->fingerprint(d, stage), FINGERPRINT_SIZE + 1);
    return code;
}

/* Appends the fingerprints of a view's sources to the text of a position. If the view has changed
 * when the position is used, these fingerprints show which source has changed. Appends nothing if
 * the text has no room for all of them. */
static int add_sources(const struct sheaf_reader *r, char *text, int size)
{
    const struct sheaf_dataset *d = r->dataset;
    const size_t end = SHEAF_POSITION_SIZE - CRC_SIZE;
    size_t at = (size_t)size + sizeof(SOURCES_WORD) - 1;

    if (!r->epoch_order->names_sources || d->source_count >= end ||
        at + d->source_count * SOURCE_DIGITS >= end)
        return size;
    memcpy(text + size, SOURCES_WORD, sizeof(SOURCES_WORD));
    for (size_t i = 0; i < d->source_count; i++, at += SOURCE_DIGITS)
        snprintf(text + at, SOURCE_DIGITS + 1, "%.*s", (int)SOURCE_DIGITS,
                 d->sources[i]->manifest.fingerprint);
    return (int)at;
}

int sheaf_reader_position(const struct sheaf_reader *r, char text[SHEAF_POSITION_SIZE])
{
    return sheaf_reader_position_back(r, 0, text);
}

int sheaf_reader_position_back(const struct sheaf_reader *r, uint64_t back,
                               char text[SHEAF_POSITION_SIZE])
{
    const struct order *o = &r->load.order;
    const char *fingerprint;
    uint64_t turns;
    int size;

    if (r->dataset->manifest.fingerprint[0] == '\0')
        return SHEAF_ERR_UNSUPPORTED;
    if (back > r->handed || back > SHEAF_BACK_MOST)
        return SHEAF_ERR_ARGUMENT;
    turns = turns_after(r, r->handed - back);
    fingerprint = fingerprint_at(r, o, turns / r->own_lanes + (turns % r->own_lanes != 0));
    size = snprintf(text, SHEAF_POSITION_SIZE - CRC_SIZE,
                    "sheaf2 %s seed=%" PRIu64 " epoch=%" PRIu64 " shuffle=%d buffer=%" PRIu64
                    " lanes=%u remainder=%s rounds=%" PRIu64 " extra=%" PRIu64
                    " of=%u/%u/%u/%u", fingerprint, o->seed, o->epoch, o->shuffle, o->buffer,
                    o->lanes, remainder_names[o->remainder],
                    turns / r->own_lanes, turns % r->own_lanes,
                    r->member.rank, r->member.world_size, r->member.worker, r->member.workers);
    if (r->dataset->hosts != 0 && size > 0 && (size_t)size < SHEAF_POSITION_SIZE - CRC_SIZE)
        size += snprintf(text + size, SHEAF_POSITION_SIZE - CRC_SIZE - (size_t)size,
                         " host=%u/%u", r->dataset->host, r->dataset->hosts);
    if (size <= 0 || (size_t)size >= SHEAF_POSITION_SIZE - CRC_SIZE)
        return SHEAF_ERR_LIMIT;
    size = add_sources(r, text, size);
    snprintf(text + size, CRC_SIZE + 1, CRC_WORD "%08" PRIx32, crc32c(0, text, (size_t)size));
    return SHEAF_OK;
}

/* ---- Going there ---------------------------------------------------------------------------- */

/* A field of the form "NAME=VALUE" in the text of a position. Numbers are parsed by strtoull and
 * not by sscanf, because sscanf does not report numbers that are too large. */
struct field {
    const char *before;         /* the text before the value */
    uint64_t *number;           /* destination of the value, if it is a number */
    /* destination of the value, if it is a word of at most 7 lower-case letters */
    char *word;
    uint64_t most;
};

static bool parse_field(const char **at, const struct field *f)
{
    const size_t before = strlen(f->before);
    char *end;

    if (strncmp(*at, f->before, before) != 0)
        return false;
    *at += before;
    if (f->word != NULL) {
        const size_t size = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

        if (size == 0 || size > 7)
            return false;
        memcpy(f->word, *at, size);
        f->word[size] = '\0';
        *at += size;
        return true;
    }
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *f->number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *f->number <= f->most;
}

static enum sheaf_remainder remainder_of(const char *name)
{
    for (int i = SHEAF_KEEP; i <= SHEAF_PAD; i++)
        if (strcmp(name, remainder_names[i]) == 0)
            return (enum sheaf_remainder)i;
    return SHEAF_REMAINDER_AUTO;
}

/* Parses the text between the version and the checksum. */
static bool parse_fields(const char *text, struct position *p)
{
    char remainder[8] = "";
    uint64_t shuffle = 0, lanes = 0, of[4] = { 0 }, host[2] = { 0 };
    const struct field fields[] = {
        { " seed=", &p->order.seed, NULL, UINT64_MAX },
        { " epoch=", &p->order.epoch, NULL, UINT64_MAX },
        { " shuffle=", &shuffle, NULL, 1 },
        { " buffer=", &p->order.buffer, NULL, UINT64_MAX },
        { " lanes=", &lanes, NULL, ORDER_LANES_MOST },
        { " remainder=", NULL, remainder, 0 },
        { " rounds=", &p->rounds, NULL, UINT64_MAX / ORDER_LANES_MOST - 1 },
        { " extra=", &p->extra, NULL, ORDER_LANES_MOST },
        { " of=", &of[0], NULL, UINT32_MAX },
        { "/", &of[1], NULL, UINT32_MAX },
        { "/", &of[2], NULL, UINT32_MAX },
        { "/", &of[3], NULL, UINT32_MAX },
        { " host=", &host[0], NULL, UINT32_MAX },
        { "/", &host[1], NULL, UINT32_MAX },
    };
    const char *at = text + FINGERPRINT_SIZE;

    if (strspn(text, "0123456789abcdef") != FINGERPRINT_SIZE)
        return false;
    memcpy(p->fingerprint, text, FINGERPRINT_SIZE);
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (i == COUNT_OF(fields) - 2 && *at == '\0')
            break;              /* The position belongs to a whole data set. */
        if (!parse_field(&at, &fields[i]))
            return false;
    }
    p->order.shuffle = shuffle;
    p->order.lanes = (uint32_t)lanes;
    p->order.remainder = remainder_of(remainder);
    p->member = (struct order_member){ (uint32_t)of[0], (uint32_t)of[1], (uint32_t)of[2],
                                       (uint32_t)of[3] };
    p->host = (uint32_t)host[0];
    p->hosts = (uint32_t)host[1];
    return *at == '\0' && lanes != 0 && p->order.remainder != SHEAF_REMAINDER_AUTO;
}

/* Reads the fingerprints of a view's sources from the end of the text, and removes them from the
 * text. */
static bool position_take_sources(char *text, struct position *p)
{
    char *word = strstr(text, SOURCES_WORD);
    const char *digits = word == NULL ? "" : word + sizeof(SOURCES_WORD) - 1;
    const size_t size = strlen(digits);

    if (word == NULL)
        return true;
    if (size == 0 || size % SOURCE_DIGITS != 0 || strspn(digits, "0123456789abcdef") != size)
        return false;
    memcpy(p->sources, digits, size + 1);
    *word = '\0';
    return true;
}

/* Checks the checksum at the end of the text, and removes its field " crc=XXXXXXXX" from the text.
 */
static int take_crc(char *text, struct sheaf_error *err)
{
    const size_t size = strlen(text), before = size - MIN(size, CRC_SIZE);
    const uint32_t crc = crc32c(0, text, before);
    char expected[CRC_SIZE + 1];

    snprintf(expected, sizeof(expected), CRC_WORD "%08" PRIx32, crc);
    if (strcmp(text + before, expected) != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position is damaged: it ends with \"%s\", "
                       "expected \"%s\"", text + before, expected);
    text[before] = '\0';
    return SHEAF_OK;
}

/* Parses the text of a position. Accepts version 2, and version 1, which has no checksum. */
static int position_parse(const char *text, struct position *p, struct sheaf_error *err)
{
    char copy[SHEAF_POSITION_SIZE + 1] = "";        /* has room for a newline */
    const size_t size = strlen(text);
    const bool is_first = strncmp(text, "sheaf1 ", 7) == 0;

    memset(p, 0, sizeof(*p));
    if (size < sizeof(copy))
        memcpy(copy, text, size);
    if (size != 0 && size < sizeof(copy) && copy[size - 1] == '\n')
        copy[size - 1] = '\0';
    if (!is_first && strncmp(copy, "sheaf2 ", 7) == 0) {
        const int code = take_crc(copy, err);

        if (code != SHEAF_OK)
            return code;
    } else if (!is_first) {
        copy[0] = '\0';
    }
    if (!position_take_sources(copy, p) || strlen(copy) < 7 || !parse_fields(copy + 7, p))
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid position: \"%.80s\"", text);
    return SHEAF_OK;
}

static bool same_member(const struct order_member *a, const struct order_member *b)
{
    return a->rank == b->rank && a->world_size == b->world_size && a->worker == b->worker
           && a->workers == b->workers;
}

static int check_stream(const struct sheaf_reader *r, const struct position *p,
                        struct sheaf_error *err)
{
    const struct sheaf_dataset *d = r->dataset;

    if (d->pipes != NULL && p->order.lanes != r->member.world_size)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position is for a world size of %u with one "
                       "pipe per rank, but the world size is %u", p->order.lanes,
                       r->member.world_size);
    if (d->pipes == NULL && p->order.lanes > d->manifest.shard_count)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid position: %u lane%s of %zu shard%s",
                       p->order.lanes, plural(p->order.lanes), d->manifest.shard_count,
                       plural(d->manifest.shard_count));
    return SHEAF_OK;
}

/* Returns an error if the position is after the end of the longest lane (a sequence of samples) of
 * the epoch. */
static int check_rounds(const struct sheaf_reader *r, const struct position *p,
                        struct sheaf_error *err)
{
    const uint64_t rounds = r->epoch_order->rounds(r->dataset, &p->order);

    if (p->rounds > rounds || (p->rounds == rounds && p->extra != 0))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position is %" PRIu64 " round%s and %" PRIu64
                       " lane%s into an epoch of %" PRIu64 " round%s", p->rounds,
                       plural(p->rounds), p->extra, plural(p->extra), rounds, plural(rounds));
    return SHEAF_OK;
}

/* Returns the error for a position that cannot be used on this host: it was saved on another host,
 * or on this host when it had other shards. */
static int refuse_host(const struct sheaf_dataset *d, const struct position *p,
                       struct sheaf_error *err)
{
    if (p->host != d->host || p->hosts != d->hosts)
        return err_set(err, SHEAF_ERR_CHANGED, "the position belongs to host %u of %u, but this "
                       "is host %u of %u: each host resumes at its own", p->host, p->hosts,
                       d->host, d->hosts);
    return err_set(err, SHEAF_ERR_CHANGED, "the position belongs to host %u of %u with other "
                   "shards than it has now: they were distributed again, so begin the epoch again",
                   p->host, p->hosts);
}

/* A position belongs to a data set if it contains the fingerprint of the data set. Returns true if
 * the position `p` belongs to the data set of the reader.
 *
 * In a view (a mix of data sets), the fingerprint covers the stages up to the position. (A stage is
 * a part of a training run with weights of its own.) If a stage begins exactly at the position, it
 * may have been appended after the position was saved. So both fingerprints are accepted, with and
 * without this stage. */
static bool belongs(const struct sheaf_reader *r, const struct position *p)
{
    const struct epoch_order *o = r->epoch_order;

    for (size_t i = o->stage(r->dataset, &p->order, p->rounds + (p->extra != 0));
         i <= o->stage(r->dataset, &p->order, p->rounds + 1); i++)
        if (strcmp(p->fingerprint, o->fingerprint(r->dataset, i)) == 0)
            return true;
    return false;
}

/* Returns the error for a position that was saved before samples were appended to the data set.
 * Such a position cannot be used, because its epoch had fewer samples than an epoch has now. */
static int position_refuse_grown(const struct sheaf_dataset *d, uint64_t before,
                                 struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set has grown since the position was "
                   "taken, from %" PRIu64 " to %" PRIu64 " samples: begin an epoch of all of them",
                   d->url, before, d->end_number - d->first_number);
}

/* Returns SHEAF_ERR_CHANGED if the fingerprint belongs to an earlier state of the data set, before
 * its samples were edited. Otherwise returns SHEAF_OK. */
static int check_edited(const struct sheaf_dataset *d, const char *fingerprint, size_t digits,
                        struct sheaf_error *err)
{
    if (!manifest_edited_from(&d->manifest, fingerprint, digits))
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was edited since the position was "
                   "taken, so samples may have other numbers: begin an epoch of the data set as it "
                   "is now", d->url);
}

/* Returns the error for a position that belongs to another view (a mix of data sets). The message
 * says in which source the views differ. */
static int position_refuse_view(const struct sheaf_dataset *d, const struct position *p,
                                struct sheaf_error *err)
{
    const size_t count = strlen(p->sources) / SOURCE_DIGITS;
    uint64_t before;

    if (count != d->source_count)
        return err_set(err, SHEAF_ERR_CHANGED, "the position belongs to a view of %zu source%s, "
                       "but this one has %zu", count, plural(count), d->source_count);
    for (size_t i = 0; i < count; i++) {
        const struct manifest *m = &d->sources[i]->manifest;
        const char *digits = p->sources + i * SOURCE_DIGITS;

        if (strncmp(digits, m->fingerprint, SOURCE_DIGITS) == 0)
            continue;
        if (manifest_grew_from(m, digits, SOURCE_DIGITS, &before))
            return position_refuse_grown(d->sources[i], before, err);
        if (check_edited(d->sources[i], digits, SOURCE_DIGITS, err) != SHEAF_OK)
            return SHEAF_ERR_CHANGED;
        return err_set(err, SHEAF_ERR_CHANGED, "%s: this source of the view has changed since "
                       "the position was taken: its fingerprint began with %.*s, and is %s",
                       d->sources[i]->url, (int)SOURCE_DIGITS, digits, m->fingerprint);
    }
    return err_set(err, SHEAF_ERR_CHANGED, "the position belongs to a view of the same sources, "
                   "but with other conditions, shares or stages");
}

/* Checks whether this reader may resume at the position. */
static int check_fit(const struct sheaf_reader *r, const struct position *p,
                     struct sheaf_error *err)
{
    const uint32_t members = r->member.world_size * r->member.workers;
    const bool is_of_this = belongs(r, p);
    uint64_t before;

    if (p->hosts != 0 && r->dataset->hosts != 0 &&
        (!is_of_this ||
         (r->dataset->pipes != NULL &&
          (p->host != r->dataset->host || p->hosts != r->dataset->hosts))))
        return refuse_host(r->dataset, p, err);
    if (!is_of_this && r->epoch_order->names_sources && p->sources[0] != '\0')
        return position_refuse_view(r->dataset, p, err);
    if (!is_of_this && manifest_grew_from(&r->dataset->manifest, p->fingerprint, FINGERPRINT_SIZE,
                                          &before))
        return position_refuse_grown(r->dataset, before, err);
    if (!is_of_this && check_edited(r->dataset, p->fingerprint, FINGERPRINT_SIZE, err) != SHEAF_OK)
        return SHEAF_ERR_CHANGED;
    if (!is_of_this)
        return err_set(err, SHEAF_ERR_CHANGED, "the position belongs to data set %s, but this one "
                       "is %s", p->fingerprint,
                       fingerprint_at(r, &p->order, p->rounds + (p->extra != 0)));
    if (p->order.lanes % members != 0)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position has %u lane%s, which are not a "
                       "multiple of %u rank%s x %u worker%s", p->order.lanes,
                       plural(p->order.lanes), r->member.world_size, plural(r->member.world_size),
                       r->member.workers, plural(r->member.workers));
    if (p->extra != 0 && !same_member(&p->member, &r->member))
        return err_set(err, SHEAF_ERR_ARGUMENT, "the position is within a round of its %u "
                       "lane%s, so only rank %u of %u, worker %u of %u, can resume from it: take "
                       "positions after a multiple of the lanes", p->order.lanes,
                       plural(p->order.lanes), p->member.rank, p->member.world_size,
                       p->member.worker, p->member.workers);
    if (p->extra >= p->order.lanes / members)
        return err_set(err, SHEAF_ERR_ARGUMENT, "invalid position: %" PRIu64 " lane%s of %u",
                       p->extra, plural(p->extra), p->order.lanes / members);
    return r->dataset->is_stream ? check_stream(r, p, err) : check_rounds(r, p, err);
}

int sheaf_reader_resume(struct sheaf_reader *r, const char *text)
{
    struct position p;
    int code;

    if (r->dead)
        return err_set(&r->error, SHEAF_ERR_STATE, "the reader has failed, and can only be closed");
    code = position_parse(text, &p, &r->error);
    if (code == SHEAF_OK)
        code = check_fit(r, &p, &r->error);
    if (code != SHEAF_OK)
        return code;
    epoch_end(r);
    r->load.order = p.order;
    code = epoch_set_lanes(r);
    if (code == SHEAF_OK)
        code = epoch_begin(r, p.rounds, p.extra);
    r->dead = code != SHEAF_OK;
    return code;
}
