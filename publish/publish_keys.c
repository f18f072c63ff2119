/* SPDX-License-Identifier: MIT
 *
 * Writes the table of keys of a data set that is being published. With this table, readers find
 * samples by key. */
#include "publish/publish_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tempfile.h"
#include "formats/key_table.h"
#include "store/store.h"

/* Memory in bytes for sorting the hashes of keys. This memory is enough for a million samples. For
 * more samples, a temporary file is used. */
#define SORT_BYTES ((uint64_t)32 << 20)

int publish_keys_open(struct publish_keys *k, const char *directory, uint64_t memory_bytes,
                      struct sheaf_error *err)
{
    *k = (struct publish_keys){
        .directory = tempfile_directory(store_is_local(directory) ? directory : NULL),
    };
    if (k->directory == NULL)
        return err_memory(err, strlen(directory));
    return sort_open(&k->sort, k->directory, (size_t)MIN(memory_bytes, SORT_BYTES), err);
}

void publish_keys_close(struct publish_keys *k)
{
    sort_close(k->sort);
    free(k->directory);
    *k = (struct publish_keys){ .sort = NULL };
}

int publish_keys_add_hash(struct publish_keys *k, uint64_t hash, struct sheaf_error *err)
{
    return key_table_add(k->sort, hash, k->samples++, err);
}

int publish_keys_add(struct publish_keys *k, const struct journal_entry *entry,
                     struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t at = 0; at < entry->keys.size && code == SHEAF_OK; at += sizeof(uint64_t))
        code = publish_keys_add_hash(k, load64(entry->keys.data + at), err);
    return code;
}

static int write_some(void *writer, const void *data, size_t size, struct sheaf_error *err)
{
    return store_write(writer, data, size, err);
}

/* The content of the table. */
struct contents {
    const struct publish_keys *keys;
    const char *fingerprint;
};

static int write_table(void *context, struct store_writer *writer, struct sheaf_error *err)
{
    const struct contents *c = context;
    struct key_table table;
    const int code = key_table_make(&table, c->fingerprint, c->keys->samples,
                                    MAX(c->keys->samples, c->keys->keyed), err);

    return code == SHEAF_OK ? key_table_write(&table, c->keys->sort, write_some, writer, err)
                            : code;
}

int publish_keys_write(const struct publish_keys *k, const char *url, const char *fingerprint,
                       struct store_writer **writer, struct sheaf_error *err)
{
    struct contents contents = { k, fingerprint };

    return output_write(url, write_table, &contents, writer, err);
}

int publish_keys_put(const struct publish_keys *k, const struct output *o, const char *name,
                     const char *fingerprint, output_stays_fn *stays, struct sheaf_error *err)
{
    struct contents contents = { k, fingerprint };

    return output_write_over(o, o->dest, name, write_table, &contents, stays, err);
}
