/* SPDX-License-Identifier: MIT
 *
 * Tests the scan of trees and lists. Every file must be found once, or reported as a problem. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "packer/source/source.h"
#include "tests/common_plan.h"
#include "tests/common_tree.h"

static struct tree tree;
static struct watch watch;

static int setup(void **state)
{
    (void)state;
    tree_make(&tree);
    plan_start_again();
    watch = (struct watch){ .interrupt = NULL };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plan_start_again();
    tree_remove(&tree);
    return 0;
}

static int scan(const char *path, const char *root, uint64_t *found)
{
    struct source source;
    struct scan scan = { .catalog = &catalog, .problems = &problems, .watch = &watch };
    struct sheaf_error err;
    int code = source_open(tree_path(&tree, path), root, &source, &err);

    if (code != SHEAF_OK)
        return code;
    code = source_scan(&source, &scan, &err);
    scan_end(&scan);
    source_close(&source);
    if (found != NULL)
        *found = scan.found;
    return code;
}

static const struct catalog_file *file_of(const char *path)
{
    for (size_t i = 0; i < catalog.file_count; i++)
        if (strcmp(catalog.files[i].path, path) == 0)
            return &catalog.files[i];
    return NULL;
}

static const char *class_of(const char *path)
{
    const struct catalog_file *f = file_of(path);

    assert_non_null(f);
    return catalog.labels[f->label].class_name;
}

static void test_tree(void **state)
{
    uint64_t found;

    (void)state;
    tree_text(&tree, "s/a/1.jpg", "123");
    tree_text(&tree, "s/a/b/2.jpg", "12");
    tree_text(&tree, "s/b/3.x.jpg", "");
    tree_text(&tree, "s/4.jpg", "1");
    assert_int_equal(scan("s", NULL, &found), SHEAF_OK);
    assert_int_equal(found, 4);
    assert_int_equal(catalog.file_count, 4);
    assert_int_equal(problems.count, 0);
    assert_int_equal(file_of("a/1.jpg")->bytes, 3);
    assert_int_equal(file_of("b/3.x.jpg")->key_size, 3);
    assert_string_equal(class_of("a/1.jpg"), "a");
    assert_string_equal(class_of("a/b/2.jpg"), "a/b");
    assert_int_equal(file_of("4.jpg")->label, LABEL_NONE);
}

static void test_links_are_followed_and_loops_are_found(void **state)
{
    (void)state;
    tree_text(&tree, "s/a/1.jpg", "123");
    tree_text(&tree, "other/2.jpg", "12");
    assert_int_equal(symlink("../other", tree_path(&tree, "s/link")), 0);
    assert_int_equal(symlink("1.jpg", tree_path(&tree, "s/a/same.jpg")), 0);
    assert_int_equal(symlink("..", tree_path(&tree, "s/a/up")), 0);
    assert_int_equal(symlink("loop.jpg", tree_path(&tree, "s/loop.jpg")), 0);
    assert_int_equal(symlink("nowhere", tree_path(&tree, "s/dangling.jpg")), 0);
    assert_int_equal(scan("s", NULL, NULL), SHEAF_OK);
    assert_non_null(file_of("link/2.jpg"));
    assert_int_equal(file_of("a/same.jpg")->bytes, 3);
    assert_true(has_problem("a/up", "loop"));
    assert_true(has_problem("loop.jpg", "symbolic links"));
    assert_true(has_problem("dangling.jpg", "symbolic link to a file that does not"));
    assert_int_equal(problems.count, 3);
}

static void test_what_is_no_file(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    tree_text(&tree, "s/a.jpg", "1");
    assert_int_equal(mkfifo(tree_path(&tree, "s/pipe.jpg"), 0666), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", tree_path(&tree, "s/sock.jpg"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    assert_int_equal(scan("s", NULL, NULL), SHEAF_OK);
    assert_true(has_problem("pipe.jpg", "named pipe"));
    assert_true(has_problem("sock.jpg", "socket"));
    assert_true(file_of("pipe.jpg")->bad);
    assert_false(file_of("a.jpg")->bad);
}

static void test_names(void **state)
{
    (void)state;
    tree_text(&tree, "s/README", "1");
    tree_text(&tree, "s/.hidden", "1");
    tree_text(&tree, "s/bad\xff.jpg", "1");
    tree_text(&tree, "s/new\nline.jpg", "1");
    tree_text(&tree, "s/back\\slash.jpg", "1");
    assert_int_equal(scan("s", NULL, NULL), SHEAF_OK);
    assert_int_equal(catalog.file_count, 1);
    assert_true(has_problem("README", ""));
    assert_true(has_problem(".hidden", ""));
    assert_true(has_problem("bad\\xff.jpg", "UTF-8"));
    assert_true(has_problem("new\\x0aline.jpg", "control"));
}

/* Tests a tree that is deeper than the number of files that may be open, and than any path that can
 * be packed. */
static void test_deep_tree(void **state)
{
    char path[TREE_PATH] = "s";

    (void)state;
    for (int i = 0; i < 1500; i++)
        snprintf(path + strlen(path), sizeof(path) - strlen(path), "/d");
    snprintf(path + strlen(path), sizeof(path) - strlen(path), "/x.jpg");
    tree_text(&tree, path, "1");
    assert_int_equal(scan("s", NULL, NULL), SHEAF_OK);
    assert_int_equal(catalog.file_count, 1);
    assert_non_null(file_of(path + 2));
}

static void test_unreadable_directory(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    tree_text(&tree, "s/a/1.jpg", "1");
    tree_text(&tree, "s/b/2.jpg", "1");
    assert_int_equal(chmod(tree_path(&tree, "s/a"), 0), 0);
    assert_int_equal(scan("s", NULL, NULL), SHEAF_OK);
    assert_int_equal(chmod(tree_path(&tree, "s/a"), 0700), 0);
    assert_true(has_problem("a", "Permission denied"));
    assert_int_equal(catalog.file_count, 1);
}

static void test_interrupt(void **state)
{
    static const volatile int raised = 1;

    (void)state;
    tree_text(&tree, "s/a.jpg", "1");
    watch.interrupt = &raised;
    assert_int_equal(scan("s", NULL, NULL), SHEAF_ERR_INTERRUPTED);
}

static void test_plain_list(void **state)
{
    uint64_t found;
    char text[400];

    (void)state;
    tree_text(&tree, "s/a/1.jpg", "123");
    tree_text(&tree, "s/2.jpg", "1");
    tree_text(&tree, "s/3.jpg", "1");
    snprintf(text, sizeof(text), "a/1.jpg\n\n./2.jpg\r\n%s/3.jpg\nnone.jpg\n../t/2.jpg\na\n"
             "/etc/passwd", tree_path(&tree, "s"));
    tree_text(&tree, "s/list.txt", text);
    assert_int_equal(scan("s/list.txt", tree_path(&tree, "s"), &found), SHEAF_OK);
    assert_int_equal(found, 7);
    assert_non_null(file_of("a/1.jpg"));
    assert_non_null(file_of("2.jpg"));
    assert_non_null(file_of("3.jpg"));
    assert_true(has_problem("none.jpg", "No such file"));
    assert_true(has_problem("../t/2.jpg", ".."));
    assert_true(has_problem("a", "directory"));
    assert_true(has_problem("/etc/passwd", "absolute"));
    assert_int_equal(problems.count, 4);
}

static void test_malformed_lines_are_named(void **state)
{
    char where[300];

    (void)state;
    tree_text(&tree, "s/1.jpg", "1");
    tree_text(&tree, "s/2.jpg", "1");
    tree_text(&tree, "s/l.csv",
              "path,label\n1.jpg,cat\n\"x\ny\n\",\"\"\n1.jpg\n2.jpg,3\n2.jpg,dog");
    assert_int_equal(scan("s/l.csv", NULL, NULL), SHEAF_OK);
    assert_string_equal(class_of("1.jpg"), "cat");
    assert_string_equal(class_of("2.jpg"), "dog");
    snprintf(where, sizeof(where), "%s:6", tree_path(&tree, "s/l.csv"));
    assert_true(has_problem(where, "1 column"));
    snprintf(where, sizeof(where), "%s:7", tree_path(&tree, "s/l.csv"));
    assert_true(has_problem(where, "that of line 2 is the name of a class"));
}

static void test_labels_of_lists(void **state)
{
    const struct catalog_label *label;

    (void)state;
    tree_text(&tree, "s/1.jpg", "1");
    tree_text(&tree, "s/2.jpg", "1");
    tree_text(&tree, "s/3.jpg", "1");
    tree_text(&tree, "s/l.lst", "0\t5\t1.jpg\n1\t1\t2\t2.jpg\n2\t5\t3.jpg\n");
    assert_int_equal(scan("s/l.lst", NULL, NULL), SHEAF_OK);
    assert_int_equal(file_of("1.jpg")->label, file_of("3.jpg")->label);
    label = &catalog.labels[file_of("2.jpg")->label];
    assert_int_equal(label->value_count, 2);
    assert_true(label->values[0] == 1 && label->values[1] == 2);
}

/* Tests that a byte order mark at the beginning of a text is not a part of its lines. */
static void test_byte_order_marks(void **state)
{
    static const struct { const char *name, *text; size_t files; } lists[] = {
        { "s/l.txt", "\xef\xbb\xbf" "1.jpg\n", 1 },
        { "s/l.csv", "\xef\xbb\xbfid,Label,FileName\r\n1,5,1.jpg\r\n", 2 },
        { "s/l.lst", "\xef\xbb\xbf" "0\t5\t1.jpg\n", 1 },
        { "s/l.jsonl", "\xef\xbb\xbf{\"path\": \"1.jpg\"}\n", 1 },
        { "s/a.jsonl", "\xef\xbb\xbf{\"x\": 1, \"y-ref\": 2}\n", 0 },
        { "s/a.manifest", "\xef\xbb\xbf{\"x\": 1}\n", 1 },
        { "s/m.manifest", "\xef\xbb\xbf[{\"prefix\": \"file:///\"}]\n", 0 },
    };

    (void)state;
    tree_text(&tree, "s/1.jpg", "1");
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const size_t before = catalog.file_count;

        tree_text(&tree, lists[i].name, lists[i].text);
        assert_int_equal(scan(lists[i].name, NULL, NULL), SHEAF_OK);
        assert_int_equal(catalog.file_count - before, lists[i].files);
        assert_int_equal(problems.count, i >= 4);   /* a.jsonl has no URL of an object */
    }
    tree_text(&tree, "s/l.txt", "1.jpg\n\xef\xbb\xbf" "1.jpg\n");
    assert_int_equal(scan("s/l.txt", NULL, NULL), SHEAF_OK);
    assert_true(has_problem("\xef\xbb\xbf" "1.jpg", "No such file"));
}

static void test_kinds(void **state)
{
    static const struct { const char *name, *text, *kind; } sources[] = {
        { "s", NULL, "tree" }, { "s/x", "", "list" }, { "s/x.lst", "", "lst" },
        { "s/x.lst.gz", "", "lst" }, { "s/x.csv", "", "csv" }, { "s/x.jsonl", "", "jsonl" },
        { "s/y.jsonl", "\n {\"path\": \"a\", \"x-ref\": \"b\"}\n", "jsonl" },
        { "s/z.jsonl", "\n {\"x-ref\": \"s3://b/k\"}\n{\"path\": 1}", "augmented" },
        { "s/w.jsonl", "\n {\"x-ref\": \"b\"}\n", "jsonl" },
        { "s/w.manifest", "{\"x-ref\": \"b\"}\n", "jsonl" },
        { "s/X.CSV", "", "csv" }, { "s/X.TSV", "", "csv" }, { "s/X.LST.GZ", "", "lst" },
        { "s/X.TAR", "", "archive" }, { "s/X.Zip", "", "archive" },
        { "s/x.json", "text", "list" }, { "s/y.json", "{", "augmented" },
        { "s/z.json", "\t[", "manifest" }, { "s/x.manifest", "[", "manifest" },
        { "s/y.manifest", "{\"fileSchema\": 1, \"sourceBucket\": 2}", "inventory" },
        { "s/y.txt", "[", "list" },
    };

    (void)state;
    tree_text(&tree, "s/1.jpg", "1");
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct source source;
        struct sheaf_error err;

        if (sources[i].text != NULL)
            tree_text(&tree, sources[i].name, sources[i].text);
        assert_int_equal(source_open(tree_path(&tree, sources[i].name), NULL, &source, &err),
                         SHEAF_OK);
        assert_string_equal(source.ops->name, sources[i].kind);
        source_close(&source);
    }
}

static void test_line_that_is_too_long(void **state)
{
    char *text = malloc(LIST_LINE_LIMIT + (4 << 20));

    (void)state;
    memset(text, 'x', LIST_LINE_LIMIT + (4 << 20));
    tree_write(&tree, "l.txt", text, LIST_LINE_LIMIT + (4 << 20));
    free(text);
    assert_int_equal(scan("l.txt", NULL, NULL), SHEAF_ERR_LIMIT);
}

static void test_sources_that_are_none(void **state)
{
    (void)state;
    assert_int_equal(scan("none", NULL, NULL), SHEAF_ERR_NOT_FOUND);
    tree_text(&tree, "s/1.jpg", "1");
    assert_int_equal(scan("s", tree.root, NULL), SHEAF_ERR_ARGUMENT);
    tree_text(&tree, "l.txt", "");
    assert_int_equal(scan("l.txt", tree_path(&tree, "none"), NULL), SHEAF_ERR_NOT_FOUND);
}

static void test_contains(void **state)
{
    struct source source;
    struct sheaf_error err;

    (void)state;
    tree_text(&tree, "s/a/1.jpg", "1");
    assert_int_equal(symlink("s/a", tree_path(&tree, "link")), 0);
    assert_int_equal(source_open(tree_path(&tree, "s"), NULL, &source, &err), SHEAF_OK);
    assert_true(source_contains(&source, tree_path(&tree, "s")));
    assert_true(source_contains(&source, tree_path(&tree, "s/a")));
    assert_true(source_contains(&source, tree_path(&tree, "s/new/er")));
    assert_true(source_contains(&source, tree_path(&tree, "link/new")));
    assert_false(source_contains(&source, tree_path(&tree, "out")));
    assert_false(source_contains(&source, tree_path(&tree, "s2/x")));
    assert_false(source_contains(&source, tree.root));
    assert_false(source_contains(&source, "out"));
    source_close(&source);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Tests that the sum of packed and skipped files shows a file that was lost or found twice. */
static void what_is_found_is_packed_or_skipped(void **state)
{
    struct problems bad = { .on_error = SHEAF_SKIP };
    struct sheaf_error err;

    (void)state;
    assert_int_equal(problems_conserve(&bad, 3, 3, &err), SHEAF_OK);
    assert_int_equal(problems_add(&bad, &err, "bad", SHEAF_ERR_CORRUPT, "why"), SHEAF_OK);
    assert_int_equal(problems_conserve(&bad, 3, 2, &err), SHEAF_OK);
    assert_int_equal(problems_conserve(&bad, 3, 1, &err), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(err.message, "found 3, but packed 1 and skipped 1"));
    assert_int_equal(problems_conserve(&bad, 3, 3, &err), SHEAF_ERR_CHANGED);
    problems_free(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_tree),
        TEST(test_links_are_followed_and_loops_are_found),
        TEST(test_what_is_no_file),
        TEST(test_names),
        TEST(test_deep_tree),
        TEST(test_unreadable_directory),
        TEST(test_interrupt),
        TEST(test_plain_list),
        TEST(test_malformed_lines_are_named),
        TEST(test_labels_of_lists),
        TEST(test_byte_order_marks),
        TEST(test_kinds),
        TEST(test_line_that_is_too_long),
        TEST(test_sources_that_are_none),
        TEST(test_contains),
        cmocka_unit_test(what_is_found_is_packed_or_skipped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
