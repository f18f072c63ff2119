/* SPDX-License-Identifier: MIT
 *
 * Tests URLs: encoding and decoding, and which names from outside are accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/url.h"

static struct sheaf_error error;

static void check_encoded(const char *text, bool keep_slash, const char *expected)
{
    struct buf out = BUF_INIT(10000);

    assert_int_equal(url_encode(&out, text, keep_slash, &error), SHEAF_OK);
    assert_int_equal(buf_append(&out, "", 1, &error), SHEAF_OK);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_encode(void **state)
{
    (void)state;
    check_encoded("", true, "");
    check_encoded("azAZ09-_.~", true, "azAZ09-_.~");
    check_encoded("a b+c%d=e&f", true, "a%20b%2Bc%25d%3De%26f");
    check_encoded("a/b", true, "a/b");
    check_encoded("a/b", false, "a%2Fb");
    check_encoded("\xc3\xbc\x7f\x01", true, "%C3%BC%7F%01");
}

static void test_decode(void **state)
{
    char all[3 * 255 + 1], back[256];
    char plus[] = "a+b%2Bc", same[] = "a+b%2bc";
    static const char *const bad[] = { "%", "%4", "%4g", "a%zz", "%00", "x%0" };

    (void)state;
    for (unsigned c = 1; c < 256; c++) {
        static const char digits[] = "0123456789ABCDEF";

        all[3 * c - 3] = '%';
        all[3 * c - 2] = digits[c >> 4];
        all[3 * c - 1] = digits[c & 15];
        back[c - 1] = (char)c;
    }
    all[3 * 255] = back[255] = '\0';
    assert_true(url_decode(all, false));
    assert_string_equal(all, back);
    assert_true(url_decode(plus, true));
    assert_string_equal(plus, "a b+c");
    assert_true(url_decode(same, false));
    assert_string_equal(same, "a+b+c");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *text = strdup(bad[i]);

        assert_false(url_decode(text, false));
        free(text);
    }
}

/* Tests that an encoded text decodes to itself, and has only characters that a request line may
 * contain. */
static void test_round_trip(void **state)
{
    char text[256];

    (void)state;
    for (unsigned c = 1; c < 256; c++)
        text[c - 1] = (char)c;
    text[255] = '\0';
    for (int keep_slash = 0; keep_slash < 2; keep_slash++) {
        struct buf out = BUF_INIT(10000);

        assert_int_equal(url_encode(&out, text, keep_slash, &error), SHEAF_OK);
        assert_int_equal(buf_append(&out, "", 1, &error), SHEAF_OK);
        assert_true(url_decode((char *)out.data, true));
        assert_string_equal(out.data, text);
        buf_free(&out);
    }
}

static void check_url(const char *text, bool tls, const char *host, unsigned port,
                      const char *path, const char *header)
{
    struct buf out = BUF_INIT(1000);
    struct url url;

    if (url_parse(text, &url, &error) != SHEAF_OK)
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(url.tls, tls);
    assert_string_equal(url.host, host);
    assert_int_equal(url.port, port);
    assert_string_equal(url.path, path);
    assert_int_equal(url_append_host(&out, &url, &error), SHEAF_OK);
    assert_int_equal(out.size, strlen(header));
    assert_memory_equal(out.data, header, out.size);
    buf_free(&out);
    url_free(&url);
}

static void test_parse(void **state)
{
    (void)state;
    check_url("http://a.example", false, "a.example", 0, "/", "a.example");
    check_url("https://a.example/", true, "a.example", 0, "/", "a.example");
    check_url("https://a:443/x", true, "a", 443, "/x", "a");
    check_url("http://a:443/x", false, "a", 443, "/x", "a:443");
    check_url("http://a:80", false, "a", 80, "/", "a");
    check_url("http://[::1]:8080/x", false, "[::1]", 8080, "/x", "[::1]:8080");
    check_url("http://a?q=1", false, "a", 0, "/?q=1", "a");
    check_url("http://a/x#part", false, "a", 0, "/x", "a");
    check_url("http://a/x%20y?q=%2F", false, "a", 0, "/x%20y?q=%2F", "a");
    check_url("http://a/x y|\xc3\xbc", false, "a", 0, "/x%20y%7C%C3%BC", "a");
}

static void test_refused(void **state)
{
    static const char *const bad[] = {
        "", "ftp://a", "http:/a", "http://", "http:///x", "http://a:0", "http://a:65536",
        "http://a:8o", "http://a:", "http://[::1", "http://a b/", "http://a\r\nX:/",
        "http://a/x\r\ny", "http://a/\x7f", "http://user:secret@a/",
    };
    struct url url;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (url_parse(bad[i], &url, &error) != SHEAF_ERR_ARGUMENT)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_null(url.host);
        assert_null(url.path);
        assert_null(strstr(error.message, "secret"));
    }
}

static void test_printable(void **state)
{
    (void)state;
    assert_int_equal(url_printable_size("http://a/x?X-Amz-Signature=s"), strlen("http://a/x"));
    assert_int_equal(url_printable_size("http://a/x"), strlen("http://a/x"));
}

static void check_s3(const char *text, const char *bucket, const char *key)
{
    char *got_bucket, *got_key;

    if (url_parse_s3(text, &got_bucket, &got_key, &error) != SHEAF_OK)
        fail_msg("%s: %s", text, error.message);
    assert_string_equal(got_bucket, bucket);
    assert_string_equal(got_key, key);
    free(got_bucket);
    free(got_key);
}

static void test_s3(void **state)
{
    static const char *const bad[] = { "s3://", "s3:///key", "s3://ab/key", "s3://a_b c/key",
        "http://bucket/key", "s3://.bucket/x", "s3://-bucket/x",
        "s3://0123456789012345678901234567890123456789012345678901234567890123/x" };
    char long_url[12 + 1025 + 1], *bucket, *key;

    (void)state;
    check_s3("s3://bucket", "bucket", "");
    check_s3("s3://bucket/", "bucket", "");
    check_s3("s3://buc-ket.1/a/b c+%41?x#y", "buc-ket.1", "a/b c+%41?x#y");
    check_s3("s3://bucket//a//", "bucket", "/a//");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(url_parse_s3(bad[i], &bucket, &key, &error), SHEAF_ERR_ARGUMENT);
        assert_null(bucket);
    }
    memcpy(long_url, "s3://bucket/", 12);
    memset(long_url + 12, 'k', 1025);
    long_url[12 + 1024] = '\0';
    check_s3(long_url, "bucket", long_url + 12);
    long_url[12 + 1024] = 'k';
    long_url[12 + 1025] = '\0';
    assert_int_equal(url_parse_s3(long_url, &bucket, &key, &error), SHEAF_ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_s3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
