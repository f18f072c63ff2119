/* SPDX-License-Identifier: MIT
 *
 * Publishes an index for shards that another program has made. An earlier index stays valid until
 * its manifest is replaced. Before that, a reader may find the new index with the old manifest. The
 * reader refuses this combination, because the hash in the manifest does not match the new
 * index. */
#include <stdlib.h>

#include "publish/output_remove.h"
#include "publish/publish.h"
#include "publish/strays.h"
#include "store/over.h"

/* Removes the index and the table of keys of a run that has failed before there was a manifest. The
 * next run would refuse them, because they belong to no data set. In a store without stages
 * (store/stage.h), the manifest may still arrive, so they stay if the run has begun to write it. */
static void remove_made(const struct output *o)
{
    char *url = store_join(o->dest, MANIFEST_NAME);
    struct store_seen now = { .is_there = true };

    if (url != NULL && (!o->is_visible || o->journal.stage != NULL) &&
        journal_check(&o->journal, NULL) == SHEAF_OK &&
        store_see(url, &now, NULL) == SHEAF_OK && !now.is_there)
        (void)output_remove_tables(o, o->dest, NULL);
    free(url);
}

int publish_made(struct output *o, const struct buf *index, struct publish_keys *keys,
                 struct manifest *m, const struct store_seen *seen, struct sheaf_error *err)
{
    struct buf text = BUF_INIT(MANIFEST_LIMIT);
    int code;

    m->index_bytes = index->size;
    code = manifest_write(m, &text, err);
    if (code == SHEAF_OK)
        code = strays_check_tables(o, err);
    o->has_written = code == SHEAF_OK;
    if (code == SHEAF_OK)
        code = output_put_over(o, o->dest, INDEX_NAME, index->data, index->size,
                               strays_check_table, err);
    if (code == SHEAF_OK)
        code = publish_keys_put(keys, o, KEYS_NAME, m->fingerprint, strays_check_table, err);
    if (code == SHEAF_OK)
        code = publish_interop(o, 0, NULL, m, err);
    if (code == SHEAF_OK)
        code = journal_check(&o->journal, err);
    if (code == SHEAF_OK)
        code = publish_manifest(o, o->dest, &text, "", seen, err);
    if (code != SHEAF_OK && o->has_written)
        remove_made(o);
    buf_free(&text);
    return code;
}
