/* SPDX-License-Identifier: MIT
 *
 * Tests the local store. A written file must be complete or not exist, and a read must return the
 * whole range or an error. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "store/store.h"
#include "tests/common_tree.h"

static struct tree tree;

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

static const char *at(const char *below) { return tree_path(&tree, below); }

/* ---- Reading --------------------------------------------------------------------------------- */

/* Tests that warming a range beyond the end of the file ends there, whatever errno was before. */
static void test_warm_beyond_the_end(void **state)
{
    struct store_object *object;
    struct sheaf_error err;

    (void)state;
    tree_text(&tree, "a", "0123456789");
    assert_int_equal(store_open(at("a"), &object, &err), SHEAF_OK);
    errno = EINTR;
    store_warm(object, 10, 4096);
    store_close(object);
}

static void test_read(void **state)
{
    struct store_object *object;
    struct sheaf_error err;
    char data[16];

    (void)state;
    tree_text(&tree, "a", "0123456789");
    assert_int_equal(store_open(at("a"), &object, &err), SHEAF_OK);
    assert_int_equal(object->bytes, 10);
    assert_false(object->is_stream);
    assert_int_equal(store_read(object, 3, data, 4, &err), SHEAF_OK);
    assert_memory_equal(data, "3456", 4);
    assert_int_equal(store_read(object, 10, data, 0, &err), SHEAF_OK);
    assert_int_equal(store_read(object, 8, data, 5, &err), SHEAF_ERR_TRUNCATED);
    assert_non_null(strstr(err.message, "offset 10"));
    assert_non_null(strstr(err.message, "3 more bytes"));
    store_close(object);
}

static void test_shrunk_file_has_changed(void **state)
{
    struct store_object *object;
    struct sheaf_error err;
    char data[16];

    (void)state;
    tree_text(&tree, "a", "0123456789");
    assert_int_equal(store_open(at("a"), &object, &err), SHEAF_OK);
    assert_int_equal(truncate(at("a"), 4), 0);
    assert_int_equal(store_read(object, 0, data, 10, &err), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(err.message, "10 bytes"));
    store_close(object);
}

static void test_names_are_joined(void **state)
{
    static const char *const cases[][3] = {
        { "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" }, { "", "b", "b" },
        { "s3://a", "b", "s3://a/b" }, { "s3://a/", "b", "s3://a/b" },
        { "s3://", "b", "s3:///b" },        /* "b" is not a bucket */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *joined = store_join(cases[i][0], cases[i][1]);

        assert_string_equal(joined, cases[i][2]);
        free(joined);
    }
}

static void test_url_forms(void **state)
{
    struct store_object *object;
    struct sheaf_error err;
    char url[200];

    (void)state;
    tree_text(&tree, "a", "x");
    snprintf(url, sizeof(url), "file://%s", at("a"));
    assert_int_equal(store_open(url, &object, &err), SHEAF_OK);
    store_close(object);
    assert_int_equal(store_open("gopher://x/y", &object, &err), SHEAF_ERR_UNSUPPORTED);
    assert_int_equal(store_open("S3://x/y", &object, &err), SHEAF_ERR_UNSUPPORTED);
    assert_int_equal(store_open("s3:/x/y", &object, &err), SHEAF_ERR_UNSUPPORTED);
    assert_string_equal(err.message, "s3:/x/y: one slash after \"s3:\", expected two (a path "
                                     "begins with ./)");
    assert_int_equal(store_open("./s3:/x/y", &object, &err), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(store_open("other:/x", &object, &err), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(store_open(at("none"), &object, &err), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(store_open(tree.root, &object, &err), SHEAF_ERR_UNSUPPORTED);
}

static void *feed(void *path)
{
    const int fd = open(path, O_WRONLY);

    if (write(fd, "abc", 3) != 3 || usleep(20000) != 0 || write(fd, "def", 3) != 3)
        return path;
    close(fd);
    return NULL;
}

static void test_named_pipe_is_a_stream(void **state)
{
    struct sheaf_error err;
    pthread_t thread;
    char *data, path[200];
    void *failed;
    size_t size;

    (void)state;
    snprintf(path, sizeof(path), "%s", at("pipe"));
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(pthread_create(&thread, NULL, feed, path), 0);
    assert_int_equal(store_get(path, 100, &data, &size, &err), SHEAF_OK);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(size, 6);
    assert_string_equal(data, "abcdef");
    free(data);
}

static void test_get_has_a_limit(void **state)
{
    struct sheaf_error err;
    char *data;
    size_t size;

    (void)state;
    tree_text(&tree, "a", "0123456789");
    assert_int_equal(store_get(at("a"), 9, &data, &size, &err), SHEAF_ERR_LIMIT);
    assert_null(data);
    assert_int_equal(store_get(at("a"), 10, &data, &size, &err), SHEAF_OK);
    assert_string_equal(data, "0123456789");
    free(data);
}

/* ---- Listing --------------------------------------------------------------------------------- */

static int gather(void *context, const struct store_entry *entry)
{
    char *all = context;
    const size_t used = strlen(all);

    snprintf(all + used, 200 - used, "%s:%llu ", entry->name,
             (unsigned long long)entry->bytes);
    return strcmp(entry->name, "stop") == 0 ? 77 : 0;
}

static void test_list(void **state)
{
    struct sheaf_error err;
    char all[200] = "";

    (void)state;
    tree_text(&tree, "d/b", "12");
    tree_text(&tree, "d/B", "1");
    tree_text(&tree, "d/a", "");
    tree_text(&tree, "d/.hidden", "");
    tree_text(&tree, "d/below/c", "");
    assert_int_equal(symlink("b", at("d/link")), 0);
    assert_int_equal(store_list(at("d"), gather, all, &err), SHEAF_OK);
    assert_string_equal(all, "B:1 a:0 b:2 link:2 ");
    tree_text(&tree, "d/stop", "");
    tree_text(&tree, "d/z", "");
    all[0] = '\0';
    assert_int_equal(store_list(at("d"), gather, all, &err), 77);
    assert_null(strstr(all, "z:"));
    assert_int_equal(store_list(at("none"), gather, all, &err), SHEAF_ERR_NOT_FOUND);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void assert_content(const char *path, const char *expected)
{
    size_t size;
    char *data = tree_read(&tree, path, &size);

    assert_non_null(data);
    assert_string_equal(data, expected);
    free(data);
}

static void test_nothing_is_seen_before_commit(void **state)
{
    struct store_writer *writer;
    struct sheaf_error err;

    (void)state;
    tree_text(&tree, "d/a", "old");
    assert_int_equal(store_create(at("d/a"), &writer, &err), SHEAF_OK);
    assert_int_equal(store_write(writer, "new", 3, &err), SHEAF_OK);
    assert_content("d/a", "old");
    assert_true(tree_has(&tree, "d/" STORE_PARTIAL));
    assert_int_equal(store_commit(writer, &err), SHEAF_OK);
    assert_content("d/a", "new");
    assert_int_equal(tree_count(&tree, "d"), 1);
    assert_false(tree_has(&tree, "d/" STORE_PARTIAL));
}

static void test_abort_leaves_nothing(void **state)
{
    struct store_writer *writer;
    struct sheaf_error err;

    (void)state;
    tree_text(&tree, "d/a", "old");
    assert_int_equal(store_create(at("d/a"), &writer, &err), SHEAF_OK);
    assert_int_equal(store_write(writer, "new", 3, &err), SHEAF_OK);
    store_abort(writer);
    assert_content("d/a", "old");
    assert_false(tree_has(&tree, "d/" STORE_PARTIAL));
}

static void test_two_writers_of_one_name(void **state)
{
    struct store_writer *first, *second;
    struct sheaf_error err;

    (void)state;
    assert_int_equal(mkdir(at("d"), 0777), 0);
    assert_int_equal(store_create(at("d/a"), &first, &err), SHEAF_OK);
    assert_int_equal(store_create(at("d/a"), &second, &err), SHEAF_OK);
    assert_int_equal(store_write(first, "first", 5, &err), SHEAF_OK);
    assert_int_equal(store_write(second, "second", 6, &err), SHEAF_OK);
    assert_int_equal(store_commit(first, &err), SHEAF_OK);
    assert_content("d/a", "first");
    assert_int_equal(store_commit(second, &err), SHEAF_OK);
    assert_content("d/a", "second");
    assert_int_equal(tree_count(&tree, "d"), 1);
}

/* Tests the sweep. The file of a killed writer must be removed, and the file of a running writer
 * must stay. Files of other names are not touched. */
static void test_sweep_takes_what_killed_writers_left(void **state)
{
    struct store_writer *writer;
    struct sheaf_error err;

    (void)state;
    tree_text(&tree, "d/" STORE_PARTIAL "/a.0123456789abcdef.tmp", "killed");
    tree_text(&tree, "d/" STORE_PARTIAL "/a.b.0123456789abcdef.tmp", "another name");
    tree_text(&tree, "d/" STORE_PARTIAL "/a.tmp", "no name of ours");
    assert_int_equal(store_create(at("d/a"), &writer, &err), SHEAF_OK);
    assert_int_equal(store_write(writer, "new", 3, &err), SHEAF_OK);
    assert_int_equal(store_sweep(at("d/a"), &err), SHEAF_OK);
    assert_false(tree_has(&tree, "d/" STORE_PARTIAL "/a.0123456789abcdef.tmp"));
    assert_int_equal(tree_count(&tree, "d/" STORE_PARTIAL), 3);
    assert_int_equal(store_commit(writer, &err), SHEAF_OK);
    assert_content("d/a", "new");
    assert_int_equal(tree_count(&tree, "d/" STORE_PARTIAL), 2);
    assert_int_equal(store_sweep(at("nowhere/a"), &err), SHEAF_OK);
}

/* Tests files in the directory for temporary files: their own temporary files lie in the same
 * directory. */
static void test_files_among_the_temporary_ones(void **state)
{
    struct sheaf_error err;

    (void)state;
    assert_int_equal(store_make_directory(at("d/" STORE_PARTIAL), NULL, &err), SHEAF_OK);
    assert_int_equal(store_put(at("d/" STORE_PARTIAL "/x"), "1", 1, &err), SHEAF_OK);
    assert_content("d/" STORE_PARTIAL "/x", "1");
    assert_int_equal(store_put(at("d/y"), "2", 1, &err), SHEAF_OK);
    assert_int_equal(tree_count(&tree, "d"), 2);
    assert_int_equal(store_remove(at("d/" STORE_PARTIAL "/x"), &err), SHEAF_OK);
    assert_false(tree_has(&tree, "d/" STORE_PARTIAL));
}

/* Limits the size of files, which has the same effect as a full disk. */
static void test_write_that_fails(void **state)
{
    struct rlimit before, small;
    struct store_writer *writer;
    struct sheaf_error err;
    char block[5000] = "";
    int code;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 12000, before.rlim_max };
    assert_int_equal(store_create(at("a"), &writer, &err), SHEAF_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    code = store_write(writer, block, sizeof(block), &err);
    code |= store_write(writer, block, sizeof(block), &err);
    code |= store_write(writer, block, sizeof(block), &err);
    assert_int_equal(code, SHEAF_OK);
    code = store_commit(writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, SHEAF_ERR_IO);
    assert_non_null(strstr(err.message, "offset 12000"));
    assert_int_equal(tree_count(&tree, ""), 0);
}

/* A large file fails in the middle. Later writes and the commit must fail as well. */
static void test_large_write_that_fails(void **state)
{
    struct rlimit before, small;
    struct store_writer *writer;
    struct sheaf_error err;
    const size_t size = 9 << 20;
    char *block = calloc(1, size);
    int code;

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_non_null(block);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 5000000, before.rlim_max };
    assert_int_equal(store_create(at("a"), &writer, &err), SHEAF_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    code = store_write(writer, block, size, &err);
    assert_int_equal(code, SHEAF_ERR_IO);
    assert_non_null(strstr(err.message, "offset 5000000"));
    code = store_commit(writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(code, SHEAF_ERR_IO);
    assert_int_equal(tree_count(&tree, ""), 0);
    free(block);
}

/* Tests sizes near those of the pieces in which a file is written, with writes of all sizes. */
static void test_content_is_whole(void **state)
{
    const size_t piece = 2 << 20;
    const size_t sizes[] = { 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 4097 };
    const size_t steps[] = { 4096, 65537, 3 * piece };
    uint8_t *content = malloc(4 * piece), *found = malloc(4 * piece);

    (void)state;
    assert_true(content != NULL && found != NULL);
    for (size_t i = 0; i < 4 * piece; i++)
        content[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
            struct store_object *object;
            struct store_writer *writer;

            assert_int_equal(store_create(at("a"), &writer, NULL), SHEAF_OK);
            for (size_t done = 0; done < sizes[i]; done += MIN(steps[k], sizes[i] - done))
                assert_int_equal(store_write(writer, content + done,
                                             MIN(steps[k], sizes[i] - done), NULL), SHEAF_OK);
            assert_int_equal(store_commit(writer, NULL), SHEAF_OK);
            assert_int_equal(store_open(at("a"), &object, NULL), SHEAF_OK);
            assert_int_equal(object->bytes, sizes[i]);
            assert_int_equal(store_read(object, 0, found, sizes[i], NULL), SHEAF_OK);
            assert_memory_equal(found, content, sizes[i]);
            store_close(object);
        }
    }
    assert_int_equal(store_remove(at("a"), NULL), SHEAF_OK);
    free(content);
    free(found);
}

static void test_create_in_no_directory(void **state)
{
    struct store_writer *writer;
    struct sheaf_error err;

    (void)state;
    assert_int_equal(store_create(at("none/a"), &writer, &err), SHEAF_ERR_NOT_FOUND);
    tree_text(&tree, "file", "");
    assert_int_not_equal(store_create(at("file/a"), &writer, &err), SHEAF_OK);
    assert_int_equal(store_create(at("d/"), &writer, &err), SHEAF_ERR_ARGUMENT);
}

/* ---- The rest -------------------------------------------------------------------------------- */

static void test_sizes_and_directories(void **state)
{
    struct sheaf_error err;
    uint64_t bytes = 0;
    struct store_space space;

    (void)state;
    tree_text(&tree, "a", "123");
    assert_int_equal(store_size(at("a"), &bytes, &err), SHEAF_OK);
    assert_int_equal(bytes, 3);
    assert_int_equal(store_size(at("b"), &bytes, &err), SHEAF_ERR_NOT_FOUND);
    assert_int_equal(store_size(tree.root, &bytes, &err), SHEAF_ERR_UNSUPPORTED);
    assert_int_equal(store_remove(at("a"), &err), SHEAF_OK);
    assert_int_equal(store_remove(at("a"), &err), SHEAF_OK);
    assert_int_equal(store_make_directory(at("x/y//z/"), NULL, &err), SHEAF_OK);
    assert_int_equal(store_make_directory(at("x/y/z"), NULL, &err), SHEAF_OK);
    assert_true(tree_has(&tree, "x/y/z"));
    tree_text(&tree, "file", "");
    assert_int_not_equal(store_make_directory(at("file/x"), NULL, &err), SHEAF_OK);
    assert_int_equal(store_free_space(at("not/there/yet"), &space, &err), SHEAF_OK);
    assert_true(space.bytes > 0 && space.files > 0 && space.block_bytes > 0);
    assert_int_equal(store_check_space(at("not/there/yet"), 1, 1, &err), SHEAF_OK);
    assert_int_equal(store_check_space(at("not/there/yet"), UINT64_MAX, 1, &err), SHEAF_ERR_IO);
    assert_non_null(strstr(err.message, "18446744073709551615 bytes are needed there, but "));
}

static void test_join(void **state)
{
    char *joined;

    (void)state;
    joined = store_join("a", "b");
    assert_string_equal(joined, "a/b");
    free(joined);
    joined = store_join("s3://x/", "b");
    assert_string_equal(joined, "s3://x/b");
    free(joined);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_read),
        TEST(test_shrunk_file_has_changed),
        TEST(test_url_forms),
        cmocka_unit_test(test_names_are_joined),
        TEST(test_warm_beyond_the_end),
        TEST(test_named_pipe_is_a_stream),
        TEST(test_get_has_a_limit),
        TEST(test_list),
        TEST(test_nothing_is_seen_before_commit),
        TEST(test_abort_leaves_nothing),
        TEST(test_two_writers_of_one_name),
        TEST(test_sweep_takes_what_killed_writers_left),
        TEST(test_files_among_the_temporary_ones),
        TEST(test_write_that_fails),
        TEST(test_large_write_that_fails),
        TEST(test_content_is_whole),
        TEST(test_create_in_no_directory),
        TEST(test_sizes_and_directories),
        TEST(test_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
