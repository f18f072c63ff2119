/* SPDX-License-Identifier: MIT
 *
 * Claims a data set that is to grow, and cleans up behind a run that appended.
 *
 *                          data set    and an unfinished run that appends        another run
 *     (neither option)     begin       refuse                                    refuse
 *     resume               begin       of this plan: resume; else refuse         refuse
 *     overwrite            begin       remove what it has appended, begin        refuse
 *
 * Nothing that the manifest names is ever removed. */
#include <string.h>

#include "base/error.h"
#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/publish.h"
#include "store/store.h"

/* ---- What may be done ------------------------------------------------------------------------ */

static int refuse_run(const struct output *o, const struct destination *d, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: another run appends to it, or was "
                                    "interrupted (%s)", o->dest, d->holder.holder),
                       SHEAF_REASON_UNFINISHED);
}

static int check_claim(const struct output *o, const struct destination *d, bool resume,
                       bool overwrite, struct sheaf_error *err)
{
    if (d->claim == CLAIM_ABSENT)
        return destination_refuse(o, d, REFUSE_LEFTOVERS | REFUSE_UNKNOWN, err);
    if (d->claim == CLAIM_DAMAGED)
        return overwrite ? SHEAF_OK
             : err_set(err, SHEAF_ERR_CORRUPT, "%s/" PLAN_FILE ": the journal of an earlier run "
                       "is damaged", o->journal.directory);
    if (d->holder.state != CLAIM_GROWS)
        return err_set(err, SHEAF_ERR_EXISTS, "%s: a run that packs it has not finished (%s)",
                       o->dest, d->holder.holder);
    if (overwrite)
        return SHEAF_OK;
    return resume ? destination_refuse_other_run(o, d, err) : refuse_run(o, d, err);
}

static int inspect(struct output *o, bool resume, bool overwrite, struct destination *d,
                   struct sheaf_error *err)
{
    int code = o->lock < 0 ? store_lock(o->dest, false, &o->lock, err) : SHEAF_OK;

    if (code == SHEAF_OK)
        code = destination_inspect(o, INSPECT_CLAIM | INSPECT_DATASET | INSPECT_FILES, d, err);
    if (code == SHEAF_OK)
        code = destination_refuse(o, d, REFUSE_FAULT, err);
    return code == SHEAF_OK ? check_claim(o, d, resume, overwrite, err) : code;
}

int output_check_grow(struct output *o, bool resume, bool overwrite, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    const int code = inspect(o, resume, overwrite, &d, err);

    destination_clear(&d);
    return code;
}

/* ---- The claim ------------------------------------------------------------------------------- */

/* What was changed before the claim is seen now; nothing of it can be changed later. */
static int check_same(const struct output *o, struct sheaf_error *err)
{
    struct manifest_found f;
    int code = destination_manifest(o, o->dest, &f, err);

    if (code == SHEAF_OK && (f.kind < MANIFEST_OF_OTHER_PLAN ||
                             strcmp(f.manifest.fingerprint, o->grows->fingerprint) != 0))
        code = err_set(err, SHEAF_ERR_CHANGED, "%s: the data set has grown or was replaced "
                       "meanwhile: append again", o->dest);
    manifest_found_free(&f);
    return code;
}

int output_grow(struct output *o, bool resume, bool overwrite, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = inspect(o, resume, overwrite, &d, err);

    if (code == SHEAF_OK)
        code = journal_claim(&o->journal, &d.claim_seen, CLAIM_GROWS, err);
    if (code == SHEAF_OK) {
        code = check_same(o, err);
        if (code != SHEAF_OK && d.claim == CLAIM_ABSENT)
            (void)journal_clear(&o->journal, NULL);
    }
    if (code == SHEAF_OK && d.claim != CLAIM_ABSENT)
        code = output_remove_appended(o, !overwrite, err);
    destination_clear(&d);
    return code;
}

/* ---- The end --------------------------------------------------------------------------------- */

int output_grown(struct output *o, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = store_lock(o->dest, false, &o->lock, err);

    if (code == SHEAF_OK)
        code = destination_inspect(o, INSPECT_CLAIM, &d, err);
    if (code == SHEAF_OK && d.claim == CLAIM_OF_PLAN) {
        memcpy(o->journal.plan.run, d.holder.run, sizeof(d.holder.run));
        code = publish_grown_interop(o, err);
        if (code == SHEAF_OK)
            code = output_end(o, err);
    }
    destination_clear(&d);
    return code;
}

void output_abandon_grow(const struct output *o, bool keep_shards)
{
    (void)journal_remove_temporaries(o->dest, NULL);
    if (keep_shards || o->is_visible || journal_check(&o->journal, NULL) != SHEAF_OK ||
        output_remove_appended(o, false, NULL) != SHEAF_OK)
        return;
    (void)journal_clear(&o->journal, NULL);
}
