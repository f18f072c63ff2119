/* SPDX-License-Identifier: MIT
 *
 * Tests the pool that makes the crops of batches. Each crop must equal the one that sheaf_pixels
 * makes, with any number of threads, any order of waiting, and little memory. Bad images must be
 * reported with their sample. A batch that is freed early writes nothing afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/rng.h"
#include "image/encode_jpeg.h"
#include "image/pixels.h"
#include "sheaf.h"

#define SAMPLES 24u
#define SIDE    20u
#define GUARD   64u
#define LARGE   60000u          /* width of the large image in pixels */

/* A sample with an image, and a mask of the same size. */
struct case_sample {
    struct sheaf_sample sample;
    struct sheaf_field fields[3];
    char key[16];
    struct buf jpeg;
    uint8_t mask[40000];
    size_t mask_size;
};

static struct case_sample *cases;
static struct sheaf_sample samples[SAMPLES];

/* ---- Images ---------------------------------------------------------------------------------- */

static void make_jpeg(struct buf *out, uint64_t seed, uint32_t width, uint32_t height)
{
    struct pixels pixels;
    struct rng rng;

    assert_int_equal(pixels_map(&pixels, width, height, 3, NULL), SHEAF_OK);
    rng_seed(&rng, RNG_SHARDS, seed, 0, 0);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width * 3; x++)
            pixels_row(&pixels, y)[x] = (uint8_t)(x + y * 3 + (rng_next(&rng) >> 59));
    assert_int_equal(encode_jpeg(&pixels, 90, out, NULL), SHEAF_OK);
    pixels_close(&pixels);
}

static void make_mask(struct case_sample *c, uint64_t seed, uint32_t width, uint32_t height)
{
    uint8_t values[160 * 160];
    struct rng rng;

    rng_seed(&rng, RNG_SHARDS, seed, 1, 0);
    for (size_t i = 0; i < (size_t)width * height; i++)
        values[i] = (uint8_t)(rng_next(&rng) >> 56);
    c->mask_size = sizeof(c->mask);
    assert_int_equal(sheaf_pixels_png(values, width, height, 1, SHEAF_NCHW, c->mask, &c->mask_size,
                                      NULL), SHEAF_OK);
}

static int setup(void **state)
{
    (void)state;
    cases = calloc(SAMPLES, sizeof(cases[0]));
    assert_non_null(cases);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        struct case_sample *c = &cases[i];
        const uint32_t width = 30 + i * 5, height = 90 - i * 2;

        c->jpeg = (struct buf)BUF_INIT((size_t)1 << 24);
        make_jpeg(&c->jpeg, i, width, height);
        make_mask(c, i, width, height);
        snprintf(c->key, sizeof(c->key), "key-%u", i);
        c->fields[0] = (struct sheaf_field){ .name = "a.png", .data = c->mask,
                                             .size = c->mask_size };
        c->fields[1] = (struct sheaf_field){ .name = "jpg", .data = c->jpeg.data,
                                             .size = c->jpeg.size };
        c->sample = (struct sheaf_sample){ .key = c->key, .fields = c->fields, .field_count = 2,
                                           .seed = 1000 + i, .record = i };
        samples[i] = c->sample;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SAMPLES; i++)
        buf_free(&cases[i].jpeg);
    free(cases);
    return 0;
}

/* ---- A batch --------------------------------------------------------------------------------- */

static const char *const mask_names[] = { "a.png" };

static struct sheaf_pixels_options small_crops(bool has_mask)
{
    struct sheaf_pixels_options o;

    sheaf_pixels_options_init(&o, sizeof(o));
    o.width = o.height = SIDE;
    o.masks = mask_names;
    o.mask_count = has_mask;
    return o;
}

/* Memory for the crops of a batch, with guard bytes after each view. */
struct made {
    void *out[2];
    struct sheaf_crop_box *crops;
    struct sheaf_pixels_batch *batch;
    size_t count;
    size_t bytes[2];
};

/* Without masks, the field must be named, because the mask would be taken for the image. */
static void begin(struct sheaf_pixels_pool *pool, const struct sheaf_sample *first, size_t count,
                  struct made *m)
{
    const char *field = sheaf_pixels_bytes(pool, 1) != 0 ? NULL : "jpg";

    m->count = count;
    m->crops = calloc(count + 1, sizeof(m->crops[0]));
    for (size_t i = 0; i < 2; i++) {
        m->bytes[i] = count * sheaf_pixels_bytes(pool, i);
        m->out[i] = malloc(m->bytes[i] + GUARD);
        assert_non_null(m->out[i]);
        memset(m->out[i], 0x5a, m->bytes[i] + GUARD);
    }
    assert_int_equal(sheaf_pixels_begin(pool, first, count, field, m->out, m->crops, &m->batch,
                                        NULL), SHEAF_OK);
}

static void end(struct made *m)
{
    sheaf_pixels_batch_free(m->batch);
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < GUARD; k++)
            assert_int_equal(((uint8_t *)m->out[i])[m->bytes[i] + k], 0x5a);
        free(m->out[i]);
    }
    free(m->crops);
}

/* Checks that the crops equal those that sheaf_pixels makes. */
static void check(const struct sheaf_pixels_options *o, const struct made *m,
                  const struct sheaf_sample *first)
{
    uint8_t pixels[SIDE * SIDE * 3], values[SIDE * SIDE];
    struct sheaf_crop_box box;

    for (size_t i = 0; i < m->count; i++) {
        const struct sheaf_sample *s = &first[i];

        if (sheaf_pixels_error(m->batch, i) != NULL)
            continue;
        assert_int_equal(sheaf_pixels(s->fields[1].data, s->fields[1].size, o, s->seed, pixels,
                                      &box, NULL), SHEAF_OK);
        assert_memory_equal((uint8_t *)m->out[0] + i * sizeof(pixels), pixels, sizeof(pixels));
        assert_memory_equal(&m->crops[i], &box, sizeof(box));
        if (o->mask_count == 0)
            continue;
        assert_int_equal(sheaf_pixels_mask(s->fields[0].data, s->fields[0].size, o, s->seed,
                                           values, NULL), SHEAF_OK);
        assert_memory_equal((uint8_t *)m->out[1] + i * sizeof(values), values, sizeof(values));
    }
}

static struct sheaf_pixels_pool *open_pool(const struct sheaf_pixels_options *o, unsigned threads,
                                           uint64_t memory)
{
    struct sheaf_pixels_pool *pool;

    assert_int_equal(sheaf_pixels_pool_open(o, threads, memory, &pool, NULL), SHEAF_OK);
    return pool;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Starts several batches, and waits for them in reverse order. */
static void test_any_threads(void **state)
{
    static const unsigned threads[] = { 1, 2, 7, 64 };
    const struct sheaf_pixels_options o = small_crops(true);

    (void)state;
    for (size_t t = 0; t < COUNT_OF(threads); t++) {
        struct sheaf_pixels_pool *pool = open_pool(&o, threads[t], 64 << 20);
        static const size_t sizes[] = { 1, 7, 0, 16 };
        struct made made[4];
        size_t at = 0, place[4];

        assert_int_equal(sheaf_pixels_bytes(pool, 0), SIDE * SIDE * 3);
        assert_int_equal(sheaf_pixels_bytes(pool, 1), SIDE * SIDE);
        assert_int_equal(sheaf_pixels_bytes(pool, 2), 0);
        for (size_t i = 0; i < 4; at += sizes[i++]) {
            place[i] = at;
            begin(pool, &samples[at], sizes[i], &made[i]);
        }
        for (size_t i = 4; i-- > 0;) {
            assert_int_equal(sheaf_pixels_wait(made[i].batch), 0);
            check(&o, &made[i], &samples[place[i]]);
            end(&made[i]);
        }
        assert_true(sheaf_pixels_busy_ns(pool) > 0);
        sheaf_pixels_pool_free(pool);
    }
}

/* The memory is enough for any of the images alone, and never for two of them. */
static void test_little_memory(void **state)
{
    const struct sheaf_pixels_options o = small_crops(false);
    struct sheaf_pixels_pool *pool;
    struct made made;
    uint64_t least = 1 << 10;

    (void)state;
    for (size_t bad = 1; bad != 0; least += least / 8) {
        pool = open_pool(&o, 4, least);
        begin(pool, samples, SAMPLES, &made);
        bad = sheaf_pixels_wait(made.batch);
        for (size_t i = 0; i < SAMPLES; i++)
            if (sheaf_pixels_error(made.batch, i) != NULL)
                assert_int_equal(sheaf_pixels_error(made.batch, i)->code, SHEAF_ERR_LIMIT);
        check(&o, &made, samples);
        end(&made);
        sheaf_pixels_pool_free(pool);
    }
    assert_true(least < 4 << 20);
}

static void expect(const struct made *m, size_t i, int code, const char *says)
{
    const struct sheaf_error *error = sheaf_pixels_error(m->batch, i);

    if (code == SHEAF_OK) {
        assert_null(error);
        return;
    }
    assert_non_null(error);
    if (error->code != code || strstr(error->message, says) == NULL)
        fail_msg("%d: %s", error->code, error->message);
}

/* Makes a PNG whose header states 60,000 x 60,000 pixels. */
static void make_bomb(struct case_sample *c)
{
    for (int i = 16; i < 24; i++)
        c->mask[i] = (uint8_t)(i % 4 < 2 ? 0 : i % 4 == 2 ? 60000 >> 8 : 60000 & 255);
}

static void test_bad_images(void **state)
{
    static struct case_sample bad[8];
    struct sheaf_sample list[8];
    const struct sheaf_pixels_options o = small_crops(true);
    struct sheaf_pixels_pool *pool = open_pool(&o, 3, 64 << 20);
    struct made made;

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        bad[i] = cases[i];
        bad[i].fields[0].data = bad[i].mask;
        list[i] = bad[i].sample;
        list[i].fields = bad[i].fields;
    }
    bad[1].fields[1].size /= 2;
    bad[2].fields[1].data = "text";
    bad[2].fields[1].size = 4;
    bad[3].fields[1].name = "txt";
    make_bomb(&bad[4]);
    bad[4].fields[1] = bad[4].fields[0];
    bad[4].fields[1].name = "png";
    bad[5].fields[0] = cases[6].fields[0];      /* the image of another sample */
    bad[6].fields[0] = bad[6].fields[1];
    bad[6].fields[0].name = "a.png";
    bad[7].fields[0].name = "b.txt";
    begin(pool, list, 8, &made);
    assert_int_equal(sheaf_pixels_wait(made.batch), 7);
    expect(&made, 0, SHEAF_OK, "");
    expect(&made, 1, SHEAF_ERR_CORRUPT, "record 1: sample key-1, field jpg: damaged JPEG");
    expect(&made, 2, SHEAF_ERR_CORRUPT, "field jpg: not an image");
    expect(&made, 3, SHEAF_ERR_ARGUMENT, "sample key-3 has no field with an image");
    expect(&made, 4, SHEAF_ERR_UNSUPPORTED, "60000 x 60000 pixels; at most 178956970");
    expect(&made, 5, SHEAF_ERR_CORRUPT, "field a.png: a mask of 60 x 78 pixels, expected 55 x 80");
    expect(&made, 6, SHEAF_ERR_UNSUPPORTED, "field a.png: a mask that is JPEG, expected a PNG");
    expect(&made, 7, SHEAF_ERR_ARGUMENT, "sample key-7 has no field a.png");
    assert_null(sheaf_pixels_error(made.batch, 8));
    check(&o, &made, list);
    end(&made);
    sheaf_pixels_pool_free(pool);
}

/* Tests an image that needs more than the whole memory. This must be an error, and must not affect
 * other images. */
static void test_too_large(void **state)
{
    struct case_sample large = { .jpeg = BUF_INIT((size_t)1 << 24) };
    const struct sheaf_pixels_options o = small_crops(false);
    struct sheaf_sample list[3] = { samples[0], samples[1], samples[2] };
    struct sheaf_pixels_pool *pool;
    struct made made;

    (void)state;
    make_jpeg(&large.jpeg, 77, LARGE, 8);
    large.fields[1] = (struct sheaf_field){ .name = "jpg", .data = large.jpeg.data,
                                            .size = large.jpeg.size };
    large.fields[0] = cases[0].fields[0];
    list[1].fields = large.fields;
    pool = open_pool(&o, 2, 4 << 20);
    begin(pool, list, 3, &made);
    assert_int_equal(sheaf_pixels_wait(made.batch), 1);
    expect(&made, 1, SHEAF_ERR_LIMIT, "bytes of memory, but 4194304 are for images");
    check(&o, &made, list);
    end(&made);
    sheaf_pixels_pool_free(pool);
    buf_free(&large.jpeg);
}

/* Frees batches without waiting. They must be finished before their memory is freed. */
static void test_freed_early(void **state)
{
    const struct sheaf_pixels_options o = small_crops(true);

    (void)state;
    for (unsigned threads = 1; threads <= 8; threads *= 2) {
        struct sheaf_pixels_pool *pool = open_pool(&o, threads, 64 << 20);
        struct made made[3];

        for (size_t i = 0; i < 3; i++)
            begin(pool, samples, SAMPLES, &made[i]);
        while (!sheaf_pixels_wait_for(made[0].batch, 1000000))
            ;
        assert_true(sheaf_pixels_wait_for(made[0].batch, 0));
        assert_int_equal(sheaf_pixels_wait(made[0].batch), 0);
        for (size_t i = 0; i < 3; i++)
            end(&made[i]);
        sheaf_pixels_pool_free(pool);
    }
    sheaf_pixels_pool_free(NULL);
    sheaf_pixels_batch_free(NULL);
}

static void test_refused(void **state)
{
    static const char *const empty[] = { "" };
    struct sheaf_pixels_options o = small_crops(true);
    struct sheaf_pixels_pool *pool;
    struct sheaf_error err;

    (void)state;
    o.masks = empty;
    assert_int_equal(sheaf_pixels_pool_open(&o, 1, 1 << 20, &pool, &err), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "mask 0 has no name"));
    o.mask_count = 100;
    assert_int_equal(sheaf_pixels_pool_open(&o, 1, 1 << 20, &pool, &err), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "100 masks: expected at most 64"));
    assert_int_equal(strncmp(sheaf_pixels_version(), "pixels1, libjpeg-turbo ", 23), 0);
}

static void test_png(void **state)
{
    const struct sheaf_pixels_options o = { .sizeof_options = sizeof(o), .width = 5, .height = 3,
                                            .crop = SHEAF_CROP_WHOLE, .scale = { 0.08, 1 },
                                            .ratio = { 1, 1 } };
    uint8_t pixels[45], again[45], png[SHEAF_PNG_ROOM(5, 3, 3)];
    size_t size = sizeof(png), little = 60;
    struct sheaf_error err;

    (void)state;
    for (size_t i = 0; i < 45; i++)
        pixels[i] = (uint8_t)(i * 37);
    assert_int_equal(sheaf_pixels_png(pixels, 5, 3, 3, SHEAF_NCHW, png, &size, NULL), SHEAF_OK);
    assert_int_equal(sheaf_pixels(png, size, &o, 0, again, NULL, NULL), SHEAF_OK);
    assert_memory_equal(again, pixels, 45);
    assert_int_equal(sheaf_pixels_png(pixels, 5, 3, 3, SHEAF_NCHW, png, &little, &err),
                     SHEAF_ERR_LIMIT);
    assert_int_equal(sheaf_pixels_png(pixels, 5, 3, 2, SHEAF_NCHW, png, &size, &err),
                     SHEAF_ERR_ARGUMENT);
}

/* Random values cannot be compressed. Their PNG must still fit into SHEAF_PNG_ROOM. */
static void test_png_room(void **state)
{
    const size_t most = SHEAF_PNG_ROOM(300, 200, 3);
    uint8_t *pixels = malloc(300 * 200 * 3), *png = malloc(most);
    size_t size = most;
    struct rng rng;

    (void)state;
    rng_seed(&rng, RNG_SHARDS, 5, 0, 0);
    for (size_t i = 0; i < 300 * 200 * 3; i++)
        pixels[i] = (uint8_t)(rng_next(&rng) >> 56);
    assert_int_equal(sheaf_pixels_png(pixels, 300, 200, 3, SHEAF_NHWC, png, &size, NULL), SHEAF_OK);
    assert_in_range(size, 300 * 200 * 3, most);
    free(pixels);
    free(png);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_threads), cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_bad_images), cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_freed_early), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_png), cmocka_unit_test(test_png_room),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
