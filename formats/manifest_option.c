/* SPDX-License-Identifier: MIT
 *
 * Reads single options from a manifest, which stores the options of the packing as the text of a
 * JSON object. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "formats/manifest.h"
#include "formats/manifest_edit.h"

static int find_option(const char *all, const char *name, json_t **value, struct sheaf_error *err)
{
    json_error_t found;
    json_t *options;
    int code;

    all = all == NULL ? "{}" : all;
    code = json_load_text(all, strlen(all), 0, &options, &found, err);
    *value = json_incref(json_object_get(options, name));
    json_decref(options);
    return code == SHEAF_ERR_CORRUPT ? err_set(err, code, "options of a manifest: %s", found.text)
                                     : code;
}

static int text_option(const char *all, const char *name, char **value, struct sheaf_error *err)
{
    json_t *option;
    int code = find_option(all, name, &option, err);
    const char *text = json_string_value(option);

    *value = text == NULL ? NULL : strdup(text);
    if (text != NULL && *value == NULL)
        code = err_memory(err, strlen(text));
    json_decref(option);
    return code;
}

int manifest_option(const struct manifest *m, const char *name, char **value,
                    struct sheaf_error *err)
{
    return text_option(m->options_json, name, value, err);
}

int manifest_option_texts(const struct manifest *m, const char *name, char ***values,
                          struct sheaf_error *err)
{
    size_t count = 0;
    json_t *option;
    int code = find_option(m->options_json, name, &option, err);
    const size_t most = json_array_size(option);

    *values = most == 0 ? NULL : calloc(most + 1, sizeof((*values)[0]));
    if (most != 0 && *values == NULL)
        code = err_memory(err, most * sizeof((*values)[0]));
    for (size_t i = 0; i < most && code == SHEAF_OK; i++) {
        const char *text = json_string_value(json_array_get(option, i));

        if (text == NULL)
            continue;
        (*values)[count] = strdup(text);
        code = (*values)[count++] == NULL ? err_memory(err, strlen(text)) : SHEAF_OK;
    }
    json_decref(option);
    return code;
}

int manifest_change_plan(const struct manifest *m, char **hash, struct sheaf_error *err)
{
    if (!manifest_edit_is_last(m))
        return text_option(m->growth_count == 0 ? NULL
                                                : m->growths[m->growth_count - 1].options_json,
                           "plan", hash, err);
    *hash = strdup(m->edits[m->edit_count - 1].plan);
    return *hash == NULL ? err_memory(err, sizeof(m->edits[0].plan)) : SHEAF_OK;
}

int manifest_options_have(const char *options_json, const char *name, bool *has,
                          struct sheaf_error *err)
{
    json_t *option;
    const int code = find_option(options_json, name, &option, err);

    *has = option != NULL;
    json_decref(option);
    return code;
}

int manifest_has_option(const struct manifest *m, const char *name, bool *has,
                        struct sheaf_error *err)
{
    return manifest_options_have(m->options_json, name, has, err);
}

static int number_option(const char *all, const char *name, uint64_t *value,
                         struct sheaf_error *err)
{
    json_t *option;
    const int code = find_option(all, name, &option, err);

    *value = json_integer_value(option) < 0 ? 0 : (uint64_t)json_integer_value(option);
    json_decref(option);
    return code;
}

int manifest_option_number(const struct manifest *m, const char *name, uint64_t *value,
                           struct sheaf_error *err)
{
    return number_option(m->options_json, name, value, err);
}

/* Sets *value to the count `name`: how many images were changed because the option `option` was
 * set. Sets *value to IMAGES_UNKNOWN if `option` was set but the count is missing or null. The
 * count is missing in manifests of older releases. It is null if the data set was made of only some
 * samples of another data set. */
static int images_option(const char *all, const char *name, const char *option, uint64_t *value,
                         struct sheaf_error *err)
{
    bool counted, changed = false;
    json_t *count;
    int code = find_option(all, name, &count, err);

    counted = json_is_integer(count);
    json_decref(count);
    if (code == SHEAF_OK)
        code = manifest_options_have(all, option, &changed, err);
    *value = IMAGES_UNKNOWN;
    if (code == SHEAF_OK && (counted || !changed))
        code = number_option(all, name, value, err);
    return code;
}

/* Adds two counts. The sum may overflow and wrap. This is harmless, because it happens only if
 * somebody has written huge values into a manifest by hand. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a == IMAGES_UNKNOWN || b == IMAGES_UNKNOWN ? IMAGES_UNKNOWN : a + b;
}

struct manifest_images manifest_images_sum(struct manifest_images a, struct manifest_images b)
{
    return (struct manifest_images){
        .converted = sum_of(a.converted, b.converted), .resized = sum_of(a.resized, b.resized),
    };
}

int manifest_images(const struct manifest *m, struct manifest_images *images,
                    struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *images = (struct manifest_images){ .converted = 0 };
    for (size_t i = 0; i <= m->growth_count && code == SHEAF_OK; i++) {
        const char *all = i == 0 ? m->options_json : m->growths[i - 1].options_json;
        struct manifest_images part = { .converted = 0 };

        code = images_option(all, "images_converted", "fix_images", &part.converted, err);
        if (code == SHEAF_OK)
            code = images_option(all, "images_resized", "resize", &part.resized, err);
        *images = manifest_images_sum(*images, part);
    }
    return code;
}

int manifest_sum(const struct manifest *m, const char *name, uint64_t *sum,
                 struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *sum = 0;
    for (size_t i = 0; i <= m->growth_count && code == SHEAF_OK; i++) {
        uint64_t part;

        code = number_option(i == 0 ? m->options_json : m->growths[i - 1].options_json, name, &part,
                             err);
        *sum += part;
    }
    return code;
}
