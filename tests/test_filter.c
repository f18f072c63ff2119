/* SPDX-License-Identifier: MIT
 *
 * Tests filters of paths. Their rules are those of git, so the results are compared with git's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "packer/source/filter.h"
#include "tests/common_must.h"
#include "tests/common_random.h"
#include "tests/common_tree.h"

#define FILTERS_MOST 5
#define FILES_MOST   200
#define TEXT_BYTES   100

static struct tree tree;
static struct rng rng;
static char paths[FILES_MOST][TEXT_BYTES];
static size_t path_count;

/* Appends to a text in memory of `room` bytes. */
static void add(char *text, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t room, const char *format, ...)
{
    const size_t size = strlen(text);
    va_list args;

    va_start(args, format);
    assert_in_range(vsnprintf(text + size, room - size, format, args), 0, room - size - 1);
    va_end(args);
}

static const char *any_of(const char *const *words, size_t count)
{
    return words[rng_below(&rng, count)];
}

/* ---- One pattern ----------------------------------------------------------------------------- */

static void test_patterns(void **state)
{
    static const struct { const char *pattern, *path; bool is_directory, matches; } cases[] = {
        { "*.jpg", "a/b/c.jpg", false, true }, { "*.jpg", "c.jpeg", false, false },
        { "b", "a/b", true, true }, { "b/", "a/b", true, true }, { "b/", "a/b", false, false },
        { "/b", "a/b", true, false }, { "/b", "b", false, true }, { "a/b", "a/b", false, true },
        { "a/b", "x/a/b", false, false }, { "a/*", "a/b", false, true },
        { "a/*", "a/b/c", false, false }, { "a/**", "a/b/c", false, true },
        { "a/**", "a", true, false }, { "**/b", "b", false, true },
        { "**/b", "x/y/b", false, true },
        { "a/**/b", "a/b", false, true }, { "a/**/b", "a/x/y/b", false, true },
        { "a/**/b", "a/x/y/c", false, false }, { "**", "a/b", false, true },
        { "/**", "a/b", false, true }, { "a?b/c", "a/b/c", false, false },
        { "a[b/]c", "abc", false, true }, { "a[b/]c", "x/abc", false, false },
        { "\\!a", "!a", false, true }, { "a\\/b", "a/b", false, true },
        { "**/x/**/b", "a/x/c/x/d/b", false, true }, { "**/**/b", "b", false, true },
        { "#a", "#a", false, true }, { "a ", "a ", false, true },
    };
    static const char *const bad[] = { "", "!", "/", "//", "a//b", "a//", "[a", "a\\" };
    struct path_glob glob;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_null(path_glob_parse(cases[i].pattern, &glob));
        if (path_glob_match(&glob, cases[i].path, cases[i].is_directory) != cases[i].matches)
            fail_msg("\"%s\" and \"%s\"", cases[i].pattern, cases[i].path);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (path_glob_parse(bad[i], &glob) == NULL)
            fail_msg("\"%s\" is valid", bad[i]);
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* Opens a filter of rules such as "+*.jpg" and "-raw/". NULL ends the rules. */
static int open_rules(struct filter *filter, const char *const *texts, struct sheaf_error *error)
{
    struct sheaf_filter rules[FILTERS_MOST];
    size_t count = 0;

    for (; texts[count] != NULL; count++)
        rules[count] = (struct sheaf_filter){ texts[count] + 1, texts[count][0] == '+' };
    return filter_open(filter, rules, count, error);
}

/* Checks which of five files the rules pack. `packed` has the first letters of the files' base
 * names. */
static void check(const char *const *rules, const char *packed)
{
    static const char *const all[] = { "a.jpg", "A.txt", "d/b.jpg", "d/keep.txt", "x/d/c.txt" };
    struct filter filter;
    struct sheaf_error error;
    char got[8] = "";
    bool out;

    must(open_rules(&filter, rules, &error));
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const char *slash = strrchr(all[i], '/');

        must(filter_ask(&filter, all[i], false, &out, &error));
        if (!out)
            strncat(got, slash == NULL ? all[i] : slash + 1, 1);
    }
    filter_close(&filter);
    assert_string_equal(got, packed);
}

#define RULES(...) (const char *const[]){ __VA_ARGS__, NULL }

static void test_order(void **state)
{
    (void)state;
    check(RULES(NULL), "aAbkc");
    check(RULES("+*.jpg"), "ab");
    check(RULES("-*.txt"), "ab");
    check(RULES("-*.txt", "+keep.*"), "abk");       /* as lines of a .gitignore */
    check(RULES("-*.txt", "-!keep.*"), "abk");
    check(RULES("+keep.*", "-*.txt"), "");          /* the last match decides */
    check(RULES("+d/"), "bkc");                     /* everything in this directory */
    check(RULES("+/d"), "bk");
    check(RULES("+d/", "-*.txt"), "b");
    /* files in a directory that is left out stay left out */
    check(RULES("-d/", "+*.txt"), "aA");
    check(RULES("+*.txt", "-x/"), "Ak");
    check(RULES("+x/", "+*.jpg", "-b.*"), "ac");
    check(RULES("-*", "+*.jpg"), "a");
}

static void what_was_left_out_is_counted_by_rule(void **state)
{
    static const char *const rules[] = { "+*.jpg", "-b*", "-nothing", NULL };
    struct filter f;
    struct sheaf_error error;
    bool out;

    (void)state;
    must(open_rules(&f, rules, &error));
    must(filter_ask(&f, "a.jpg", false, &out, &error));
    must(filter_ask(&f, "b.jpg", false, &out, &error));
    must(filter_ask(&f, "b", true, &out, &error));
    must(filter_ask(&f, "c.txt", false, &out, &error));
    assert_int_equal(f.rules[1].left_out, 2);
    assert_int_equal(f.unmatched, 1);
    assert_true(f.rules[0].matched && f.rules[1].matched && !f.rules[2].matched);
    filter_close(&f);
}

static void wrong_rules_are_named(void **state)
{
    struct filter f;
    struct sheaf_error error;

    (void)state;
    assert_int_equal(open_rules(&f, RULES("+a", "-[b"), &error), SHEAF_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "\"[b\""));
    filter_close(&f);
}

/* ---- The same as git ------------------------------------------------------------------------- */

static void make_pattern(char *out)
{
    static const char *const words[] = { "a", "b", "ab", "c.jpg", "d.txt", "*", "?", "[ab]", "[!a]",
                                         "*.jpg", "a*", "**", "\\a", "*b", "[a-c]*", "?.*" };
    const size_t room = TEXT_BYTES - 1, count = 1 + rng_below(&rng, 3);

    out[0] = '\0';
    add(out, room, "%s", rng_below(&rng, 8) == 0 ? "!" : "");
    add(out, room, "%s", rng_below(&rng, 4) == 0 ? "/" : "");
    for (size_t i = 0; i < count; i++)
        add(out, room, "%s%s", i == 0 ? "" : "/", any_of(words, COUNT_OF(words)));
    add(out, room, "%s", rng_below(&rng, 4) == 0 ? "/" : "");
}

/* Returns whether the path can be added to the tree: no other path is equal, or is a directory of
 * it, or lies in it. */
static bool fits(const char *path)
{
    for (size_t i = 0; i < path_count; i++) {
        const size_t size = strlen(paths[i]), own = strlen(path), less = MIN(size, own);
        const char *longer = size > own ? paths[i] : path;

        if (memcmp(path, paths[i], less) == 0 && (longer[less] == '\0' || longer[less] == '/'))
            return false;
    }
    return true;
}

static void make_paths(void)
{
    static const char *const directories[] = { "a", "b", "ab", "c.jpg", "d.txt" };
    static const char *const names[] = { "a", "b", "c.jpg", "d.txt", "ab", "b.jpg", "abc", "?.b" };

    path_count = 0;
    for (size_t tries = 0; tries < FILES_MOST; tries++) {
        char path[TEXT_BYTES] = "";
        const size_t depth = rng_below(&rng, 4);

        for (size_t i = 0; i < depth; i++)
            add(path, sizeof(path), "%s/", any_of(directories, COUNT_OF(directories)));
        add(path, sizeof(path), "%s", any_of(names, COUNT_OF(names)));
        if (fits(path))
            memcpy(paths[path_count++], path, sizeof(path));
    }
    for (size_t i = 0; i < path_count; i++) {
        char below[TEXT_BYTES + 8] = "tree/";

        add(below, sizeof(below), "%s", paths[i]);
        tree_text(&tree, below, "");
    }
}

/* Writes the rules in the form of a .gitignore. If the first rule packs files, all other files are
 * ignored, except those in a directory that a rule packs. */
static void write_ignore_file(char rules[][TEXT_BYTES], size_t count)
{
    static char text[FILTERS_MOST * 3 * TEXT_BYTES];

    text[0] = '\0';
    if (rules[0][0] == '+')
        add(text, sizeof(text), "*\n!*/\n");
    for (size_t i = 0; i < count && rules[0][0] == '+'; i++) {
        const char *p = rules[i] + 1;
        const bool inverted = *p == '!';
        size_t length;

        p += inverted;
        length = strlen(p);
        length -= p[length - 1] == '/';
        if ((rules[i][0] == '+') != inverted)
            add(text, sizeof(text), "!%s%.*s%s/**\n",
                memchr(p, '/', length) == NULL ? "**/" : "", (int)length, p,
                length > 1 && memcmp(p + length - 2, "**", 2) == 0 ? "/*" : "");
    }
    for (size_t i = 0; i < count; i++) {
        const char *p = rules[i] + 1;
        const bool inverted = *p == '!';

        add(text, sizeof(text), "%s%s\n", (rules[i][0] == '+') != inverted ? "!" : "",
            p + inverted);
    }
    tree_text(&tree, "ignored", text);
}

/* Returns whether git ignores a path. git's answer is a list of ignored paths, each followed by a
 * NUL. */
static bool is_listed(const char *answer, size_t size, const char *path)
{
    for (const char *at = answer; at < answer + size; at += strlen(at) + 1)
        if (strcmp(at, path) == 0)
            return true;
    return false;
}

static char *ask_git(size_t *size)
{
    char command[TREE_PATH] = "";

    add(command, sizeof(command), "cd %s/tree && git --git-dir=../git --work-tree=. "
        "-c core.excludesFile=../ignored check-ignore --no-index -z --stdin < ../paths "
        "> ../answer; test $? -le 1", tree.root);
    assert_int_equal(system(command), 0);
    return tree_read(&tree, "answer", size);
}

static void compare_with_git(char rules[][TEXT_BYTES], size_t count)
{
    const char *texts[FILTERS_MOST + 1] = { NULL };
    struct sheaf_error error;
    struct filter filter;
    size_t size;
    char *answer;

    for (size_t i = 0; i < count; i++)
        texts[i] = rules[i];
    must(open_rules(&filter, texts, &error));
    write_ignore_file(rules, count);
    answer = ask_git(&size);
    for (size_t i = 0; i < path_count; i++) {
        bool out;

        must(filter_ask(&filter, paths[i], false, &out, &error));
        if (out != is_listed(answer, size, paths[i])) {
            for (size_t k = 0; k < count; k++)
                fprintf(stderr, "    %s\n", rules[k]);
            fail_msg("%s: is %s, but not for git", paths[i], out ? "left out" : "packed");
        }
    }
    free(answer);
    filter_close(&filter);
}

static void the_same_as_git(void **state)
{
    const size_t rounds = getenv("QUICK") != NULL ? 60 : 300;
    char command[TREE_PATH] = "", rules[FILTERS_MOST][TEXT_BYTES];
    struct buf list = BUF_INIT(1 << 20);

    (void)state;
    if (system("git --version > /dev/null 2>&1") != 0)
        skip();
    random_start(&rng);
    make_paths();
    for (size_t i = 0; i < path_count; i++)
        assert_int_equal(buf_append(&list, paths[i], strlen(paths[i]) + 1, NULL), SHEAF_OK);
    tree_write(&tree, "paths", list.data, list.size);
    buf_free(&list);
    add(command, sizeof(command), "git init -q --bare %s/git", tree.root);
    assert_int_equal(system(command), 0);
    for (size_t round = 0; round < rounds; round++) {
        const size_t count = 1 + rng_below(&rng, FILTERS_MOST);

        for (size_t i = 0; i < count; i++) {
            rules[i][0] = rng_below(&rng, 2) ? '+' : '-';
            make_pattern(rules[i] + 1);
        }
        compare_with_git(rules, count);
    }
}

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tree_remove(&tree);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_order),
        cmocka_unit_test(what_was_left_out_is_counted_by_rule),
        cmocka_unit_test(wrong_rules_are_named),
        cmocka_unit_test_setup_teardown(the_same_as_git, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
