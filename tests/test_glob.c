/* SPDX-License-Identifier: MIT
 *
 * Tests shell patterns: stars, sets, and invalid patterns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/bytes.h"
#include "base/glob.h"

static bool match(const char *pattern, const char *text)
{
    return glob_match(pattern, strlen(pattern), text, strlen(text));
}

static void test_matches(void **state)
{
    static const char *const yes[][2] = {
        { "", "" }, { "*", "" }, { "*", "a/b" }, { "a", "a" }, { "a*c", "ac" }, { "a*c", "abcbc" },
        { "*.jpg", ".jpg" }, { "a?c", "a/c" }, { "**", "x" }, { "*a*b*", "xxaxxbxx" },
        { "\\*", "*" }, { "\\a", "a" }, { "[ab]", "b" }, { "[!ab]", "c" }, { "[^ab]", "c" },
        { "[]]", "]" }, { "[!]]", "a" }, { "[a-c]", "b" }, { "[a-]", "-" }, { "[-a]", "-" },
        { "[a-c-e]", "-" }, { "[\\]]", "]" }, { "[\\a-\\c]", "b" }, { "[[:digit:]]", "7" },
        { "[![:digit:]x]", "y" }, { "[[:alpha:][:digit:]]", "7" }, { "[[]", "[" }, { "[[:]", ":" },
        { "[[:punct:]]", "!" }, { "[[:xdigit:]]", "F" }, { "[[:space:]]", "\n" },
        { "[\xc3]", "\xc3" }, { "?\?", "\xc3\xa9" }, { "*[0-9][0-9]", "a1012" },
    };
    static const char *const no[][2] = {
        { "", "a" }, { "a", "" }, { "a", "ab" }, { "a*c", "abcb" }, { "?", "" }, { "[ab]", "c" },
        { "[!ab]", "a" }, { "[c-a]", "b" }, { "\\*", "a" }, { "[[:digit:]]", "a" },
        { "A", "a" }, { "[A-Z]", "a" }, { "[", "[" }, { "a\\", "a" }, { "?", "\xc3\xa9" },
        { "[a-c-e]", "d" }, { "*[!0-9]", "a1" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(yes); i++)
        if (!match(yes[i][0], yes[i][1]))
            fail_msg("\"%s\" does not match \"%s\"", yes[i][0], yes[i][1]);
    for (size_t i = 0; i < COUNT_OF(no); i++)
        if (match(no[i][0], no[i][1]))
            fail_msg("\"%s\" matches \"%s\"", no[i][0], no[i][1]);
}

static void test_problems(void **state)
{
    static const char *const bad[] = { "[", "[]", "[a", "[!]", "a\\", "[a\\", "[[:digit:]",
                                       "[[:nothing:]]", "[[::]]", "[a-" };
    static const char *const good[] = { "", "*", "]", "[]]", "[[]", "\\\\", "a]", "[[:alpha:]]" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (glob_problem(bad[i], strlen(bad[i])) == NULL)
            fail_msg("\"%s\" is valid", bad[i]);
    for (size_t i = 0; i < COUNT_OF(good); i++)
        if (glob_problem(good[i], strlen(good[i])) != NULL)
            fail_msg("\"%s\" is not valid", good[i]);
}

/* A matcher that tries every way to divide the text among the stars would not end. */
static void many_stars_end(void **state)
{
    static char pattern[401], text[10001];

    (void)state;
    for (size_t i = 0; i < 400; i += 2)
        memcpy(pattern + i, "*a", 2);
    memset(text, 'a', 10000);
    assert_true(glob_match(pattern, 400, text, 10000));
    pattern[399] = 'b';
    assert_false(glob_match(pattern, 400, text, 10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(many_stars_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
