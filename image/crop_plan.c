/* SPDX-License-Identifier: MIT
 *
 * Checks the options of crops; see crop_plan.h. Sizes are computed as in torchvision. The shorter
 * side of the picture is resized to `resize` pixels, and the length of the other side is rounded
 * down. The offset of a crop in the middle is rounded to the nearest number, and halves are rounded
 * to even. */
#include "image/crop_plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sized.h"
#include "image/room.h"

#define SIDE_MOST 16384u        /* largest width or height of a crop */
/* largest total size of the crops that are made of one picture, in bytes */
#define BYTES_MOST ((size_t)1 << 30)

void sheaf_pixels_options_init(struct sheaf_pixels_options *options, size_t size)
{
    const struct sheaf_pixels_options defaults = {
        .sizeof_options = size, .width = 224, .height = 224, .scale = { 0.08, 1 },
        .ratio = { 3. / 4, 4. / 3 }, .flip = 0.5,
    };

    sized_give(options, size, &defaults, sizeof(defaults));
    options->sizeof_options = size;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static int crop_plan_check_range(const char *name, const double range[2], double most,
                                 struct sheaf_error *err)
{
    if (range[0] > 0 && range[0] <= range[1] && range[1] <= most)
        return SHEAF_OK;
    if (most == 1)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%s is %g to %g: expected two numbers above 0 and "
                       "at most 1, the smaller one first", name, range[0], range[1]);
    return err_set(err, SHEAF_ERR_ARGUMENT, "%s is %g to %g: expected two numbers from 1/%g to %g, "
                   "the smaller one first", name, range[0], range[1], most, most);
}

static int check_side(const char *name, uint32_t side, struct sheaf_error *err)
{
    if (side >= 1 && side <= SIDE_MOST)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_ARGUMENT, "the %s of a crop is %" PRIu32 " pixels: expected 1 to "
                   "%u", name, side, SIDE_MOST);
}

static int check_choices(const struct sheaf_pixels_options *o, struct sheaf_error *err)
{
    const struct { const char *name; unsigned value, most; } choices[] = {
        { "crop", o->crop, SHEAF_CROP_WHOLE }, { "filter", o->filter, SHEAF_LANCZOS },
        { "layout", o->layout, SHEAF_NHWC }, { "order", o->order, SHEAF_PILLOW13 },
    };

    for (size_t i = 0; i < COUNT_OF(choices); i++)
        if (choices[i].value > choices[i].most)
            return err_set(err, SHEAF_ERR_ARGUMENT, "%s is %u: expected 0 to %u", choices[i].name,
                           choices[i].value, choices[i].most);
    if (!(o->flip >= 0 && o->flip <= 1))
        return err_set(err, SHEAF_ERR_ARGUMENT, "flip is %g: expected a probability, 0 to 1",
                       o->flip);
    if (o->resize > SIDE_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "resize is %" PRIu32 " pixels: expected at most "
                       "%u", o->resize, SIDE_MOST);
    if (o->resize != 0 && o->crop != SHEAF_CROP_CENTER)
        return err_set(err, SHEAF_ERR_ARGUMENT, "resize is %" PRIu32 ", but only crop=center is "
                       "made of a resized picture: give crop=center, or leave resize out",
                       o->resize);
    if (o->views != NULL && o->crop != SHEAF_CROP_RANDOM)
        return err_set(err, SHEAF_ERR_ARGUMENT, "several views are random crops: crop must be 0");
    return crop_plan_check_range("ratio", o->ratio, 1000, err);
}

static int check_view(const struct crop_plan *plan, const struct sheaf_pixels_view *view,
                      struct sheaf_error *err)
{
    int code = check_side("width", view->width, err);

    if (code == SHEAF_OK)
        code = check_side("height", view->height, err);
    if (code == SHEAF_OK)
        code = crop_plan_check_range("scale", view->scale, 1, err);
    if (code == SHEAF_OK && (view->count == 0 || view->count > CROPS_MOST - plan->count))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "%" PRIu32 " crops of a view: expected 1 or more, "
                       "and at most %u of a picture", view->count, CROPS_MOST);
    if (code == SHEAF_OK && plan->crop == SHEAF_CROP_CENTER &&
        plan->resize < MAX(view->width, view->height))
        code = err_set(err, SHEAF_ERR_ARGUMENT, "resize is %" PRIu32 " pixels, but the crop has "
                       "%" PRIu32 " x %" PRIu32 ": it must not be smaller", plan->resize,
                       view->width, view->height);
    return code;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static int add_group(struct crop_plan *plan, const struct sheaf_pixels_options *o,
                     const struct sheaf_pixels_view *view, struct sheaf_error *err)
{
    const size_t bytes = (size_t)view->width * view->height * 3;
    const struct crop_range range = {
        .scale = { view->scale[0], view->scale[1] }, .ratio = { o->ratio[0], o->ratio[1] },
        .log_ratio = { crop_log(o->ratio[0]), crop_log(o->ratio[1]) }, .flip = o->flip,
    };
    struct crop_view *more = realloc(plan->views, (plan->count + view->count) * sizeof(more[0]));

    if (more == NULL)
        return err_memory(err, view->count * sizeof(more[0]));
    plan->views = more;
    for (uint32_t i = 0; i < view->count; i++)
        plan->views[plan->count++] = (struct crop_view){
            .width = view->width, .height = view->height, .group = plan->group_count,
            .at = i * bytes, .range = range,
        };
    plan->group_bytes[plan->group_count++] = view->count * bytes;
    plan->bytes += view->count * bytes;
    if (plan->bytes > BYTES_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "the crops of one picture have %zu bytes: at most "
                       "%zu are made", plan->bytes, BYTES_MOST);
    return SHEAF_OK;
}

static int copy_masks(struct crop_plan *plan, const struct sheaf_pixels_options *o,
                      struct sheaf_error *err)
{
    if (o->mask_count > MASKS_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%zu masks: expected at most %u", o->mask_count,
                       MASKS_MOST);
    plan->masks = calloc(o->mask_count + 1, sizeof(plan->masks[0]));
    if (plan->masks == NULL)
        return err_memory(err, o->mask_count * sizeof(plan->masks[0]));
    for (size_t i = 0; i < o->mask_count; i++) {
        if (o->masks == NULL || o->masks[i] == NULL || o->masks[i][0] == '\0')
            return err_set(err, SHEAF_ERR_ARGUMENT, "mask %zu has no name: expected the name of a "
                           "field", i);
        plan->masks[i] = strdup(o->masks[i]);
        if (plan->masks[i] == NULL)
            return err_memory(err, strlen(o->masks[i]) + 1);
        plan->mask_count++;
    }
    return SHEAF_OK;
}

int crop_plan_open(struct crop_plan *plan, const struct sheaf_pixels_options *given,
                   struct sheaf_error *err)
{
    static const enum resample_filter filters[] = {
        [SHEAF_BILINEAR] = RESAMPLE_BILINEAR, [SHEAF_BICUBIC] = RESAMPLE_BICUBIC,
        [SHEAF_LANCZOS] = RESAMPLE_LANCZOS,
    };
    struct sheaf_pixels_options o;
    struct sheaf_pixels_view one;
    int code;

    *plan = (struct crop_plan){ .count = 0 };
    sheaf_pixels_options_init(&o, sizeof(o));
    sized_take(&o, sizeof(o), given);
    code = check_choices(&o, err);
    if (code != SHEAF_OK)
        return code;
    one = (struct sheaf_pixels_view){ 1, o.width, o.height, { o.scale[0], o.scale[1] } };
    if (o.views == NULL) {
        o.views = &one;
        o.view_count = 1;
    }
    plan->crop = o.crop;
    plan->resize = o.resize != 0 ? o.resize : MAX(o.width, o.height);
    plan->filter = filters[o.filter];
    plan->layout = o.layout;
    plan->order = o.order;
    plan->decodes_whole = o.decodes_whole != 0;
    if (o.view_count == 0 || o.view_count > CROPS_MOST)
        return err_set(err, SHEAF_ERR_ARGUMENT, "%zu views: expected 1 to %u", o.view_count,
                       CROPS_MOST);
    code = copy_masks(plan, &o, err);
    if (code != SHEAF_OK)
        return code;
    plan->group_bytes = calloc(o.view_count, sizeof(plan->group_bytes[0]));
    if (plan->group_bytes == NULL)
        return err_memory(err, o.view_count * sizeof(plan->group_bytes[0]));
    for (size_t i = 0; i < o.view_count && code == SHEAF_OK; i++) {
        code = check_view(plan, &o.views[i], err);
        if (code == SHEAF_OK)
            code = add_group(plan, &o, &o.views[i], err);
    }
    return code;
}

void crop_plan_close(struct crop_plan *plan)
{
    for (size_t i = 0; i < plan->mask_count; i++)
        free(plan->masks[i]);
    free(plan->masks);
    free(plan->views);
    free(plan->group_bytes);
}

/* ---- A picture ------------------------------------------------------------------------------- */

static struct crop_cut cut_center(const struct crop_plan *plan, const struct crop_view *view,
                                  uint32_t width, uint32_t height)
{
    const uint32_t shorter = MIN(width, height), longer = MAX(width, height);
    const uint32_t other = (uint32_t)((uint64_t)plan->resize * longer / shorter);
    struct crop_cut cut = {
        .box = { .width = width, .height = height },
        .full_width = width <= height ? plan->resize : other,
        .full_height = width <= height ? other : plan->resize,
    };

    cut.left = (uint32_t)rint((cut.full_width - view->width) / 2.0);
    cut.top = (uint32_t)rint((cut.full_height - view->height) / 2.0);
    return cut;
}

struct crop_cut crop_plan_cut(const struct crop_plan *plan, size_t i, uint64_t seed,
                              uint32_t width, uint32_t height)
{
    const struct crop_view *view = &plan->views[i];
    struct crop_cut cut = {
        .box = { .width = width, .height = height },
        .full_width = view->width, .full_height = view->height,
    };

    if (plan->crop == SHEAF_CROP_CENTER)
        return cut_center(plan, view, width, height);
    if (plan->crop == SHEAF_CROP_RANDOM)
        cut.box = crop_draw(&view->range, seed, (uint32_t)i, width, height);
    return cut;
}

/* Converts `at`, a position along one side of a resized box, to a position in the box before
 * resizing. `full` is the length of this side after resizing, and `of` its length before, in
 * pixels. */
static int32_t back(uint32_t at, uint32_t full, uint32_t of)
{
    return (int32_t)rint((double)at * of / full);
}

struct sheaf_crop_box crop_cut_box(const struct crop_cut *cut, const struct crop_view *view)
{
    const struct crop *box = &cut->box;

    return (struct sheaf_crop_box){
        .top = (int32_t)box->top + back(cut->top, cut->full_height, box->height),
        .left = (int32_t)box->left + back(cut->left, cut->full_width, box->width),
        .height = back(view->height, cut->full_height, box->height),
        .width = back(view->width, cut->full_width, box->width),
        .flipped = box->flipped,
    };
}
