/* SPDX-License-Identifier: MIT
 *
 * The table of keys of a data set that is being published. */
#include "publish/publish_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tempfile.h"
#include "formats/key_table.h"
#include "publish/output_remove.h"
#include "store/store.h"

#define SORT_BYTES ((size_t)32 << 20)   /* of memory: a million samples; more go to a file */

int publish_keys_open(struct publish_keys *k, const char *directory, struct sheaf_error *err)
{
    *k = (struct publish_keys){
        .directory = tempfile_directory(store_is_local(directory) ? directory : NULL),
    };
    if (k->directory == NULL)
        return err_memory(err, strlen(directory));
    return sort_open(&k->sort, k->directory, SORT_BYTES, err);
}

void publish_keys_close(struct publish_keys *k)
{
    sort_close(k->sort);
    free(k->directory);
}

int publish_keys_add(struct publish_keys *k, const struct journal_entry *entry,
                     struct sheaf_error *err)
{
    int code = SHEAF_OK;

    k->is_incomplete |= entry->keys.size / sizeof(uint64_t) != entry->facts.samples;
    for (size_t at = 0; at < entry->keys.size && code == SHEAF_OK; at += sizeof(uint64_t))
        code = key_table_add(k->sort, load64(entry->keys.data + at), k->samples++, err);
    return code;
}

static int write_some(void *writer, const void *data, size_t size, struct sheaf_error *err)
{
    return store_write(writer, data, size, err);
}

/* What goes into the table. */
struct contents {
    const struct publish_keys *keys;
    const struct manifest *manifest;
};

static int write_table(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    const struct contents *c = context;
    struct key_table table;
    const int code = key_table_make(&table, c->manifest->fingerprint, c->keys->samples, err);

    return code == SHEAF_OK ? key_table_write(&table, c->keys->sort, write_some, writer, err)
                            : code;
}

int publish_keys_put(struct publish_keys *k, const struct output *o, uint32_t split,
                     const char *name, const struct manifest *m, struct sheaf_error *err)
{
    struct contents contents = { k, m };

    if (k->is_incomplete)
        return output_remove(o, o->directories[split], name, err);
    return output_write_over(o, o->directories[split], name, write_table, &contents, err);
}
