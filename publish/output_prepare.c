/* SPDX-License-Identifier: MIT
 *
 * Prepares DEST for a run: what it may contain, and what happens to that.
 *
 *                          nothing    data set          unfinished run      files of that name
 *     (neither option)     begin      refuse            refuse              refuse
 *     resume               begin      of this plan:     of this plan:       refuse
 *                                     done; else        resume; else
 *                                     refuse            refuse
 *     overwrite            begin      remove, begin     remove, begin       refuse
 *
 * The splits of one data set are that data set, also where the run has none, or others.  Only what
 * a manifest or a journal says to be a data set's own is ever removed. */
#include <string.h>

#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/own_source.h"
#include "store/store.h"

/* ---- What may be done ------------------------------------------------------------------------ */

/* There is nothing at all. */
static int check_free(const struct output *o, struct destination *d, struct sheaf_error *err)
{
    int code = destination_inspect(o, INSPECT_DATASET, d, err);

    if (code == SHEAF_OK)
        code = destination_refuse(o, d, REFUSE_DATASET, err);
    if (code == SHEAF_OK)
        code = destination_inspect(o, INSPECT_FILES, d, err);
    if (code == SHEAF_OK && d->has_leftovers)       /* the refusal says whose they are */
        code = destination_inspect(o, INSPECT_CLAIM, d, err);
    if (code == SHEAF_OK)
        code = destination_refuse(o, d, REFUSE_LEFTOVERS | REFUSE_DATASET | REFUSE_UNKNOWN, err);
    return code;
}

/* Resuming without a claim of this plan: its data set is there, or nothing is.  What a damaged
 * claim leaves behind is cleared. */
static int check_unclaimed(const struct output *o, struct destination *d, struct sheaf_error *err)
{
    int code;

    if (d->is_finished)
        return SHEAF_OK;
    code = destination_refuse(o, d, REFUSE_FAULT | REFUSE_OTHER_DATASET, err);
    if (code == SHEAF_OK)
        code = destination_inspect(o, INSPECT_FILES, d, err);
    if (code == SHEAF_OK)
        code = destination_refuse(o, d, REFUSE_DATASET | REFUSE_UNKNOWN, err);
    return code;
}

/* A claim of this plan can be resumed whatever else is there: what is damaged or gone is made
 * anew. */
static int check_resume(const struct output *o, struct destination *d, struct sheaf_error *err)
{
    int code = destination_inspect(o, INSPECT_CLAIM | INSPECT_DATASET | INSPECT_WHOLE, d, err);

    if (code == SHEAF_OK)
        code = destination_refuse_other_run(o, d, err);
    return code == SHEAF_OK && d->claim != CLAIM_OF_PLAN ? check_unclaimed(o, d, err) : code;
}

/* A manifest that cannot be read says of nothing that it is the data set's. */
static int check_replace(const struct output *o, struct destination *d, struct sheaf_error *err)
{
    int code = destination_inspect(o, INSPECT_CLAIM | INSPECT_DATASET | INSPECT_FILES, d, err);

    if (code == SHEAF_OK)
        code = destination_refuse(o, d, REFUSE_FAULT | REFUSE_UNKNOWN, err);
    return code;
}

static int check_allowed(struct output *o, bool resume, bool overwrite, struct destination *d,
                         struct sheaf_error *err)
{
    int code = store_make_directory(o->dest, err);

    if (code == SHEAF_OK)
        code = refuse_own_source(o->dest, o->sources, o->source_count, err);
    if (code == SHEAF_OK && o->lock < 0)
        code = store_lock(o->dest, false, &o->lock, err);
    if (code != SHEAF_OK)
        return code;
    return resume ? check_resume(o, d, err) : overwrite ? check_replace(o, d, err)
                                                        : check_free(o, d, err);
}

int output_check_free(const struct output *o, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    const int code = check_free(o, &d, err);

    destination_clear(&d);
    return code;
}

int output_check(struct output *o, bool resume, bool overwrite, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    const int code = check_allowed(o, resume, overwrite, &d, err);

    destination_clear(&d);
    return code;
}

/* ---- Begin, resume, or replace --------------------------------------------------------------- */

static int make_ready(struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_make_directory(o->directories[i], err);
    return code == SHEAF_OK ? journal_ready(&o->journal, err) : code;
}

/* Takes away what is there, or what is not of the run's own plan. */
static int prepare_clear(struct output *o, bool keep_own, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = journal_remove_temporaries(o->directories[i], err);
    return code == SHEAF_OK ? output_clear(o, keep_own, err) : code;
}

/* A run that came between the inspection and the claim is seen now; none can come later.  A server
 * that cannot list the names below the destination shows now, too. */
static int check_claimed(struct output *o, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = destination_inspect(o, INSPECT_DATASET | INSPECT_FILES, &d, err);

    if (code == SHEAF_OK)
        code = destination_refuse(o, &d, REFUSE_DATASET | REFUSE_UNKNOWN, err);
    if (code == SHEAF_ERR_EXISTS || code == SHEAF_ERR_CORRUPT)
        (void)journal_remove(&o->journal, PLAN_FILE, NULL);
    destination_clear(&d);
    return code;
}

/* A claim that was damaged does not say who was there, and what that run has left. */
static int prepare_begin(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    int code = journal_claim(&o->journal, &d->claim_seen, CLAIM_LOOKS, err);

    if (code == SHEAF_OK)
        code = check_claimed(o, err);
    if (code == SHEAF_OK && d->claim == CLAIM_DAMAGED)
        code = output_clear(o, true, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

/* The run was killed when only its traces were left. */
static int finish_claimed(struct output *o, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < o->split_count && code == SHEAF_OK; i++)
        code = store_sync(o->directories[i], err);
    return code == SHEAF_OK ? output_end(o, err) : code;
}

/* The claim is of this plan. */
static int resume_claimed(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    const struct journal_plan *holder = &d->holder;
    int code;

    memcpy(o->journal.plan.run, holder->run, sizeof(holder->run));
    if (d->is_finished)
        return finish_claimed(o, err);
    if (o->joins && holder->state == CLAIM_READY)
        return SHEAF_OK;
    code = journal_claim(&o->journal, &d->claim_seen, holder->state, err);
    if (code == SHEAF_OK)
        code = holder->state == CLAIM_LOOKS ? check_claimed(o, err) : prepare_clear(o, true, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

static int resume_or_begin(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    if (d->claim == CLAIM_OF_PLAN)
        return resume_claimed(o, d, err);
    return d->is_finished ? output_sweep(o, err) : prepare_begin(o, d, err);
}

/* All that can refuse comes first; then the destination is claimed; then what is there goes.  From
 * the claim on another run knows that this one is to be resumed. */
static int prepare_replace(struct output *o, const struct destination *d, struct sheaf_error *err)
{
    int code = journal_claim(&o->journal, &d->claim_seen, CLAIM_REPLACES, err);

    if (code == SHEAF_OK)
        code = prepare_clear(o, false, err);
    return code == SHEAF_OK ? make_ready(o, err) : code;
}

int output_prepare(struct output *o, bool resume, bool overwrite, bool *finished,
                   struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = check_allowed(o, resume, overwrite, &d, err);

    *finished = code == SHEAF_OK && resume && d.is_finished;
    if (code == SHEAF_OK)
        code = resume ? resume_or_begin(o, &d, err) : overwrite ? prepare_replace(o, &d, err)
                                                                : prepare_begin(o, &d, err);
    destination_clear(&d);
    return code;
}
