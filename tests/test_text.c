/* SPDX-License-Identifier: MIT
 *
 * Tests text that is displayed. It must not contain commands for a terminal or secrets in URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

static void test_characters(void **state)
{
    static const struct { const char *text, *shown; } cases[] = {
        { "", "" }, { "plain \\ text", "plain \\ text" }, { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
          "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "a\nb\tc\x1b[2J\x7f", "a\\x0ab\\x09c\\x1b[2J\\x7f" },
        { "\xc2\x9b" "31m", "\\xc2\\x9b31m" },                  /* C1: CSI */
        { "\xc2\xa0", "\xc2\xa0" },
        { "gpj\xe2\x80\xae.txt", "gpj\\xe2\\x80\\xae.txt" },    /* right-to-left override */
        { "\xe2\x81\xa6x\xe2\x81\xa9", "\\xe2\\x81\\xa6x\\xe2\\x81\\xa9" },
        { "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },
        { "\xff\x9b\xc3", "\\xff\\x9b\\xc3" },
    };
    char shown[100];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const size_t size = strlen(cases[i].shown);

        assert_int_equal(sheaf_show(cases[i].text, shown, sizeof(shown)), size);
        assert_string_equal(shown, cases[i].shown);
        for (size_t room = 0; room <= size; room++) {
            memset(shown, '#', sizeof(shown));
            assert_int_equal(sheaf_show(cases[i].text, shown, room), size);
            assert_int_equal(shown[room], '#');
            if (room != 0)
                assert_int_equal(strncmp(shown, cases[i].shown, strlen(shown)), 0);
        }
    }
}

/* Tests that a character without room is left out completely, and everything after it as well. */
static void test_cut(void **state)
{
    char shown[8];

    (void)state;
    (void)sheaf_show("abcd\xe2\x82\xac" "e", shown, 7);
    assert_string_equal(shown, "abcd");
    (void)sheaf_show("abcd\nef", shown, sizeof(shown));
    assert_string_equal(shown, "abcd");
}

static void test_urls(void **state)
{
    static const struct { const char *text, *hidden; } cases[] = {
        { "https://host/a?X-Amz-Signature=ab: is gone", "https://host/a: is gone" },
        { "(http://host/a?b) and \"HTTPS://h?c\"", "(http://host/a) and \"HTTPS://h\"" },
        { "https://me:secret@host:80/x?a@b#c", "https://host:80/x" },
        { "http://me@host", "http://host" },
        { "http://host/x@y/z", "http://host/x@y/z" },
        { "http://host#frag?x", "http://host" },
        { "s3://bucket/key?part", "s3://bucket/key?part" },
        { "why? http or https?", "why? http or https?" },
        { "http://a?x, http://b?y; http://", "http://a, http://b; http://" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = strdup(cases[i].text);

        text_hide_secrets(text);
        assert_string_equal(text, cases[i].hidden);
        free(text);
    }
    for (unsigned i = 0; i < 2; i++) {
        char *shown = text_shown_url(i == 0 ? "http://u:p@h/a?t=x y z" : "/dir/what?");

        assert_string_equal(shown, i == 0 ? "http://h/a" : "/dir/what?");
        free(shown);
    }
}

/* Tests that a message with a long URL still has its reason. */
static void test_messages(void **state)
{
    static char url[3000];
    struct sheaf_error error;

    (void)state;
    memset(url, 'x', sizeof(url) - 1);
    memcpy(url, "http://host/a?", 14);
    err_set(&error, SHEAF_ERR_IO, "%s: broken", url);
    assert_string_equal(error.message, "http://host/a: broken");
    err_prefix(&error, "%s: \xc2\x9b: ", url);
    assert_string_equal(error.message, "http://host/a: \\xc2\\x9b: http://host/a: broken");
    err_append(&error, ": %s\x1b", "the server's words");
    assert_string_equal(error.message, "http://host/a: \\xc2\\x9b: http://host/a: broken: the "
                        "server's words\\x1b");
    assert_int_equal(err_errno(&error, 2, "%s", url), SHEAF_ERR_NOT_FOUND);
    assert_string_equal(error.message, "http://host/a: No such file or directory");
    err_append(NULL, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_urls), cmocka_unit_test(test_messages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
