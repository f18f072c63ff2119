/* SPDX-License-Identifier: MIT
 *
 * Parses the text by which the user chooses crops of images. The text has the same names and values
 * as the arguments of sheaf.Pixels in Python; see crop_files.h. */
#include "tools/crops/crop_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Takes a number, and moves past it. */
static bool crop_choice_take_number(const char **at, double *value)
{
    char *end;

    if (!isdigit((unsigned char)**at) && **at != '.')
        return false;
    *value = strtod(*at, &end);
    *at = end;
    return true;
}

static bool take_side(const char **at, uint32_t *side)
{
    double value;

    if (!crop_choice_take_number(at, &value) || value < 1 || value > 65535
        || value != (uint32_t)value)
        return false;
    *side = (uint32_t)value;
    return true;
}

/* Takes "224" or "WIDTHxHEIGHT", and moves past it. */
static bool take_sides(const char **at, uint32_t *width, uint32_t *height)
{
    if (!take_side(at, width))
        return false;
    *height = *width;
    if (**at != 'x')
        return true;
    ++*at;
    return take_side(at, height);
}

static bool take_range(const char *text, double range[2])
{
    if (!crop_choice_take_number(&text, &range[0]) || *text++ != ':'
        || !crop_choice_take_number(&text, &range[1]))
        return false;
    return *text == '\0';
}

static bool take_word(const char *text, const char *const *words, size_t count, unsigned *value)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (unsigned)i;
            return true;
        }
    return false;
}

/* Parses VALUE in the part "crop=VALUE" of the user's choice of crops. The functions take_... that
 * follow parse the values of other names, such as "resize=VALUE". */

static bool take_crop(struct crop_choice *c, const char *text)
{
    static const char *const words[] = { "random", "center", "whole" };
    unsigned value = 0;
    const bool taken = take_word(text, words, 3, &value);

    c->options.crop = (enum sheaf_crop)value;
    return taken;
}

static bool take_filter(struct crop_choice *c, const char *text)
{
    static const char *const words[] = { "bilinear", "bicubic", "lanczos" };
    unsigned value = 0;
    const bool taken = take_word(text, words, 3, &value);

    c->options.filter = (enum sheaf_resampling)value;
    return taken;
}

static bool crop_choice_take_order(struct crop_choice *c, const char *text)
{
    static const char *const words[] = { "pillow12", "pillow13" };
    unsigned value = 0;
    const bool taken = take_word(text, words, 2, &value);

    c->options.order = (enum sheaf_pillow)value;
    return taken;
}

static bool take_resize(struct crop_choice *c, const char *text)
{
    return take_side(&text, &c->options.resize) && *text == '\0';
}

static bool take_scale(struct crop_choice *c, const char *text)
{
    return take_range(text, c->options.scale);
}

static bool take_ratio(struct crop_choice *c, const char *text)
{
    return take_range(text, c->options.ratio);
}

static bool take_flip(struct crop_choice *c, const char *text)
{
    return crop_choice_take_number(&text, &c->options.flip) && *text == '\0';
}

static bool crop_choice_take_field(struct crop_choice *c, const char *text)
{
    c->field = text;
    return *text != '\0';
}

static bool take_mask(struct crop_choice *c, const char *text)
{
    if (*text == '\0' || c->options.mask_count == CROP_MASKS_MOST)
        return false;
    c->masks[c->options.mask_count++] = text;
    return true;
}

/* Takes COUNT:SIZE:LOW:HIGH. */
static bool take_view(struct crop_choice *c, const char *text)
{
    struct sheaf_pixels_view *view = &c->views[c->options.view_count];

    if (c->options.view_count == CROP_VIEWS_MOST || !take_side(&text, &view->count) ||
        *text++ != ':' || !take_sides(&text, &view->width, &view->height) || *text++ != ':')
        return false;
    c->options.view_count++;
    return take_range(text, view->scale);
}

static const struct setting {
    const char *name, *expected;
    bool (*take)(struct crop_choice *choice, const char *text);
} settings[] = {
    { "crop", "random, center or whole", take_crop },
    { "resize", "a number of pixels", take_resize },
    { "scale", "two numbers, as in 0.08:1", take_scale },
    { "ratio", "two numbers, as in 0.75:1.3333", take_ratio },
    { "flip", "a probability, 0 to 1", take_flip },
    { "filter", "bilinear, bicubic or lanczos", take_filter },
    { "order", "pillow12 or pillow13", crop_choice_take_order },
    { "field", "the name of a field", crop_choice_take_field },
    { "mask", "the name of a field, for at most 8 masks", take_mask },
    { "view", "COUNT:SIZE:LOW:HIGH, as in 2:224:0.32:1, for at most 16 views", take_view },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static int take_setting(struct crop_choice *c, char *text)
{
    char *value = strchr(text, '=');

    if (value != NULL)
        *value++ = '\0';
    for (size_t i = 0; i < SETTINGS && value != NULL; i++)
        if (strcmp(text, settings[i].name) == 0)
            return settings[i].take(c, value) ? -1
                 : misuse("--pixels: %s is %s, expected %s", text, shown(value),
                          settings[i].expected);
    return misuse("--pixels: %s is not a setting: expected crop, resize, scale, ratio, flip, "
                  "filter, order, field, mask or view, each with = and its value", shown(text));
}

static int take_size(struct crop_choice *c, const char *text)
{
    const char *at = text;

    if (take_sides(&at, &c->options.width, &c->options.height) && *at == '\0')
        return -1;
    return misuse("--pixels: %s is not a size, expected a number of pixels or WIDTHxHEIGHT, as in "
                  "224 or 320x240", shown(text));
}

int crop_choice_parse(struct crop_choice *c, const char *text)
{
    char *rest, *part;
    bool has_size;
    int status = -1;

    *c = (struct crop_choice){ .text = strdup(text == NULL ? "224" : text) };
    sheaf_pixels_options_init(&c->options, sizeof(c->options));
    if (c->text == NULL) {
        complain("out of memory");
        return STATUS_FAILURE;
    }
    rest = c->text;
    has_size = rest[strcspn(rest, ",=")] != '=';
    if (has_size)
        status = take_size(c, strsep(&rest, ","));
    while (status < 0 && (part = strsep(&rest, ",")) != NULL)
        status = take_setting(c, part);
    if (status < 0 && has_size == (c->options.view_count != 0))
        status = misuse("--pixels: expected a size, as in 224, or views, each with a size, as in "
                        "view=2:224:0.32:1,view=8:96:0.05:0.32");
    c->options.masks = c->masks;
    c->view_count = has_size ? 1 : c->options.view_count;
    if (has_size)
        c->views[0] = (struct sheaf_pixels_view){ .count = 1, .width = c->options.width,
                                                  .height = c->options.height };
    else
        c->options.views = c->views;
    return status;
}

void crop_choice_free(struct crop_choice *c)
{
    free(c->text);
    c->text = NULL;
}
