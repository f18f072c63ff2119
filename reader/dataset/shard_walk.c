/* SPDX-License-Identifier: MIT
 *
 * Walks through a shard; see shard_walk.h. */
#include "reader/dataset/shard_walk.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/flag.h"
#include "base/hash_text.h"
#include "reader/dataset/joined.h"

static int shard_walk_read_bytes(void *context, void *data, size_t size, size_t *got,
                                 struct sheaf_error *err)
{
    struct walk *w = context;
    int code = SHEAF_OK;

    if (flag_is_raised(w->interrupt))
        return err_set(err, SHEAF_ERR_INTERRUPTED, "interrupted");
    *got = (size_t)MIN((uint64_t)size, w->object->bytes - w->offset);
    if (*got != 0)
        code = store_read(w->object, w->offset, data, *got, err);
    if (code != SHEAF_OK)
        return code;
    XXH3_128bits_update(w->hash, data, *got);
    w->offset += *got;
    atomic_fetch_add(w->progress, *got);
    return SHEAF_OK;
}

/* Starts from the beginning of the stored bytes. */
static void shard_walk_go_back(struct walk *w)
{
    store_distrust(w->object, 0, w->object->bytes);
    atomic_fetch_sub(w->progress, w->offset);
    w->offset = 0;
    XXH3_128bits_reset(w->hash);
}

/* Implements frames.again. */
static bool shard_walk_again(void *context)
{
    struct walk *w = context;

    if (!w->may_repeat)
        return false;
    w->may_repeat = false;
    shard_walk_go_back(w);
    return true;
}

/* Returns the memory for reading a remote shard ahead. */
static uint64_t walk_ahead(size_t limit, unsigned most)
{
    return ahead_memory(8 * (uint64_t)limit, most);
}

unsigned walk_requests(uint64_t shard_bytes, size_t limit, unsigned most)
{
    const uint64_t memory = walk_ahead(limit, most);
    const unsigned pieces = ahead_pieces(memory, most);
    const uint64_t piece = memory / pieces;

    return (unsigned)MAX(MIN((shard_bytes + piece - 1) / piece, (uint64_t)pieces), 1u);
}

int walk_open(struct walk *w, const struct sheaf_dataset *dataset, uint32_t shard,
              const struct index_section *section, size_t limit, unsigned most,
              atomic_uint_fast64_t *progress, const volatile int *interrupt,
              struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(dataset, shard);
    int code;

    memset(w, 0, sizeof(*w));
    w->dataset = dataset;
    w->shard = shard;
    w->progress = progress;
    w->interrupt = interrupt;
    w->hash = XXH3_createState();
    if (w->hash == NULL)
        return err_set(err, SHEAF_ERR_MEMORY, "no memory for a hash");
    XXH3_128bits_reset(w->hash);
    code = store_open(dataset->urls[shard], &w->object, err);
    if (code == SHEAF_OK) {
        w->stored_bytes = w->object->bytes;
        w->may_repeat = w->object->is_remote;
        code = joined_wrap(&w->object, section, err);
    }
    if (code == SHEAF_OK && w->object->is_remote) {
        code = ahead_wrap(&w->object, walk_ahead(limit, most), most, err);
        w->object->interrupt = interrupt;
    }
    if (code == SHEAF_OK && w->object->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe", dataset->urls[shard]);
    if (code == SHEAF_OK)
        code = frames_open(&w->frames, source->format, source->manifest.codec,
                           shard_walk_read_bytes, w, limit, err);
    if (code == SHEAF_OK)
        frames_set_stored(&w->frames, w->object->bytes);
    w->frames.again = shard_walk_again;
    if (code != SHEAF_OK)
        walk_close(w);
    return code;
}

int walk_repeat(struct walk *w, struct sheaf_error *err)
{
    const int code = frames_repeat(&w->frames, err);

    if (code < 0)
        err_prefix(err, "%s: ", w->dataset->urls[w->shard]);
    return code;
}

int walk_next(struct walk *w, struct frame *frame, struct sheaf_error *err)
{
    int code = frames_next(&w->frames, frame, err);

    if (code < 0)
        err_prefix(err, "%s: ", w->dataset->urls[w->shard]);
    return code;
}

static int hash_rest(struct walk *w, char hex[33], struct sheaf_error *err)
{
    uint8_t piece[1 << 16];
    size_t got = 1;
    int code = SHEAF_OK;

    while (code == SHEAF_OK && got != 0)
        code = shard_walk_read_bytes(w, piece, sizeof(piece), &got, err);
    if (code != SHEAF_OK)
        return code;
    hash_text(XXH3_128bits_digest(w->hash), hex);
    return SHEAF_OK;
}

int walk_hash(struct walk *w, const char *expected, char hex[33], struct sheaf_error *err)
{
    struct store_object *pieces = w->object;
    int code;

    w->object = joined_stored(pieces);
    /* The hash needs the bytes in the order in which the shard stores them. But the walk may have
     * read them in another order, to bring together the files of each sample (joined.h). In this
     * case, the shard is read again for the hash. */
    if (w->object != pieces) {
        w->offset = 0;
        XXH3_128bits_reset(w->hash);
    }
    code = hash_rest(w, hex, err);
    if (code == SHEAF_OK && w->may_repeat && expected != NULL && strcmp(hex, expected) != 0) {
        (void)shard_walk_again(w);
        code = hash_rest(w, hex, err);
    }
    w->object = pieces;
    return code;
}

void walk_close(struct walk *w)
{
    frames_close(&w->frames);
    store_close(w->object);
    XXH3_freeState(w->hash);
    w->object = NULL;
    w->hash = NULL;
}
