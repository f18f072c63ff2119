/* SPDX-License-Identifier: MIT
 *
 * Copies options from the manifests of data sets to the manifest of a new data set that is made of
 * their samples. The copied options describe the samples: how their names were read, and how their
 * images were changed. So they also hold for the new data set. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "formats/manifest.h"

static const struct { const char *name, *unless; } kept[] = {
    { "class_depth", NULL }, { "field_aliases", NULL }, { "key_end", NULL },
    { "fix_images", NULL }, { "resize", NULL }, { "resize_mode", "resize" },
    { "quality", "image_libraries" }, { "image_libraries", NULL },
};

/* Parses the options that a manifest stores as JSON text. If `text` is NULL or "null", there are no
 * options, and the result is an empty object. */
static int manifest_inherit_load(const char *text, json_t **options, struct sheaf_error *err)
{
    json_error_t found;
    int code;

    text = text == NULL || strcmp(text, "null") == 0 ? "{}" : text;
    code = json_load_text(text, strlen(text), 0, options, &found, err);
    return code == SHEAF_ERR_CORRUPT ? err_set(err, code, "options of a manifest: %s", found.text)
                                     : code;
}

/* Removes an option from `common` if `other` does not have it or has another value for it. */
static void keep_common(json_t *common, const json_t *other)
{
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const json_t *own = json_object_get(common, kept[i].name);

        if (own != NULL && !json_equal(own, json_object_get(other, kept[i].name)))
            json_object_del(common, kept[i].name);
    }
}

/* Sets *common to the options that have the same value in the manifests of all sources. */
static int find_common(const struct manifest *const *sources, size_t count, json_t **common,
                       struct sheaf_error *err)
{
    int code = manifest_inherit_load(count == 0 ? NULL : sources[0]->options_json, common, err);

    for (size_t i = 1; i < count && code == SHEAF_OK; i++) {
        json_t *other;

        code = manifest_inherit_load(sources[i]->options_json, &other, err);
        if (code == SHEAF_OK)
            keep_common(*common, other);
        json_decref(other);
    }
    return code;
}

/* Sets the member `name` of `own` (the options of the new data set) to `count`, a number of changed
 * images. Sets it to null if the number is unknown. Returns true on failure. */
static bool add_count(json_t *own, const char *name, uint64_t count)
{
    return json_object_set_new(own, name, count > INT64_MAX ? json_null()
                                                 : json_integer((json_int_t)count)) != 0;
}

/* Copies the options in `common` to `own`, except options that `own` already has. If an option
 * about images is copied, also copies the number of images that were changed because of it. Returns
 * true on failure. */
static bool add_common(json_t *own, json_t *common, const struct manifest_images *images)
{
    bool has[COUNT_OF(kept)], failed = false;

    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        const char *unless = kept[i].unless != NULL ? kept[i].unless : kept[i].name;

        has[i] = json_object_get(own, unless) != NULL || json_object_get(own, kept[i].name) != NULL;
    }
    for (size_t i = 0; i < COUNT_OF(kept) && !failed; i++) {
        json_t *value = json_object_get(common, kept[i].name);

        if (value == NULL || has[i])
            continue;
        failed = json_object_set(own, kept[i].name, value) != 0;
        if (strcmp(kept[i].name, "fix_images") == 0)
            failed |= add_count(own, "images_converted", images->converted);
        if (strcmp(kept[i].name, "resize") == 0)
            failed |= add_count(own, "images_resized", images->resized);
    }
    return failed;
}

static int sum_images(const struct manifest *const *sources, size_t count, bool whole,
                      struct manifest_images *sum, struct sheaf_error *err)
{
    const uint64_t none = whole ? 0 : IMAGES_UNKNOWN;
    int code = SHEAF_OK;

    *sum = (struct manifest_images){ none, none };
    for (size_t i = 0; i < count && code == SHEAF_OK; i++) {
        struct manifest_images images;

        code = manifest_images(sources[i], &images, err);
        *sum = manifest_images_sum(*sum, images);
    }
    return code;
}

int manifest_inherit(const struct manifest *const *sources, size_t count, bool whole,
                     char **options_json, struct sheaf_error *err)
{
    json_t *own = NULL, *common = NULL;
    struct manifest_images images;
    char *text;
    int code = manifest_inherit_load(*options_json, &own, err);

    if (code == SHEAF_OK)
        code = find_common(sources, count, &common, err);
    if (code == SHEAF_OK)
        code = sum_images(sources, count, whole, &images, err);
    if (code == SHEAF_OK) {
        text = add_common(own, common, &images) ? NULL
                                                : json_dump_text(own, JSON_COMPACT |
                                                                      JSON_SORT_KEYS);
        code = text == NULL ? err_memory(err, strlen(*options_json)) : SHEAF_OK;
    }
    if (code == SHEAF_OK) {
        free(*options_json);
        *options_json = text;
    }
    json_decref(own);
    json_decref(common);
    return code;
}
