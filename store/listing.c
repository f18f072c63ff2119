/* SPDX-License-Identifier: MIT
 *
 * Entries, sorted by name. */
#include "store/listing.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"

int listing_add(struct listing *l, const struct store_entry *entry, struct sheaf_error *err)
{
    struct store_entry *grown;

    if (l->count == l->capacity) {
        const size_t capacity = MAX(2 * l->capacity, (size_t)64);

        grown = reallocarray(l->items, capacity, sizeof(*grown));
        if (grown == NULL)
            return err_memory(err, capacity * sizeof(*grown));
        l->items = grown;
        l->capacity = capacity;
    }
    l->items[l->count] = (struct store_entry){ .name = strdup(entry->name), .bytes = entry->bytes,
                                               .stamp = entry->stamp };
    if (l->items[l->count].name == NULL)
        return err_memory(err, strlen(entry->name));
    l->count++;
    return SHEAF_OK;
}

void listing_clear(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free((char *)(uintptr_t)l->items[i].name);
    l->count = 0;
}

static int listing_by_name(const void *a, const void *b)
{
    return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

int listing_end(struct listing *l, int code, store_entry_fn *each, void *context)
{
    if (l->count > 1)
        qsort(l->items, l->count, sizeof(l->items[0]), listing_by_name);
    for (size_t i = 0; i < l->count && code == SHEAF_OK; i++)
        code = each(context, &l->items[i]);
    listing_clear(l);
    free(l->items);
    return code;
}
