/* SPDX-License-Identifier: MIT
 *
 * The images of a sample: checked by decoding, or replaced by plain JPEGs that every loader takes.
 * What need not change stays byte for byte. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "formats/jpeg.h"
#include "packer/block.h"

static bool ends_in(const char *name, const char *end)
{
    const size_t size = strlen(name), tail = strlen(end);

    return size >= tail && strcasecmp(name + size - tail, end) == 0 &&
           (size == tail || name[size - tail - 1] == '.');
}

bool block_is_jpeg(const char *name)
{
    return ends_in(name, "jpg") || ends_in(name, "jpeg");
}

static bool is_image(const struct sheaf_field *field)
{
    static const char *const names[] = { "png", "gif", "bmp", "webp" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (ends_in(field->name, names[i]))
            return true;
    return block_is_jpeg(field->name);
}

/* Whether an error is of the image, and not of the machine. */
static bool is_of_image(int code)
{
    return code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_UNSUPPORTED;
}

int block_check_image(struct block *b, const struct sheaf_field *field, struct sheaf_error *err)
{
    const uint8_t *data = field->data;
    int code;

    /* what was made here is whole */
    if (!is_image(field) || (b->converted.data != NULL && data >= b->converted.data &&
                             data < b->converted.data + b->converted.size))
        return SHEAF_OK;
    code = image_check(field->data, field->size, b->room, err);
    if (is_of_image(code))
        b->refused = field;
    return code;
}

/* ---- Conversion ------------------------------------------------------------------------------ */

/* Why the image is to become another one; empty if it is not. */
static void why_convert(const struct block *b, const struct image_look *look, char *why,
                        size_t size)
{
    why[0] = '\0';
    if (!b->setup->fix_images)
        return;
    if (look->kind != IMAGE_JPEG)
        snprintf(why, size, "was %s", image_kind_name(look->kind));
    else if (look->components == 4 && look->orientation != 1)
        snprintf(why, size, "was CMYK or YCCK; was turned (EXIF orientation %u)",
                 look->orientation);
    else if (look->components == 4)
        snprintf(why, size, "was CMYK or YCCK");
    else if (look->orientation != 1)
        snprintf(why, size, "was turned (EXIF orientation %u)", look->orientation);
}

/* Of what is not to be fixed, the check is to name what is wrong. */
static bool is_to_shrink(const struct block *b, const struct image_look *look)
{
    uint32_t width, height;

    return look->kind == IMAGE_JPEG && look->components != 4 &&
           image_shrinks(look, &b->setup->images, &width, &height);
}

static int note(struct block *b, const struct catalog_file *file, const char *why,
                struct sheaf_error *err)
{
    struct block_problem conversion = { .code = SHEAF_OK };
    int code = block_add_text(b, catalog_shown(file), &conversion.path, err);

    if (code == SHEAF_OK)
        code = block_add_text(b, why, &conversion.reason, err);
    return code == SHEAF_OK
         ? buf_append(&b->conversions, &conversion, sizeof(conversion), err) : code;
}

/* The JPEGs of a sample have outgrown what is usual: the next try has twice as much. */
static int outgrow(struct block *b, uint64_t bytes, int code)
{
    b->extra = 2 * b->extra + bytes;
    b->outgrown = true;
    return code;
}

/* Of a JPEG that is not whole, what is said of those that are only checked. */
static int refuse(struct block *b, const struct sheaf_field *field, enum image_kind kind, int code,
                  struct sheaf_error *err)
{
    struct jpeg_info info;
    const char *problem = kind == IMAGE_JPEG ? jpeg_check_whole(field->data, field->size, &info)
                                             : NULL;

    b->refused = field;
    return problem == NULL ? code : err_set(err, SHEAF_ERR_CORRUPT, "%s", problem);
}

static int convert(struct block *b, struct sheaf_field *field, const struct catalog_file *file,
                   struct sheaf_error *err)
{
    const size_t start = b->converted.size;
    struct image_look look;
    char why[120];
    int code;

    if (!image_look(field->data, field->size, &look))
        return SHEAF_OK;        /* the check names what is wrong */
    why_convert(b, &look, why, sizeof(why));
    if (why[0] == '\0' && !is_to_shrink(b, &look))
        return SHEAF_OK;
    code = image_to_jpeg(field->data, field->size, &b->setup->images, b->room, &b->converted, err);
    if (is_of_image(code))
        return refuse(b, field, look.kind, code, err);
    if (code == SHEAF_ERR_LIMIT && err->reason != SHEAF_REASON_MEMORY)
        return outgrow(b, field->size + b->converted.capacity, code);
    if (code != SHEAF_OK)
        return code;
    field->data = b->converted.data + start;
    field->size = b->converted.size - start;
    if (why[0] != '\0')
        return note(b, file, why, err);
    b->resized++;
    return SHEAF_OK;
}

int block_convert_images(struct block *b, struct sheaf_field *fields, size_t count,
                         const struct catalog_file *files, struct sheaf_error *err)
{
    int code = SHEAF_OK;

    b->refused = NULL;
    b->converted.size = 0;
    for (size_t i = 0; i < count && code == SHEAF_OK; i++)
        if (block_is_jpeg(fields[i].name))
            code = convert(b, &fields[i], &files[i], err);
    return code;
}
