/* SPDX-License-Identifier: MIT
 *
 * The last steps of a run that appends. */
#include "publish/destination.h"
#include "publish/output_remove.h"
#include "publish/publish.h"
#include "store/stage.h"

int output_grown(struct output *o, struct sheaf_error *err)
{
    struct destination d = { .claim = CLAIM_ABSENT };
    int code = store_lock(o->dest, false, &o->lock, err);

    if (code == SHEAF_OK)
        code = destination_inspect(o, INSPECT_CLAIM, &d, err);
    if (code == SHEAF_OK && d.claim == CLAIM_OF_PLAN) {
        code = journal_join(&o->journal, &d.holder, err);
        if (code == SHEAF_OK)
            code = publish_grown_interop(o, err);
        if (code == SHEAF_OK)
            code = output_end(o, err);
    } else if (code == SHEAF_OK && d.claim == CLAIM_ABSENT) {
        /* A run was killed after it had removed its claim (the file that says which run packs
         * here). Removes the stage of this run: a directory into which the run renamed its files
         * before they got their final names. No other run uses the stage. */
        code = stage_drop(o->journal.directory, NULL, NULL, err);
    }
    destination_clear(&d);
    return code;
}
