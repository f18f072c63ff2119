/* SPDX-License-Identifier: MIT
 *
 * Tests files that are opened ahead of time. They must be returned in order, even if other files
 * are missing and the process may open only a few files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "packer/file_ahead.h"
#include "tests/common_tree.h"

/* number of samples with one, two, three, one, ... files; several times FILES_AHEAD */
#define SAMPLES 40u

static struct tree tree;
static struct catalog_file files[3 * SAMPLES];
static struct plan_sample samples[SAMPLES];
static struct plan plan = { .files = files, .samples = samples, .sample_count = SAMPLES };
static char names[3 * SAMPLES][24];
static int root = -1;

/* Makes files whose order is the reverse of the order of the samples. */
static int setup(void **state)
{
    uint32_t file = 0;

    (void)state;
    tree_make(&tree);
    for (uint32_t i = SAMPLES; i-- > 0;) {
        samples[i].file = file;
        samples[i].file_count = 1 + i % 3;
        for (uint32_t k = 0; k < samples[i].file_count; k++, file++) {
            snprintf(names[file], sizeof(names[file]), "%03u.%u", i, k);
            tree_text(&tree, names[file], names[file]);
            files[file] = (struct catalog_file){ .path = names[file],
                                                 .bytes = strlen(names[file]) };
        }
    }
    root = tree_open(&tree);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(root);
    tree_remove(&tree);
    return 0;
}

/* Takes the files of the samples `first` up to, but not including, `end`. The file `missing` does
 * not exist. */
static void take_all(uint64_t first, uint64_t end, const char *missing)
{
    struct file_ahead ahead;

    file_ahead_begin(&ahead, &plan, root, first, end);
    for (uint64_t i = first; i < end; i++)
        for (uint32_t k = 0; k < samples[i].file_count; k++) {
            const char *name = names[samples[i].file + k];
            char text[24] = "";
            int fd = file_ahead_take(&ahead);

            if (missing != NULL && strcmp(name, missing) == 0) {
                assert_int_equal(fd, -1);
                assert_int_equal(errno, ENOENT);
                continue;
            }
            assert_true(fd >= 0);
            assert_int_equal(read(fd, text, sizeof(text) - 1), strlen(name));
            assert_string_equal(text, name);
            close(fd);
        }
    assert_int_equal(ahead.count, 0);
    file_ahead_end(&ahead);
}

static int lowest_free(void)
{
    const int fd = dup(root);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void each_file_comes_in_its_turn(void **state)
{
    (void)state;
    take_all(0, SAMPLES, NULL);
    take_all(7, 9, NULL);
    take_all(5, 5, NULL);
}

static void one_that_vanished_is_missed_in_its_turn(void **state)
{
    (void)state;
    assert_int_equal(unlinkat(root, "020.1", 0), 0);
    take_all(0, SAMPLES, "020.1");
}

static void few_descriptors_are_enough(void **state)
{
    struct rlimit usual, few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = (rlim_t)lowest_free() + 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    take_all(0, SAMPLES, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

static void what_is_not_taken_is_closed(void **state)
{
    const int before = lowest_free();
    struct file_ahead ahead;
    int fd;

    (void)state;
    file_ahead_begin(&ahead, &plan, root, 0, SAMPLES);
    fd = file_ahead_take(&ahead);
    assert_true(lowest_free() > fd + 1);
    file_ahead_end(&ahead);
    assert_int_equal(close(fd), 0);
    assert_int_equal(lowest_free(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_file_comes_in_its_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_vanished_is_missed_in_its_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(few_descriptors_are_enough, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_taken_is_closed, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
