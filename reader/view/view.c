/* SPDX-License-Identifier: MIT
 *
 * Opens a view (a mix of data sets); see view.h. First opens the sources and makes one data set of
 * them. Then finds the samples that satisfy the conditions. Finally makes the tables for the
 * weights. */
#include "reader/view/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "base/text.h"
#include "reader/view/view_select.h"
#include "store/over.h"
#include "store/store.h"

static char *view_directory_of(const char *url)
{
    const char *slash = strrchr(url, '/');

    return slash == NULL ? strdup("") : strndup(url, (size_t)(slash - url) + 1);
}

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

/* ---- Sources -------------------------------------------------------------------------------- */

/* Reads the text of the view (a mix of data sets) at `url`. The caller must free *text. Returns
 * SHEAF_END if there is no view at `url`. */
static int view_read_text(const char *url, char **text, size_t *size, struct sheaf_error *err)
{
    int code = store_get(url, VIEW_BYTES_MOST, text, size, err);

    /* `url` is not a view (a mix of data sets) if no object has this name, or if the object is a
     * directory, a large shard or a file with other content. */
    if (code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_UNSUPPORTED || code == SHEAF_ERR_LIMIT
        || (code == SHEAF_OK && !view_begins(*text, *size)))
        code = SHEAF_END;
    return code;
}

/* Returns an error if the source at `url` is a view (a mix of data sets), because a view cannot be
 * a source of another view. Only reads the text of the source and does not open it. If the source
 * were the same view, opening it would not end. */
static int view_refuse(const char *url, struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = view_is_name(url) ? view_read_text(url, &text, &size, err) : SHEAF_END;

    free(text);
    if (code == SHEAF_OK)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a view of a view: name its sources instead",
                       url);
    return code == SHEAF_END ? SHEAF_OK : code;
}

static int view_open_source(struct dataset_view *v, size_t i, const struct view_keys_how *how,
                            struct sheaf_dataset **source, struct sheaf_error *err)
{
    struct view_source *s = &v->document.sources[i];
    char *path = view_keys_path(how->directory, s->source);
    const char *const paths[] = { path };
    int code = path == NULL ? err_memory(err, strlen(s->source)) : view_refuse(path, err);

    if (code == SHEAF_OK)
        code = sheaf_dataset_open(paths, 1, source, err);
    if (code == SHEAF_OK && (*source)->is_stream)
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: shards that are read as a stream, whose "
                       "samples are not known: index them first", path);
    if (code == SHEAF_OK)
        code = view_select(*source, &s->where, how, &v->chosen[i].chosen, err);
    free(path);
    return code;
}

/* Opens all sources of a view (a mix of data sets). `url` is that of the view, for messages. If
 * this fails, the caller must free the sources that were opened. */
static int view_open_sources(struct dataset_view *v, const char *url,
                             const struct view_keys_how *how, struct sheaf_dataset **sources,
                             struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < v->document.source_count && code == SHEAF_OK; i++) {
        code = view_open_source(v, i, how, &sources[i], err);
        if (code != SHEAF_OK && err != NULL)
            err_prefix(err, "%s: ", url);
        if (code == SHEAF_OK) {
            sources[i]->fields = v->document.sources[i].fields;
            sources[i]->field_count = v->document.sources[i].field_count;
        }
    }
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

static int make_mix(struct dataset_view *v, struct sheaf_dataset *const *sources,
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

/* For each stage, computes the fingerprint of the view (a mix of data sets) without the later
 * stages. (A stage is a part of a training run with weights of its own.) The fingerprint is a hash
 * of the view's document, in which the names of the sources are replaced by the fingerprints of the
 * sources. */
static int name_stages(struct dataset_view *v, struct sheaf_dataset *const *sources,
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

/* ---- Opening -------------------------------------------------------------------------------- */

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

/* Sets the numbers of samples of a view (a mix of data sets) and its sources. Called after the
 * sources were united to one data set. */
static void view_take_numbers(struct sheaf_dataset *d, struct dataset_view *v)
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

static int open_document(struct dataset_view *v, const char *url,
                         const struct sheaf_read_options *reading, struct chosen_file *file,
                         struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    const size_t count = v->document.source_count;
    struct sheaf_dataset **sources = calloc(count, sizeof(sources[0]));
    char *directory = view_directory_of(url), *shown = text_shown_url(url);
    const struct view_keys_how how = { directory, reading, file };
    int code = SHEAF_OK;

    v->chosen = calloc(count, sizeof(v->chosen[0]));
    if (sources == NULL || directory == NULL || shown == NULL || v->chosen == NULL)
        code = err_memory(err, count * sizeof(v->chosen[0]));
    if (code == SHEAF_OK)
        code = view_open_sources(v, shown, &how, sources, err);
    if (code == SHEAF_OK)
        code = make_mix(v, sources, err);
    if (code == SHEAF_OK)
        code = name_stages(v, sources, err);
    if (code == SHEAF_OK) {
        const struct union_options options = { .is_view = true,
                                               .by_number = v->document.by_number,
                                               .classes = v->document.classes,
                                               .class_count = v->document.class_count };

        /* The union now owns the sources. */
        code = dataset_unite(sources, count, &options, dataset, err);
    } else {
        for (size_t i = 0; sources != NULL && i < count; i++)
            sheaf_dataset_free(sources[i]);
    }
    free(sources);
    free(directory);
    if (code == SHEAF_OK) {
        free((*dataset)->url);
        (*dataset)->url = shown;
        view_take_numbers(*dataset, v);
        return SHEAF_OK;
    }
    free(shown);
    return code;
}

/* Returns true if the view (a mix of data sets) has conditions on keys or columns. The samples that
 * such conditions choose are stored in a file (chosen_file.h). */
static bool keeps_chosen(const struct view *view)
{
    for (size_t i = 0; i < view->source_count; i++) {
        const struct view_where *w = &view->sources[i].where;

        if (w->keys != NULL || w->not_keys != NULL || w->key_glob != NULL || w->columns != NULL)
            return true;
    }
    return false;
}

/* Opens the view (a mix of data sets) with the document `text`. If `keep` is true, the samples that
 * were chosen by its conditions on keys or columns are stored in a file in the view's directory. */
static int open_text(const char *text, size_t size, const char *url,
                     const struct sheaf_read_options *reading, bool keep,
                     struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct dataset_view *v = calloc(1, sizeof(*v));
    struct chosen_file file = { .data = NULL };
    int code = v == NULL ? err_memory(err, sizeof(*v))
                         : view_parse(text, size, &v->document, err);

    if (code != SHEAF_OK && err != NULL)
        err_prefix(err, "%s: ", url);
    if (code == SHEAF_OK && keeps_chosen(&v->document))
        chosen_file_open(&file, url);
    if (code == SHEAF_OK)
        code = open_document(v, url, reading, &file, dataset, err);
    if (code != SHEAF_OK)
        dataset_view_free(v);
    if (code == SHEAF_OK && keep)
        code = chosen_file_put(&file, url, err);
    chosen_file_free(&file);
    return code;
}

int dataset_open_view(const char *url, struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int code = view_read_text(url, &text, &size, err);

    if (code == SHEAF_OK) {
        code = open_text(text, size, url, NULL, false, dataset, err);
        if (code == SHEAF_ERR_ARGUMENT) {   /* an error of the document, not of the caller */
            code = SHEAF_ERR_UNSUPPORTED;
            if (err != NULL)
                err->code = code;
        }
    }
    free(text);
    return code;
}

static int refuse_existing(const char *path, const char *what, struct sheaf_error *err)
{
    return err_because(err, err_set(err, SHEAF_ERR_EXISTS, "%s: %s", path, what),
                       SHEAF_REASON_DATASET);
}

/* Returns an error if a data set has the name `path`. A store without directories can have a view
 * and a data set of one name, and a reader would find only the view. */
static int view_refuse_dataset(const char *path, struct sheaf_error *err)
{
    char *manifest = store_join(path, MANIFEST_NAME);
    struct store_seen seen = { .is_there = false };
    const int code = manifest == NULL ? err_memory(err, strlen(path))
                                      : store_see(manifest, &seen, err);

    free(manifest);
    return seen.is_there ? refuse_existing(path, "is the name of a data set", err) : code;
}

/* Finds out what is stored at `path`, before a view (a mix of data sets) is written there. Returns
 * an error if there is a data set, or a file that is not a view, because only a view may be
 * replaced. */
static int see_view(const char *path, bool overwrite, struct store_seen *seen,
                    struct sheaf_error *err)
{
    char *text = NULL;
    size_t size;
    int code = store_see(path, seen, err);

    if (code == SHEAF_OK && !seen->is_there)
        code = view_refuse_dataset(path, err);
    if (code != SHEAF_OK || !seen->is_there)
        return code;
    if (!overwrite)
        return refuse_existing(path, "exists", err);
    code = view_read_text(path, &text, &size, err);
    free(text);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_EXISTS, "%s: exists, and is not a view: choose another name",
                   path);
}

int sheaf_view_write(const char *document, const char *path, int overwrite,
                     const struct sheaf_read_options *reading, struct sheaf_error *err)
{
    const size_t known = reading == NULL ? 0 : reading->sizeof_options;
    struct sheaf_read_options own;
    struct sheaf_dataset *d = NULL;
    struct store_seen seen, now;
    char *text;
    int code = see_view(path, overwrite != 0, &seen, err);

    if (code != SHEAF_OK)
        return code;
    if (!view_is_name(path))
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the name of a view ends with .view or .json",
                       path);
    sheaf_read_options_init(&own, sizeof(own));
    if (reading != NULL)
        memcpy(&own, reading, MIN(known, sizeof(own)));
    code = open_text(document, strlen(document), path, &own, true, &d, err);
    for (size_t i = 0; code == SHEAF_OK && i < d->view->document.source_count; i++) {
        struct view_where *where = &d->view->document.sources[i].where;

        /* In memory, the text of a condition names a key file by the hash of its content. In the
         * file, a view must name it by its path. So the text is made again, with the paths, before
         * the view is written. */
        code = view_where_text(where, where->keys, where->not_keys, NULL, err);
    }
    if (code == SHEAF_OK)
        code = view_text(&d->view->document, NULL, SIZE_MAX, &text, err);
    sheaf_dataset_free(d);
    if (code != SHEAF_OK)
        return code;
    /* If another program has written a view at this path after `seen` was determined,
     * store_put_over returns an error. */
    code = store_put_over(path, text, strlen(text), &seen, &now, err);
    free(text);
    return code == SHEAF_ERR_CHANGED && !seen.is_there
         ? refuse_existing(path, "already exists", err) : code;
}
