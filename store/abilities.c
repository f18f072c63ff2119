/* SPDX-License-Identifier: MIT
 *
 * Finds out what a store can do, for example whether it can check and replace an object in one
 * step. Usually a store has an ability if its table of functions (struct store_ops) has a function
 * for it. If an ability depends on the server, the store's function find_abilities tests the
 * server. */
#include "store/abilities.h"

#include "store/store.h"

int store_find_abilities(const char *directory, struct store_abilities *abilities,
                         struct sheaf_error *err)
{
    const struct store_ops *ops = store_of(directory, err);

    if (ops == NULL)
        return SHEAF_ERR_UNSUPPORTED;
    *abilities = (struct store_abilities){ .compares = ops->commit_over != NULL,
                                           .identifies = ops->stat_start != NULL,
                                           .locks = ops->lock != NULL };
    return ops->find_abilities == NULL ? SHEAF_OK
                                       : ops->find_abilities(directory, abilities, err);
}
