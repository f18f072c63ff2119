/* SPDX-License-Identifier: MIT
 *
 * Writes an object. Parts are sent as they fill, several at a time. An object that fits into one
 * part is a single PUT. Nothing is visible before the commit.
 *
 * All memory is in slots and comes from the memory that the writers of a run share (part_memory.h).
 * A slot keeps its bytes until the store has acknowledged them, since an attempt may have to be
 * repeated. The writer waits when enough parts are under way or no memory is left.
 *
 *     idle --filled by write()--> full --checksums--> sent --acknowledged--+
 *      ^                                                proofs[number - 1] |
 *      +-------------------------------------------------------------------+ */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflight.h"
#include "store/over.h"
#include "store/part_memory.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_upload.h"

/* The largest number of parts of one object that are sent at the same time. */
#define SLOTS 32u
#define PART_BYTES ((uint64_t)8 << 20)
#define PART_STEP  ((uint64_t)1 << 20)
#define PART_MOST  ((uint64_t)4 << 30)
/* The size of parts is chosen so that an object of the expected size has at most PARTS_EXPECTED
 * parts. If the object becomes larger than expected, it gets more parts. After PARTS_EXPECTED
 * parts, and again after each PARTS_OF_A_SIZE further parts, the size of the following parts is
 * doubled. So even the largest object that S3 allows has at most 10000 parts, which is S3's
 * limit. */
#define PARTS_EXPECTED  5000
#define PARTS_OF_A_SIZE 500
struct part_slot {
    struct inflight_item item;      /* the first member */
    struct s3_put put;
    struct s3_writer *writer;
    uint8_t *data;
    size_t size, capacity;
    unsigned number;                /* of its part, from 1 */
    /* the error that occurred while this part was sent; its code is 0 if the part was sent. Valid
     * only after sending has ended. */
    struct sheaf_error error;
};

struct s3_writer {
    struct store_writer base;
    const struct s3_bucket *bucket;
    char *key;
    char *upload_id;                /* NULL: nothing was sent yet */
    char mark[S3_MARK_SIZE];
    struct s3_proving proving;
    uint64_t bytes;
    uint64_t first_part_bytes;      /* of the first PARTS_EXPECTED */
    unsigned part_count;            /* parts sent */
    struct part_memory *memory, *own_memory;    /* own_memory is NULL if the writer was given
                                                   memory */
    struct s3_proof *proofs;        /* of each, once it is acknowledged */
    struct part_slot slots[SLOTS];
    struct part_slot *filling;           /* NULL: take a free one */
    struct inflight window;         /* the slots whose parts were sent */
    /* the first error of any part of the object; its code is 0 if no part has failed */
    struct sheaf_error error;
};

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Returns the size of the parts of an object in bytes. The size must not depend on the available
 * memory, because the ETag of an object depends on the size of its parts. Equal objects must get
 * equal ETags. */
uint64_t s3_part_bytes(uint64_t expected_bytes)
{
    const uint64_t needed = expected_bytes / PARTS_EXPECTED;

    return needed <= PART_BYTES ? PART_BYTES : MIN(needed / PART_STEP * PART_STEP + PART_STEP,
                                                   PART_MOST);
}

static size_t part_bytes(const struct s3_writer *w, unsigned number)
{
    const unsigned doublings = number <= PARTS_EXPECTED
                             ? 0 : 1 + (number - PARTS_EXPECTED - 1) / PARTS_OF_A_SIZE;

    return (size_t)MIN(w->first_part_bytes << doublings, PART_MOST);
}

/* Gives a slot's memory back. */
static void give_memory(struct part_slot *slot)
{
    part_memory_give(slot->writer->memory, slot->data, slot->capacity);
    slot->data = NULL;
}

/* Records that sending a part has ended. `error` is NULL if the part was sent. Called on any
 * thread. */
static void s3_writer_end_part(struct part_slot *slot, const struct sheaf_error *error)
{
    slot->error = error == NULL ? (struct sheaf_error){ 0 } : *error;
    part_memory_end(slot->writer->memory, slot->size);
    give_memory(slot);
    inflight_done(&slot->item);
}

/* Takes over the result of a part whose sending has ended: its ETag and checksums, or its error.
 * Marks the slot (the state of one part) as idle. */
static void s3_writer_settle(struct s3_writer *w, struct part_slot *slot)
{
    if (slot->error.code == SHEAF_OK)
        w->proofs[slot->number - 1] = slot->put.proof;
    else if (w->error.code == SHEAF_OK)
        w->error = slot->error;
    request_free(&slot->put.request);
    inflight_add(&w->window, &slot->item);
}

static void cancel_part(struct inflight_item *item)
{
    request_cancel(&((struct part_slot *)item)->put.request);
}

static struct part_slot *s3_writer_slot_of(struct s3_put *put)
{
    return (struct part_slot *)(void *)((char *)put - offsetof(struct part_slot, put));
}

/* Is called on the thread of the HTTP engine when the request that sends a part has ended
 * (request.done). */
static void s3_writer_part_done(struct request *r)
{
    s3_writer_end_part(s3_writer_slot_of((struct s3_put *)r), r->code == SHEAF_OK ? NULL
                       : &r->error);
}

/* Sends the part that was being filled. The part must be full, unless it is the last part of the
 * object. */
static int send_part(struct s3_writer *w, struct sheaf_error *err)
{
    struct part_slot *slot = w->filling;
    struct sheaf_error error;
    int code = SHEAF_OK;

    if (w->part_count == S3_PARTS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%s: more than the %d parts that S3 takes",
                       w->base.url, S3_PARTS_MOST);
    if (w->upload_id == NULL)
        code = s3_upload_begin(w->bucket, w->key, &w->proving, &w->upload_id, w->mark, err);
    if (code != SHEAF_OK)
        return code;
    slot->number = ++w->part_count;
    w->filling = NULL;
    part_memory_begin(w->memory);
    inflight_begin(&w->window, &slot->item);
    code = s3_put_init(&slot->put, w->bucket, w->key, &w->proving, w->upload_id, slot->number,
                       slot->data, slot->size, &error);
    if (code == SHEAF_OK)
        code = s3_put_prove(&slot->put, &error);
    slot->put.request.done = s3_writer_part_done;
    if (code == SHEAF_OK)
        request_start(&slot->put.request);
    else
        s3_writer_end_part(slot, &error);
    return SHEAF_OK;
}

static int s3_writer_failed(const struct s3_writer *w, struct sheaf_error *err)
{
    return w->error.code == SHEAF_OK ? SHEAF_OK
                                     : err_set(err, w->error.code, "%s", w->error.message);
}

/* Takes memory for the next part, and waits until there is room. The wait cannot last forever: the
 * memory is in use by parts that are being sent, possibly by other writers, and becomes free when
 * they are sent. */
static int take_memory(struct s3_writer *w, struct part_slot *slot, struct sheaf_error *err)
{
    int code;

    for (;;) {
        const uint64_t given = part_memory_given(w->memory);

        code = part_memory_is_busy(w->memory)
                   ? SHEAF_END : part_memory_take(w->memory, slot->capacity, &slot->data, err);
        if (code != SHEAF_END)
            return code == SHEAF_ERR_LIMIT ? err_prefix(err, "%s: ", w->base.url) : code;
        part_memory_wait(w->memory, given);
    }
}

/* Takes a free slot (the state of one part) and memory for the next part. If all slots are in use,
 * waits until one is free. */
static int s3_writer_take_slot(struct s3_writer *w, struct sheaf_error *err)
{
    struct inflight_item *item;
    struct part_slot *slot;
    int code;

    while ((item = w->window.count == SLOTS ? inflight_next(&w->window)
                                            : inflight_take(&w->window)) != NULL)
        s3_writer_settle(w, (struct part_slot *)item);
    code = s3_writer_failed(w, err);
    if (code != SHEAF_OK)
        return code;
    slot = (struct part_slot *)inflight_idle(&w->window);
    slot->capacity = part_bytes(w, w->part_count + 1);
    slot->size = 0;
    code = take_memory(w, slot, err);
    if (code == SHEAF_OK)
        w->filling = slot;
    else
        inflight_add(&w->window, &slot->item);
    return code;
}

/* Waits until no part is under way. */
static int s3_writer_drain(struct s3_writer *w, struct sheaf_error *err)
{
    struct part_slot *slot;

    while ((slot = (struct part_slot *)inflight_next(&w->window)) != NULL)
        s3_writer_settle(w, slot);
    return s3_writer_failed(w, err);
}

/* ---- The store's calls ----------------------------------------------------------------------- */

static void s3_writer_free(struct s3_writer *w)
{
    for (size_t i = 0; i < SLOTS; i++)
        give_memory(&w->slots[i]);
    part_memory_close(w->own_memory);
    free(w->proofs);
    free(w->upload_id);
    free(w->key);
    free(w->base.url);
    inflight_close(&w->window);
    free(w);
}

int s3_create_within(const char *url, struct part_memory *memory, uint64_t expected_bytes,
                     struct store_writer **writer, struct sheaf_error *err)
{
    struct s3_writer *w = calloc(1, sizeof(*w));
    int code;

    if (w == NULL)
        return err_memory(err, sizeof(*w));
    w->memory = memory;
    w->first_part_bytes = s3_part_bytes(expected_bytes);
    inflight_open(&w->window, INFLIGHT_ANY, cancel_part, NULL);
    w->base.ops = &store_s3_ops;
    w->base.url = strdup(url);
    w->proofs = calloc(S3_PARTS_MOST, sizeof(w->proofs[0]));
    for (size_t i = 0; i < SLOTS; i++) {
        w->slots[i].writer = w;
        inflight_add(&w->window, &w->slots[i].item);
    }
    code = s3_locate(url, &w->bucket, &w->key, err);
    if (code == SHEAF_OK && *w->key == '\0')
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%s: is a bucket, not an object", url);
    if (code == SHEAF_OK && (w->base.url == NULL || w->proofs == NULL))
        code = err_memory(err, S3_PARTS_MOST * sizeof(w->proofs[0]));
    if (code == SHEAF_OK)
        w->proving = s3_proving_of(w->bucket, w->key);
    if (code == SHEAF_OK && memory == NULL) {
        code = part_memory_open(&w->own_memory, UINT64_MAX, err);
        w->memory = w->own_memory;
    }
    if (code == SHEAF_OK)
        *writer = &w->base;
    else
        s3_writer_free(w);
    return code;
}

int s3_create(const char *url, struct store_writer **writer, struct sheaf_error *err)
{
    return s3_create_within(url, NULL, 0, writer, err);
}

int s3_write(struct store_writer *writer, const void *data, size_t size, struct sheaf_error *err)
{
    struct s3_writer *w = (struct s3_writer *)writer;
    const uint8_t *from = data;
    int code = SHEAF_OK;

    while (size != 0 && code == SHEAF_OK) {
        const size_t full = part_bytes(w, w->part_count + 1);
        size_t piece;

        /* Send a full part only when the caller writes more bytes. If no more bytes follow the
         * first part, this part is the whole object, and one PUT can send it without a multipart
         * upload. */
        if (w->filling != NULL && w->filling->size == full)
            code = send_part(w, err);
        if (code == SHEAF_OK && w->filling == NULL)
            code = s3_writer_take_slot(w, err);
        if (code != SHEAF_OK)
            break;
        piece = MIN(size, part_bytes(w, w->part_count + 1) - w->filling->size);
        memcpy(w->filling->data + w->filling->size, from, piece);
        w->filling->size += piece;
        w->bytes += piece;
        from += piece;
        size -= piece;
    }
    return code;
}

static const void *whole(const struct s3_writer *w)
{
    return w->filling != NULL ? w->filling->data : NULL;
}

static int put_whole(struct s3_writer *w, const struct store_seen *seen, bool bare,
                     struct store_seen *now, struct sheaf_error *err)
{
    struct s3_put put;
    int code = s3_put_init(&put, w->bucket, w->key, &w->proving, NULL, 0, whole(w),
                           (size_t)w->bytes, err);

    if (code == SHEAF_OK)
        code = s3_require(&put.request, seen, bare, err);
    if (code == SHEAF_OK && w->base.note != NULL)
        code = request_set_header(&put.request, S3_NOTE, w->base.note, err);
    if (code == SHEAF_OK)
        code = s3_put_run(&put, err);
    if (code == SHEAF_OK)
        s3_seen(now, put.proof.etag, w->bytes);
    request_free(&put.request);
    return code;
}

/* Must be called after the server has refused a conditional write. Returns whether the object that
 * is now at the URL has the bytes of this write. If it has, an earlier attempt of this write has
 * succeeded, and the response was lost. The function compares bytes, because attempts cannot be
 * counted: libcurl itself repeats a request if the server has closed a kept connection. */
static bool is_ours(const struct s3_writer *w, struct store_seen *now)
{
    const size_t size = (size_t)w->bytes;
    char *there = NULL;
    size_t there_size = 0;
    const bool same = store_see(w->base.url, now, NULL) == SHEAF_OK && now->is_there &&
                      store_get(w->base.url, size, &there, &there_size, NULL) == SHEAF_OK &&
                      there_size == size && (size == 0 || memcmp(there, whole(w), size) == 0) &&
                      store_check_seen(w->base.url, now, NULL) == SHEAF_OK;

    free(there);
    return same;
}

/* Changes the error code of a write that was to replace an object: NOT_FOUND becomes CHANGED,
 * because for the caller an object that no longer exists has changed. */
static int gone(const struct s3_writer *w, const struct store_seen *seen, int code,
                struct sheaf_error *err)
{
    if (code != SHEAF_ERR_NOT_FOUND || seen == NULL || !seen->is_there)
        return code;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: no longer exists", w->base.url);
}

/* Returns whether a refused write must be repeated with the ETag in its other form, with or without
 * quotes. All later writes to the bucket then use this form as well. `was_bare` says whether the
 * refused ETag had no quotes. For example, the server radosgw compares ETags without quotes. So it
 * refuses a write with quotes although the object has not changed. */
static bool ask_in_other_form(const struct s3_writer *w, const struct store_seen *seen,
                              bool was_bare, int code)
{
    if (code != SHEAF_ERR_CHANGED || seen == NULL || seen->etag[0] != '"' ||
        store_check_seen(w->base.url, seen, NULL) != SHEAF_OK)
        return false;
    __atomic_store_n(&w->bucket->known->bare_etags, !was_bare, __ATOMIC_RELAXED);
    return true;
}

static int put_over(struct s3_writer *w, const struct store_seen *seen, struct store_seen *now,
                    struct sheaf_error *err)
{
    const bool bare = s3_wants_bare_etags(w->bucket);
    int code = gone(w, seen, put_whole(w, seen, bare, now, err), err);

    if (ask_in_other_form(w, seen, bare, code))
        code = gone(w, seen, put_whole(w, seen, !bare, now, err), err);
    if (code == SHEAF_ERR_CHANGED && is_ours(w, now))
        return SHEAF_OK;
    if (code != SHEAF_ERR_UNSUPPORTED || seen == NULL)
        return code;
    code = store_check_seen(w->base.url, seen, err);
    return code == SHEAF_OK ? put_whole(w, NULL, bare, now, err) : code;
}

static int complete_over(struct s3_writer *w, const struct store_seen *seen, struct store_seen *now,
                         struct sheaf_error *err)
{
    const bool bare = s3_wants_bare_etags(w->bucket);
    struct s3_completion c = {
        .bucket = w->bucket, .key = w->key, .upload_id = w->upload_id, .mark = w->mark,
        .proving = &w->proving, .parts = w->proofs, .count = w->part_count, .bytes = w->bytes,
        .bare_etags = bare,
    };
    int code = gone(w, seen, s3_upload_complete(&c, seen, now, err), err);

    if (!c.is_done && ask_in_other_form(w, seen, bare, code)) {
        c.bare_etags = !bare;
        code = gone(w, seen, s3_upload_complete(&c, seen, now, err), err);
    }
    if (code != SHEAF_ERR_UNSUPPORTED || seen == NULL || c.is_done)
        return code;
    code = store_check_seen(w->base.url, seen, err);
    return code == SHEAF_OK ? s3_upload_complete(&c, NULL, now, err) : code;
}

/* Sends the last part before the commit, if the object has several parts. An object that fits into
 * one part is sent by the commit in a single request. */
int s3_end(struct store_writer *writer, struct sheaf_error *err)
{
    struct s3_writer *w = (struct s3_writer *)writer;

    return w->upload_id != NULL && w->filling != NULL && w->filling->size != 0 ? send_part(w, err)
                                                                               : SHEAF_OK;
}

int s3_commit_over(struct store_writer *writer, const struct store_seen *seen,
                   struct store_seen *now, struct sheaf_error *err)
{
    struct s3_writer *w = (struct s3_writer *)writer;
    int code = seen != NULL && s3_ignores_conditions(w->bucket)
                   ? store_check_seen(w->base.url, seen, err) : SHEAF_OK;

    if (code != SHEAF_OK) {
        s3_abort(writer);
        return code;
    }
    if (w->upload_id == NULL) {
        code = put_over(w, seen, now, err);
        s3_writer_free(w);
        return code;
    }
    code = s3_end(writer, err);
    if (code == SHEAF_OK)
        code = s3_writer_drain(w, err);
    if (code == SHEAF_OK)
        code = complete_over(w, seen, now, err);
    if (code != SHEAF_OK)
        s3_abort(writer);
    else
        s3_writer_free(w);
    return code;
}

int s3_commit(struct store_writer *writer, struct sheaf_error *err)
{
    struct store_seen now;

    return s3_commit_over(writer, NULL, &now, err);
}

void s3_abort(struct store_writer *writer)
{
    struct s3_writer *w = (struct s3_writer *)writer;

    inflight_cancel(&w->window);
    (void)s3_writer_drain(w, NULL);
    /* Ignore a failure of this abort, because store_clean finds and aborts the upload later. */
    if (w->upload_id != NULL)
        (void)s3_upload_abort(w->bucket, w->key, w->upload_id, NULL);
    s3_writer_free(w);
}
