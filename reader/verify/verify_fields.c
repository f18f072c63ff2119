/* SPDX-License-Identifier: MIT
 *
 * Compares counts of fields and classes with the manifest; see verify_fields.h. */
#include "reader/verify/verify_fields.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"

static void verify_fields_report(const struct sheaf_dataset *source,
                                 const struct sheaf_verify_options *options,
                                 const struct sheaf_error *error,
                                 struct sheaf_verify_result *result)
{
    result->problems++;
    if (options->report != NULL)
        options->report(options->context, source->url, error);
}

static void compare_fields(const struct sheaf_dataset *source,
                           const struct sheaf_verify_options *options, const struct tally *counted,
                           struct sheaf_verify_result *result)
{
    const char *name, *what = tally_difference(counted, &source->manifest.fields,
                                               source->manifest.edit_count != 0, &name);
    struct sheaf_error error;

    if (what == NULL)
        return;
    err_set(&error, SHEAF_ERR_CORRUPT, "%s: \"fields\": what the manifest says of the field \"%s\" "
            "(%s) is not what was counted", source->url, name, what);
    verify_fields_report(source, options, &error, result);
}

static void verify_fields_compare_classes(const struct sheaf_dataset *source,
                                          const struct sheaf_verify_options *options,
                                          const atomic_uint_fast64_t *counted,
                                          struct sheaf_verify_result *result)
{
    const struct manifest *m = &source->manifest;
    struct sheaf_error error;
    size_t i = 0;

    while (m->class_samples != NULL && i < m->class_count && counted[i] == m->class_samples[i])
        i++;
    if (m->class_samples == NULL || i == m->class_count)
        return;
    err_set(&error, SHEAF_ERR_CORRUPT, "%s: \"class_samples\": the class \"%.200s\" has %" PRIu64
            " sample%s, but the manifest says %" PRIu64, source->url, m->classes[i], counted[i],
            plural(counted[i]), m->class_samples[i]);
    verify_fields_report(source, options, &error, result);
}

static void verify_fields_tell(const struct sheaf_verify_options *options, const struct tally *all)
{
    struct sheaf_field_info info;

    for (size_t i = 0; i < all->count && !all->is_unknown; i++) {
        dataset_describe_field(&all->fields[i], &info);
        options->field(options->context, &info, all->samples);
    }
}

static void verify_fields_find_manifest(const struct sheaf_dataset *source,
                                        const struct sheaf_verify_options *options,
                                        struct sheaf_verify_result *result)
{
    struct sheaf_error error;

    if (source->lost_manifest == NULL || options->part != 0)
        return;
    err_set(&error, SHEAF_ERR_NOT_FOUND, "%s: " MANIFEST_NAME " is missing, although there is a "
            INDEX_NAME ": copy " MANIFEST_NAME ", too, or index the shards again",
            source->lost_manifest);
    verify_fields_report(source, options, &error, result);
}

int verify_fields(const struct sheaf_dataset *d, const struct sheaf_verify_options *options,
                  const struct tally *counted, const atomic_uint_fast64_t *classes,
                  struct sheaf_verify_result *result, struct sheaf_error *err)
{
    const bool is_whole = options->parts <= 1 && result->problems == 0;
    struct tally all = { .samples = 0 };
    int code = SHEAF_OK;

    for (size_t i = 0; i < dataset_source_count(d) && code == SHEAF_OK; i++) {
        const struct sheaf_dataset *source = dataset_source_at(d, i);

        if (is_whole && source->has_manifest) {
            compare_fields(source, options, &counted[i], result);
            verify_fields_compare_classes(source, options, classes, result);
        }
        verify_fields_find_manifest(source, options, result);
        classes += source->manifest.class_count;
        if (options->field != NULL)
            code = tally_merge(&all, &counted[i], err);
    }
    if (code == SHEAF_OK && options->field != NULL)
        verify_fields_tell(options, &all);
    tally_clear(&all);
    return code;
}

void verify_fields_free(const struct sheaf_dataset *d, struct tally *counted)
{
    for (size_t i = 0; counted != NULL && i < dataset_source_count(d); i++)
        tally_clear(&counted[i]);
    free(counted);
}

uint64_t verify_unused(const atomic_uint_fast64_t *samples, size_t count)
{
    uint64_t unused = 0;

    for (size_t i = 0; i < count; i++)
        unused += atomic_load_explicit(&samples[i], memory_order_relaxed) == 0;
    return unused;
}
