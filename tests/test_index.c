/* SPDX-License-Identifier: MIT
 *
 * Tests index sections: a section that was written is read back, and anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "formats/index.h"
#include "tests/common_random.h"

/* Position of word n, and length of the header. */
#define WORD(n)      (8 + 8 * (n))
#define HEADER_BYTES 96

enum { SAMPLES = 1, RAW_BYTES, NAMES_BYTES, LEAD, GAP_COUNT, BLOCK_COUNT, SIZES_SIZE };

static void add_samples(struct index_writer *w, const uint64_t *sizes, size_t count, bool names)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(index_add_sample(w, sizes[i], (uint32_t)(7 * i), names ? 20 + i : 0,
                                          NULL), SHEAF_OK);
}

/* Makes a section with names, gaps and blocks. */
static struct buf make_section(void)
{
    static const uint64_t first[] = { 100, 1 << 20 }, second[] = { 1, 300, 127, 128 };
    struct index_writer w = { 0 };
    struct buf out = BUF_INIT(SIZE_MAX);

    assert_int_equal(index_add_gap(&w, 512, NULL), SHEAF_OK);
    add_samples(&w, first, 2, true);
    assert_int_equal(index_add_block(&w, 5000, 512 + 100 + (1 << 20), NULL), SHEAF_OK);
    add_samples(&w, second, 2, true);
    assert_int_equal(index_add_gap(&w, 40, NULL), SHEAF_OK);
    add_samples(&w, second + 2, 2, true);
    assert_int_equal(index_add_block(&w, 600, 1 + 300 + 40 + 127 + 128 + 1024, NULL), SHEAF_OK);
    assert_int_equal(w.samples, 6);
    assert_int_equal(w.largest, 1 << 20);
    assert_int_equal(index_finish(&w, 10, &out, NULL), SHEAF_OK);
    assert_int_equal(w.samples, 0);
    assert_null(w.sizes.data);
    return out;
}

static int parse(const void *data, size_t size, uint64_t samples)
{
    struct index_section *section = NULL;
    struct sheaf_error err = { 0 };
    uint8_t *copy = malloc(size != 0 ? size : 1);   /* a sanitizer notices a read past the end */
    int code;

    assert_non_null(copy);
    memcpy(copy, data, size);
    code = index_parse(copy, size, samples, &section, &err);
    free(copy);
    if (code == SHEAF_OK) {
        index_section_free(section);
    } else {
        assert_null(section);
        assert_int_equal(err.code, code);
    }
    return code;
}

/* Corrects the hash, so that the checks after the check of the hash are tested. */
static void seal(struct buf *b)
{
    XXH64_canonical_t hash;

    XXH64_canonicalFromHash(&hash, XXH3_64bits(b->data, b->size - 8));
    memcpy(b->data + b->size - 8, &hash, 8);
}

/* ---- Ranges --------------------------------------------------------------------------------- */

/* Makes a section of 1000 samples without gaps and blocks. */
static struct buf make_plain(struct index_section **whole)
{
    struct index_writer w = { 0 };
    struct buf out = BUF_INIT(SIZE_MAX);

    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(index_add_sample(&w, 1 + i * 31 % 700, i * 2654435761u, 0, NULL),
                         SHEAF_OK);
    assert_int_equal(index_finish(&w, 0, &out, NULL), SHEAF_OK);
    assert_int_equal(index_parse(out.data, out.size, 1000, whole, NULL), SHEAF_OK);
    return out;
}

static void ranges_agree_with_the_section(void **state)
{
    static const uint64_t firsts[] = { 0, 1, 300, 999 }, counts[] = { 1, 299, 500, 1 };
    struct index_section *whole;
    struct buf b = make_plain(&whole);
    struct index_scan scan;
    struct index_range r;
    uint64_t offsets[501];
    uint32_t crcs[500];

    (void)state;
    assert_int_equal(index_scan_begin(&scan, b.data, b.size, 1000, NULL), SHEAF_OK);
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        assert_int_equal(index_scan_find(&scan, firsts[i], counts[i], &r, NULL), SHEAF_OK);
        assert_int_equal(index_parse_range(&r, b.data + r.sizes_at, b.data + r.crcs_at, offsets,
                                           crcs, NULL), SHEAF_OK);
        assert_memory_equal(offsets, whole->offsets + firsts[i],
                            (counts[i] + 1) * sizeof(offsets[0]));
        assert_memory_equal(crcs, whole->crcs + firsts[i], counts[i] * sizeof(crcs[0]));
    }
    assert_int_equal(index_scan_find(&scan, 1000, 1, &r, NULL), SHEAF_ERR_CORRUPT);
    assert_int_equal(index_scan_find(&scan, 5, 1, &r, NULL), SHEAF_ERR_CORRUPT);
    index_section_free(whole);
    buf_free(&b);
}

static void a_changed_range_is_refused(void **state)
{
    struct index_section *whole;
    struct buf b = make_plain(&whole);
    struct index_scan scan;
    struct index_range r;
    uint64_t offsets[11];
    uint32_t crcs[10];

    (void)state;
    assert_int_equal(index_scan_begin(&scan, b.data, b.size, 1000, NULL), SHEAF_OK);
    assert_int_equal(index_scan_find(&scan, 20, 10, &r, NULL), SHEAF_OK);
    b.data[r.crcs_at + 39] ^= 1;
    assert_int_equal(index_parse_range(&r, b.data + r.sizes_at, b.data + r.crcs_at, offsets, crcs,
                                       NULL), SHEAF_ERR_CHANGED);
    b.data[r.crcs_at + 39] ^= 1;
    b.data[r.sizes_at] ^= 1;
    assert_int_equal(index_parse_range(&r, b.data + r.sizes_at, b.data + r.crcs_at, offsets, crcs,
                                       NULL), SHEAF_ERR_CHANGED);
    index_section_free(whole);
    buf_free(&b);
}

static void only_plain_sections_have_ranges(void **state)
{
    struct index_section *whole;
    struct buf b = make_section(), plain = make_plain(&whole);
    struct index_scan scan;

    (void)state;
    assert_int_equal(index_scan_begin(&scan, b.data, b.size, 6, NULL), SHEAF_ERR_CORRUPT);
    assert_int_equal(index_scan_begin(&scan, plain.data, plain.size, 999, NULL),
                     SHEAF_ERR_CORRUPT);
    plain.data[plain.size / 2] ^= 1;
    assert_int_equal(index_scan_begin(&scan, plain.data, plain.size, 1000, NULL),
                     SHEAF_ERR_CORRUPT);
    index_section_free(whole);
    buf_free(&plain);
    buf_free(&b);
}

/* ---- What is written is read ---------------------------------------------------------------- */

static void everything_is_found_again(void **state)
{
    static const uint64_t offsets[] = {
        512, 612, 612 + (1 << 20), 613 + (1 << 20), 953 + (1 << 20), 1080 + (1 << 20),
        1208 + (1 << 20),
    };
    static const uint64_t frames[] = { 100, 1 << 20, 1, 300, 127, 128 };
    static const uint32_t names[] = { 0, 20, 41, 61, 82, 102, 123 };
    static const uint32_t crcs[] = { 0, 7, 0, 7, 0, 7 };
    struct buf b = make_section();
    struct index_section *s;

    (void)state;
    assert_int_equal(index_parse(b.data, b.size, 6, &s, NULL), SHEAF_OK);
    assert_int_equal(s->samples, 6);
    assert_memory_equal(s->offsets, offsets, sizeof(offsets));
    assert_memory_equal(s->name_offsets, names, sizeof(names));
    assert_memory_equal(s->crcs, crcs, sizeof(crcs));
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(index_frame_bytes(s, i), frames[i]);
    assert_int_equal(s->block_count, 2);
    assert_int_equal(s->blocks[0].stored_offset, 10);
    assert_int_equal(s->blocks[0].raw_offset, 0);
    assert_int_equal(s->blocks[1].stored_offset, 5000);
    assert_int_equal(s->blocks[1].raw_offset, 612 + (1 << 20));
    assert_int_equal(s->blocks[2].stored_offset, 5600);
    assert_int_equal(s->blocks[2].raw_offset, 1208 + (1 << 20) + 1024);
    assert_int_equal(s->memory_bytes, index_memory(6, true, 2) + 2 * sizeof(struct index_gap));
    index_section_free(s);
    buf_free(&b);
}

static void the_block_of_an_offset_is_found(void **state)
{
    struct index_writer w = { 0 };
    struct buf b = BUF_INIT(SIZE_MAX);
    struct index_section *s;

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t size = 10 + i;

        add_samples(&w, &size, 1, false);
        assert_int_equal(index_add_block(&w, 5, size, NULL), SHEAF_OK);
    }
    assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_OK);
    assert_int_equal(index_parse(b.data, b.size, 100, &s, NULL), SHEAF_OK);
    assert_null(s->name_offsets);
    assert_null(s->gaps);
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(index_block_of(s, s->offsets[i]), i);
        assert_int_equal(index_block_of(s, s->offsets[i + 1] - 1), i);
    }
    index_section_free(s);
    buf_free(&b);
}

static void random_sections_are_read_back(void **state)
{
    struct rng rng;

    (void)state;
    random_start(&rng);
    for (unsigned round = 0; round < 200; round++) {
        const uint64_t count = rng_below(&rng, 50);
        uint64_t sizes[50], offset = 0;
        struct index_writer w = { 0 };
        struct buf b = BUF_INIT(SIZE_MAX);
        struct index_section *s;

        for (uint64_t i = 0; i < count; i++)
            sizes[i] = 1 + rng_below(&rng, (uint64_t)1 << rng_below(&rng, 41));
        add_samples(&w, sizes, count, round % 2);
        assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_OK);
        assert_int_equal(index_parse(b.data, b.size, count, &s, NULL), SHEAF_OK);
        assert_null(s->blocks);
        for (uint64_t i = 0; i < count; i++) {
            assert_int_equal(s->offsets[i], offset);
            assert_int_equal(index_frame_bytes(s, i), sizes[i]);
            offset += sizes[i];
        }
        assert_int_equal(s->offsets[count], offset);
        index_section_free(s);
        buf_free(&b);
    }
}

static void a_sample_takes_16_bytes_at_most(void **state)
{
    const uint64_t samples = 100000;
    struct index_writer w = { 0 };
    struct buf b = BUF_INIT(SIZE_MAX);
    struct index_section *s;

    (void)state;
    for (uint64_t i = 0; i < samples; i++)
        assert_int_equal(index_add_sample(&w, 39000 + i % 1000, 1, 40, NULL), SHEAF_OK);
    assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_OK);
    assert_true(b.size <= 8 * samples + 256);
    assert_int_equal(index_parse(b.data, b.size, samples, &s, NULL), SHEAF_OK);
    assert_int_equal(s->memory_bytes, index_memory(samples, true, 0));
    assert_true(s->memory_bytes <= 16 * samples + 256);
    index_section_free(s);
    buf_free(&b);
}

static void sections_are_appended(void **state)
{
    struct buf two = make_section(), one = make_section();
    struct index_writer w = { 0 };
    const uint64_t size = 5;

    (void)state;
    add_samples(&w, &size, 1, false);
    assert_int_equal(index_finish(&w, 0, &two, NULL), SHEAF_OK);
    assert_memory_equal(two.data, one.data, one.size);
    assert_int_equal(parse(two.data, one.size, 6), SHEAF_OK);
    assert_int_equal(parse(two.data + one.size, two.size - one.size, 1), SHEAF_OK);
    buf_free(&one);
    buf_free(&two);
}

/* ---- What the writer refuses ---------------------------------------------------------------- */

static void samples_that_cannot_be_are_refused(void **state)
{
    struct index_writer w = { 0 };

    (void)state;
    assert_int_equal(index_add_sample(&w, 0, 0, 0, NULL), SHEAF_ERR_LIMIT);
    assert_int_equal(index_add_sample(&w, FRAME_LIMIT + 1, 0, 0, NULL), SHEAF_ERR_LIMIT);
    assert_int_equal(index_add_sample(&w, 1, 0, (size_t)UINT32_MAX + 1, NULL), SHEAF_ERR_LIMIT);
    assert_int_equal(index_add_sample(&w, 1, 0, 5, NULL), SHEAF_OK);
    assert_int_equal(index_add_sample(&w, 1, 0, 0, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(index_add_sample(&w, 1, 0, UINT32_MAX - 4, NULL), SHEAF_ERR_LIMIT);
    assert_int_equal(w.samples, 1);
    index_writer_free(&w);
}

static void blocks_that_do_not_hold_their_samples_are_refused(void **state)
{
    const uint64_t size = 100;
    struct index_writer w = { 0 };
    struct buf b = BUF_INIT(SIZE_MAX);

    (void)state;
    add_samples(&w, &size, 1, false);
    assert_int_equal(index_add_block(&w, 50, 99, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(index_add_block(&w, 0, 100, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(index_finish(&w, 5, &b, NULL), SHEAF_ERR_ARGUMENT);    /* lead, no block */
    assert_int_equal(index_add_block(&w, 50, 100, NULL), SHEAF_OK);
    assert_int_equal(index_finish(&w, 50, &b, NULL), SHEAF_ERR_ARGUMENT);   /* lead fills it */
    add_samples(&w, &size, 1, false);
    assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_ERR_ARGUMENT);    /* one in no block */
    assert_int_equal(b.size, 0);
    index_writer_free(&w);
}

/* ---- What the parser refuses ---------------------------------------------------------------- */

static void every_prefix_is_refused(void **state)
{
    struct buf b = make_section();

    (void)state;
    for (size_t size = 0; size < b.size; size++)
        assert_int_equal(parse(b.data, size, 6), SHEAF_ERR_CORRUPT);
    assert_int_equal(buf_append(&b, "", 1, NULL), SHEAF_OK);
    assert_int_equal(parse(b.data, b.size, 6), SHEAF_ERR_CORRUPT);
    buf_free(&b);
}

static void every_flipped_bit_is_found(void **state)
{
    struct buf b = make_section();

    (void)state;
    for (size_t bit = 0; bit < 8 * b.size; bit++) {
        const bool version = bit / 64 == 1;

        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(parse(b.data, b.size, 6),
                         version ? SHEAF_ERR_UNSUPPORTED : SHEAF_ERR_CORRUPT);
        b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(parse(b.data, b.size, 6), SHEAF_OK);
    buf_free(&b);
}

static void another_number_of_samples_is_refused(void **state)
{
    struct buf b = make_section();

    (void)state;
    assert_int_equal(parse(b.data, b.size, 5), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse(b.data, b.size, 7), SHEAF_ERR_CORRUPT);
    buf_free(&b);
}

/* Makes each word of the header wrong and corrects the hash. The section must be refused. */
static void no_count_is_believed(void **state)
{
    static const uint64_t values[] = {
        0, 1, 2, 7, 255, 1 << 20, UINT32_MAX, (uint64_t)1 << 40, UINT64_MAX / 8, UINT64_MAX / 4,
        UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX,
    };
    struct buf b = make_section();

    (void)state;
    for (unsigned word = SAMPLES; WORD(word) < HEADER_BYTES; word++) {
        const uint64_t right = load64(b.data + WORD(word));

        for (size_t i = 0; i < COUNT_OF(values); i++) {
            if (values[i] == right || (word == LEAD && values[i] < 5000))
                continue;
            store64(b.data + WORD(word), values[i]);
            seal(&b);
            assert_int_equal(parse(b.data, b.size, word == SAMPLES ? values[i] : 6),
                             SHEAF_ERR_CORRUPT);
        }
        store64(b.data + WORD(word), right);
    }
    seal(&b);
    assert_int_equal(parse(b.data, b.size, 6), SHEAF_OK);
    buf_free(&b);
}

/* Replaces each byte after the header and corrects the hash. The result must be an error, or a
 * section whose sums are those in the header. */
static void no_part_is_believed(void **state)
{
    struct buf b = make_section();

    (void)state;
    for (size_t at = HEADER_BYTES; at < b.size - 8; at++) {
        const uint8_t right = b.data[at];

        for (unsigned value = 0; value < 256; value++) {
            struct index_section *s;

            b.data[at] = (uint8_t)value;
            seal(&b);
            if (index_parse(b.data, b.size, 6, &s, NULL) != SHEAF_OK)
                continue;
            assert_int_equal(s->offsets[6], load64(b.data + WORD(RAW_BYTES)));
            assert_int_equal(s->name_offsets[6], load64(b.data + WORD(NAMES_BYTES)));
            assert_true(s->blocks[2].raw_offset >= s->offsets[6]);
            for (uint64_t i = 0; i < 6; i++) {
                const uint64_t end = s->offsets[i] + index_frame_bytes(s, i);
                const uint64_t block = index_block_of(s, s->offsets[i]);

                assert_true(index_frame_bytes(s, i) > 0 && end <= s->offsets[i + 1]);
                assert_true(end <= s->blocks[block + 1].raw_offset);
            }
            index_section_free(s);
        }
        b.data[at] = right;
    }
    buf_free(&b);
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static const struct index_block pieces[] = {
    { 512, 0 }, { 9000, 1024 }, { 1536, 1024 + 700 }, { 100000, 1024 + 700 + 5000 },
    { 101024, 1024 + 700 + 5000 + 1024 },
};

/* Makes the section of a shard in which the files of a sample do not lie side by side. */
static struct buf make_joined(void)
{
    static const uint64_t sizes[] = { 1724, 5000 };
    struct index_writer w = { 0 };
    struct buf out = BUF_INIT(SIZE_MAX);

    add_samples(&w, sizes, 2, false);
    for (size_t i = 0; i + 1 < COUNT_OF(pieces); i++)
        assert_int_equal(index_add_piece(&w, pieces[i].stored_offset,
                                         pieces[i + 1].raw_offset - pieces[i].raw_offset, NULL),
                         SHEAF_OK);
    assert_int_equal(index_finish(&w, 0, &out, NULL), SHEAF_OK);
    return out;
}

static void pieces_are_found_again(void **state)
{
    struct buf b = make_joined();
    struct index_section *s;

    (void)state;
    assert_int_equal(index_parse(b.data, b.size, 2, &s, NULL), SHEAF_OK);
    assert_int_equal(s->piece_count, 4);
    assert_memory_equal(s->pieces, pieces, sizeof(pieces));
    assert_int_equal(s->crcs[1], 7);
    assert_int_equal(s->memory_bytes, index_memory(2, false, 0) + sizeof(pieces));
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(index_piece_of(s, pieces[i].raw_offset), i);
        assert_int_equal(index_piece_of(s, pieces[i + 1].raw_offset - 1), i);
    }
    index_section_free(s);
    buf_free(&b);
}

static void pieces_that_cannot_be_are_refused(void **state)
{
    struct buf b = make_joined();
    struct index_writer w = { 0 };
    static const uint64_t size = 1000;

    (void)state;
    assert_int_equal(index_add_piece(&w, 0, 0, NULL), SHEAF_ERR_ARGUMENT);
    assert_int_equal(index_add_piece(&w, UINT64_MAX, 1, NULL), SHEAF_ERR_ARGUMENT);
    add_samples(&w, &size, 1, false);
    /* the sample is not completely covered */
    assert_int_equal(index_add_piece(&w, 0, 999, NULL), SHEAF_OK);
    assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_ERR_ARGUMENT);
    index_writer_free(&w);
    for (size_t length = 0; length < b.size; length++)
        assert_int_equal(parse(b.data, length, 2), SHEAF_ERR_CORRUPT);
    for (size_t at = 8; at < b.size - 8; at++) {
        const uint8_t right = b.data[at];

        for (unsigned value = 0; value < 256; value++) {
            struct index_section *s;

            b.data[at] = (uint8_t)value;
            seal(&b);
            if (index_parse(b.data, b.size, 2, &s, NULL) != SHEAF_OK)
                continue;
            assert_true(s->pieces[s->piece_count].raw_offset >= s->offsets[2]);
            for (uint64_t i = 0; i < s->piece_count; i++)
                assert_true(s->pieces[i].raw_offset < s->pieces[i + 1].raw_offset &&
                            s->pieces[i].stored_offset <= INT64_MAX);
            index_section_free(s);
        }
        b.data[at] = right;
    }
    buf_free(&b);
}

static void numbers_longer_than_need_be_are_refused(void **state)
{
    static const uint64_t sizes[] = { 5, 5 };
    struct index_writer w = { 0 };
    struct buf b = BUF_INIT(SIZE_MAX), longer = BUF_INIT(SIZE_MAX);

    (void)state;
    add_samples(&w, sizes, 2, false);
    assert_int_equal(index_finish(&w, 0, &b, NULL), SHEAF_OK);
    assert_int_equal(parse(b.data, b.size, 2), SHEAF_OK);
    assert_int_equal(buf_append(&longer, b.data, HEADER_BYTES, NULL), SHEAF_OK);
    /* 5, in two bytes */
    assert_int_equal(buf_append(&longer, "\x85\x00", 2, NULL), SHEAF_OK);
    assert_int_equal(buf_append(&longer, b.data + HEADER_BYTES + 1, b.size - HEADER_BYTES - 1,
                                NULL), SHEAF_OK);
    store64(longer.data + WORD(SIZES_SIZE), 3);
    seal(&longer);
    assert_int_equal(parse(longer.data, longer.size, 2), SHEAF_ERR_CORRUPT);
    buf_free(&longer);
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_agree_with_the_section),
        cmocka_unit_test(a_changed_range_is_refused),
        cmocka_unit_test(only_plain_sections_have_ranges),
        cmocka_unit_test(everything_is_found_again),
        cmocka_unit_test(the_block_of_an_offset_is_found),
        cmocka_unit_test(random_sections_are_read_back),
        cmocka_unit_test(a_sample_takes_16_bytes_at_most),
        cmocka_unit_test(sections_are_appended),
        cmocka_unit_test(samples_that_cannot_be_are_refused),
        cmocka_unit_test(blocks_that_do_not_hold_their_samples_are_refused),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(another_number_of_samples_is_refused),
        cmocka_unit_test(no_count_is_believed),
        cmocka_unit_test(no_part_is_believed),
        cmocka_unit_test(pieces_are_found_again),
        cmocka_unit_test(pieces_that_cannot_be_are_refused),
        cmocka_unit_test(numbers_longer_than_need_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
