/* SPDX-License-Identifier: MIT
 *
 * Functions that describe a data set, its shards, its sources and its classes. They also return the
 * counts of fields and classes, from the manifest or from the index. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "reader/dataset/dataset.h"
#include "reader/dataset/labels.h"
#include "reader/view/view.h"

/* ---- Of a union and of a part ---------------------------------------------------------------- */

/* Adds up the number of samples in each class: adds the numbers of a source to the numbers of the
 * union, the data set that consists of all sources. A class may have another label in the union. */
static void add_class_samples(struct sheaf_dataset *d, const struct sheaf_dataset *source)
{
    const struct manifest *m = &source->manifest;

    if (m->class_samples == NULL) {
        free(d->manifest.class_samples);
        d->manifest.class_samples = NULL;
    }
    for (size_t i = 0; i < m->class_count && d->manifest.class_samples != NULL; i++) {
        const size_t to = source->class_map != NULL ? source->class_map[i] : i;

        if (to < d->manifest.class_count)
            d->manifest.class_samples[to] += m->class_samples[i];
    }
}

int dataset_add_counts(struct sheaf_dataset *d, struct sheaf_error *err)
{
    struct tally *all = &d->manifest.fields;
    const bool knows_classes = !all->is_unknown && d->manifest.class_count != 0;
    int code = SHEAF_OK;

    if (knows_classes)
        d->manifest.class_samples = calloc(d->manifest.class_count, sizeof(uint64_t));
    if (knows_classes && d->manifest.class_samples == NULL)
        return err_memory(err, d->manifest.class_count * sizeof(uint64_t));
    for (size_t i = 0; i < d->source_count && !all->is_unknown && code == SHEAF_OK; i++) {
        code = tally_merge(all, &d->sources[i]->manifest.fields, err);
        if (code == SHEAF_OK && knows_classes)
            add_class_samples(d, d->sources[i]);
    }
    return code;
}

void dataset_forget_counts(struct sheaf_dataset *d)
{
    tally_clear(&d->manifest.fields);
    d->manifest.fields.is_unknown = true;
    free(d->manifest.class_samples);
    d->manifest.class_samples = NULL;
}

/* ---- Images ---------------------------------------------------------------------------------- */

/* Returns the number of sources whose counts are added up. It is 0 if `d` is not a union (made of
 * several data sets). It is also 0 if `d` is a view, which may have only some of the samples of its
 * sources. */
static size_t summed(const struct sheaf_dataset *d)
{
    return d->sources != NULL && d->view == NULL ? d->source_count : 0;
}

struct manifest_images dataset_images(const struct sheaf_dataset *d)
{
    struct manifest_images all = d->images;

    for (size_t i = 0; i < summed(d); i++)
        all = manifest_images_sum(all, d->sources[i]->images);
    return all;
}

static uint64_t skipped_of(const struct sheaf_dataset *d)
{
    uint64_t all = d->skipped;

    for (size_t i = 0; i < summed(d); i++)
        all += d->sources[i]->skipped;
    return all;
}

static uint64_t left_out_of(const struct sheaf_dataset *d)
{
    uint64_t all = d->left_out_values;

    for (size_t i = 0; i < summed(d); i++)
        all += d->sources[i]->left_out_values;
    return all;
}

static uint64_t cls_words_of(const struct sheaf_dataset *d)
{
    uint64_t all = d->cls_words;

    for (size_t i = 0; d->sources != NULL && d->view == NULL && i < d->source_count; i++)
        all += d->sources[i]->cls_words;
    return all;
}

/* ---- The data set, its shards and its sources ------------------------------------------------ */

void sheaf_dataset_get_info(const struct sheaf_dataset *d, struct sheaf_dataset_info *info,
                            size_t sizeof_info)
{
    const struct manifest_images images = dataset_images(d);
    const struct sheaf_dataset_info all = {
        .url = d->url,
        .has_manifest = d->has_manifest,
        .is_stream = d->is_stream,
        .repeated_keys = d->repeated_keys,
        .repeated_key = d->repeated_key,
        .damages = d->damage_count,
        .damage = d->damage_count == 0 ? NULL : d->damages[0].error.message,
        .joined_keys = d->joined,
        .container = d->manifest.container,
        .codec = d->manifest.codec,
        .samples = dataset_samples(d),
        .bytes = d->total_bytes,
        .payload_bytes = d->total_payload,
        .shard_count = d->manifest.shard_count,
        .class_count = d->manifest.class_count,
        .label_base = d->manifest.label_base,
        .fingerprint = d->manifest.fingerprint,
        .manifest_json = d->manifest_json,
        .source_count = d->sources == NULL ? 1 : d->source_count,
        .is_view = d->view != NULL,
        .epoch_samples = d->view != NULL ? d->view->mix.samples : dataset_samples(d),
        .host = d->host,
        .hosts = d->hosts,
        .all_shards = d->hosts != 0 ? d->all_shards : d->manifest.shard_count,
        .counts_fields = d->has_manifest && !d->manifest.fields.is_unknown,
        .field_count = d->manifest.fields.count,
        .counts_classes = d->manifest.class_samples != NULL,
        .images_converted = images.converted,
        .images_resized = images.resized,
        .skipped = skipped_of(d),
        .left_out_values = left_out_of(d),
        .cls_words = cls_words_of(d),
    };

    sized_give(info, sizeof_info, &all, sizeof(all));
}

int sheaf_dataset_shard(const struct sheaf_dataset *d, size_t index,
                        struct sheaf_shard_info *info, size_t sizeof_info)
{
    struct sheaf_shard_info all;
    const struct manifest_shard *shard;

    if (index >= d->manifest.shard_count)
        return SHEAF_ERR_ARGUMENT;
    shard = &d->manifest.shards[index];
    all = (struct sheaf_shard_info){
        .name = d->sources == NULL ? shard->name : d->urls[index],
        .bytes = shard->bytes,
        .payload_bytes = shard->payload_bytes,
        .samples = shard->samples,
        .xxh3 = shard->xxh3[0] != '\0' ? shard->xxh3 : NULL,
        .source = d->sources == NULL ? 0 : d->source_of[index],
    };
    sized_give(info, sizeof_info, &all, sizeof(all));
    return SHEAF_OK;
}

int sheaf_dataset_source(const struct sheaf_dataset *d, size_t index,
                         struct sheaf_source_info *info, size_t sizeof_info)
{
    const struct sheaf_dataset *s;
    struct sheaf_source_info all;

    if (index >= (d->sources == NULL ? 1 : d->source_count))
        return SHEAF_ERR_ARGUMENT;
    s = d->sources == NULL ? d : d->sources[index];
    all = (struct sheaf_source_info){
        .url = s->url,
        .has_manifest = s->has_manifest,
        .container = s->manifest.container,
        .codec = s->manifest.codec,
        .first_shard = s->first_shard,
        .shard_count = d->sources == NULL ? d->manifest.shard_count : s->end_shard - s->first_shard,
        .first_number = s->first_number,
        .samples = d->sources == NULL ? dataset_samples(d) : s->end_number - s->first_number,
        .class_count = s->manifest.class_count,
        .label_base = s->manifest.label_base,
        .fingerprint = s->manifest.fingerprint,
        .manifest_json = s->manifest_json,
        .same_as = s->same_as == NULL ? NULL : s->same_as->url,
        .chosen = d->view != NULL ? s->chosen
                : d->sources == NULL ? dataset_samples(d) : s->end_number - s->first_number,
        .share = d->view != NULL ? s->share
               : dataset_samples(d) == 0 ? 0 : d->sources == NULL ? 1
               : (double)(s->end_number - s->first_number) / (double)dataset_samples(d),
        .weight = s->weight,
        .shared = s->shared,
    };
    sized_give(info, sizeof_info, &all, sizeof(all));
    return SHEAF_OK;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

void dataset_describe_field(const struct tally_field *f, struct sheaf_field_info *info)
{
    *info = (struct sheaf_field_info){
        .name = f->name, .samples = f->samples, .bytes = f->bytes, .least_bytes = f->least,
        .median_bytes = tally_median(f), .most_bytes = f->most, .lacking = f->lacking,
    };
    tally_decades(f, info->decades);
}

int sheaf_dataset_field(const struct sheaf_dataset *d, size_t index, struct sheaf_field_info *info,
                        size_t sizeof_info)
{
    struct sheaf_field_info all;

    if (index >= d->manifest.fields.count)
        return SHEAF_ERR_ARGUMENT;
    dataset_describe_field(&d->manifest.fields.fields[index], &all);
    sized_give(info, sizeof_info, &all, sizeof(all));
    return SHEAF_OK;
}

/* ---- Classes --------------------------------------------------------------------------------- */

const char *sheaf_dataset_class(const struct sheaf_dataset *d, size_t index)
{
    return index < d->manifest.class_count ? d->manifest.classes[index] : NULL;
}

static void dataset_info_count_label(const struct sheaf_dataset *d, uint32_t label,
                                     uint64_t *samples)
{
    const uint32_t base = (uint32_t)d->manifest.label_base + 1;

    if (label >= base && label - base < d->manifest.class_count)
        samples[label - base]++;
}

/* Counts the samples with each label. Only samples that an epoch can draw are counted (in a view,
 * the chosen samples). */
static void dataset_info_count_labels(const struct sheaf_dataset *d, const uint32_t *labels,
                                      uint64_t *samples)
{
    const uint64_t count = dataset_chosen_count(d);
    uint64_t run;

    for (uint64_t rank = 0; rank < count; rank += run) {
        const uint64_t number = dataset_chosen_number(d, rank, &run);

        for (uint64_t i = 0; i < run; i++)
            dataset_info_count_label(d, labels[number + i], samples);
    }
}

/* Reads the labels of all samples into newly allocated memory. Each element is a label plus 1. */
static int dataset_info_take_labels(const struct sheaf_dataset *d, uint32_t **labels,
                                    struct sheaf_error *err)
{
    int code;

    *labels = calloc(dataset_samples(d) + 1, sizeof((*labels)[0]));
    if (*labels == NULL)
        return err_memory(err, dataset_samples(d) * sizeof((*labels)[0]));
    code = labels_read(d, *labels, err);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no labels: they are vectors or "
                   "fractions, or were not looked at", d->url);
}

int sheaf_dataset_labels(const struct sheaf_dataset *d, int64_t *labels, struct sheaf_error *err)
{
    uint32_t *found = NULL;
    int code = d->is_stream || !d->has_manifest
        ? err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its labels are not known without an index: "
                  "index it first", d->url) : dataset_info_take_labels(d, &found, err);

    for (uint64_t i = 0; code == SHEAF_OK && i < dataset_samples(d); i++)
        labels[i] = (int64_t)found[i] - 1;
    free(found);
    return code;
}

int sheaf_dataset_class_samples(const struct sheaf_dataset *d, uint64_t *samples,
                                struct sheaf_error *err)
{
    const size_t bytes = d->manifest.class_count * sizeof(samples[0]);
    uint32_t *labels;
    int code;

    if (d->manifest.class_samples != NULL) {
        memcpy(samples, d->manifest.class_samples, bytes);
        return SHEAF_OK;
    }
    if (!d->has_manifest || d->manifest.class_count == 0)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its classes are not known", d->url);
    memset(samples, 0, bytes);
    code = dataset_info_take_labels(d, &labels, err);
    if (code == SHEAF_OK)
        dataset_info_count_labels(d, labels, samples);
    free(labels);
    return code;
}
