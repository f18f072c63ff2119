/* SPDX-License-Identifier: MIT
 *
 * Tests thumbnails. They must have the requested size and the colours of the image. Damaged and
 * hostile images must give an error and do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "base/rng.h"
#include "sheaf.h"
#include "tests/common_random.h"

#define WIDTH 900u
#define HEIGHT 600u
#define ROOM ((size_t)1 << 16)

static unsigned char *jpeg;
static unsigned long jpeg_size_;

/* Makes an image whose left half is red and whose right half is blue. */
static int setup(void **state)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t row[WIDTH * 3] = { 0 };
    JSAMPROW rows = row;

    (void)state;
    for (uint32_t x = 0; x < WIDTH; x++)
        row[x * 3 + (x < WIDTH / 2 ? 0 : 2)] = 250;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &jpeg, &jpeg_size_);
    c.image_width = WIDTH;
    c.image_height = HEIGHT;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < HEIGHT; y++)
        jpeg_write_scanlines(&c, &rows, 1);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(jpeg);
    return 0;
}

/* Finds the first and the last pixel of the first row. */
static void ends_of(const void *data, size_t size, uint8_t first[3], uint8_t last[3])
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    uint8_t row[1024 * 3];
    JSAMPROW rows = row;

    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, data, size);
    jpeg_read_header(&d, TRUE);
    jpeg_start_decompress(&d);
    jpeg_read_scanlines(&d, &rows, 1);
    memcpy(first, row, 3);
    memcpy(last, row + (d.output_width - 1) * 3, 3);
    jpeg_abort_decompress(&d);
    jpeg_destroy_decompress(&d);
}

static void sizes_and_colours(void **state)
{
    static const unsigned sides[] = { 1, 7, 64, 160, 600, 1024 };
    uint8_t out[ROOM], first[3], last[3];
    struct sheaf_image look;

    (void)state;
    assert_int_equal(sheaf_image_look(jpeg, jpeg_size_, &look), SHEAF_OK);
    assert_string_equal(look.format, "JPEG");
    assert_true(look.width == WIDTH && look.height == HEIGHT);
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        size_t size = sizeof(out);
        const uint32_t side = sides[i] < WIDTH ? sides[i] : WIDTH;

        assert_int_equal(sheaf_thumbnail(jpeg, jpeg_size_, sides[i], out, &size, NULL), SHEAF_OK);
        assert_int_equal(sheaf_image_look(out, size, &look), SHEAF_OK);
        assert_int_equal(look.width, side);
        assert_int_equal(look.height, side * HEIGHT / WIDTH > 0 ? side * HEIGHT / WIDTH : 1);
        ends_of(out, size, first, last);
        assert_true(side < 8 || (first[0] > 200 && first[2] < 50));
        assert_true(side < 8 || (last[2] > 200 && last[0] < 50));
    }
}

static void what_is_refused(void **state)
{
    uint8_t out[ROOM];
    size_t size = 100;
    struct sheaf_error err;

    (void)state;
    assert_int_equal(sheaf_thumbnail(jpeg, jpeg_size_, 160, out, &size, &err), SHEAF_ERR_LIMIT);
    size = sizeof(out);
    assert_int_equal(sheaf_thumbnail(jpeg, jpeg_size_, 0, out, &size, &err), SHEAF_ERR_ARGUMENT);
    assert_int_equal(sheaf_thumbnail("text", 4, 160, out, &size, &err), SHEAF_ERR_UNSUPPORTED);
    assert_int_equal(sheaf_thumbnail(jpeg, 0, 160, out, &size, &err), SHEAF_ERR_UNSUPPORTED);
}

/* Changes bytes of the image, or truncates it. */
static void damage_is_an_error_or_a_picture(void **state)
{
    uint8_t *copy = malloc(jpeg_size_), out[ROOM];
    struct rng rng;

    (void)state;
    assert_non_null(copy);
    random_start(&rng);
    for (int k = 0; k < 200; k++) {
        const size_t left = 1 + rng_below(&rng, jpeg_size_);
        size_t size = sizeof(out);
        int code;

        memcpy(copy, jpeg, jpeg_size_);
        for (int i = 0; i < 4; i++)
            copy[rng_below(&rng, k % 2 ? 700 : jpeg_size_)] = (uint8_t)rng_next(&rng);
        code = sheaf_thumbnail(copy, k % 3 ? jpeg_size_ : left, 160, out, &size, NULL);
        assert_true(code == SHEAF_OK || code == SHEAF_ERR_CORRUPT || code == SHEAF_ERR_UNSUPPORTED
                    || code == SHEAF_ERR_LIMIT);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_colours),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(damage_is_an_error_or_a_picture),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
