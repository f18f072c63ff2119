/* SPDX-License-Identifier: MIT
 *
 * Opens the columns of a data set, and finds the record of a column that belongs to a sample; see
 * column_sets.h. */
#include "reader/dataset/column_sets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/store.h"

/* While a shard is open, the reader may keep in memory all records that a column has for this
 * shard. Their exact size is not known when the memory is reserved. So more is reserved than the
 * estimated size: 1.25 times the estimate plus KEPT_MORE bytes. */
#define KEPT_MORE ((uint64_t)16 << 10)

/* ---- Where a column is ----------------------------------------------------------------------- */

int column_directory(const struct sheaf_dataset *source, const char *name, size_t layer,
                     char **url, struct sheaf_error *err)
{
    const char *index = source->part_count == 0 ? "" : source->parts[0].index_url;
    const char *slash = strrchr(index, '/');
    const int stem = slash == NULL ? 0 : (int)(slash + 1 - index);
    int size;

    *url = NULL;
    if (!source->has_manifest || source->part_count == 0)
        return err_because(err, err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: has no " MANIFEST_NAME
                                        ", so it can have no columns", source->url),
                           SHEAF_REASON_NOT_INDEXED);
    if (source->hosts != 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a host's part of a data set can have no "
                       "columns", source->url);
    if (name == NULL)
        size = asprintf(url, "%.*s" COLUMNS_DIRECTORY, stem, index);
    else if (layer == 0)
        size = asprintf(url, "%.*s" COLUMNS_DIRECTORY "/%s", stem, index, name);
    else
        size = asprintf(url, "%.*s" COLUMNS_DIRECTORY "/%s/%zu", stem, index, name, layer);
    if (size >= 0)
        return SHEAF_OK;
    *url = NULL;
    return err_memory(err, strlen(index));
}

struct set_listing {
    column_name_fn *each;
    void *context;
    struct sheaf_error *error;
};

static int each_directory(void *context, const struct store_entry *entry)
{
    const struct set_listing *l = context;
    char name[COLUMN_NAME_MOST + 1];
    size_t size = strlen(entry->name);

    while (size != 0 && entry->name[size - 1] == '/')
        size--;
    if (size >= sizeof(name))
        return SHEAF_OK;
    memcpy(name, entry->name, size);
    name[size] = '\0';
    return column_check_name(name, NULL) == SHEAF_OK ? l->each(l->context, name, l->error)
                                                     : SHEAF_OK;
}

int column_names_list(const struct sheaf_dataset *source, column_name_fn *each, void *context,
                      struct sheaf_error *err)
{
    struct set_listing l = { each, context, err };
    char *url;
    int code = column_directory(source, NULL, 0, &url, err);

    if (code == SHEAF_OK)
        code = store_list_directories(url, each_directory, &l, err);
    free(url);
    return code == SHEAF_ERR_NOT_FOUND ? SHEAF_OK : code;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

const struct dataset_part *column_base_part(const struct sheaf_dataset *source, const char *base)
{
    /* The fingerprint of a part is the fingerprint that the data set had when the part's table of
     * keys was written. An edit writes all tables of keys again, so several parts can have the same
     * fingerprint. The search goes backwards, because the caller needs the last part with this
     * fingerprint. */
    for (size_t i = source->part_count; i-- > 0;)
        if (strcmp(source->parts[i].fingerprint, base) == 0)
            return &source->parts[i];
    return NULL;
}

/* Checks that a layer of a column was made for this data set. Samples may have been appended to the
 * data set after the layer was made. */
static int check_base(const struct sheaf_dataset *source, const struct column_layer *layer,
                      struct sheaf_error *err)
{
    const struct dataset_part *part = column_base_part(source, layer->facts.base);
    uint64_t end;

    if (part == NULL)
        return err_because(err, err_set(err, SHEAF_ERR_CHANGED, "belongs to another data set, or "
                                        "to another state of this one: the fingerprint of its base "
                                        "is %s, but the data set has %s", layer->facts.base,
                                        source->manifest.fingerprint), SHEAF_REASON_OTHER_BASE);
    end = part->first_number + part->samples;
    if (layer->facts.first <= end && dataset_samples(layer->dataset) <= end - layer->facts.first)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "has %" PRIu64 " records from sample %" PRIu64 " on, "
                   "but the data set has %" PRIu64 " samples", dataset_samples(layer->dataset),
                   layer->facts.first, end);
}

static int column_sets_check_layer(const struct sheaf_dataset *source, const char *name,
                                   const struct column_set *set, struct column_layer *layer,
                                   struct sheaf_error *err)
{
    const struct manifest *m = &layer->dataset->manifest;
    int code = column_facts_read(m, &layer->facts, err);

    if (code == SHEAF_OK && strcmp(layer->facts.name, name) != 0)
        code = err_set(err, SHEAF_ERR_CORRUPT, "is part of the column %s", layer->facts.name);
    if (code == SHEAF_OK && (m->container != SHEAF_TFRECORD || m->codec != SHEAF_CODEC_NONE ||
                             !m->ours || layer->dataset->part_count != 1))
        code = err_set(err, SHEAF_ERR_UNSUPPORTED, "is not in the form of a column: expected "
                       "TFRecords without compression");
    if (code == SHEAF_OK && layer->facts.first != set->end)
        code = err_set(err, SHEAF_ERR_CORRUPT, "begins with sample %" PRIu64 ", expected %" PRIu64,
                       layer->facts.first, set->end);
    return code == SHEAF_OK ? check_base(source, layer, err) : code;
}

/* Opens the next layer of a column and adds it to `set`. (A layer is one of the data sets that make
 * up the column.) Returns SHEAF_END if the column has no more layers. */
static int open_layer(const struct sheaf_dataset *source, const char *name,
                      struct column_set *set, struct sheaf_error *err)
{
    struct column_layer layer = { .dataset = NULL };
    struct column_layer *layers = realloc(set->layers, (set->count + 1) * sizeof(*layers));
    char *url = NULL;
    int code;

    if (layers == NULL)
        return err_memory(err, (set->count + 1) * sizeof(*layers));
    set->layers = layers;
    code = column_directory(source, name, set->count + 1, &url, err);
    if (code == SHEAF_OK)
        code = dataset_open_published(url, &layer.dataset, err);
    if (code == SHEAF_ERR_NOT_FOUND) {
        free(url);
        return SHEAF_END;
    }
    if (code == SHEAF_OK) {
        code = column_sets_check_layer(source, name, set, &layer, err);
        if (code != SHEAF_OK)
            err_prefix(err, "%s: ", layer.dataset->url);
    }
    if (code == SHEAF_OK) {
        layers[set->count++] = layer;
        set->end += dataset_samples(layer.dataset);
    } else {
        sheaf_dataset_free(layer.dataset);
    }
    free(url);
    return code;
}

int column_read_drop(const char *manifest_url, char date[MANIFEST_DATE_BYTES],
                     struct sheaf_error *err)
{
    char *text = NULL;
    size_t size = 0;
    const int code = store_get(manifest_url, MANIFEST_UNFINISHED_LIMIT, &text, &size, err);

    if (code != SHEAF_OK || !manifest_is_dropped(text, size, date))
        date[0] = '\0';
    free(text);
    return code;
}

int column_find_drop(const struct sheaf_dataset *source, const char *name,
                     char date[MANIFEST_DATE_BYTES], struct sheaf_error *err)
{
    char *directory = NULL, *url = NULL;
    int code = column_directory(source, name, 1, &directory, err);

    date[0] = '\0';
    if (code == SHEAF_OK) {
        url = store_join(directory, MANIFEST_NAME);
        code = url == NULL ? err_memory(err, strlen(directory)) : column_read_drop(url, date, err);
    }
    free(url);
    free(directory);
    return code == SHEAF_ERR_NOT_FOUND || code == SHEAF_ERR_LIMIT ? SHEAF_OK : code;
}

int column_refuse_absent(const struct sheaf_dataset *source, const char *name,
                         struct sheaf_error *err)
{
    char date[MANIFEST_DATE_BYTES];
    const int code = column_find_drop(source, name, date, err);

    if (code != SHEAF_OK)
        return code;
    return err_because(err, err_set(err, SHEAF_ERR_NOT_FOUND, "%s: has no column %s%s%s%s",
                                    source->url, name, date[0] == '\0' ? "" : " (dropped at ",
                                    date, date[0] == '\0' ? "" : ")"), SHEAF_REASON_NO_COLUMN);
}

void column_set_close(struct column_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        index_files_close(&set->layers[i].indexes);
        sheaf_dataset_free(set->layers[i].dataset);
    }
    free(set->layers);
    *set = (struct column_set){ .layers = NULL };
}

int column_set_open(const struct sheaf_dataset *source, const char *name, struct column_set *set,
                    struct sheaf_error *err)
{
    int code = column_check_name(name, err);

    *set = (struct column_set){ .layers = NULL };
    while (code == SHEAF_OK && set->count < COLUMN_LAYERS_MOST &&
           (set->count == 0 || set->end < source->end_number - source->first_number))
        code = open_layer(source, name, set, err);
    if (code == SHEAF_END)
        code = SHEAF_OK;
    if (code == SHEAF_OK && set->count == 0)
        code = column_refuse_absent(source, name, err);
    if (code != SHEAF_OK)
        column_set_close(set);
    return code;
}

/* ---- The columns of a reader ----------------------------------------------------------------- */

static const struct column_layer *layer_of(const struct column_set *set, uint64_t number)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct column_layer *layer = &set->layers[i];

        if (number < layer->facts.first + dataset_samples(layer->dataset))
            return layer;
    }
    return NULL;
}

/* Finds the records that a column has for one shard of the base data set. The shard has `samples`
 * samples, and its first sample has the number `number`. Sets `place` to the layer and the shard
 * that contain these records, and to the number of the first record. */
static int column_sets_find_place(const struct column_set *set, uint64_t number, uint64_t samples,
                                  struct column_place *place, struct sheaf_error *err)
{
    const struct column_layer *layer = samples == 0 ? NULL : layer_of(set, number);
    const struct sheaf_dataset *d;
    uint64_t record;

    if (layer == NULL)
        return SHEAF_OK;
    d = layer->dataset;
    record = number - layer->facts.first;
    place->layer = d;
    place->indexes = &layer->indexes;
    place->shard = dataset_shard_of(d, record);
    place->first = record - d->first_numbers[place->shard];
    if (record + samples <= d->first_numbers[place->shard + 1])
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "%s: ends within the records for a shard of the base: "
                   "it has %" PRIu64 ", expected those of samples %" PRIu64 " to %" PRIu64,
                   d->urls[place->shard], d->samples[place->shard], number, number + samples);
}

static void count_opening(struct columns *c, const struct column_place *place)
{
    const struct manifest_shard *m;

    if (place->layer == NULL)
        return;
    m = &place->layer->manifest.shards[place->shard];
    c->opening_bytes = MAX(c->opening_bytes, m->index_bytes);
}

static int find_places(const struct sheaf_dataset *d, struct columns *c, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (uint32_t i = 0; i < c->shard_count; i++) {
        const struct sheaf_dataset *source = dataset_source(d, i);
        const uint64_t number = d->first_numbers[i] - source->first_number;

        for (size_t k = 0; k < c->count && code == SHEAF_OK; k++) {
            const struct column_set *set = &c->sets[dataset_source_of(d, i) * c->count + k];
            struct column_place *place = &c->places[i * c->count + k];

            code = column_sets_find_place(set, number, d->samples[i], place, err);
            count_opening(c, place);
        }
    }
    return code;
}

static int open_sets(const struct sheaf_dataset *d, struct columns *c, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; i < dataset_source_count(d); i++)
        for (size_t k = 0; k < c->count && code == SHEAF_OK; k++, c->set_count++)
            code = column_set_open(dataset_source_at(d, i), c->names[k], &c->sets[c->set_count],
                                   err);
    return code;
}

static int column_sets_take_names(struct columns *c, const char *const *names, size_t count,
                                  struct sheaf_error *err)
{
    for (; c->count < count; c->count++) {
        for (size_t i = 0; i < c->count; i++)
            if (strcmp(c->names[i], names[c->count]) == 0)
                return err_set(err, SHEAF_ERR_ARGUMENT, "the column %s is named twice",
                               names[c->count]);
        c->names[c->count] = strdup(names[c->count]);
        if (c->names[c->count] == NULL)
            return err_memory(err, strlen(names[c->count]));
    }
    return SHEAF_OK;
}

static int column_sets_open_all(const struct sheaf_dataset *d, const char *const *names,
                                size_t count, struct columns *c, struct sheaf_error *err)
{
    int code;

    c->base = d;
    c->shard_count = d->manifest.shard_count;
    c->ranges = column_ranges_new((c->shard_count + 1) * count);
    c->names = calloc(count, sizeof(c->names[0]));
    c->sets = calloc(dataset_source_count(d) * count, sizeof(c->sets[0]));
    c->places = calloc((c->shard_count + 1) * count, sizeof(c->places[0]));
    if (c->names == NULL || c->sets == NULL || c->places == NULL || c->ranges == NULL)
        return err_memory(err, (c->shard_count + 1) * count * sizeof(c->places[0]));
    code = column_sets_take_names(c, names, count, err);
    if (code == SHEAF_OK)
        code = open_sets(d, c, err);
    return code == SHEAF_OK ? find_places(d, c, err) : code;
}

int columns_open(const struct sheaf_dataset *d, const char *const *names, size_t count,
                 struct columns **columns, struct sheaf_error *err)
{
    struct columns *c;
    int code;

    *columns = NULL;
    if (count == 0)
        return SHEAF_OK;
    if (count > COLUMNS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "%zu columns at once, the limit is %u", count,
                       COLUMNS_MOST);
    if (d->is_stream)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: is a stream, which can have no columns",
                       d->url);
    c = calloc(1, sizeof(*c));
    if (c == NULL)
        return err_memory(err, sizeof(*c));
    code = column_sets_open_all(d, names, count, c, err);
    if (code == SHEAF_OK)
        *columns = c;
    else
        columns_free(c);
    return code;
}

int columns_open_indexes(struct columns *c, struct budget *budget, struct cache *cache,
                         struct sheaf_error *err)
{
    int code = SHEAF_OK;

    for (size_t i = 0; c != NULL && i < c->set_count; i++)
        for (size_t k = 0; k < c->sets[i].count && code == SHEAF_OK; k++)
            code = index_files_open(&c->sets[i].layers[k].indexes, c->sets[i].layers[k].dataset,
                                    budget, cache, err);
    return code;
}

void columns_drop_indexes(struct columns *c)
{
    for (size_t i = 0; c != NULL && i < c->set_count; i++)
        for (size_t k = 0; k < c->sets[i].count; k++)
            index_files_drop(&c->sets[i].layers[k].indexes);
}

void columns_free(struct columns *c)
{
    if (c == NULL)
        return;
    for (size_t i = 0; i < c->set_count; i++)
        column_set_close(&c->sets[i]);
    for (size_t i = 0; i < c->count; i++)
        free(c->names[i]);
    free(c->sets);
    free(c->names);
    free(c->places);
    column_ranges_free(c->ranges);
    free(c);
}

int columns_identify(const struct sheaf_dataset *d, const char *const *names, size_t count,
                     char hash[HASH_TEXT_BYTES], struct sheaf_error *err)
{
    XXH128_hash_t sum = { 0 };
    struct columns *c = NULL;
    int code = columns_open(d, names, count, &c, err);

    for (size_t i = 0; c != NULL && i < c->set_count; i++)
        for (size_t k = 0; k < c->sets[i].count; k++) {
            const struct column_layer *layer = &c->sets[i].layers[k];
            const char *fingerprint = layer->dataset->manifest.fingerprint;

            hash_add(&sum, layer->facts.name, strlen(layer->facts.name));
            hash_add(&sum, fingerprint, strlen(fingerprint));
        }
    hash_text(sum, hash);
    columns_free(c);
    return code;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

uint64_t columns_index_bytes(const struct columns *c, uint64_t samples)
{
    return c == NULL ? 0 : c->count * ((samples + 1) * sizeof(uint64_t) +
                                       samples * sizeof(uint32_t));
}

uint64_t columns_most(const struct columns *c, uint32_t shard)
{
    uint64_t most = 0;

    for (size_t i = 0; c != NULL && i < c->count; i++) {
        const struct column_place *p = columns_place(c, shard, i);

        most += p->layer == NULL ? 0 : p->layer->manifest.shards[p->shard].largest;
    }
    return most;
}

/* Returns the estimated size in bytes of `samples` records of a column. The estimate uses the mean
 * size of the records in their shard. */
static uint64_t usual_of(const struct column_place *p, uint64_t samples)
{
    const struct manifest_shard *m = p->layer == NULL ? NULL
                                                      : &p->layer->manifest.shards[p->shard];

    return m == NULL || m->samples == 0 ? 0
         : (uint64_t)((double)m->raw_bytes * (double)samples / (double)m->samples);
}

uint64_t columns_kept_most(const struct columns *c, uint32_t shard, size_t column,
                           uint64_t samples, uint64_t most)
{
    const struct column_place *p = columns_place(c, shard, column);
    const uint64_t usual = usual_of(p, samples);

    return usual == 0 || usual > most ? 0
         : MIN(p->layer->manifest.shards[p->shard].bytes, usual + usual / 4 + KEPT_MORE);
}

uint64_t columns_usual(const struct columns *c, uint32_t shard, uint64_t samples)
{
    uint64_t sum = 0;

    for (size_t i = 0; c != NULL && i < c->count; i++)
        sum += usual_of(columns_place(c, shard, i), samples);
    return sum;
}
