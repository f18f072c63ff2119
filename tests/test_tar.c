/* SPDX-License-Identifier: MIT
 *
 * Tests tar headers. Written headers must equal those of Python's tarfile byte for byte. Headers of
 * other writers must be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/format.h"
#include "formats/tar.h"
#include "tests/common_tar.h"

#define OUT_LIMIT ((size_t)8 << 20)

/* Parses the first member, and shows only as many bytes as the parser asks for. */
static int parse(const struct buf *tar, struct tar_member *member, struct sheaf_error *err)
{
    size_t size = 0, need = 0;
    int code;

    do {
        assert_true(need <= tar->size);
        size = need;
        code = tar_parse(tar->data, size, member, &need, err);
        assert_true(code != SHEAF_OK || need == 0 || need > size);
    } while (code == SHEAF_OK && need != 0);
    return code;
}

static void assert_path(const struct tar_member *m, const char *prefix, const char *name)
{
    assert_int_equal(m->prefix_size, strlen(prefix));
    assert_memory_equal(m->prefix, prefix, m->prefix_size);
    assert_int_equal(m->name_size, strlen(name));
    assert_memory_equal(m->name, name, m->name_size);
}

/* ---- Writing ------------------------------------------------------------------------------ */

/* A sequence of bytes in a header that are not zero. */
struct run {
    size_t at;
    const char *text;
};

static void assert_block(const uint8_t *block, const struct run *runs, size_t count)
{
    uint8_t expected[TAR_BLOCK] = { 0 };
    size_t i;

    for (i = 0; i < count; i++)
        memcpy(expected + runs[i].at, runs[i].text, strlen(runs[i].text));
    assert_memory_equal(block, expected, TAR_BLOCK);
}

static void writes_ustar(void **state)
{
    /* The header that Python's tarfile writes with the same owner, mode and time. */
    static const struct run header[] = {
        { 0, "a/b.txt" }, { 100, "0000444" }, { 108, "0000000" }, { 116, "0000000" },
        { 124, "00000000002" }, { 136, "00000000000" }, { 148, "011153" }, { 155, " 0" },
        { 257, "ustar" }, { 263, "00sheaf" }, { 297, "sheaf" },
    };
    static const struct run data[] = { { 0, "hi" } };
    struct buf out = BUF_INIT(OUT_LIMIT);

    (void)state;
    assert_int_equal(tar_write(&out, "a/b.txt", "hi", 2, false, NULL), SHEAF_OK);
    assert_int_equal(out.size, 1024);
    assert_block(out.data, header, COUNT_OF(header));
    assert_block(out.data + 512, data, 1);
    buf_free(&out);
}

static void splits_long_paths(void **state)
{
    char path[180];
    struct buf out = BUF_INIT(OUT_LIMIT);
    uint8_t *h;

    (void)state;
    memset(path, 'd', 120);
    path[120] = '/';
    memset(path + 121, 'e', 50);
    memcpy(path + 171, ".txt", 5);
    assert_int_equal(tar_write(&out, path, "hi", 2, false, NULL), SHEAF_OK);
    h = out.data;
    assert_int_equal(out.size, 1024);
    assert_memory_equal(h, path + 121, 54);
    assert_memory_equal(h + 345, path, 120);
    assert_int_equal(h[345 + 120], 0);
    assert_memory_equal(h + 148, "052023", 6);
    buf_free(&out);
}

static void writes_pax_where_it_must(void **state)
{
    char path[125];
    struct buf out = BUF_INIT(OUT_LIMIT);
    struct tar_member m;

    (void)state;
    memset(path, 'x', 120);
    memcpy(path + 120, ".txt", 5);
    assert_int_equal(tar_write(&out, path, "hi", 2, false, NULL), SHEAF_OK);
    assert_int_equal(out.size, 2048);
    assert_string_equal(out.data, "././@PaxHeader");
    assert_int_equal(out.data[156], 'x');
    assert_memory_equal(out.data + 124, "00000000206", 11);
    assert_memory_equal(out.data + 512, "134 path=xxxx", 13);
    assert_memory_equal(out.data + 512 + 120, "xxxxxxxxx.txt\n\0", 15);
    assert_memory_equal(out.data + 1024, path, 100);
    assert_memory_equal(out.data + 1024 + 148, "037313", 6);
    assert_int_equal(parse(&out, &m, NULL), SHEAF_OK);
    assert_path(&m, "", path);
    assert_int_equal(m.header_bytes, 1536);
    assert_int_equal(m.bytes, 2);
    buf_free(&out);
}

static void writes_large_sizes(void **state)
{
    static const uint64_t sizes[] = { 8589934591, 8589934592, (uint64_t)1 << 40 };
    struct buf out = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(sizes); i++) {
        out.size = 0;
        assert_int_equal(tar_write_header(&out, "a.b", sizes[i], false, NULL), SHEAF_OK);
        assert_int_equal(out.size, i == 0 ? 512 : 1536);
        assert_int_equal(parse(&out, &m, NULL), SHEAF_OK);
        assert_path(&m, "", "a.b");
        assert_true(m.bytes == sizes[i]);
    }
    assert_memory_equal(out.data + 512, "22 size=1099511627776\n\0", 23);
    buf_free(&out);
}

/* Tests that a path of every length, flat and deep, is read back, and that no header is longer than
 * necessary. */
static void gives_back_every_path(void **state)
{
    size_t size, slash;

    (void)state;
    for (size = 1; size <= 320; size++) {
        for (slash = 0; slash < size; slash += 1 + size / 7) {
            char path[400], joined[512];
            struct buf out = BUF_INIT(OUT_LIMIT);
            struct tar_member m;
            const bool splits = slash > 0 && slash <= 155 && size - slash - 1 <= 100 &&
                                slash + 1 < size;

            memset(path, 'p', size);
            path[size] = '\0';
            if (slash > 0)
                path[slash] = '/';
            assert_int_equal(tar_write(&out, path, "", 0, false, NULL), SHEAF_OK);
            assert_int_equal(parse(&out, &m, NULL), SHEAF_OK);
            snprintf(joined, sizeof(joined), "%.*s%s%.*s", (int)m.prefix_size, m.prefix,
                     m.prefix_size == 0 ? "" : "/", (int)m.name_size, m.name);
            assert_string_equal(joined, path);
            assert_int_equal(out.size, size <= 100 || splits ? 512 : 1536);
            buf_free(&out);
        }
    }
}

static void ends_with_two_zero_blocks(void **state)
{
    static const uint8_t zeros[1024];
    struct buf out = BUF_INIT(OUT_LIMIT);

    (void)state;
    assert_int_equal(tar_write_end(&out, NULL), SHEAF_OK);
    assert_int_equal(out.size, 1024);
    assert_memory_equal(out.data, zeros, 1024);
    buf_free(&out);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void reads_sizes(void **state)
{
    static const struct {
        const char *field;
        uint64_t bytes;
    } good[] = {
        { "00000000017\0", 15 }, { "         17 ", 15 }, { "000000000017", 15 },
        { "77777777777\0", 8589934591 }, { "17\0trailing!", 15 }, { "\0\0\0\0\0\0\0\0\0\0\0\0", 0 },
        { "\x80\0\0\0\0\0\0\x02\0\0\0\0", 8589934592 },
    };
    static const struct {
        const char *field;
        int code;
    } bad[] = {
        { "0000000008\0\0", SHEAF_ERR_CORRUPT }, { "-0000000001\0", SHEAF_ERR_CORRUPT },
        { "0x000000001\0", SHEAF_ERR_CORRUPT },
        { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", SHEAF_ERR_CORRUPT },
        { "\x80\x01\0\0\0\0\0\0\0\0\0\0", SHEAF_ERR_CORRUPT },
        { "\x80\0\0\0\x10\0\0\0\0\0\0\0", SHEAF_ERR_LIMIT },
    };
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(good); i++) {
        tar.size = 0;
        tar_put_spec(&tar, &(struct tar_spec){ .name = "a.b", .type = '0',
                                               .size_field = good[i].field });
        assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
        assert_true(m.bytes == good[i].bytes);
    }
    for (i = 0; i < COUNT_OF(bad); i++) {
        tar.size = 0;
        tar_put_spec(&tar, &(struct tar_spec){ .name = "a.b", .type = '0',
                                               .size_field = bad[i].field });
        assert_int_equal(parse(&tar, &m, NULL), bad[i].code);
    }
    buf_free(&tar);
}

static void knows_types(void **state)
{
    static const struct {
        char type;
        const char *name;
        enum tar_kind kind;
        uint64_t bytes;         /* expected size, if the header states 5 bytes */
    } cases[] = {
        { '0', "a.b", TAR_FILE, 5 }, { '\0', "a.b", TAR_FILE, 5 }, { '7', "a.b", TAR_FILE, 5 },
        { '\0', "a.b/", TAR_DIRECTORY, 5 }, { '5', "a.b", TAR_DIRECTORY, 0 },
        { '1', "a.b", TAR_OTHER, 0 }, { '2', "a.b", TAR_OTHER, 0 }, { '3', "a.b", TAR_OTHER, 0 },
        { '6', "a.b", TAR_OTHER, 0 }, { 'D', "a.b", TAR_OTHER, 5 }, { 'Z', "a.b", TAR_OTHER, 5 },
    };
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        tar.size = 0;
        tar_put_spec(&tar, &(struct tar_spec){ .name = cases[i].name, .type = cases[i].type,
                                               .data = "12345", .size = 5 });
        assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
        assert_int_equal(m.kind, cases[i].kind);
        assert_int_equal(m.bytes, cases[i].bytes);
    }
    buf_free(&tar);
}

static void reads_gnu_names(void **state)
{
    char name[301];
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;

    (void)state;
    memset(name, 'n', 300);
    name[300] = '\0';
    tar_put_spec(&tar, &(struct tar_spec){ .name = "././@LongLink", .type = 'L', .data = name,
                                           .size = 301, .magic = "ustar  " });
    tar_put_typed(&tar, 'K', "././@LongLink", "a target");
    /* In GNU's format, the header has times where ustar has the prefix. */
    tar_put_spec(&tar, &(struct tar_spec){ .name = "nnn", .type = '0', .data = "x", .size = 1,
                                           .magic = "ustar  ", .prefix = "13370000000" });
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_path(&m, "", name);
    assert_int_equal(m.header_bytes, 5 * 512);
    assert_int_equal(m.bytes, 1);
    buf_free(&tar);
}

static void reads_pax(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;

    (void)state;
    tar_put_typed(&tar, 'x', "PaxHeaders/a", "20 mtime=1234567.89\n15 path=\xc3\xa4/b.c\n"
                  "11 size=17\n22 comment=path=x/y.z\n");
    tar_put_file(&tar, "other", "not 17 bytes, but so they say");
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_path(&m, "", "\xc3\xa4/b.c");
    assert_int_equal(m.bytes, 17);
    assert_int_equal(m.header_bytes, 3 * 512);
    buf_free(&tar);
}

static void reads_global_headers(void **state)
{
    static const char *const refused[] = { "12 path=a.b\n", "9 size=1\n",
                                           "22 GNU.sparse.major=1\n" };
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i;

    (void)state;
    tar_put_typed(&tar, 'g', "pax_global_header", "16 comment=abcd\n");
    tar_put_file(&tar, "a.b", "x");
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_int_equal(m.kind, TAR_GLOBAL);
    assert_int_equal(m.header_bytes, 1024);
    assert_int_equal(m.bytes, 0);
    for (i = 0; i < COUNT_OF(refused); i++) {
        tar.size = 0;
        tar_put_typed(&tar, 'g', "pax_global_header", refused[i]);
        m.kind = TAR_FILE;
        assert_int_equal(parse(&tar, &m, NULL), SHEAF_ERR_CORRUPT);
        assert_int_equal(m.kind, TAR_GLOBAL);
    }
    buf_free(&tar);
}

static void refuses_bad_pax(void **state)
{
    static const char *const bad[] = {
        "path=a.b\n", "x", "12 path=a.bc", "11 path=a.b\n", "13 path=a.b\n", "0 a=b\n", "4 =\n",
        "7 =abc\n", "6 path\n", "99999999999999999999999 a=b\n", "10 size=x\n", "11 size=-1\n",
        "12path=a.bc\n", " 12 path=a.b\n",
    };
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        tar.size = 0;
        tar_put_typed(&tar, 'x', "p", bad[i]);
        tar_put_file(&tar, "a.b", "x");
        if (parse(&tar, &m, NULL) != SHEAF_ERR_CORRUPT)
            fail_msg("\"%s\" was taken for a pax header", bad[i]);
    }
    buf_free(&tar);
}

/* Appends a member after an extension header of this type. The member must have this problem, and
 * must be skipped correctly. */
static void assert_has_problem(struct buf *tar, char type, const char *problem)
{
    struct tar_member m;

    tar_put_typed(tar, type, "a.b", "x");
    assert_int_equal(parse(tar, &m, NULL), SHEAF_OK);
    assert_int_equal(m.kind, TAR_FILE);
    assert_int_equal(m.header_bytes + tar_padded(m.bytes), tar->size);
    assert_non_null(m.problem);
    assert_non_null(strstr(m.problem, problem));
    tar->size = 0;
}

/* Tests GNU's sparse files. The map continues in blocks after the header, and each block states
 * whether another one follows. */
static void passes_sparse_maps(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t need;

    (void)state;
    tar_put_spec(&tar, &(struct tar_spec){ .name = "a.b", .type = 'S', .bytes = 700 });
    tar.data[482] = 1;
    tar_fix_checksum(tar.data);
    tar_put_zeros(&tar, 2);
    tar.data[TAR_BLOCK + 504] = 1;
    assert_int_equal(tar_parse(tar.data, TAR_BLOCK, &m, &need, NULL), SHEAF_OK);
    assert_int_equal(need, 2 * TAR_BLOCK);
    assert_int_equal(tar_parse(tar.data, 2 * TAR_BLOCK, &m, &need, NULL), SHEAF_OK);
    assert_int_equal(need, 3 * TAR_BLOCK);
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_int_equal(m.header_bytes, 3 * TAR_BLOCK);
    assert_int_equal(m.bytes, 700);
    buf_free(&tar);
}

/* Tests that the last of two long names counts, as in GNU tar, and that a path in a pax header
 * takes precedence. */
static void the_last_of_two_long_names_counts(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;

    (void)state;
    tar_put_typed(&tar, 'L', "././@LongLink", "first.txt");
    tar_put_typed(&tar, 'L', "././@LongLink", "second.txt");
    tar_put_file(&tar, "header.txt", "x");
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_int_equal(m.name_size, 10);
    assert_memory_equal(m.name, "second.txt", 10);
    tar.size = 0;
    tar_put_typed(&tar, 'x', "p", "16 path=pax.txt\n");
    tar_put_typed(&tar, 'L', "././@LongLink", "second.txt");
    tar_put_file(&tar, "header.txt", "x");
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    assert_memory_equal(m.name, "pax.txt", 7);
    buf_free(&tar);
}

static void refuses_what_it_would_misread(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;

    (void)state;
    assert_has_problem(&tar, 'S', "a sparse file");
    assert_has_problem(&tar, 'M', "continued from another volume");
    tar_put_typed(&tar, 'x', "p", "22 GNU.sparse.major=1\n");
    assert_has_problem(&tar, '0', "a sparse file");
    tar_put_typed(&tar, 'x', "p", "12 path=a.b\n");
    tar_put_zeros(&tar, 2);
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_ERR_CORRUPT);
    buf_free(&tar);
}

static void bounds_extension_headers(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    size_t i, need;

    (void)state;
    tar_put_spec(&tar, &(struct tar_spec){ .name = "p", .type = 'x', .bytes = 4 << 20 });
    assert_int_equal(tar_parse(tar.data, tar.size, &m, &need, NULL), SHEAF_ERR_CORRUPT);
    tar.size = 0;
    for (i = 0; i < 1500; i++)
        tar_put_typed(&tar, 'K', "././@LongLink", "x");
    assert_has_problem(&tar, '0', "more than 1 MiB of extension headers");
    buf_free(&tar);
}

static void checks_sums(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    struct sheaf_error err;
    size_t at;

    (void)state;
    tar_put_file(&tar, "a.b", "");
    for (at = 0; at < TAR_BLOCK; at++) {
        const uint8_t kept = tar.data[at];

        tar.data[at] = (uint8_t)(kept + 1);
        if (at != 154 && at != 155)     /* the byte that ends the checksum itself */
            assert_int_equal(parse(&tar, &m, &err), SHEAF_ERR_CORRUPT);
        tar.data[at] = kept;
    }
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    buf_free(&tar);
}

/* Tests that the checksums of old writers, which added up signed characters, are accepted. */
static void takes_signed_sums(void **state)
{
    struct buf tar = BUF_INIT(OUT_LIMIT);
    struct tar_member m;
    int sum = 0;
    size_t i;

    (void)state;
    tar_put_file(&tar, "\xe4\xf6.b", "");
    memset(tar.data + 148, ' ', 8);
    for (i = 0; i < TAR_BLOCK; i++)
        sum += (signed char)tar.data[i];
    snprintf((char *)tar.data + 148, 7, "%06o", (unsigned)sum);
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_OK);
    tar.data[153]++;
    assert_int_equal(parse(&tar, &m, NULL), SHEAF_ERR_CORRUPT);
    buf_free(&tar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_ustar),
        cmocka_unit_test(splits_long_paths),
        cmocka_unit_test(writes_pax_where_it_must),
        cmocka_unit_test(writes_large_sizes),
        cmocka_unit_test(gives_back_every_path),
        cmocka_unit_test(ends_with_two_zero_blocks),
        cmocka_unit_test(reads_sizes),
        cmocka_unit_test(knows_types),
        cmocka_unit_test(reads_gnu_names),
        cmocka_unit_test(reads_pax),
        cmocka_unit_test(reads_global_headers),
        cmocka_unit_test(refuses_bad_pax),
        cmocka_unit_test(passes_sparse_maps),
        cmocka_unit_test(the_last_of_two_long_names_counts),
        cmocka_unit_test(refuses_what_it_would_misread),
        cmocka_unit_test(bounds_extension_headers),
        cmocka_unit_test(checks_sums),
        cmocka_unit_test(takes_signed_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
