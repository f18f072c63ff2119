/* SPDX-License-Identifier: MIT
 *
 * Single options of a manifest, which has them as the text of a JSON object. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "formats/json_load.h"
#include "formats/manifest.h"

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

int manifest_growth_option(const struct manifest *m, const char *name, char **value,
                           struct sheaf_error *err)
{
    return text_option(m->growth_count == 0 ? NULL : m->growths[m->growth_count - 1].options_json,
                       name, value, err);
}

int manifest_has_option(const struct manifest *m, const char *name, bool *has,
                        struct sheaf_error *err)
{
    json_t *option;
    const int code = find_option(m->options_json, name, &option, err);

    *has = option != NULL;
    json_decref(option);
    return code;
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

/* Sums of what people may have written into a manifest wrap, and harm nobody. */
int manifest_images(const struct manifest *m, struct manifest_images *images,
                    struct sheaf_error *err)
{
    int code = SHEAF_OK;

    *images = (struct manifest_images){ .converted = 0 };
    for (size_t i = 0; i <= m->growth_count && code == SHEAF_OK; i++) {
        const char *all = i == 0 ? m->options_json : m->growths[i - 1].options_json;
        uint64_t converted = 0, resized = 0;

        code = number_option(all, "images_converted", &converted, err);
        if (code == SHEAF_OK)
            code = number_option(all, "images_resized", &resized, err);
        images->converted += converted;
        images->resized += resized;
    }
    return code;
}
