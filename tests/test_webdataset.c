/* SPDX-License-Identifier: MIT
 *
 * Tests WebDataset: which members of a tar form a sample, which are skipped and counted, and where
 * an archive may end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "tests/common_sample.h"
#include "tests/common_tar.h"

#define OUT_LIMIT ((size_t)1 << 20)
#define MOST 8

static const struct decode_context of_ours = { .stem = { "x", 1 }, .ours = true };
static const struct decode_context foreign = { .stem = { "x", 1 } };
static const struct encode_context no_classes = { 0 };

struct fixture {
    struct buf tar;
    struct frame_at frames[MOST];
    struct decode_scratch scratch;
    struct sheaf_sample sample;
    struct sheaf_error err;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    if (f == NULL)
        return 1;
    f->tar.limit = OUT_LIMIT;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    buf_free(&f->tar);
    decode_scratch_free(&f->scratch);
    free(f);
    return 0;
}

static long cut(struct fixture *f)
{
    return cut_frames(&webdataset_ops, f->tar.data, f->tar.size, f->frames, MOST, &f->err);
}

static int decode(struct fixture *f, size_t i, const struct decode_context *context)
{
    const struct record record = { .data = f->tar.data + f->frames[i].offset,
                                   .size = f->frames[i].size, .record = i };

    return webdataset_ops.decode(&record, context, &f->scratch, &f->sample, &f->err);
}

static void assert_decodes(struct fixture *f, size_t i, const char *key, size_t fields)
{
    if (decode(f, i, &foreign) != SHEAF_OK)
        fail_msg("%s", f->err.message);
    assert_string_equal(f->sample.key, key);
    assert_int_equal(f->sample.field_count, fields);
}

static void groups_adjacent_members(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "d.x/a.txt", "1");
    tar_put_file(&f->tar, "d.x/a.seg.PNG", "2");
    tar_put_file(&f->tar, "d.x/ab.txt", "3");
    tar_put_file(&f->tar, "d.x/a.txt", "4");        /* the same key again, but not adjacent */
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 3);
    assert_decodes(f, 0, "d.x/a", 2);
    assert_field(&f->sample, "txt", "1", 1);
    assert_field(&f->sample, "seg.png", "2", 1);
    assert_string_equal(f->sample.fields[0].suffix, "seg.PNG");     /* in byte order */
    assert_decodes(f, 1, "d.x/ab", 1);
    assert_decodes(f, 2, "d.x/a", 1);
    assert_field(&f->sample, "txt", "4", 1);
}

static void strips_dot_slash(void **state)
{
    struct fixture *f = *state;

    tar_put_typed(&f->tar, '5', "./", "");
    tar_put_file(&f->tar, "./a.txt", "1");
    tar_put_file(&f->tar, "././a.png", "2");
    tar_put_spec(&f->tar, &(struct tar_spec){ .name = "b.txt", .type = '0', .prefix = "./d" });
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 2);
    assert_int_equal(f->frames[0].offset, 512);
    assert_decodes(f, 0, "a", 2);
    assert_decodes(f, 1, "d/b", 1);
}

/* Calls part() for the whole tar. Returns the number of skipped members, and the name of the last
 * one. */
static uint64_t count_passed(struct fixture *f, char *last, size_t last_size)
{
    struct format_scan scan;
    struct part part;
    uint64_t passed;
    size_t at;

    format_scan_reset(&scan);
    for (at = 0; at < f->tar.size; at += part.size)
        assert_int_equal(webdataset_ops.part(&scan, f->tar.data + at, f->tar.size - at, true,
                                             &part, NULL), SHEAF_OK);
    passed = scan.passed_over;
    if (scan.passed_name.data != NULL)
        snprintf(last, last_size, "%s", (char *)scan.passed_name.data);
    format_scan_free(&scan);
    return passed;
}

/* Tests members that belong to no sample, between, before and after the members of samples. */
static void passes_over_and_counts(void **state)
{
    struct fixture *f = *state;
    char last[64] = "";

    tar_put_typed(&f->tar, 'g', "pax_global_header", "16 comment=abcd\n");
    tar_put_typed(&f->tar, '5', "d/", "");
    tar_put_file(&f->tar, "README", "none's");
    tar_put_file(&f->tar, "d/a.txt", "1");
    tar_put_typed(&f->tar, '2', "d/a.jpg", "");
    tar_put_file(&f->tar, "d/._a.txt", "AppleDouble");
    tar_put_file(&f->tar, "d/a.png", "2");
    tar_put_file(&f->tar, "__meta__/a.txt", "webdataset's own");
    tar_put_file(&f->tar, "d/b.txt", "3");
    tar_put_typed(&f->tar, 'Z', "vendor", "data");
    tar_put_file(&f->tar, "bad\xff\x01", "");
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 2);
    assert_decodes(f, 0, "d/a", 2);
    assert_field(&f->sample, "png", "2", 1);
    assert_decodes(f, 1, "d/b", 1);
    /* Frames have no gap between them, because a skipped member belongs to the frame before it. */
    assert_int_equal(f->frames[0].offset, 5 * 512);
    assert_int_equal(f->frames[1].offset, f->frames[0].offset + f->frames[0].size);
    assert_int_equal(count_passed(f, last, sizeof(last)), 7);
    assert_string_equal(last, "bad??");
}

/* Tests a file that webdataset would accept, but whose name cannot be a key. Only its own sample
 * must be damaged. */
static void files_with_unusable_names_are_damage(void **state)
{
    static const char *const names[] = { "caf\xe9.txt", "tab\there.txt", "new\nline.txt" };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < COUNT_OF(names); i++) {
        uint32_t crc;

        f->tar.size = 0;
        tar_put_file(&f->tar, "a.txt", "1");
        tar_put_file(&f->tar, names[i], "2");
        tar_put_file(&f->tar, "b.txt", "3");
        tar_put_zeros(&f->tar, 2);
        assert_int_equal(cut(f), 3);
        assert_decodes(f, 0, "a", 1);
        assert_int_equal(decode(f, 1, &foreign), SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(f->err.message, "?"));
        assert_int_equal(webdataset_ops.check(f->tar.data + f->frames[1].offset,
                                              f->frames[1].size, &crc, &f->err),
                         SHEAF_ERR_CORRUPT);
        assert_decodes(f, 2, "b", 1);
    }
}

static void needs_the_end_of_the_archive(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "a.txt", "1");
    assert_int_equal(cut(f), SHEAF_ERR_TRUNCATED);
    assert_non_null(strstr(f->err.message, "0 of the 2 zero blocks"));
    tar_put_zeros(&f->tar, 1);
    assert_int_equal(cut(f), SHEAF_ERR_TRUNCATED);
    tar_put_zeros(&f->tar, 1);
    assert_int_equal(cut(f), 1);
    tar_put_zeros(&f->tar, 17);                     /* padded to a record */
    assert_int_equal(cut(f), 1);
    assert_int_equal(buf_append(&f->tar, "\0\0\0", 3, NULL), SHEAF_OK);
    assert_int_equal(cut(f), 1);
    assert_int_equal(buf_append(&f->tar, "x", 1, NULL), SHEAF_OK);
    assert_int_equal(cut(f), SHEAF_ERR_TRUNCATED);
}

static void takes_an_empty_archive(void **state)
{
    struct fixture *f = *state;

    tar_put_zeros(&f->tar, 20);
    assert_int_equal(cut(f), 0);
}

static void reads_concatenated_archives(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "a.txt", "1");
    tar_put_zeros(&f->tar, 2);
    /* the same key in another archive is another sample */
    tar_put_file(&f->tar, "a.png", "2");
    tar_put_zeros(&f->tar, 3);
    tar_put_file(&f->tar, "b.png", "3");
    assert_int_equal(cut(f), SHEAF_ERR_TRUNCATED);
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 3);
    assert_decodes(f, 0, "a", 1);
    assert_decodes(f, 1, "a", 1);
    assert_field(&f->sample, "png", "2", 1);
    assert_decodes(f, 2, "b", 1);
}

/* Tests extension headers. They belong to the next member, so they determine where a frame
 * begins. */
static void frames_begin_with_extension_headers(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "a.txt", "1");
    tar_put_typed(&f->tar, 'x', "p", "14 path=a.png\n");
    tar_put_file(&f->tar, "other.name", "2");
    tar_put_typed(&f->tar, 'L', "././@LongLink", "b.png");
    tar_put_file(&f->tar, "a.png", "3");
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 2);
    assert_int_equal(f->frames[0].size, 6 * 512);
    assert_decodes(f, 0, "a", 2);
    assert_field(&f->sample, "png", "2", 1);
    assert_decodes(f, 1, "b", 1);
    assert_field(&f->sample, "png", "3", 1);
}

/* Shows part() more and more bytes of extension headers. Its result must not change later. */
static void asks_for_extension_headers(void **state)
{
    struct fixture *f = *state;
    struct format_scan scan;
    struct part part;
    size_t size;

    tar_put_typed(&f->tar, 'x', "p", "14 path=a.png\n");
    tar_put_file(&f->tar, "other.name", "2");
    format_scan_reset(&scan);
    for (size = 1; size < 3 * 512; size++) {
        assert_int_equal(webdataset_ops.part(&scan, f->tar.data, size, false, &part, NULL),
                         SHEAF_OK);
        assert_int_equal(part.kind, PART_MORE);
        assert_int_equal(part.need, size < 512 ? 512 : size < 1024 ? 1024 : 1536);
        assert_int_equal(webdataset_ops.part(&scan, f->tar.data, size, true, &part, NULL),
                         SHEAF_ERR_TRUNCATED);
    }
    assert_int_equal(webdataset_ops.part(&scan, f->tar.data, size, false, &part, NULL), SHEAF_OK);
    assert_int_equal(part.kind, PART_START);
    assert_int_equal(part.size, 4 * 512);
    format_scan_free(&scan);
}

static void refuses_doubled_suffixes(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "a.jpg", "1");
    tar_put_file(&f->tar, "a.txt", "2");
    tar_put_file(&f->tar, "a.JPG", "3");
    tar_put_zeros(&f->tar, 2);
    assert_int_equal(cut(f), 1);
    assert_int_equal(decode(f, 0, &foreign), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(f->err.message, "two fields named \"jpg\""));
}

static void refuses_foreign_members_in_a_frame(void **state)
{
    struct fixture *f = *state;

    tar_put_file(&f->tar, "a.jpg", "1");
    tar_put_file(&f->tar, "b.jpg", "2");
    f->frames[0] = (struct frame_at){ 0, f->tar.size };
    assert_int_equal(decode(f, 0, &foreign), SHEAF_ERR_CORRUPT);
    f->frames[0].size -= 512;
    assert_int_equal(decode(f, 0, &foreign), SHEAF_ERR_CORRUPT);
    f->tar.size = 0;
    tar_put_typed(&f->tar, '5', "d/", "");
    f->frames[0] = (struct frame_at){ 0, f->tar.size };
    assert_int_equal(decode(f, 0, &foreign), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(f->err.message, "without a member"));
}

/* ---- Labels ------------------------------------------------------------------------------- */

static int encode(struct fixture *f, const struct sheaf_sample *sample)
{
    struct encoded encoded;
    struct buf names = BUF_INIT(0);
    const int code = webdataset_ops.encode(sample, &no_classes, &f->tar, &names, &encoded,
                                           &f->err);

    f->frames[0] = (struct frame_at){ 0, f->tar.size };
    return code;
}

static void puts_labels_into_cls(void **state)
{
    static const struct sheaf_field fields[] = {
        { .name = "txt", .data = "t", .size = 1 }, { .name = "bin", .data = "b", .size = 1 },
    };
    const double labels[] = { 3, 0.25 };
    struct fixture *f = *state;

    assert_int_equal(encode(f, &(struct sheaf_sample){ .key = "k", .fields = fields,
                            .field_count = 2, .labels = labels, .label_count = 2 }), SHEAF_OK);
    /* the members are in byte order, including cls */
    assert_string_equal(f->tar.data, "k.bin");
    assert_string_equal(f->tar.data + 1024, "k.cls");
    assert_string_equal(f->tar.data + 1536, "3 0.25");
    assert_string_equal(f->tar.data + 2048, "k.txt");

    assert_int_equal(decode(f, 0, &of_ours), SHEAF_OK);
    assert_int_equal(f->sample.field_count, 2);
    assert_int_equal(f->sample.label_count, 2);
    assert_true(f->sample.labels[0] == 3 && f->sample.labels[1] == 0.25);
    /* Without a manifest, `cls` is an ordinary member. */
    assert_decodes(f, 0, "k", 3);
    assert_field(&f->sample, "cls", "3 0.25", 6);
    assert_int_equal(f->sample.label_count, 2);
}

/* Tests a sample that consists only of its label. */
static void holds_labels_alone(void **state)
{
    const double label = 5;
    struct fixture *f = *state;

    assert_int_equal(encode(f, &(struct sheaf_sample){ .key = "k", .labels = &label,
                            .label_count = 1 }), SHEAF_OK);
    assert_int_equal(decode(f, 0, &of_ours), SHEAF_OK);
    assert_int_equal(f->sample.field_count, 0);
    assert_true(f->sample.label_count == 1 && f->sample.labels[0] == 5);
    f->tar.size = 0;
    assert_int_equal(encode(f, &(struct sheaf_sample){ .key = "k" }), SHEAF_ERR_ARGUMENT);
    assert_int_equal(f->tar.size, 0);
}

static void keeps_a_cls_of_the_source(void **state)
{
    const struct sheaf_field cls = { .name = "cls", .suffix = "CLS", .data = "007\n", .size = 4 };
    const double seven = 7, eight = 8;
    struct sheaf_sample sample = { .key = "k", .fields = &cls, .field_count = 1,
                                   .labels = &seven, .label_count = 1 };
    struct fixture *f = *state;

    assert_int_equal(encode(f, &sample), SHEAF_OK);
    assert_int_equal(f->tar.size, 1024);
    assert_int_equal(decode(f, 0, &of_ours), SHEAF_OK);
    assert_field(&f->sample, "cls", "007\n", 4);
    assert_string_equal(f->sample.fields[0].suffix, "CLS");
    assert_true(f->sample.label_count == 1 && f->sample.labels[0] == 7);
    /* Labels that differ from those in the file cls would be lost. */
    sample.labels = &eight;
    assert_int_equal(encode(f, &sample), SHEAF_ERR_ARGUMENT);
    sample.label_count = 0;
    assert_int_equal(encode(f, &sample), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(f->err.message, "cls"));
}

static void leaves_a_cls_that_is_no_label(void **state)
{
    const struct sheaf_field cls = { .name = "cls", .data = "cat", .size = 3 };
    struct fixture *f = *state;

    assert_int_equal(encode(f, &(struct sheaf_sample){ .key = "k", .fields = &cls,
                            .field_count = 1 }), SHEAF_OK);
    assert_int_equal(decode(f, 0, &of_ours), SHEAF_OK);
    assert_int_equal(f->sample.label_count, 0);
    assert_field(&f->sample, "cls", "cat", 3);
}

static void names_classes(void **state)
{
    const char *const classes[] = { "ant", "bee" };
    const struct decode_context context = { .classes = classes, .class_count = 2,
                                            .label_base = 1 };
    static const struct {
        const char *cls, *name;
    } cases[] = { { "1", "ant" }, { "2", "bee" }, { "0", NULL }, { "3", NULL }, { "1 2", NULL },
                  { "1.5", NULL }, { "x", NULL } };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < COUNT_OF(cases); i++) {
        f->tar.size = 0;
        tar_put_file(&f->tar, "a.cls", cases[i].cls);
        f->frames[0] = (struct frame_at){ 0, f->tar.size };
        assert_int_equal(decode(f, 0, &context), SHEAF_OK);
        if (cases[i].name == NULL)
            assert_null(f->sample.class_name);
        else
            assert_string_equal(f->sample.class_name, cases[i].name);
    }
}

static void resyncs_at_the_next_header(void **state)
{
    struct fixture *f = *state;
    size_t skip;

    tar_put_file(&f->tar, "a.txt", "1");
    tar_put_file(&f->tar, "b.txt", "2");
    assert_true(webdataset_ops.resync(f->tar.data, f->tar.size, &skip));
    assert_int_equal(skip, 1024);
    /* The search continues before the block that may be a header. */
    assert_false(webdataset_ops.resync(f->tar.data, 1024, &skip));
    assert_int_equal(skip, 512);
    assert_false(webdataset_ops.resync(f->tar.data, 1300, &skip));
    assert_int_equal(skip, 512);
    assert_false(webdataset_ops.resync(f->tar.data, 100, &skip));
    assert_int_equal(skip, 0);
    f->tar.data[1024] ^= 1;
    assert_false(webdataset_ops.resync(f->tar.data, f->tar.size, &skip));
    assert_int_equal(skip, f->tar.size - 512);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(groups_adjacent_members),
        TEST(strips_dot_slash),
        TEST(passes_over_and_counts),
        TEST(files_with_unusable_names_are_damage),
        TEST(needs_the_end_of_the_archive),
        TEST(takes_an_empty_archive),
        TEST(reads_concatenated_archives),
        TEST(frames_begin_with_extension_headers),
        TEST(asks_for_extension_headers),
        TEST(refuses_doubled_suffixes),
        TEST(refuses_foreign_members_in_a_frame),
        TEST(puts_labels_into_cls),
        TEST(holds_labels_alone),
        TEST(keeps_a_cls_of_the_source),
        TEST(leaves_a_cls_that_is_no_label),
        TEST(names_classes),
        TEST(resyncs_at_the_next_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
