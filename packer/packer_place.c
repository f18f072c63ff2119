/* SPDX-License-Identifier: MIT
 *
 * Lets a program resume packing in the middle of its own input. With each finished shard, the
 * packer stores the position that the program has reached in its input. After an interruption, the
 * program continues at this position, and need not make the samples of the finished shards again.
 * The packer reads the number and the keys of these samples from its journal. */
#include "base/bytes.h"
#include "base/error.h"
#include "packer/packer.h"

int sheaf_packer_cut_at(struct sheaf_packer *p, uint64_t place)
{
    if (p->state == PACKER_OPEN && p->shard.sample_count != 0)
        p->shard.source = place;
    return sheaf_packer_cut(p);
}

static int packer_place_take_keys(struct sheaf_packer *p)
{
    const struct buf *keys = &p->resumed.keys;
    int code = SHEAF_OK;

    for (size_t at = 0; at < keys->size && code == SHEAF_OK; at += sizeof(uint64_t))
        code = keyset_add_hash(&p->kept_keys, load64(keys->data + at), &p->error);
    return code;
}

int sheaf_packer_skip(struct sheaf_packer *p, uint64_t *place)
{
    struct resumed *r = &p->resumed;
    int code = packer_check_open(p);

    *place = 0;
    if (code == SHEAF_OK && p->appended != 0)
        code = err_set(&p->error, SHEAF_ERR_STATE, "finished shards are passed over before the "
                       "first sample");
    if (code != SHEAF_OK || p->is_there || !resumed_has_next(r) || !resumed_has_place(r))
        return code;
    code = packer_place_take_keys(p);
    if (code != SHEAF_OK)
        return code;
    for (; r->at < r->count; r->at++) {
        p->samples += r->shards[r->at].samples;
        p->files += r->shards[r->at].files;
    }
    p->appended = p->samples;
    p->has_cls |= r->has_cls;
    p->shard = (struct plan_shard){ .number = (uint32_t)r->count, .first = p->samples };
    *place = r->shards[r->count - 1].place;
    return SHEAF_OK;
}
