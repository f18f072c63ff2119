/* SPDX-License-Identifier: MIT
 *
 * Crops a mask; see crop_mask.h. Each pixel of the crop is a copy of one pixel of the mask, the
 * pixel under its middle. Pillow's filter NEAREST does the same. */
#include "image/crop_mask.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "image/pixels.h"

/* Tells which pixels along one side (horizontal or vertical) of a mask are copied to a crop. First,
 * a box of the mask is resized. Then a window is cut out of the resized box, and this window is the
 * crop. */
struct nearest {
    /* `in` is the length of the box before resizing, and `first` is its position in the mask, both
     * in pixels. */
    uint32_t in, first;
    /* `full` is the length of the resized box, in pixels. `skipped` is the number of its pixels
     * before the window, which are cut off. */
    uint32_t full, skipped;
    bool mirrored;
};

/* Sets at[i] to the column (or row) of the mask from which pixel i of the crop is copied. Each
 * position in the mask is computed from the position before it by adding a fixed step, as in
 * Pillow. A multiplication would be rounded differently, and some pixels would differ. */
static void find_nearest(const struct nearest *n, uint32_t count, uint32_t *at)
{
    const double step = (double)n->in / n->full;
    double sum = step * 0.5;

    for (uint32_t i = 0; i < n->skipped + count; i++, sum += step) {
        const uint32_t x = i - n->skipped;

        if (i >= n->skipped)
            at[n->mirrored ? count - 1 - x : x] = n->first + MIN((uint32_t)sum, n->in - 1);
    }
}

static int crop_view_of(const struct crop_view *view, const struct crop_cut *cut,
                        const struct pixels *mask, uint8_t *out, struct sheaf_error *err)
{
    const struct crop *box = &cut->box;
    const struct nearest across = { box->width, box->left, cut->full_width, cut->left,
                                    box->flipped };
    const struct nearest down = { box->height, box->top, cut->full_height, cut->top, false };
    uint32_t *columns = malloc(((size_t)view->width + view->height) * sizeof(columns[0]));
    uint32_t *rows = columns + view->width;

    if (columns == NULL)
        return err_memory(err, ((size_t)view->width + view->height) * sizeof(columns[0]));
    find_nearest(&across, view->width, columns);
    find_nearest(&down, view->height, rows);
    for (uint32_t y = 0; y < view->height; y++) {
        const uint8_t *row = pixels_row(mask, rows[y]);

        for (uint32_t x = 0; x < view->width; x++)
            *out++ = row[columns[x]];
    }
    free(columns);
    return SHEAF_OK;
}

static int crop_mask_check_size(const struct pixels *mask, const struct image_look *picture,
                                struct sheaf_error *err)
{
    uint32_t width, height;

    if (picture == NULL)
        return SHEAF_OK;
    image_upright_size(picture, &width, &height);
    if (mask->width == width && mask->height == height)
        return SHEAF_OK;
    return err_set(err, SHEAF_ERR_CORRUPT, "a mask of %u x %u pixels, expected %u x %u as of its "
                   "image", mask->width, mask->height, width, height);
}

static uint64_t table_bytes(const struct crop_plan *plan)
{
    uint64_t most = 0;

    for (size_t i = 0; i < plan->count; i++)
        most = MAX(most, (uint64_t)plan->views[i].width + plan->views[i].height);
    return most * sizeof(uint32_t);
}

int crop_mask(const struct crop_plan *plan, const void *data, size_t size,
              const struct image_look *picture, uint64_t seed, const struct image_room *room,
              uint8_t *const *out, struct sheaf_error *err)
{
    struct decoding d = { .data = data, .size = size, .room = room, .divisor = 1,
                          .keeps_values = true, .beside = table_bytes(plan) };
    struct pixels mask = { .data = NULL };
    struct image_look look;
    int code;

    if (image_kind_of(data, size) != IMAGE_PNG)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "a mask that is %s, expected a PNG",
                       image_kinds[image_kind_of(data, size)].name);
    d.copies = image_look(data, size, &look) && look.orientation != 1;
    code = decode_png(&d, &mask, err);
    if (code == SHEAF_OK)
        code = pixels_upright(&mask, look.orientation, err);
    if (code == SHEAF_OK)
        code = crop_mask_check_size(&mask, picture, err);
    for (size_t i = 0; i < plan->count && code == SHEAF_OK; i++) {
        const struct crop_view *view = &plan->views[i];
        const struct crop_cut cut = crop_plan_cut(plan, i, seed, mask.width, mask.height);

        code = crop_view_of(view, &cut, &mask, out[view->group] + view->at / 3, err);
    }
    pixels_close(&mask);
    if (d.taken != 0)
        room->give(room->context, d.taken);
    return code;
}
