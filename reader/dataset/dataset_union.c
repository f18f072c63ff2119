/* SPDX-License-Identifier: MIT
 *
 * Makes one data set, a union, of several data sets (its sources). The union has the shards of all
 * sources, in order. Each source keeps the description of its shards. If the sources cannot form
 * one data set, the error names the sources that do not fit together. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash_text.h"
#include "formats/origin.h"
#include "reader/dataset/dataset.h"

#define CLASS_LABELS_MOST ((uint32_t)1 << 24)    /* size limit of a label map */
#define UNION_SEED 0x756e696fu  /* seed for a union's fingerprint */

/* Returns an error if a source is a stream, because its number of samples is unknown. Also returns
 * an error if a source is given twice, because its samples would be used twice without a notice. */
static int check_sources(struct sheaf_dataset *const *sources, size_t count,
                         const struct union_options *options, struct sheaf_error *err)
{
    uint64_t shards = 0;

    for (size_t i = 0; i < count; i++) {
        const struct sheaf_dataset *s = sources[i];

        if (s->is_stream)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a pipe, or shards that another program "
                           "has compressed: read as a stream, which cannot be opened together with "
                           "a data set; convert it first", s->url);
        if (s->view != NULL)
            return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: a view, which cannot be opened "
                           "together with others: name its sources and those in one view", s->url);
        for (size_t j = 0; j < i && !options->is_view && s->has_manifest
                           && s->manifest.shard_count != 0; j++) {
            if (strcmp(s->manifest.fingerprint, sources[j]->manifest.fingerprint) == 0)
                return err_set(err, SHEAF_ERR_ARGUMENT, "%s: the same data set as %s (fingerprint "
                               "%s): each of its samples would come twice", s->url,
                               sources[j]->url, s->manifest.fingerprint);
        }
        shards += s->manifest.shard_count;
    }
    return shards <= SHARD_LIMIT ? SHEAF_OK
         : err_set(err, SHEAF_ERR_LIMIT, "more than %u shards", SHARD_LIMIT);
}

static int dataset_union_allocate(struct sheaf_dataset *d, struct sheaf_error *err)
{
    size_t shards = 0, damages = 0;
    bool is_scanned = false;

    for (size_t i = 0; i < d->source_count; i++) {
        shards += d->sources[i]->manifest.shard_count;
        damages += d->sources[i]->damage_count;
        is_scanned |= d->sources[i]->sections != NULL;
    }
    d->url = strdup(d->sources[0]->url);
    d->urls = calloc(shards + 1, sizeof(d->urls[0]));
    d->manifest.shards = calloc(shards + 1, sizeof(d->manifest.shards[0]));
    d->source_of = calloc(shards + 1, sizeof(d->source_of[0]));
    d->damages = calloc(damages + 1, sizeof(d->damages[0]));
    d->sections = !is_scanned ? NULL : calloc(shards + 1, sizeof(d->sections[0]));
    if (d->url == NULL || d->urls == NULL || d->manifest.shards == NULL || d->source_of == NULL
        || d->damages == NULL || (is_scanned && d->sections == NULL))
        return err_memory(err, shards * sizeof(d->manifest.shards[0]));
    return SHEAF_OK;
}

/* Appends the shards of source number `i` to the shards of the union `d`, the data set that
 * consists of all sources. */
static void take_shards(struct sheaf_dataset *d, uint32_t i)
{
    struct sheaf_dataset *s = d->sources[i];
    const size_t first = d->manifest.shard_count, count = s->manifest.shard_count;

    memcpy(d->urls + first, s->urls, count * sizeof(d->urls[0]));
    memcpy(d->manifest.shards + first, s->manifest.shards, count * sizeof(d->manifest.shards[0]));
    if (s->sections != NULL)
        memcpy(d->sections + first, s->sections, count * sizeof(d->sections[0]));
    for (size_t n = 0; n < count; n++)
        d->source_of[first + n] = i;
    for (size_t n = 0; n < s->damage_count; n++) {
        d->damages[d->damage_count] = s->damages[n];
        d->damages[d->damage_count++].shard += (uint32_t)first;
    }
    s->first_shard = (uint32_t)first;
    s->first_part = i == 0 ? 0 : d->sources[i - 1]->first_part + d->sources[i - 1]->part_count;
    s->end_shard = (uint32_t)(first + count);
    d->manifest.shard_count += count;
    s->manifest.shard_count = 0;
}

/* Sets the properties of the union `d` (the data set that consists of all sources) from the
 * properties of its sources. */
static void dataset_union_take_facts(struct sheaf_dataset *d)
{
    const struct sheaf_dataset *first = d->sources[0];

    d->has_manifest = true;
    d->format = first->format;
    d->manifest.container = first->manifest.container;
    d->manifest.codec = first->manifest.codec;
    d->manifest.label_base = first->manifest.label_base;
    for (size_t i = 0; i < d->source_count; i++) {
        const struct sheaf_dataset *s = d->sources[i];

        d->has_manifest &= s->has_manifest;
        d->is_remote |= s->is_remote;
        d->manifest.fields.is_unknown |= s->manifest.fields.is_unknown || !s->has_manifest;
        d->passed_over += s->passed_over;
        d->repeated_keys += s->repeated_keys;
        d->joined += s->joined;
        d->lost_bytes += s->lost_bytes;
        d->read_bytes = MAX(d->read_bytes, s->read_bytes);
        if (s->codec != NULL && d->codec == NULL) {
            d->codec = s->codec;
            d->manifest.codec = s->manifest.codec;
        }
        if (s->manifest.container != d->manifest.container)
            d->manifest.container = 0;
    }
}

/* Returns the name that a view gives a class. */
static const char *other_name(const void *context, const char *name)
{
    const struct union_options *options = context;

    for (size_t i = 0; i < options->class_count; i++)
        if (strcmp(options->classes[i].from, name) == 0)
            return options->classes[i].to;
    return name;
}

/* Returns an error if a view (a mix of data sets) renames a class that no source has. Its name is
 * probably misspelt, and would otherwise be ignored without a notice. */
static int dataset_union_check_names(const struct named_classes *lists, size_t count,
                                     const struct union_options *options, struct sheaf_error *err)
{
    for (size_t c = 0; c < options->class_count; c++) {
        bool found = false;

        for (size_t i = 0; i < count && !found; i++)
            for (size_t n = 0; n < lists[i].count && !found; n++)
                found = strcmp(lists[i].names[n], options->classes[c].from) == 0;
        if (!found)
            return err_set(err, SHEAF_ERR_ARGUMENT, "\"classes\": no source has a class \"%s\"",
                           options->classes[c].from);
    }
    return SHEAF_OK;
}

static int merge_classes(struct sheaf_dataset *d, const struct union_options *options,
                         struct sheaf_error *err)
{
    struct named_classes *lists = calloc(d->source_count, sizeof(lists[0]));
    uint32_t **maps = calloc(d->source_count, sizeof(maps[0]));
    int code = lists == NULL || maps == NULL ? err_memory(err, d->source_count * sizeof(lists[0]))
                                             : SHEAF_OK;

    for (size_t i = 0; i < d->source_count && code == SHEAF_OK; i++) {
        const struct manifest *m = &d->sources[i]->manifest;

        lists[i] = (struct named_classes){ .url = d->sources[i]->url, .count = m->class_count,
                                        .names = (const char *const *)m->classes,
                                        .label_base = m->label_base };
    }
    if (code == SHEAF_OK && options->classes != NULL)
        code = dataset_union_check_names(lists, d->source_count, options, err);
    if (code == SHEAF_OK)
        code = options->classes != NULL
               ? classes_rename(lists, d->source_count, other_name, options, &d->manifest.classes,
                                &d->manifest.class_count, maps, err)
               : classes_merge(lists, d->source_count, &d->manifest.classes,
                               &d->manifest.class_count, maps, err);
    for (size_t i = 0; maps != NULL && i < d->source_count; i++) {
        d->sources[i]->class_map = maps[i];
        d->sources[i]->class_map_count = d->sources[i]->manifest.class_count;
        d->sources[i]->class_map_first = d->sources[i]->manifest.label_base;
    }
    free(lists);
    free(maps);
    return code;
}

/* Returns an error if the labels of two sources begin with different numbers (0 and 1, for
 * example). Classes can then not be merged by number, because label 1 would mean the first class in
 * one source, and the second class in the other. */
static int check_bases(const struct sheaf_dataset *d, struct sheaf_error *err)
{
    const struct sheaf_dataset *first = d->sources[0];

    for (size_t i = 1; i < d->source_count; i++)
        if (d->sources[i]->manifest.label_base != first->manifest.label_base)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s: labels begin at %d, but at %d in %s: such "
                           "classes can be merged by name or by a map, not by number",
                           d->sources[i]->url, d->sources[i]->manifest.label_base,
                           first->manifest.label_base, first->url);
    return SHEAF_OK;
}

/* Compares the class names of the source `s` with the names of the same classes in the union `d`
 * (the data set made of all sources). If they differ, marks the source, so that its samples get the
 * class names of the union. */
static int rename_source(struct sheaf_dataset *d, struct sheaf_dataset *s, struct sheaf_error *err)
{
    const size_t count = s->manifest.class_count;
    size_t same = 0;

    while (same < count && strcmp(s->manifest.classes[same], d->manifest.classes[same]) == 0)
        same++;
    if (same == count)
        return SHEAF_OK;
    s->class_map = calloc(count, sizeof(s->class_map[0]));
    if (s->class_map == NULL)
        return err_memory(err, count * sizeof(s->class_map[0]));
    for (size_t i = 0; i < count; i++)
        s->class_map[i] = (uint32_t)i;
    s->class_map_count = count;
    s->class_map_first = s->manifest.label_base;
    s->class_rest_stays = true;
    d->renames_classes = true;
    return SHEAF_OK;
}

/* Merges the classes of all sources by number. The union (the data set made of all sources) gets
 * the longest of the sources' lists of class names. */
static int join_classes(struct sheaf_dataset *d, struct sheaf_error *err)
{
    const struct manifest *longest = &d->sources[0]->manifest;
    int code = check_bases(d, err);

    for (size_t i = 1; i < d->source_count; i++)
        if (d->sources[i]->manifest.class_count > longest->class_count)
            longest = &d->sources[i]->manifest;
    d->manifest.classes = calloc(longest->class_count + 1, sizeof(d->manifest.classes[0]));
    if (d->manifest.classes == NULL)
        return err_memory(err, longest->class_count * sizeof(d->manifest.classes[0]));
    for (; d->manifest.class_count < longest->class_count; d->manifest.class_count++) {
        char *name = strdup(longest->classes[d->manifest.class_count]);

        if (name == NULL)
            return err_memory(err, strlen(longest->classes[d->manifest.class_count]));
        d->manifest.classes[d->manifest.class_count] = name;
    }
    for (size_t i = 0; i < d->source_count && code == SHEAF_OK; i++)
        code = rename_source(d, d->sources[i], err);
    return code;
}

/* Makes the maps from old to new labels if a view (a mix of data sets) gives classes other numbers.
 * Classes that the view does not mention keep their numbers. The union (the data set made of all
 * sources) then has no class names. */
static int renumber_classes(struct sheaf_dataset *d, const struct union_options *options,
                            struct sheaf_error *err)
{
    const uint64_t end = options->classes[options->class_count - 1].from_number + 1;

    if (end > CLASS_LABELS_MOST)
        return err_set(err, SHEAF_ERR_LIMIT, "\"classes\": a label above %u", CLASS_LABELS_MOST);
    for (size_t i = 0; i < d->source_count; i++) {
        struct sheaf_dataset *s = d->sources[i];

        s->class_map = calloc(end, sizeof(s->class_map[0]));
        if (s->class_map == NULL)
            return err_memory(err, end * sizeof(s->class_map[0]));
        s->class_map_count = end;
        s->class_rest_stays = true;
        for (uint64_t label = 0; label < end; label++)
            s->class_map[label] = (uint32_t)label;
        for (size_t c = 0; c < options->class_count; c++)
            s->class_map[options->classes[c].from_number] = (uint32_t)options->classes[c].to_number;
    }
    return SHEAF_OK;
}

static int unite_classes(struct sheaf_dataset *d, const struct union_options *options,
                         struct sheaf_error *err)
{
    if (!options->by_number)
        return merge_classes(d, options, err);
    return options->classes != NULL ? renumber_classes(d, options, err) : join_classes(d, err);
}

/* Computes the fingerprint of the union `d` (the data set that consists of all sources) from the
 * fingerprints of its sources, in order. */
static void dataset_union_name_fingerprint(struct sheaf_dataset *d)
{
    XXH128_hash_t hash = { .low64 = UNION_SEED };

    for (size_t i = 0; i < d->source_count; i++) {
        struct {
            XXH128_canonical_t before;
            char fingerprint[33];
        } link;

        XXH128_canonicalFromHash(&link.before, hash);
        memcpy(link.fingerprint, d->sources[i]->manifest.fingerprint, sizeof(link.fingerprint));
        hash = XXH3_128bits(&link, sizeof(link));
    }
    hash_text(hash, d->manifest.fingerprint);
}

static void place_samples(struct sheaf_dataset *d)
{
    for (size_t i = 0; i < d->source_count; i++) {
        struct sheaf_dataset *s = d->sources[i];

        s->first_number = d->first_numbers[s->first_shard];
        s->end_number = d->first_numbers[s->end_shard];
    }
}

static uint64_t dataset_union_payload_of(const struct sheaf_dataset *d,
                                         const struct sheaf_dataset *source)
{
    uint64_t bytes = 0;

    for (uint32_t i = source->first_shard; i < source->end_shard; i++)
        bytes += d->manifest.shards[i].payload_bytes;
    return bytes;
}

static bool has_same_classes(const struct manifest *a, const struct manifest *b)
{
    bool same = a->class_count == b->class_count;

    for (size_t i = 0; same && i < a->class_count; i++)
        same = strcmp(a->classes[i], b->classes[i]) == 0;
    return same;
}

/* Returns true if two sources probably contain the same samples, because they have the same classes
 * and the same total size of samples. The caller must have checked that both sources have the same
 * number of samples.
 *
 * If all samples of a source may have the same size, returns false. Two such sources often have the
 * same total size, although their samples differ. */
static bool is_equal_in_size(const struct sheaf_dataset *d, const struct sheaf_dataset *a,
                             const struct sheaf_dataset *b)
{
    const uint64_t bytes = dataset_union_payload_of(d, a);

    return bytes % (a->end_number - a->first_number) != 0 && bytes == dataset_union_payload_of(d, b)
        &&
           has_same_classes(&a->manifest, &b->manifest);
}

/* Sets *same to whether two sources contain the same samples. They do if the manifest of one source
 * says that it is a conversion of the other source, or if is_equal_in_size returns true. */
static int dataset_union_compare(const struct sheaf_dataset *d, const struct sheaf_dataset *a,
                                 const struct sheaf_dataset *b, bool *same, struct sheaf_error *err)
{
    const uint64_t samples = a->end_number - a->first_number;
    int code;

    *same = false;
    if (!a->has_manifest || !b->has_manifest || samples == 0 ||
        samples != b->end_number - b->first_number)
        return SHEAF_OK;
    code = origin_is(&b->manifest, a->manifest.fingerprint, same, err);
    if (code == SHEAF_OK && !*same)
        code = origin_is(&a->manifest, b->manifest.fingerprint, same, err);
    *same |= code == SHEAF_OK && is_equal_in_size(d, a, b);
    return code;
}

/* Stores in each source whether an earlier source contains the same samples (same_as). This is not
 * an error, because a program may open the same samples twice on purpose. */
static int find_copies(struct sheaf_dataset *d, struct sheaf_error *err)
{
    for (size_t i = 1; i < d->source_count; i++) {
        struct sheaf_dataset *s = d->sources[i];

        for (size_t j = 0; j < i && s->same_as == NULL; j++) {
            bool same;
            const int code = dataset_union_compare(d, d->sources[j], s, &same, err);

            if (code != SHEAF_OK)
                return code;
            s->same_as = same ? d->sources[j] : NULL;
        }
    }
    return SHEAF_OK;
}

int dataset_unite(struct sheaf_dataset **sources, size_t count,
                  const struct union_options *options, struct sheaf_dataset **dataset,
                  struct sheaf_error *err)
{
    struct sheaf_dataset *d = calloc(1, sizeof(*d));
    struct sheaf_dataset **own = calloc(count, sizeof(own[0]));
    int code;

    if (d == NULL || own == NULL) {
        for (size_t i = 0; i < count; i++)
            sheaf_dataset_free(sources[i]);
        free(d);
        free(own);
        return err_memory(err, sizeof(*d));
    }
    memcpy(own, sources, count * sizeof(own[0]));
    d->sources = own;
    d->source_count = count;
    code = check_sources(sources, count, options, err);
    d->renames_classes = options->classes != NULL;
    if (code == SHEAF_OK)
        code = unite_classes(d, options, err);
    if (code == SHEAF_OK)
        code = dataset_union_allocate(d, err);
    for (uint32_t i = 0; i < count && code == SHEAF_OK; i++)
        take_shards(d, i);
    if (code == SHEAF_OK)
        code = dataset_make_tables(d, err);
    if (code == SHEAF_OK) {
        dataset_union_take_facts(d);
        if (options->by_number && options->classes != NULL)
            d->manifest.label_base = 0;     /* The map already contains the final labels. */
        place_samples(d);
        d->manifest.fields.is_unknown |= options->is_view;
        code = dataset_add_counts(d, err);
        if (code == SHEAF_OK)
            code = find_copies(d, err);
    }
    if (code != SHEAF_OK) {
        sheaf_dataset_free(d);
        return code;
    }
    dataset_union_name_fingerprint(d);
    *dataset = d;
    return SHEAF_OK;
}
