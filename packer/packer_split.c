/* SPDX-License-Identifier: MIT
 *
 * Implements the packer that writes several splits, such as "train" and "val". The caller appends
 * the samples of the first split, then those of the next one. The manifests of all splits are
 * published at the end. */
#include <string.h>

#include "packer/packer.h"

int packer_open_output(struct sheaf_packer *p, struct sheaf_error *err)
{
    struct plan plan = { .split_count = p->spec.count };

    for (uint32_t s = 0; s < p->spec.count; s++)
        memcpy(plan.splits[s].name, p->spec.splits[s].name, SPLIT_NAME_BYTES);
    return pack_output_open(&p->output, p->dest, &p->setup, p->prefix,
                            plan.split_count == 0 ? NULL : &plan, err);
}

void packer_end_split(struct sheaf_packer *p)
{
    if (p->slot != NULL)
        packer_submit(p, true);
    p->splits[p->shard.split] = (struct packer_split){ p->shard.number, p->has_cls };
}

int packer_begin_split(struct sheaf_packer *p, uint32_t split)
{
    const int code = packer_check_open(p);

    if (code != SHEAF_OK || split == p->shard.split)
        return code;
    packer_end_split(p);
    p->shard = (struct plan_shard){ .split = split };
    p->shard_done = p->has_cls = false;
    p->samples = 0;
    return SHEAF_OK;
}
