/* SPDX-License-Identifier: MIT
 *
 * Stages, for whichever store has them. */
#include "store/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/over.h"

static int stage_name(const char *partial, const char *run, char **stage, struct sheaf_error *err)
{
    char *name;
    int code = SHEAF_OK;

    *stage = NULL;
    if (asprintf(&name, "%s" STAGE_SUFFIX, run) < 0)
        return err_memory(err, strlen(run));
    *stage = store_join(partial, name);
    if (*stage == NULL)
        code = err_memory(err, strlen(partial));
    free(name);
    return code;
}

int stage_take(const char *partial, const char *from, const char *run, char **stage,
               struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(partial, err);
    char *before = NULL;
    int code;

    *stage = NULL;
    if (ops == NULL || ops->stage_take == NULL)
        return ops == NULL ? SHEAF_ERR_UNSUPPORTED : SHEAF_OK;
    code = stage_name(partial, run, stage, err);
    if (code == SHEAF_OK && from != NULL)
        code = stage_name(partial, from, &before, err);
    if (code == SHEAF_OK)
        code = ops->stage_take(partial, before, *stage, err);
    free(before);
    if (code != SHEAF_OK) {
        free(*stage);
        *stage = NULL;
    }
    return code;
}

int stage_make(const char *partial, const char *run, char **stage, struct sheaf_error *err)
{
    return stage_take(partial, NULL, run, stage, err);
}

int stage_find(const char *partial, const char *run, char **stage, struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(partial, err);
    int code;

    *stage = NULL;
    if (ops == NULL || ops->stage_is_there == NULL)
        return ops == NULL ? SHEAF_ERR_UNSUPPORTED : SHEAF_OK;
    code = stage_name(partial, run, stage, err);
    if (code == SHEAF_OK && !ops->stage_is_there(*stage)) {
        free(*stage);
        *stage = NULL;
    }
    return code;
}

int stage_drop(const char *partial, const char *only, const char *except,
               struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(partial, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    return ops->stage_drop == NULL ? SHEAF_OK : ops->stage_drop(partial, only, except, err);
}

int stage_remove(const char *url, const struct store_seen *seen, const char *stage,
                 struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(url, err);
    struct store_seen now;
    int code;

    if (ops == NULL || stage == NULL)
        return ops == NULL ? SHEAF_ERR_UNSUPPORTED : store_remove_over(url, seen, err);
    code = store_see(url, &now, err);
    if (code != SHEAF_OK || !now.is_there)
        return code;
    code = store_check_seen(url, seen, err);
    return code == SHEAF_OK ? ops->stage_remove(url, stage, err) : code;
}
