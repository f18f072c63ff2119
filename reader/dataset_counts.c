/* SPDX-License-Identifier: MIT
 *
 * What a data set has of each field and class: as its manifest says, or its index. */
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "reader/dataset.h"
#include "reader/view/labels.h"
#include "reader/view/view.h"

/* ---- Of a union and of a part ---------------------------------------------------------------- */

/* Under the numbers of the union. */
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

struct manifest_images dataset_images(const struct sheaf_dataset *d)
{
    struct manifest_images all = d->images;

    for (size_t i = 0; d->sources != NULL && d->view == NULL && i < d->source_count; i++)
        all = manifest_images_sum(all, d->sources[i]->images);
    return all;
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

static void count_label(const struct sheaf_dataset *d, uint32_t label, uint64_t *samples)
{
    const uint32_t base = (uint32_t)d->manifest.label_base + 1;

    if (label >= base && label - base < d->manifest.class_count)
        samples[label - base]++;
}

/* Of a view, the chosen ones. */
static void count_labels(const struct sheaf_dataset *d, const uint32_t *labels, uint64_t *samples)
{
    for (uint64_t i = 0; d->view == NULL && i < dataset_samples(d); i++)
        count_label(d, labels[i], samples);
    for (size_t s = 0; d->view != NULL && s < d->source_count; s++) {
        const struct order_chosen *c = &d->view->chosen[s];

        for (uint64_t i = 0; i < c->chosen.count; i++) {
            uint64_t run;

            count_label(d, labels[c->first_number + selection_number(&c->chosen, i, &run)],
                        samples);
        }
    }
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
    labels = calloc(dataset_samples(d) + 1, sizeof(labels[0]));
    if (labels == NULL)
        return err_memory(err, dataset_samples(d) * sizeof(labels[0]));
    code = labels_read(d, labels, err);
    if (code == SHEAF_OK)
        count_labels(d, labels, samples);
    free(labels);
    return code != SHEAF_END ? code
         : err_set(err, SHEAF_ERR_UNSUPPORTED, "%s: its index has no labels", d->url);
}
