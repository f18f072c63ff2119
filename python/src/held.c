/* SPDX-License-Identifier: MIT
 *
 * Reads samples in order and returns them by their ordinals (see held.h). The ordinal of a sample
 * is its number in the rank's part of the epoch. */
#include "held.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES ((size_t)64)
/* largest number of requests from one worker that may wait for an answer at the same time */
#define AHEAD_BATCHES 8u
#define HELD_MOST  ((size_t)256 << 20)
/* Largest number of separate ranges of requested ordinals (sample numbers) that are recorded. There
 * are rarely more ranges than workers, so this limit is hardly ever reached. */
#define ASKED_MOST 1024u
#define HOLES_MOST ((size_t)1 << 20)
/* largest number of samples that are read in one call while a stream is read forward to a wanted
 * sample */
#define PAST_STEP  ((uint64_t)256)

uint32_t *held_word(const struct held *h, size_t number)
{
    return (uint32_t *)(void *)(h->words + number * WORD_BYTES);
}

bool held_open(struct held *h, struct sheaf_reader *reader, uint64_t epoch,
               struct shared_arena *arena)
{
    *h = (struct held){ .reader = reader, .arena = arena, .epoch = epoch,
                        .real = sheaf_reader_epoch_samples(reader) };
    h->is_stream = h->real == UINT64_MAX;
    for (size_t i = 0; i < HELD_WORDS; i++)
        h->leases[i].owner = -1;
    if (arena != NULL)
        h->words = arena_take_piece(arena, HELD_WORDS * WORD_BYTES);
    return arena == NULL || h->words != NULL;
}

/* ---- Pieces and leases ---------------------------------------------------------------------- */

static void drop_piece(struct piece *piece)
{
    if (--piece->users != 0)
        return;
    sheaf_kept_free(piece->kept);
    free(piece);
}

static size_t held_bytes_of(const struct piece *piece)
{
    return packed_payload(piece->samples, piece->count);
}

/* Removes the piece from the list. */
static void unlist(struct held *h, struct piece **at)
{
    struct piece *piece = *at;

    *at = piece->next;
    h->held_bytes -= held_bytes_of(piece);
    drop_piece(piece);
}

static void held_drop_pieces(struct piece **pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        drop_piece(pieces[i]);
    free(pieces);
}

void held_samples_free(struct held_samples *samples)
{
    if (samples == NULL)
        return;
    held_drop_pieces(samples->pieces, samples->piece_count);
    free(samples);
}

static void end_lease(struct held *h, struct lease *lease)
{
    held_drop_pieces(lease->pieces, lease->piece_count);
    arena_give_piece(h->arena, lease->copy, lease->copy_bytes);
    *lease = (struct lease){ .owner = -1 };
}

void held_forget_owner(struct held *h, int owner)
{
    for (size_t i = 0; i < HELD_WORDS; i++)
        if (h->leases[i].owner == owner)
            end_lease(h, &h->leases[i]);
}

/* Frees the memory of answers that the workers no longer use. A lease is a struct that records the
 * memory of one answer. Returns a lease that is not in use, or NULL if all are in use. */
static struct lease *free_lease(struct held *h)
{
    struct lease *lease = NULL;

    for (size_t i = 0; h->words != NULL && i < HELD_WORDS; i++) {
        if (h->leases[i].owner != -1 &&
            __atomic_load_n(held_word(h, i), __ATOMIC_ACQUIRE) == SERVING_WORD_FREE)
            end_lease(h, &h->leases[i]);
        if (h->leases[i].owner == -1 && lease == NULL)
            lease = &h->leases[i];
    }
    return lease;
}

static void forget_pieces(struct held *h)
{
    while (h->first != NULL)
        unlist(h, &h->first);
}

void held_free(struct held *h)
{
    forget_pieces(h);
    for (size_t i = 0; i < HELD_WORDS; i++)
        end_lease(h, &h->leases[i]);
    if (h->arena != NULL)
        arena_give_piece(h->arena, h->words, HELD_WORDS * WORD_BYTES);
    free(h->asked.items);
    free(h->holes.items);
    free(h->out);
    free(h->out_pieces);
}

/* ---- Which were asked for ------------------------------------------------------------------- */

/* Adds a range. At most `most` ranges are kept. */
static void ranges_add(struct ranges *r, uint64_t first, uint64_t end, size_t most)
{
    size_t i = 0, same;

    while (i < r->count && r->items[i].end < first)
        i++;
    for (same = i; same < r->count && r->items[same].first <= end; same++) {
        first = r->items[same].first < first ? r->items[same].first : first;
        end = r->items[same].end > end ? r->items[same].end : end;
    }
    if (same == i && r->count == r->capacity) {
        const size_t more = 2 * r->capacity + 16;
        struct range *items = r->count >= most ? NULL
                            : realloc(r->items, more * sizeof(items[0]));

        if (items == NULL)
            return;
        r->items = items;
        r->capacity = more;
    }
    if (r->count != same)
        memmove(&r->items[i + 1], &r->items[same], (r->count - same) * sizeof(r->items[0]));
    r->count = r->count - (same - i) + 1;
    r->items[i] = (struct range){ first, end };
}

void held_note(struct held *h, uint64_t first, uint64_t end)
{
    ranges_add(&h->asked, first, end, ASKED_MOST);
}

uint64_t held_gap(const struct held *h)
{
    return h->asked.count == 0 ? h->start : h->asked.items[0].end;
}

uint64_t held_gap_end(const struct held *h, uint64_t gap)
{
    size_t i = 0;

    while (i < h->asked.count && h->asked.items[i].first < gap)
        i++;
    return i < h->asked.count ? h->asked.items[i].first : UINT64_MAX;
}

bool held_has_room(const struct held *h, uint64_t first, uint64_t count, uint32_t workers)
{
    const uint64_t most = (workers == 0 ? 1 : workers) * AHEAD_BATCHES * count;
    const uint64_t place = h->place == UINT64_MAX || h->place < h->start ? h->start : h->place;

    return h->held_bytes < HELD_MOST && (first < place || first - place <= most);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* Copies the reader's error to *error. Also stores it in `h`, so that later requests fail with the
 * same error. An interrupt is not stored, because it only means that the serving thread is about to
 * end. */
static int held_fail(struct held *h, int code, struct sheaf_error *error)
{
    *error = *sheaf_reader_error(h->reader);
    error->code = code;
    if (code != SHEAF_ERR_INTERRUPTED)
        h->failed = *error;
    return code;
}

/* Stores samples that the reader has returned. Their ordinals (numbers in the rank's part of the
 * epoch) begin with `from`. Samples with ordinals below `wanted` are not stored, because no worker
 * needs them. */
static int hold(struct held *h, uint64_t from, uint64_t wanted, const struct sheaf_sample *samples,
                size_t count, struct sheaf_kept *kept, struct sheaf_error *error)
{
    struct piece **at = &h->first, *piece = malloc(sizeof(*piece));

    if (piece == NULL) {
        sheaf_kept_free(kept);
        *error = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY, .message = "out of memory" };
        return SHEAF_ERR_MEMORY;
    }
    *piece = (struct piece){ .samples = samples, .count = count, .left = count, .users = 1,
                             .kept = kept, .from = from, .end = h->place };
    for (size_t i = 0; i < count && samples[i].ordinal < wanted; i++)
        piece->left--;
    while (*at != NULL && (*at)->from < from)
        at = &(*at)->next;
    piece->next = *at;
    *at = piece;
    h->held_bytes += held_bytes_of(piece);
    return SHEAF_OK;
}

/* Records which ordinals (numbers of samples) are missing among the samples that the reader has
 * returned, because the reader has skipped damaged records. */
static void note_holes(struct held *h, uint64_t from, const struct sheaf_sample *samples,
                       size_t count)
{
    for (size_t i = 0; i < count; from = samples[i++].ordinal + 1)
        if (samples[i].ordinal != from)
            ranges_add(&h->holes, from, samples[i].ordinal, HOLES_MOST);
}

/* Reads at most `max` samples. A sample is stored if its ordinal (number in the rank's part of the
 * epoch) is at least `wanted`. Returns SHEAF_END if the epoch has no more samples. */
static int held_read_some(struct held *h, uint64_t max, uint64_t wanted, struct sheaf_error *error)
{
    const uint64_t from = h->place;
    const struct sheaf_sample *samples;
    struct sheaf_kept *kept;
    size_t count;
    int code = sheaf_reader_next_batch(h->reader, (size_t)max, &samples, &count);

    if (code == SHEAF_END)
        return code;
    if (code != SHEAF_OK)
        return held_fail(h, code, error);
    note_holes(h, from, samples, count);
    h->place = samples[count - 1].ordinal + 1;
    if (h->place <= wanted)
        return SHEAF_OK;
    code = sheaf_reader_keep(h->reader, &samples, &count, &kept);
    return code == SHEAF_OK ? hold(h, from, wanted, samples, count, kept, error)
                            : held_fail(h, code, error);
}

/* Reads a stream up to the sample with this ordinal (number in the rank's part of the epoch), or up
 * to the end of the stream. Earlier samples are dropped. */
static int read_past(struct held *h, uint64_t ordinal, struct sheaf_error *error)
{
    int code = SHEAF_OK;

    if (h->place > ordinal) {
        code = sheaf_reader_begin_epoch(h->reader, h->epoch);
        if (code != SHEAF_OK)
            return held_fail(h, code, error);
        h->place = 0;
        h->real = UINT64_MAX;
    }
    while (code == SHEAF_OK && h->place < ordinal && h->real == UINT64_MAX) {
        const uint64_t left = ordinal - h->place;

        code = held_read_some(h, left < PAST_STEP ? left : PAST_STEP, ordinal, error);
        if (code == SHEAF_END)
            h->real = h->place;
    }
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int held_seek(struct held *h, uint64_t ordinal, struct sheaf_error *error)
{
    int code;

    if (h->failed.code != 0) {
        *error = h->failed;
        return error->code;
    }
    if (h->place == ordinal)
        return SHEAF_OK;
    if (h->is_stream)
        return read_past(h, ordinal, error);
    code = sheaf_reader_seek(h->reader, h->epoch, ordinal);
    if (code != SHEAF_OK)
        return held_fail(h, code, error);
    h->place = ordinal;
    return SHEAF_OK;
}

void held_begin(struct held *h, uint64_t epoch, uint64_t first)
{
    const bool goes_on = epoch == h->epoch &&
                         (h->is_stream ? h->place <= first && h->real == UINT64_MAX
                                       : h->place == first);

    forget_pieces(h);
    h->asked.count = h->holes.count = 0;
    h->start = first;
    h->epoch = epoch;
    if (!goes_on)
        h->place = UINT64_MAX;      /* the reader seeks when it reads next */
    if (h->is_stream)
        h->real = UINT64_MAX;
}

void held_skip(struct held *h, uint64_t first)
{
    h->start = first;
    while (h->first != NULL && h->first->end <= first)
        unlist(h, &h->first);
    if (h->place < first && !h->is_stream)
        h->place = UINT64_MAX;
}

/* Reads samples until the reader has returned all samples with an ordinal below `end`. The ordinal
 * of a sample is its number in the rank's part of the epoch. Each call of the reader returns at
 * most `step` samples. */
static int read_until(struct held *h, uint64_t first, uint64_t end, uint64_t step,
                      struct sheaf_error *error)
{
    int code = SHEAF_OK;

    if (h->failed.code != 0) {
        *error = h->failed;
        return error->code;
    }
    if (h->place == UINT64_MAX || h->place < h->start)
        code = held_seek(h, h->start < first ? h->start : first, error);
    while (code == SHEAF_OK && h->place < end && !(h->is_stream && h->real != UINT64_MAX)) {
        const uint64_t until = h->place < first ? first : end;

        code = held_read_some(h, until - h->place < step ? until - h->place : step, 0, error);
        if (code != SHEAF_END)
            continue;
        if (h->is_stream) {
            h->real = h->place;
        } else {
            ranges_add(&h->holes, h->place, end, HOLES_MOST);
            h->place = end;
        }
        code = SHEAF_OK;
    }
    return code;
}

/* Returns whether each of the samples with the ordinals (sample numbers) `first` to `end` - 1 is
 * stored in `h` or comes after the reader's position. */
static bool is_ahead(const struct held *h, uint64_t first, uint64_t end)
{
    for (const struct piece *p = h->first; p != NULL && first < end; p = p->next)
        if (p->from <= first && first < p->end)
            first = p->end;
    return first >= end || first >= h->place;
}

/* Moves the reader back to the sample with this ordinal (number in the rank's part of the epoch).
 * Drops the stored samples that the reader will read again. */
static int held_go_back(struct held *h, uint64_t ordinal, struct sheaf_error *error)
{
    for (struct piece **at = &h->first; *at != NULL;) {
        if ((*at)->from >= ordinal)
            unlist(h, at);
        else
            at = &(*at)->next;
    }
    return held_seek(h, ordinal, error);
}

/* ---- Giving --------------------------------------------------------------------------------- */

static bool room_for(struct held *h, size_t count)
{
    struct sheaf_sample *out;
    struct piece **pieces;

    if (count <= h->out_capacity)
        return true;
    out = realloc(h->out, count * sizeof(out[0]));
    if (out != NULL)
        h->out = out;
    pieces = realloc(h->out_pieces, count * sizeof(pieces[0]));
    if (pieces != NULL)
        h->out_pieces = pieces;
    if (out == NULL || pieces == NULL)
        return false;
    h->out_capacity = count;
    return true;
}

/* Puts into `out` the stored samples with the ordinals (sample numbers) `first` to `end` - 1, each
 * sample once. If the reader was moved back, a sample may have been read and stored twice. */
static void held_gather(struct held *h, uint64_t first, uint64_t end)
{
    h->out_count = 0;
    for (struct piece *p = h->first; p != NULL; p = p->next) {
        for (size_t i = 0; i < p->count; i++) {
            if (p->samples[i].ordinal < first || p->samples[i].ordinal >= end)
                continue;
            h->out[h->out_count] = p->samples[i];
            h->out_pieces[h->out_count++] = p;
            first = p->samples[i].ordinal + 1;
        }
    }
}

/* Records that the samples in `out` were given to a worker. The samples that the reader returned in
 * one call are in one block of memory, a piece. If all samples of a piece were given away, removes
 * the piece from the list of kept pieces. The piece stays in memory as long as answers use it. */
static void held_give_up(struct held *h)
{
    for (size_t i = 0; i < h->out_count; i++)
        if (h->out_pieces[i]->left != 0 && !h->out[i].repeated)
            h->out_pieces[i]->left--;
    for (struct piece **at = &h->first; *at != NULL;) {
        if ((*at)->left == 0)
            unlist(h, at);
        else
            at = &(*at)->next;
    }
}

/* Makes the message with which the serving thread answers a worker that has requested the samples
 * in h->out. Bytes of fields that are not in the arena (memory shared with the workers) are copied
 * into the arena. `lease` records this copy, so that it can be freed later. If `lease` is NULL, the
 * message itself contains the bytes of all fields. Returns false if memory or the arena has no
 * room. */
static bool held_pack(struct held *h, struct lease *lease, struct serving_answer *answer,
                      char **message)
{
    struct packed_extent there = { 0 };
    struct layout l;
    size_t tables, bytes;

    if (lease != NULL)
        there = (struct packed_extent){ h->arena->base, h->arena->bytes };
    l = packed_measure(h->out, h->out_count, &there);
    if (lease != NULL && l.data != 0) {
        lease->copy = arena_take_piece(h->arena, l.data);
        lease->copy_bytes = l.data;
        if (lease->copy == NULL)
            return false;
    }
    tables = packed_bytes(h->out_count, &l);
    bytes = tables + (lease == NULL ? l.data : 0);
    *message = malloc(bytes + 1);
    if (*message == NULL)
        return false;
    if (lease == NULL)
        answer->bytes = packed_put(h->out, h->out_count, &l, *message, &there, *message, tables);
    else
        packed_put(h->out, h->out_count, &l, *message, &there, h->arena->base,
                   lease->copy == NULL ? 0 : (size_t)((char *)lease->copy - h->arena->base));
    if (lease != NULL || answer->bytes < tables)
        answer->bytes = tables;
    return true;
}

/* Makes a list of the pieces that contain the samples in `out`, with one reference to each piece. A
 * piece has the samples that the reader returned in one call. In `out`, the samples of one piece
 * must be adjacent. */
static bool held_take_pieces(const struct held *h, struct piece ***list, size_t *count)
{
    struct piece **pieces = malloc((h->out_count + 1) * sizeof(pieces[0]));

    if (pieces == NULL)
        return false;
    *list = pieces;
    *count = 0;
    for (size_t i = 0; i < h->out_count; i++) {
        if (i > 0 && h->out_pieces[i] == h->out_pieces[i - 1])
            continue;
        h->out_pieces[i]->users++;
        pieces[(*count)++] = h->out_pieces[i];
    }
    return true;
}

/* Makes a struct with the samples in h->out, which this process itself has requested, and not a
 * worker. Returns NULL if memory is exhausted. */
static struct held_samples *own_samples(const struct held *h)
{
    const size_t bytes = h->out_count * sizeof(h->out[0]);
    struct held_samples *own = malloc(sizeof(*own) + bytes);

    if (own == NULL)
        return NULL;
    if (!held_take_pieces(h, &own->pieces, &own->piece_count)) {
        free(own);
        return NULL;
    }
    own->count = h->out_count;
    if (bytes != 0)
        memcpy(own->samples, h->out, bytes);
    return own;
}

/* Makes the answer to a worker that has requested the samples in h->out. `owner` is the worker's
 * socket. Returns false if memory is exhausted. */
static bool answer_packed(struct held *h, int owner, struct serving_reply *reply)
{
    struct serving_answer *answer = &reply->answer;
    struct lease *lease = free_lease(h);

    if (lease != NULL && held_take_pieces(h, &lease->pieces, &lease->piece_count) &&
        held_pack(h, lease, answer, &reply->message)) {
        lease->owner = owner;
        answer->word = (uint32_t)(lease - h->leases);
        __atomic_store_n(held_word(h, answer->word), SERVING_WORD_USED, __ATOMIC_RELEASE);
        return true;
    }
    if (lease != NULL)
        end_lease(h, lease);
    return held_pack(h, NULL, answer, &reply->message);
}

static int answer_with(struct held *h, int owner, struct serving_reply *reply,
                       struct sheaf_error *error)
{
    bool is_made;

    reply->answer.samples = h->out_count;
    if (owner == HELD_OWN) {
        reply->samples = own_samples(h);
        is_made = reply->samples != NULL;
    } else {
        is_made = answer_packed(h, owner, reply);
    }
    if (is_made)
        return SHEAF_OK;
    *error = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY, .message = "out of memory" };
    return SHEAF_ERR_MEMORY;
}

/* Appends the last sample in `out` once more, if it is the last sample of the rank's part of the
 * epoch. A rank requests this additional sample if its part of the epoch is one sample shorter than
 * the parts of other ranks. */
static void repeat_last(struct held *h)
{
    if (h->out_count == 0 || h->out[h->out_count - 1].ordinal + 1 != h->real)
        return;
    h->out[h->out_count] = h->out[h->out_count - 1];
    h->out_pieces[h->out_count] = h->out_pieces[h->out_count - 1];
    h->out[h->out_count].repeated = 1;
    h->repeats++;
    for (size_t i = 0; i < h->out[h->out_count].field_count; i++)
        h->repeated_bytes += h->out[h->out_count].fields[i].size;
    h->out[h->out_count++].ordinal++;
}

/* Returns whether the `count` ordinals (sample numbers) from `first` on belong to the rank's part
 * of the epoch. The first ordinal after the end is accepted as well: if ranks have different
 * numbers of samples, a rank may repeat its last sample. */
static bool is_part(const struct held *h, uint64_t first, uint64_t count, struct sheaf_error *error)
{
    if (h->is_stream || (first <= h->real && h->real != 0 && first + count <= h->real + 1))
        return true;
    snprintf(error->message, sizeof(error->message), "samples %llu to %llu are not in this "
             "rank's part of the epoch, which has %llu: the ranks disagree on the order, or "
             "the data set has fewer samples than there are ranks", (unsigned long long)first,
             (unsigned long long)(first + count - 1), (unsigned long long)h->real);
    error->code = SHEAF_ERR_ARGUMENT;
    return false;
}

/* Collects in h->out the samples with the ordinals (sample numbers) `first` to `end` - 1. Reads the
 * samples that are not stored yet. */
static int held_take(struct held *h, uint64_t first, uint64_t end, uint64_t step,
                     struct sheaf_error *error)
{
    int code = SHEAF_OK;

    if (!room_for(h, (size_t)(end - first) + 2)) {
        *error = (struct sheaf_error){ .code = SHEAF_ERR_MEMORY, .message = "out of memory" };
        return SHEAF_ERR_MEMORY;
    }
    if (h->place != UINT64_MAX && !is_ahead(h, first, end))
        code = held_go_back(h, first, error);    /* some were given before */
    if (code == SHEAF_OK && (h->place == UINT64_MAX || h->place < end))
        code = read_until(h, first, end, step, error);
    if (code == SHEAF_OK)
        held_gather(h, first, end);
    return code;
}

void held_drop(struct held *h, uint64_t first, uint64_t end)
{
    struct sheaf_error error;       /* it stays, and is the answer to every request */

    held_note(h, first, end);
    if (held_take(h, first, end, end - first, &error) == SHEAF_OK)
        held_give_up(h);
}

int held_give(struct held *h, uint64_t first, uint64_t count, int owner,
              struct serving_reply *reply, struct sheaf_error *error)
{
    const bool repeats = !h->is_stream && first + count > h->real;
    const uint64_t end = repeats ? h->real : first + count;
    const uint64_t from = first < end || end == 0 ? first : end - 1;
    int code;

    if (!is_part(h, first, count, error))
        return error->code;
    code = held_take(h, from, end, count, error);
    if (code != SHEAF_OK)
        return code;
    if (repeats)
        repeat_last(h);
    if (from < first) {                     /* the repeated one alone */
        h->out[0] = h->out[h->out_count - 1];
        h->out_pieces[0] = h->out_pieces[h->out_count - 1];
        h->out_count = h->out_count != 0;
    }
    reply->answer.real = h->real;
    code = answer_with(h, owner, reply, error);
    held_give_up(h);
    return code;
}

void held_reply_free(struct serving_reply *reply)
{
    free(reply->message);
    held_samples_free(reply->samples);
    *reply = (struct serving_reply){ .message = NULL };
}
