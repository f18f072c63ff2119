/* SPDX-License-Identifier: MIT
 *
 * Opens a data set by its manifest, the file that lists its shards. If there is no manifest,
 * dataset_foreign.c finds the shards and detects their format. This file also has functions by
 * which readers find shards, samples and labels. */
#include "reader/dataset/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/hash_text.h"
#include "base/text.h"
#include "formats/name.h"
#include "formats/stems.h"
#include "reader/dataset/kept_manifest.h"
#include "store/store.h"

#define PIPE_SEED 0x70697065u   /* seed for the fingerprint of a channel */

bool dataset_is_manifest_path(const char *source)
{
    const char *slash = strrchr(source, '/');

    return strcmp(slash != NULL ? slash + 1 : source, MANIFEST_NAME) == 0;
}

/* Finds the directory and the URL of a manifest. `source` is the directory that contains the
 * manifest, or the manifest itself. */
static int manifest_urls(const char *source, char **directory, char **url)
{
    const char *slash = strrchr(source, '/');

    if (!dataset_is_manifest_path(source)) {
        *directory = strdup(source);
        *url = store_join(source, MANIFEST_NAME);
    } else {
        *directory = slash == NULL ? strdup(".") : strndup(source, (size_t)(slash - source) + 1);
        *url = strdup(source);
    }
    return *directory != NULL && *url != NULL ? SHEAF_OK : SHEAF_ERR_MEMORY;
}

/* The text of a manifest, and the location where it was found. */
struct manifest_file {
    char *directory, *url;
    char *text;
    size_t size;
};

/* Sets the fields is_remote and read_bytes, which tell in what kind of store the shards are. */
static void dataset_find_place(struct sheaf_dataset *d)
{
    if (d->manifest.shard_count == 0)
        return;
    d->is_remote = store_is_remote(d->urls[0]);
    d->read_bytes = store_read_bytes(d->urls[0]);
}

/* Makes the stem of each shard. A record without a key gets a key that begins with the stem. The
 * stem is the file name of the shard without its suffix. If two foreign shards (shards without a
 * manifest) have the same file name, their stems also contain the directories in which their paths
 * differ.
 *
 * A shard that is listed in a manifest always has the short stem, because the table of keys of its
 * data set was made with this stem. */
static int make_stems(struct sheaf_dataset *d, struct sheaf_error *err)
{
    const size_t count = d->manifest.shard_count;
    struct stem *stems = calloc(count + 1, sizeof(stems[0]));
    size_t foreign = 0;

    d->stems = calloc(count + 1, sizeof(d->stems[0]));
    if (d->stems == NULL || stems == NULL) {
        free(stems);
        return err_memory(err, (count + 1) * sizeof(stems[0]));
    }
    for (size_t i = 0; i < count; i++) {
        d->stems[i] = name_stem(d->manifest.shards[i].name);
        if (!dataset_source(d, (uint32_t)i)->has_manifest)
            stems[foreign++] = (struct stem){ d->manifest.shards[i].name, &d->stems[i] };
    }
    stems_tell_apart(stems, foreign);
    free(stems);
    return SHEAF_OK;
}

int dataset_make_tables(struct sheaf_dataset *d, struct sheaf_error *err)
{
    const size_t count = d->manifest.shard_count;

    d->samples = calloc(count + 1, sizeof(d->samples[0]));
    d->first_numbers = calloc(count + 1, sizeof(d->first_numbers[0]));
    if (d->samples == NULL || d->first_numbers == NULL)
        return err_memory(err, (count + 1) * 16);
    for (size_t i = 0; i < count; i++) {
        const struct manifest_shard *shard = &d->manifest.shards[i];

        d->samples[i] = shard->samples;
        d->first_numbers[i + 1] = d->first_numbers[i] + shard->samples;
        d->total_bytes += shard->bytes;
        d->total_payload += shard->payload_bytes;
    }
    d->end_number = d->first_numbers[count];
    return make_stems(d, err);
}

int dataset_check_section(const struct sheaf_dataset *d, uint32_t shard, const uint8_t *section,
                          struct sheaf_error *err)
{
    const struct manifest_shard *m = &d->manifest.shards[shard];
    char found[INDEX_SUM_BYTES];

    index_sum(section, m->index_bytes, found);
    if (m->index_xxh3[0] == '\0' || strcmp(found, m->index_xxh3) == 0)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CHANGED, "%s: the section of %s is of another data set: it was "
                   "replaced after this one was opened", dataset_part(d, shard)->index_url,
                   m->name);
}

int dataset_move(struct sheaf_dataset *d, const char *directory, struct sheaf_error *err)
{
    char *url = text_shown_url(directory);

    if (url == NULL)
        return err_memory(err, strlen(directory));
    free(d->url);
    d->url = url;
    free(d->samples);
    free(d->first_numbers);
    free(d->stems);
    d->total_bytes = d->total_payload = 0;
    dataset_find_place(d);
    return dataset_make_tables(d, err);
}

static int open_manifest(struct sheaf_dataset *d, struct manifest_file *file,
                         struct sheaf_error *err)
{
    const char *directory = file->directory;
    int code = manifest_parse(file->text, file->size, &d->manifest, err);

    d->manifest_json = file->text;
    file->text = NULL;
    if (code == SHEAF_ERR_NOT_FOUND)
        return manifest_refuse_unfinished(directory, err);
    if (code == SHEAF_OK)
        code = manifest_images(&d->manifest, &d->images, err);
    if (code == SHEAF_OK)
        code = manifest_sum(&d->manifest, "skipped", &d->skipped, err);
    if (code == SHEAF_OK)
        code = manifest_sum(&d->manifest, "left_out_values", &d->left_out_values, err);
    if (code == SHEAF_OK)
        code = manifest_sum(&d->manifest, "cls_words", &d->cls_words, err);
    if (code != SHEAF_OK)
        return err_prefix(err, "%s: ", file->url);
    d->has_manifest = true;
    d->format = format_of(d->manifest.container);
    d->codec = codec_of(d->manifest.codec);
    d->has_keys = true;
    d->repeated_keys = d->manifest.repeated_keys;
    code = parts_make(&d->manifest, directory, &d->parts, &d->part_count, err);
    if (code != SHEAF_OK)
        return code;
    d->urls = calloc(d->manifest.shard_count + 1, sizeof(d->urls[0]));
    if (d->urls == NULL)
        return err_memory(err, d->manifest.shard_count);
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        d->urls[i] = store_join(directory, d->manifest.shards[i].name);
        if (d->urls[i] == NULL)
            return err_memory(err, strlen(directory));
    }
    return SHEAF_OK;
}

/* Opens foreign shards (shards without a manifest). Stores their names and sizes in d->manifest,
 * which exists only in memory. */
static int open_foreign(struct sheaf_dataset *d, const char *const *sources, const bool *is_file,
                        size_t source_count, struct sheaf_error *err)
{
    size_t count;
    int code = foreign_expand(d, sources, is_file, source_count, &count, err);

    if (code != SHEAF_OK)
        return code;
    d->manifest.shards = calloc(count, sizeof(d->manifest.shards[0]));
    if (d->manifest.shards == NULL)
        return err_memory(err, count * sizeof(d->manifest.shards[0]));
    d->manifest.shard_count = count;
    for (size_t i = 0; i < count; i++) {
        d->manifest.shards[i].name = text_shown_url(d->urls[i]);
        if (d->manifest.shards[i].name == NULL)
            return err_memory(err, strlen(d->urls[i]));
    }
    return foreign_examine(d, err);
}

/* Reads the manifest `source`, or the manifest in the directory `source`. Returns
 * SHEAF_ERR_NOT_FOUND if it does not exist. */
static int dataset_read_manifest(const char *source, struct manifest_file *file,
                                 struct sheaf_error *err)
{
    int code;

    if (manifest_urls(source, &file->directory, &file->url) != SHEAF_OK)
        return err_memory(err, strlen(source));
    if (kept_manifest_is_offline(source))
        return kept_manifest_get(source, &file->text, &file->size, err);
    code = store_get(file->url, MANIFEST_LIMIT, &file->text, &file->size, err);
    if (code == SHEAF_ERR_ACCESS && !dataset_is_manifest_path(source))
        code = dataset_look_again(file->directory, MANIFEST_NAME, err);
    return code;
}

/* Reads the manifest of a source if the source is a manifest, or a directory that contains one.
 * Otherwise returns SHEAF_OK and leaves file->text NULL. */
static int find_manifest(const char *source, struct manifest_file *file, struct sheaf_error *err)
{
    struct sheaf_error unfinished;
    int code;

    if (source[0] == '@' || strcmp(source, "-") == 0 || store_names_one(source))
        return SHEAF_OK;
    code = dataset_read_manifest(source, file, err);
    if (code != SHEAF_ERR_NOT_FOUND || store_is_dangling(file->url))
        return code;
    if (dataset_refuse_claim(file->directory, &unfinished) != SHEAF_OK) {
        *err = unfinished;
        return unfinished.code;
    }
    return dataset_is_manifest_path(source) ? code : SHEAF_OK;
}

static struct sheaf_dataset *dataset_make(const char *source, struct sheaf_error *err)
{
    struct sheaf_dataset *d = calloc(1, sizeof(*d));

    if (d != NULL)
        d->url = text_shown_url(source);
    if (d == NULL || d->url == NULL) {
        err_memory(err, sizeof(*d));
        free(d);
        return NULL;
    }
    return d;
}

static int dataset_finish(struct sheaf_dataset *d, int code, struct sheaf_dataset **dataset,
                          struct sheaf_error *err)
{
    if (code == SHEAF_OK) {
        dataset_find_place(d);
        code = dataset_make_tables(d, err);
    }
    if (code == SHEAF_OK)
        *dataset = d;
    else
        sheaf_dataset_free(d);
    return code;
}

int dataset_open_files(const char *const *sources, const bool *is_file, size_t source_count,
                       bool joins, struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct sheaf_dataset *d = dataset_make(sources[0], err);

    if (d == NULL)
        return SHEAF_ERR_MEMORY;
    d->joins = joins;
    return dataset_finish(d, open_foreign(d, sources, is_file, source_count, err), dataset, err);
}

int dataset_open_foreign(const char *const *sources, size_t source_count, bool joins,
                         struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    bool *is_file = calloc(source_count + 1, sizeof(is_file[0]));
    int code = is_file == NULL ? err_memory(err, source_count)
                               : foreign_find_files(sources, source_count, is_file, err);

    if (code == SHEAF_OK)
        code = dataset_open_files(sources, is_file, source_count, joins, dataset, err);
    free(is_file);
    return code;
}

/* Computes the fingerprint of a channel of pipes (Amazon SageMaker's Pipe mode) from the name of
 * the channel. So a position that was saved for one channel is refused for another channel. */
static void dataset_name_fingerprint(struct sheaf_dataset *d, const char *name)
{
    hash_text(XXH3_128bits_withSeed(name, strlen(name), PIPE_SEED), d->manifest.fingerprint);
}

static int fill_pipes(struct sheaf_dataset *d, const struct pipe_source *source,
                      const char *attributes, bool has_positions, struct sheaf_error *err)
{
    const char *slash = strrchr(source->prefix, '/');
    const char *name = slash == NULL ? source->prefix : slash + 1;

    d->is_stream = true;
    d->pipes = malloc(sizeof(*d->pipes));
    d->urls = calloc(1, sizeof(d->urls[0]));
    d->manifest.shards = calloc(1, sizeof(d->manifest.shards[0]));
    if (d->pipes == NULL || d->urls == NULL || d->manifest.shards == NULL)
        return err_memory(err, sizeof(*d->pipes));
    *d->pipes = *source;
    d->pipes->prefix = strdup(source->prefix);
    d->manifest.shard_count = 1;
    d->manifest.shards[0].name = strdup(name);
    d->urls[0] = strdup(source->prefix);
    if (d->pipes->prefix == NULL || d->manifest.shards[0].name == NULL || d->urls[0] == NULL)
        return err_memory(err, strlen(source->prefix));
    if (has_positions)
        dataset_name_fingerprint(d, name);
    return attributes[0] == '\0' ? SHEAF_OK
         : attributes_parse(attributes, &d->pipes->attributes, err);
}

int dataset_open_pipes(const struct pipe_source *source, const char *attributes,
                       bool has_positions, struct sheaf_dataset **dataset,
                       struct sheaf_error *err)
{
    struct sheaf_dataset *d = dataset_make(source->prefix, err);

    if (d == NULL)
        return SHEAF_ERR_MEMORY;
    return dataset_finish(d, fill_pipes(d, source, attributes, has_positions, err), dataset, err);
}

/* Opens the data set whose manifest was read into `file`. `code` is the result of reading the
 * manifest. If `code` is an error, only returns it. If there is no manifest, sets *dataset to
 * NULL. */
static int open_found(const char *source, struct manifest_file *file, int code,
                      struct sheaf_dataset **dataset, struct sheaf_error *err)
{
    struct sheaf_dataset *d;

    *dataset = NULL;
    if (code == SHEAF_OK && file->text != NULL) {
        d = dataset_make(source, err);
        code = d == NULL ? SHEAF_ERR_MEMORY : dataset_finish(d, open_manifest(d, file, err),
                                                             dataset, err);
    }
    free(file->directory);
    free(file->url);
    free(file->text);
    return code;
}

int dataset_open_manifest(const char *source, struct sheaf_dataset **dataset,
                          struct sheaf_error *err)
{
    struct manifest_file file = { .size = 0 };

    return open_found(source, &file, find_manifest(source, &file, err), dataset, err);
}

int dataset_open_published(const char *source, struct sheaf_dataset **dataset,
                           struct sheaf_error *err)
{
    struct manifest_file file = { .size = 0 };

    return open_found(source, &file, dataset_read_manifest(source, &file, err), dataset, err);
}

static void release_cache(struct dataset_cache *cache)
{
    if (cache != NULL)
        cache->release(cache);
}

void sheaf_dataset_free(struct sheaf_dataset *d)
{
    if (d == NULL)
        return;
    release_cache(atomic_load(&d->cache));
    release_cache(atomic_load(&d->columns));
    for (size_t i = 0; i < d->manifest.shard_count; i++) {
        if (d->urls != NULL)
            free(d->urls[i]);
        if (d->sections != NULL)
            index_section_free(d->sections[i]);
    }
    if (d->pipes != NULL) {
        free(d->pipes->prefix);
        attributes_free(&d->pipes->attributes);
    }
    for (size_t i = 0; i < d->source_count; i++)
        sheaf_dataset_free(d->sources[i]);
    if (d->view != NULL)
        d->free_view(d->view);
    free(d->pipes);
    free(d->sources);
    free(d->source_of);
    free(d->class_map);
    free(d->urls);
    free(d->repeated_key);
    free(d->lost_manifest);
    free(d->sections);
    free(d->damages);
    free(d->samples);
    free(d->first_numbers);
    free(d->stems);
    parts_free(d->parts, d->part_count);
    free(d->manifest_json);
    free(d->offline);
    free(d->url);
    manifest_clear(&d->manifest);
    free(d);
}

uint64_t dataset_places(const struct sheaf_dataset *d, const struct order *order)
{
    const uint64_t lanes = order->lanes;

    if (d->hosts == 0 || order->remainder == SHEAF_KEEP)
        return dataset_samples(d);
    if (order->remainder == SHEAF_DROP)
        return d->host_drop - d->host_drop % lanes;
    return (d->host_pad + lanes - 1) / lanes * lanes;
}

struct order_lane dataset_lane(const struct sheaf_dataset *d, const struct order *order,
                               uint32_t lane)
{
    return order_lane_of_line(order, dataset_samples(d), dataset_places(d, order), lane);
}

struct decode_context dataset_decode_context(const struct sheaf_dataset *d, uint32_t shard)
{
    const struct manifest *m = &dataset_source(d, shard)->manifest;

    return (struct decode_context){
        .stem = d->stems[shard],
        .classes = (const char *const *)m->classes,
        .class_count = m->class_count,
        .label_base = m->label_base,
        .cls_is_label = m->cls_is_label,
        .ours = m->ours,
    };
}

int dataset_renumber(const struct sheaf_dataset *d, struct decode_scratch *scratch,
                     struct sheaf_sample *sample, struct sheaf_error *err)
{
    const struct sheaf_dataset *source = dataset_source(d, sample->shard);
    const struct class_numbers numbers = {
        .map = source->class_map,
        .count = source->class_map_count,
        .rest_stays = source->class_rest_stays,
        .first = source->class_map_first,
        .merged_base = d->manifest.label_base,
    };

    int code;

    if (numbers.map == NULL)
        return SHEAF_OK;
    code = classes_renumber(&numbers, scratch, sample, err);
    if (code == SHEAF_OK && d->renames_classes && sample->label_count == 1) {
        const double own = sample->labels[0] - d->manifest.label_base;
        const bool has_name = own >= 0 && own < (double)d->manifest.class_count;

        sample->class_name = has_name ? d->manifest.classes[(size_t)own] : NULL;
    }
    return code;
}
