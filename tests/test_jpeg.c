/* SPDX-License-Identifier: MIT
 *
 * Tests the markers of a JPEG: its size, and whether the file is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/jpeg.h"

/* An artificial image of 16 x 9 pixels: APP0 that contains a false SOF, fill bytes, SOF0, and two
 * scans that contain stuffed bytes and a restart marker. */
static const uint8_t image[] = {
    0xff, 0xd8,
    0xff, 0xe0, 0x00, 0x08, 0xff, 0xc0, 0xff, 0xd9, 0xff, 0xda,
    0xff, 0xff, 0xff, 0xc2, 0x00, 0x11, 0x08, 0x00, 0x09, 0x00, 0x10, 0x03,
    0x01, 0x11, 0x00, 0x02, 0x11, 0x00, 0x03, 0x11, 0x00,
    0xff, 0xda, 0x00, 0x04, 0x01, 0x02, 0x12, 0xff, 0x00, 0x34, 0xff, 0xd3, 0x56,
    0xff, 0xc4, 0x00, 0x03, 0x07,
    0xff, 0xda, 0x00, 0x02, 0x99, 0xff, 0xff, 0xd9,
};
#define FRAME_AT 12             /* the fill bytes before SOF */
#define FRAME_END 33

static void finds_the_size(void **state)
{
    struct jpeg_info info;

    (void)state;
    assert_true(jpeg_size(image, sizeof(image), &info));
    assert_int_equal(info.width, 16);
    assert_int_equal(info.height, 9);
    assert_int_equal(info.components, 3);
}

static void is_sound(void **state)
{
    struct jpeg_info info;
    uint8_t trailed[sizeof(image) + 5];

    (void)state;
    assert_null(jpeg_check(image, sizeof(image), &info));
    assert_int_equal(info.width, 16);
    assert_int_equal(info.height, 9);
    memset(trailed, 0xff, sizeof(trailed));
    memcpy(trailed, image, sizeof(image));
    assert_null(jpeg_check(trailed, sizeof(trailed), &info));
}

/* Uses memory of exactly the image's size, so that a read past its end is noticed. */
static void finds_every_truncation(void **state)
{
    struct jpeg_info info;
    size_t size;

    (void)state;
    for (size = 0; size < sizeof(image); size++) {
        uint8_t *copy = malloc(size + 1);
        uint8_t *data = copy + 1;       /* ends where the memory ends */
        const char *problem;

        assert_non_null(copy);
        memcpy(data, image, size);
        problem = jpeg_check(data, size, &info);
        assert_non_null(problem);
        assert_non_null(strstr(problem, size == 0 ? "empty" : size < 3 ? "not a JPEG"
                                                                      : "truncated"));
        assert_int_equal(jpeg_size(data, size, &info), size >= FRAME_END);
        free(copy);
    }
}

static const char *problem_with(size_t at, uint8_t byte, size_t size)
{
    uint8_t copy[sizeof(image)];
    struct jpeg_info info;

    memcpy(copy, image, sizeof(image));
    copy[at] = byte;
    return jpeg_check(copy, size, &info);
}

static void says_what_is_wrong(void **state)
{
    static const uint8_t png[] = "\x89PNG\r\n\x1a\n";
    static const uint8_t bare[] = { 0xff, 0xd8, 0xff, 0xd9 };
    struct jpeg_info info;

    (void)state;
    assert_non_null(strstr(jpeg_check(png, 8, &info), "not a JPEG"));
    assert_non_null(strstr(jpeg_check(bare, 4, &info), "no image data"));
    assert_non_null(strstr(problem_with(FRAME_AT + 11, 4, sizeof(image)), "CMYK"));
    assert_non_null(strstr(problem_with(FRAME_AT + 8, 0, sizeof(image)), "frame header"));
    assert_non_null(strstr(problem_with(5, 1, sizeof(image)), "damaged"));
}

/* Tests bytes between two segments. They are skipped as in libjpeg, including stuffed bytes. */
static void passes_over_bytes_between_segments(void **state)
{
    static const uint8_t between[] = { 0x00, 0x00, 0x11, 0xff, 0x00, 0x22 };
    static const size_t places[] = { 12, FRAME_END, sizeof(image) - 3 };
    struct jpeg_info info;

    (void)state;
    assert_null(problem_with(FRAME_AT, 0x11, sizeof(image)));
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        uint8_t copy[sizeof(image) + sizeof(between)];

        memcpy(copy, image, places[i]);
        memcpy(copy + places[i], between, sizeof(between));
        memcpy(copy + places[i] + sizeof(between), image + places[i], sizeof(image) - places[i]);
        assert_null(jpeg_check(copy, sizeof(copy), &info));
        assert_int_equal(info.width, 16);
        assert_true(jpeg_size(copy, sizeof(copy), &info));
        assert_non_null(strstr(jpeg_check(copy, sizeof(copy) - 1, &info), "truncated"));
    }
}

static void copes_with_any_byte(void **state)
{
    struct jpeg_info info;
    uint8_t *copy = malloc(sizeof(image));
    size_t at;
    int byte;

    (void)state;
    assert_non_null(copy);
    for (at = 0; at < sizeof(image); at++) {
        for (byte = 0; byte < 256; byte++) {
            memcpy(copy, image, sizeof(image));
            copy[at] = (uint8_t)byte;
            if (jpeg_check(copy, sizeof(image), &info) == NULL)
                assert_true(info.width != 0 && info.height != 0 && info.components != 0);
            (void)jpeg_size(copy, sizeof(image), &info);
        }
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_size),
        cmocka_unit_test(is_sound),
        cmocka_unit_test(finds_every_truncation),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(passes_over_bytes_between_segments),
        cmocka_unit_test(copes_with_any_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
