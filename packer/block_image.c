/* SPDX-License-Identifier: MIT
 *
 * Replaces the images of a sample by plain JPEGs, which every loader accepts. An image that need
 * not change is copied byte for byte. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/jpeg.h"
#include "packer/block.h"

/* Sets `why` to the reason for which the option fix_images demands that an image is converted. Sets
 * it to "" if the image can stay as it is. */
static void why_convert(const struct block_setup *setup, const struct image_look *look, char *why,
                        size_t size)
{
    why[0] = '\0';
    if (!setup->fix_images)
        return;
    if (look->kind != IMAGE_JPEG)
        snprintf(why, size, "was %s", image_kinds[look->kind].name);
    else if (look->components == 4)
        snprintf(why, size, "was CMYK or YCCK");
    if (look->orientation != 1)
        snprintf(why + strlen(why), size - strlen(why), "%swas turned (EXIF orientation %u)",
                 why[0] == '\0' ? "" : "; ", look->orientation);
}

/* Returns whether a JPEG must be made smaller, because it is larger than the option for resizing
 * allows. Returns false for a CMYK JPEG. Such an image is converted by the option fix_images, or
 * refused by the check of JPEGs. */
static bool is_to_shrink(const struct block_setup *setup, const struct image_look *look)
{
    uint32_t width, height;

    return look->kind == IMAGE_JPEG && look->components != 4 &&
           image_shrinks(look, &setup->images, &width, &height);
}

/* Sets the error for an image that could not be decoded. A damaged JPEG gets the same message as in
 * a run without conversion, so that the message about a file does not depend on the options. */
static int word_fault(const struct sheaf_field *field, enum image_kind kind, int code,
                      struct sheaf_error *err)
{
    struct jpeg_info info;
    const char *problem = kind == IMAGE_JPEG ? jpeg_check_whole(field->data, field->size, &info)
                                             : NULL;

    return problem == NULL ? code : err_set(err, SHEAF_ERR_CORRUPT, "%s", problem);
}

int block_make_image(const struct block_setup *setup, const struct image_room *room,
                     const struct sheaf_field *field, struct buf *out, struct image_change *change,
                     struct sheaf_error *err)
{
    struct image_look look;
    int code;

    *change = (struct image_change){ .resized = false };
    if (!image_look(field->data, field->size, &look))
        return SHEAF_OK;        /* the check reports the error */
    why_convert(setup, &look, change->why, sizeof(change->why));
    if (change->why[0] == '\0' && !is_to_shrink(setup, &look))
        return SHEAF_OK;
    code = image_to_jpeg(field->data, field->size, &setup->images, room, out, err);
    change->resized = change->why[0] == '\0';
    return block_blames_image(code) ? word_fault(field, look.kind, code, err) : code;
}

/* Records that the new JPEGs of a sample did not fit into the block, which needs at least `bytes`
 * more bytes. The block will be encoded again with b->extra bytes more than usual. If it fails
 * again, b->extra is at least doubled, so that a few attempts are enough. */
static int outgrow(struct block *b, uint64_t bytes, int code)
{
    b->extra = 2 * b->extra + bytes;
    b->outgrown = true;
    return code;
}

static int block_image_convert(struct block *b, struct sheaf_field *field,
                               const struct catalog_file *file, struct sheaf_error *err)
{
    const size_t start = b->converted.size;
    struct image_change change;
    int code = block_make_image(b->setup, b->room, field, &b->converted, &change, err);

    if (block_blames_image(code))
        b->refused = field;
    if (code == SHEAF_ERR_LIMIT && err->reason != SHEAF_REASON_MEMORY)
        return outgrow(b, field->size + b->converted.capacity, code);
    if (code != SHEAF_OK || (change.why[0] == '\0' && !change.resized))
        return code;
    field->data = b->converted.data + start;
    field->size = b->converted.size - start;
    b->resized += change.resized;
    return change.resized ? SHEAF_OK : block_note(b, catalog_shown(file), NULL, change.why, err);
}

int block_convert_images(struct block *b, struct sheaf_field *fields, size_t count,
                         const struct catalog_file *files, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    b->refused = NULL;
    b->converted.size = 0;
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        if (image_kind_named(fields[i].name) == IMAGE_JPEG)
            code = block_image_convert(b, &fields[i], &files[i], err);
    return code;
}
