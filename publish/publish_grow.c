/* SPDX-License-Identifier: MIT
 *
 * Publishes appended samples. First the index and the table of keys of these samples are written,
 * and then the manifest of the whole data set. The new manifest replaces the manifest that was
 * there when the append was planned.
 *
 * Index files for other programs cover the whole data set. They are written last, because they name
 * the new shards. If the run fails before the manifest is written, the new shards are removed
 * again. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/manifest_growth.h"
#include "publish/class_counts.h"
#include "publish/destination.h"
#include "publish/publish.h"
#include "publish/publish_files.h"
#include "store/over.h"

/* ---- The manifest ---------------------------------------------------------------------------- */

static int add_growth(struct manifest *m, const char *options_json, struct sheaf_error *err)
{
    struct manifest_growth *grown = reallocarray(m->growths, m->growth_count + 1, sizeof(*grown));
    struct manifest_growth *g;

    if (grown == NULL)
        return err_memory(err, (m->growth_count + 1) * sizeof(*grown));
    m->growths = grown;
    g = &grown[m->growth_count];
    *g = (struct manifest_growth){ .shards = m->shard_count, .classes = m->class_count,
                                   .options_json = strdup(options_json) };
    memcpy(g->fingerprint, m->fingerprint, sizeof(g->fingerprint));
    if (g->options_json == NULL)
        return err_memory(err, strlen(options_json));
    m->growth_count++;
    return SHEAF_OK;
}

/* The manifest has a list with the number of samples of each class. Extends this list to `count`
 * classes. If existing samples may belong to a new class, class_counts_all() counts the samples of
 * all classes again. The numbers become unknown if the index has no labels. */
static int count_new_classes(const struct output *o, struct manifest *m, size_t count,
                             struct sheaf_error *err)
{
    uint64_t *samples;
    int code;

    if (count == m->class_count)
        return SHEAF_OK;
    code = class_counts_all(m, o->dest, count, &samples, err);
    if (code == SHEAF_OK) {
        free(m->class_samples);
        m->class_samples = samples;
    }
    return code;
}

/* Checks that the data set is still the one that this run has opened to append to it. Returns
 * SHEAF_ERR_CHANGED if another run has changed or replaced the data set. */
static int publish_grow_check_same(const struct output *o, const struct manifest_found *there,
                                   struct sheaf_error *err)
{
    if (there->kind >= MANIFEST_OF_OTHER_PLAN &&
        strcmp(there->manifest.fingerprint, o->grows->fingerprint) == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the data set was replaced in the meantime",
                   o->dest);
}

int publish_grown_start(const struct output *o, const struct manifest_found *there,
                        const struct publish_facts *f, struct manifest *m,
                        struct sheaf_error *err)
{
    int code = publish_grow_check_same(o, there, err);
    struct manifest_shard *shards;
    char **classes;

    if (code == SHEAF_OK)
        code = manifest_parse(there->text, there->size, m, err);
    if (code != SHEAF_OK)
        return code;
    shards = reallocarray(m->shards, m->shard_count + f->splits[0].shard_count, sizeof(*shards));
    m->shards = shards != NULL ? shards : m->shards;
    classes = reallocarray(m->classes, f->class_count + (size_t)1, sizeof(*classes));
    m->classes = classes != NULL ? classes : m->classes;
    if (shards == NULL || classes == NULL)
        return err_memory(err, (m->shard_count + f->splits[0].shard_count) * sizeof(*shards));
    code = count_new_classes(o, m, f->class_count, err);
    if (code != SHEAF_OK)
        return code;
    m->cls_is_label &= f->splits[0].cls_is_label;
    code = add_growth(m, f->splits[0].options_json, err);
    return code == SHEAF_OK ? publish_classes(m, f->classes, f->class_count, err) : code;
}

int publish_grown_find(const struct output *o, struct manifest_found *there,
                       struct sheaf_error *err)
{
    const int code = destination_manifest(o, o->dest, there, err);

    return code == SHEAF_OK ? publish_grow_check_same(o, there, err) : code;
}

int publish_grown_put(struct output *o, const struct manifest_found *there,
                      const struct buf *text, struct sheaf_error *err)
{
    const int code = journal_check(&o->journal, err);

    return code == SHEAF_OK ? publish_manifest(o, o->dest, text, there->note, &there->seen, err)
                            : code;
}

/* ---- Index files for other programs ---------------------------------------------------------- */

int publish_grown_put_interop(const struct output *o, const struct manifest *m,
                              struct sheaf_error *err)
{
    char *split = NULL;
    int code = manifest_option(m, "split_name", &split, err);

    if (code == SHEAF_OK)
        code = publish_interop(o, 0, split, m, err);
    free(split);
    return code;
}

int publish_grown_interop(const struct output *o, struct sheaf_error *err)
{
    struct manifest m;
    int code = destination_read_manifest(o->dest, &m, err);

    if (code != SHEAF_OK)
        return code;
    code = publish_grown_put_interop(o, &m, err);
    manifest_clear(&m);
    return code;
}
