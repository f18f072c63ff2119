/* SPDX-License-Identifier: MIT
 *
 * Checks the keys of the samples that a program passes to the packer, because all keys of a data
 * set must differ. The option duplicate_keys says what happens to a sample with the key of an
 * earlier sample. */
#include "base/error.h"
#include "formats/key_table.h"
#include "packer/packer.h"

static int packer_check_key(struct sheaf_packer *p, const char *key)
{
    if (p->keys_differ)
        return SHEAF_OK;
    if (keyset_has_hash(&p->kept_keys, key_hash(key)))
        return keyset_refuse(key, &p->error);
    return keyset_check(&p->keys, key, &p->error);
}

void packer_remember_key(struct sheaf_packer *p, const char *key)
{
    if (!p->keys_differ)
        keyset_add(&p->keys, key);
}

int packer_numbered_key(struct buf *out, const char *key, uint64_t number, struct sheaf_error *err)
{
    out->limit = SIZE_MAX / 4;
    out->size = 0;
    return buf_printf(out, err, "%s-%llu", key, (unsigned long long)number);
}

/* Gives a sample with a repeated key the key KEY-number, which must be new. */
static int use_number(struct sheaf_packer *p, struct sheaf_sample *s, uint64_t number)
{
    int code = packer_numbered_key(&p->new_key, s->key, number, &p->error);

    if (code == SHEAF_OK)
        code = packer_check_key(p, (const char *)p->new_key.data);
    if (code == SHEAF_OK)
        s->key = (const char *)p->new_key.data;
    return code;
}

/* Gives a sample with a repeated key the first free key of KEY-2, KEY-3, ... */
static int number_key(struct sheaf_packer *p, struct sheaf_sample *s)
{
    int code = SHEAF_ERR_EXISTS;

    for (uint64_t number = 2; code == SHEAF_ERR_EXISTS; number++)
        code = use_number(p, s, number);
    return code;
}

/* Refuses a sample because of its key. Returns SHEAF_END, and p->error says why the sample is left
 * out. */
static int drop_key(struct sheaf_packer *p)
{
    err_set(&p->error, SHEAF_ERR_EXISTS, "left out: a sample with this key is already packed");
    return SHEAF_END;
}

/* Handles a sample whose key may be repeated, if this process packs a part of a plan. The plan says
 * what happens to the sample, because only the plan knows the keys of all parts. */
static int take_planned_key(struct sheaf_packer *p, struct sheaf_sample *s)
{
    const struct plan_repeat *repeat = plan_facts_repeat(&p->file.facts, p->samples);
    int code;

    if (repeat == NULL)
        return packer_check_key(p, s->key);
    code = repeat->number == 0 ? drop_key(p) : use_number(p, s, repeat->number);
    p->duplicates += code == SHEAF_OK || code == SHEAF_END;
    return code;
}

int packer_take_key(struct sheaf_packer *p, struct sheaf_sample *s)
{
    int code;

    if (p->is_part)
        return take_planned_key(p, s);
    code = packer_check_key(p, s->key);
    if (code != SHEAF_ERR_EXISTS || p->options.duplicate_keys == SHEAF_DUPLICATE_FAIL)
        return code;
    code = p->options.duplicate_keys == SHEAF_DUPLICATE_NUMBER ? number_key(p, s) : drop_key(p);
    p->duplicates += code == SHEAF_OK || code == SHEAF_END;
    return code;
}
