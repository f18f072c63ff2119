/* SPDX-License-Identifier: MIT
 *
 * Computes how a view (a mix of data sets) mixes its sources; see view.h. dataset_open.c opens the
 * sources, and view_write.c writes a view. */
#include "reader/view/view.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "store/store.h"

void dataset_view_free(struct dataset_view *v)
{
    if (v == NULL)
        return;
    for (size_t i = 0; v->chosen != NULL && i < v->document.source_count; i++)
        selection_free(&v->chosen[i].chosen);
    mix_free(&v->mix);
    view_free(&v->document);
    free(v->chosen);
    free(v->earlier);
    free(v->fingerprints);
    free(v);
}

/* ---- The text -------------------------------------------------------------------------------- */

int view_read_text(const char *url, char **text, size_t *size, struct sheaf_error *err)
{
    int code = store_get(url, VIEW_BYTES_MOST, text, size, err);

    /* `url` is not a view (a mix of data sets) if no object has this name, or if the object is a
     * directory, a large shard or a file with other content. */
    if (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED || code == SHEAF_ERR_LIMIT
        || (code == SHEAF_OK && !view_begins(*text, *size)))
        code = SHEAF_END;
    return code;
}

/* ---- Numbers -------------------------------------------------------------------------------- */

struct named {
    const char *fingerprint;
    size_t source;
};

static int by_fingerprint(const void *x, const void *y)
{
    const struct named *a = x, *b = y;
    const int order = strcmp(a->fingerprint, b->fingerprint);

    return order != 0 ? order : (a->source > b->source) - (a->source < b->source);
}

/* Finds which sources are the same data set. */
static int find_earlier(struct dataset_view *v, struct sheaf_dataset *const *sources,
                        struct sheaf_error *err)
{
    const size_t count = v->mix.source_count;
    struct named *named = calloc(count, sizeof(named[0]));

    v->earlier = calloc(count, sizeof(v->earlier[0]));
    if (named == NULL || v->earlier == NULL) {
        free(named);
        return err_memory(err, count * sizeof(named[0]));
    }
    for (size_t i = 0; i < count; i++)
        named[i] = (struct named){ sources[i]->manifest.fingerprint, i };
    qsort(named, count, sizeof(named[0]), by_fingerprint);
    for (size_t i = 1; i < count; i++)
        if (strcmp(named[i].fingerprint, named[i - 1].fingerprint) == 0)
            v->earlier[named[i].source] = named[i - 1].source + 1;
    free(named);
    return SHEAF_OK;
}

/* Computes an identity for each source of a view: a hash of its fingerprint and its conditions. The
 * seed of the hash is the number of earlier sources with the same fingerprint and conditions, so
 * that their identities differ. */
static int view_name_sources(struct dataset_view *v, struct sheaf_dataset *const *sources,
                             struct sheaf_error *err)
{
    for (size_t i = 0; i < v->mix.source_count; i++) {
        const char *const fingerprint = sources[i]->manifest.fingerprint;
        const char *const where = v->document.sources[i].where.text;
        struct buf name = BUF_INIT(VIEW_BYTES_MOST);
        uint64_t before = 0;
        int code;

        for (size_t j = v->earlier[i]; j != 0; j = v->earlier[j - 1])
            before += strcmp(where, v->document.sources[j - 1].where.text) == 0;
        code = buf_printf(&name, err, "%s%s", fingerprint, where);
        if (code == SHEAF_OK)
            v->mix.sources[i].id = XXH3_64bits_withSeed(name.data, name.size, before);
        buf_free(&name);
        if (code != SHEAF_OK)
            return code;
    }
    return SHEAF_OK;
}

static int make_stage(struct dataset_view *v, const uint64_t *weights, uint64_t samples,
                      struct sheaf_error *err)
{
    const size_t count = v->mix.source_count;
    struct mix_stage *stage = &v->mix.stages[v->mix.stage_count++];

    stage->samples = samples;
    stage->weights = calloc(count, sizeof(stage->weights[0]));
    if (stage->weights == NULL)
        return err_memory(err, count * sizeof(stage->weights[0]));
    for (size_t i = 0; i < count; i++)
        stage->weights[i] = weights != NULL ? weights[i] : v->document.sources[i].weight;
    stage->period = mix_apportion(stage->weights, count);
    stage->table = stage->period == 0 ? NULL : calloc(stage->period, sizeof(stage->table[0]));
    if (stage->table == NULL)
        return err_memory(err, MIX_PERIOD_MOST * sizeof(stage->table[0]));
    return mix_make_table(stage->weights, count, stage->period, stage->table, err);
}

/* For each source, computes the number of steps after which all its samples have been drawn once.
 * Returns the smallest of these numbers if `is_first` is true, and otherwise the largest. Sources
 * with the weight 0 are ignored. */
static uint64_t length_until(const struct mix *mix, bool is_first)
{
    const struct mix_stage *stage = &mix->stages[0];
    uint64_t length = is_first ? UINT64_MAX : 0;

    for (size_t i = 0; i < mix->source_count; i++) {
        const unsigned __int128 steps = (unsigned __int128)mix->sources[i].samples * stage->period;

        if (stage->weights[i] == 0)
            continue;
        length = is_first ? MIN(length, (uint64_t)(steps / stage->weights[i]))
               : MAX(length, (uint64_t)((steps + stage->weights[i] - 1) / stage->weights[i]));
    }
    return MAX(length, 1);
}

static int make_weights(struct dataset_view *v, struct sheaf_error *err)
{
    const struct view *document = &v->document;
    int code;

    v->mix.stages = calloc(document->stage_count + 1, sizeof(v->mix.stages[0]));
    if (v->mix.stages == NULL)
        return err_memory(err, document->stage_count * sizeof(v->mix.stages[0]));
    code = make_stage(v, NULL, 0, err);
    for (size_t i = 0; i < document->stage_count && code == SHEAF_OK; i++)
        code = make_stage(v, document->stages[i].weights, document->stages[i].samples, err);
    if (code == SHEAF_OK)
        v->mix.samples = document->until == VIEW_SAMPLES
                         ? document->samples : length_until(&v->mix, document->until == VIEW_FIRST);
    return code;
}

static int make_counts(struct dataset_view *v, struct sheaf_error *err)
{
    for (size_t i = 0; i < v->mix.source_count; i++) {
        struct mix_source *s = &v->mix.sources[i];
        const unsigned __int128 millionths = (unsigned __int128)s->samples
                                             * v->document.sources[i].repeat;

        s->count = (uint64_t)((millionths + VIEW_REPEAT_ONE / 2) / VIEW_REPEAT_ONE);
        v->mix.samples += s->count;
    }
    return v->mix.samples != 0 ? SHEAF_OK
         : err_set(err, SHEAF_ERR_ARGUMENT, "an epoch of the view has no sample");
}

int view_make_mix(struct dataset_view *v, struct sheaf_dataset *const *sources,
                    struct sheaf_error *err)
{
    const size_t count = v->document.source_count;
    int code;

    v->mix.sources = calloc(count, sizeof(v->mix.sources[0]));
    if (v->mix.sources == NULL)
        return err_memory(err, count * sizeof(v->mix.sources[0]));
    v->mix.source_count = count;
    for (size_t i = 0; i < count; i++)
        v->mix.sources[i].samples = v->chosen[i].chosen.count;
    code = find_earlier(v, sources, err);
    if (code == SHEAF_OK)
        code = view_name_sources(v, sources, err);
    if (code != SHEAF_OK)
        return code;
    return v->document.has_weights ? make_weights(v, err) : make_counts(v, err);
}

/* ---- Fingerprints ---------------------------------------------------------------------------- */

static int view_name_stage(struct dataset_view *v, const char *const *names, size_t stage,
                           struct sheaf_error *err)
{
    char *text;
    const int code = view_text(&v->document, names, stage, &text, err);

    if (code != SHEAF_OK)
        return code;
    hash_text(XXH3_128bits(text, strlen(text)), v->fingerprints[stage]);
    free(text);
    return SHEAF_OK;
}

int view_name_stages(struct dataset_view *v, struct sheaf_dataset *const *sources,
                       struct sheaf_error *err)
{
    const size_t stages = v->document.stage_count + 1;
    const char **names = calloc(v->document.source_count, sizeof(names[0]));
    int code = SHEAF_OK;

    v->fingerprints = calloc(stages, sizeof(v->fingerprints[0]));
    if (names == NULL || v->fingerprints == NULL) {
        free(names);
        return err_memory(err, stages * sizeof(v->fingerprints[0]));
    }
    for (size_t i = 0; i < v->document.source_count; i++)
        names[i] = sources[i]->manifest.fingerprint;
    for (size_t i = 0; i < stages && code == SHEAF_OK; i++)
        code = view_name_stage(v, names, i, err);
    free(names);
    return code;
}

/* ---- The opened view ------------------------------------------------------------------------- */

/* Returns the source's share of an epoch. */
static double share_of(const struct dataset_view *v, size_t i)
{
    return v->mix.stages == NULL
           ? (double)v->mix.sources[i].count / (double)v->mix.samples
           : (double)v->mix.stages[0].weights[i] / (double)v->mix.stages[0].period;
}

/* A view (a mix of data sets) may name the same data set as several sources. Returns how many
 * chosen samples of source `i` were also chosen from one earlier source with the same data set. If
 * there are several such sources, returns the largest of these counts. */
static uint64_t shared_of(const struct dataset_view *v, size_t i)
{
    uint64_t most = 0;

    for (size_t j = v->earlier[i]; j != 0; j = v->earlier[j - 1])
        most = MAX(most, selection_shared(&v->chosen[j - 1].chosen, &v->chosen[i].chosen));
    return most;
}

void view_take_numbers(struct sheaf_dataset *d, struct dataset_view *v)
{
    for (size_t i = 0; i < d->source_count; i++) {
        v->chosen[i].first_number = d->sources[i]->first_number;
        v->chosen[i].first_shard = d->sources[i]->first_shard;
        v->chosen[i].end_shard = d->sources[i]->end_shard;
        v->chosen[i].first_numbers = d->first_numbers;
        d->sources[i]->chosen = v->chosen[i].chosen.count;
        d->sources[i]->share = share_of(v, i);
        d->sources[i]->weight = v->mix.stages == NULL ? 0 : v->mix.stages[0].weights[i];
        d->sources[i]->shared = shared_of(v, i);
    }
    memcpy(d->manifest.fingerprint, v->fingerprints[v->document.stage_count],
           sizeof(d->manifest.fingerprint));
    d->view = v;
    d->free_view = dataset_view_free;
}
