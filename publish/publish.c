/* SPDX-License-Identifier: MIT
 *
 * Publishes a data set: its reports, index, table of keys, index files for other programs, and
 * finally its manifest. The data set exists from the moment when its manifest exists. */
#include "publish/publish.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest.h"
#include "publish/destination.h"
#include "publish/publish_files.h"
#include "store/over.h"
#include "store/store.h"

/* Checks that this run may publish its manifest: there must be no manifest, a manifest of the same
 * plan, or a stand-in (a file that a run puts in place of a manifest). The stand-in of another run
 * is accepted here. That run has also replaced the claim, the file that says which run packs here.
 * So this run fails when it next checks its claim. */
static int check_free(const char *directory, const struct manifest_found *f,
                      struct sheaf_error *err)
{
    if (f->kind == MANIFEST_NONE || f->kind == MANIFEST_OF_PLAN || f->kind == MANIFEST_OF_RUN)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: another data set was published there in the "
                   "meantime", directory);
}

/* Makes the manifest of a new data set. */
static int publish_start_manifest(const struct output *o, const struct manifest_found *there,
                                  const struct publish_facts *f, uint32_t split,
                                  struct manifest *m, struct sheaf_error *err)
{
    const uint64_t shard_count = f->splits[split].shard_count;
    const int code = check_free(o->directories[split], there, err);

    if (code != SHEAF_OK)
        return code;
    *m = (struct manifest){
        .container = o->format->id,
        .codec = o->codec == NULL ? SHEAF_CODEC_NONE : o->codec->id,
        .single_member = o->codec != NULL && o->codec->single_member,
        .ours = true,
        .cls_is_label = f->splits[split].cls_is_label,
        .label_base = f->label_base,
        .options_json = strdup(f->splits[split].options_json),
        .shards = calloc(MAX(shard_count, 1), sizeof(m->shards[0])),
        .classes = f->class_count == 0 ? NULL : calloc(f->class_count, sizeof(m->classes[0])),
    };
    if (m->options_json == NULL || m->shards == NULL ||
        (f->class_count != 0 && m->classes == NULL))
        return err_memory(err, shard_count * sizeof(m->shards[0]));
    m->class_samples = f->class_count == 0 ? NULL : calloc(f->class_count, sizeof(uint64_t));
    if (m->class_samples == NULL && f->class_count != 0)
        return err_memory(err, f->class_count * sizeof(uint64_t));
    return publish_classes(m, f->classes, f->class_count, err);
}

/* Makes and publishes the files of one split. The manifest is published last. */
static int publish_parts(struct output *o, struct publish_files *files,
                         struct publish_index *index, struct sheaf_error *err)
{
    const bool grows = o->grows != NULL;
    struct buf text = BUF_INIT(MANIFEST_LIMIT);
    struct manifest *m = index->manifest;
    const char *name = o->journal.plan.splits[index->split];
    int code = publish_keys_open(index->keys, o->directories[index->split], UINT64_MAX, err);

    if (code == SHEAF_OK)
        code = publish_files_make(files, index, err);
    if (code == SHEAF_OK)
        code = manifest_write(m, &text, err);
    o->has_written = code == SHEAF_OK;
    if (code == SHEAF_OK)
        code = publish_files_put(files, m->fingerprint, err);
    if (code == SHEAF_OK && !grows)
        code = publish_interop(o, index->split, name[0] == '\0' ? NULL : name, m, err);
    if (code == SHEAF_OK)
        code = publish_manifest(o, o->directories[index->split], &text,
                                grows ? files->there.note : o->origin, &files->there.seen, err);
    if (code == SHEAF_OK && grows)
        code = publish_grown_put_interop(o, m, err);
    publish_keys_close(index->keys);
    buf_free(&text);
    return code;
}

static int publish_split(struct output *o, const struct publish_facts *f, uint32_t split,
                         struct sheaf_error *err)
{
    struct publish_keys keys = { .samples = 0 };
    struct manifest m = { .shards = NULL };
    struct publish_files files;
    struct publish_index index = { o, split, f->splits[split].shard_count, &m, &keys,
                                   &m.options_json, f->skipped_count };
    int code = publish_files_open(&files, o, split, split == 0 ? &f->skipped : NULL,
                                  split == 0 ? &f->converted : NULL, err);

    if (code == SHEAF_OK)
        code = o->grows == NULL ? publish_start_manifest(o, &files.there, f, split, &m, err)
                                : publish_grown_start(o, &files.there, f, &m, err);
    if (m.growth_count != 0)
        index.options_json = &m.growths[m.growth_count - 1].options_json;
    if (code == SHEAF_OK)
        code = publish_parts(o, &files, &index, err);
    publish_files_close(&files);
    manifest_clear(&m);
    return code;
}

int publish_dataset(struct output *o, const struct publish_facts *f, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t s = 0; s < f->split_count && code == SHEAF_OK; s++)
        code = publish_split(o, f, s, err);
    return code;
}
