/* SPDX-License-Identifier: MIT
 *
 * The plan for the crops that are made of every picture. Its functions check the options of the
 * caller, and compute the crops for a picture of a given size. */
#ifndef IMAGE_CROP_PLAN_H
#define IMAGE_CROP_PLAN_H

#include "image/crop_draw.h"
#include "image/resample_axis.h"

#define CROPS_MOST 1024u        /* largest number of crops of one picture */
#define MASKS_MOST 64u

/* One crop of each picture. */
struct crop_view {
    uint32_t width, height;     /* size of the crop in pixels */
    size_t group;               /* index of its element of options.views */
    /* offset in bytes of this crop from the beginning of its group; the crops of a group follow
     * each other in memory */
    size_t at;
    struct crop_range range;
};

struct crop_plan {
    enum sheaf_crop crop;
    uint32_t resize;
    enum resample_filter filter;
    enum sheaf_layout layout;
    enum sheaf_pillow order;
    bool decodes_whole;
    char **masks;               /* names of the fields that contain masks */
    size_t mask_count;
    struct crop_view *views;
    size_t count;
    /* bytes of the crops of one picture, for each group */
    size_t *group_bytes;
    /* number of groups, and total size in bytes of all crops of one picture */
    size_t group_count, bytes;
};

/* Checks the options and makes the plan. Returns SHEAF_ERR_ARGUMENT if an option is not valid. The
 * message says what was found and what is expected. */
int crop_plan_open(struct crop_plan *plan, const struct sheaf_pixels_options *options,
                   struct sheaf_error *err);
void crop_plan_close(struct crop_plan *plan);

/* How a crop is made from a picture: the rectangle `box` is resized to `full_width` x `full_height`
 * pixels. The crop is the part of the result that begins at column `left` and row `top`. */
struct crop_cut {
    struct crop box;
    uint32_t full_width, full_height;
    uint32_t left, top;
};

/* Computes how crop number `view` is made from a picture of this size. */
struct crop_cut crop_plan_cut(const struct crop_plan *plan, size_t view, uint64_t seed,
                              uint32_t width, uint32_t height);
/* Returns the rectangle of the original picture that a crop shows. If the crop shows only a part of
 * the resized box, this part is converted to positions in the picture, rounded to whole pixels. */
struct sheaf_crop_box crop_cut_box(const struct crop_cut *cut, const struct crop_view *view);

#endif
