/* SPDX-License-Identifier: MIT
 *
 * Tests the queue that asks for the attributes of paths. Each path must get its own answer, in
 * order, for any number of paths. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "packer/source/stat_queue.h"
#include "tests/common_tree.h"

#define FILES 7u                /* files of 0, 1, 2, ... bytes */
#define MANY  20000u            /* more paths than are asked for at once */

static struct tree tree;
static int root = -1;

struct answers {
    uint32_t next;              /* the label of the next expected answer */
    uint32_t stop;              /* the answer with this label is refused */
};

static int setup(void **state)
{
    char name[16];

    (void)state;
    tree_make(&tree);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "d/%u", i);
        tree_write(&tree, name, "123456789", i);
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

/* Writes the path for a label. Every eleventh path does not exist, and every thirteenth is the
 * directory. */
static void name_of(uint32_t label, char name[16])
{
    if (label % 11 == 10)
        snprintf(name, 16, "d/none");
    else if (label % 13 == 12)
        snprintf(name, 16, "d");
    else
        snprintf(name, 16, "d/%u", label % FILES);
}

static int take(void *context, const struct stat_question *asked, int errnum,
                const struct stat *st, struct sheaf_error *err)
{
    struct answers *a = context;
    const uint32_t label = asked->label;
    char name[16];

    assert_int_equal(label, a->next);
    a->next++;
    name_of(label, name);
    assert_string_equal(asked->path, name);
    if (label % 7 == 6)
        assert_string_equal(asked->named, "named");
    else
        assert_null(asked->named);
    if (label == a->stop)
        return err_set(err, SHEAF_ERR_CORRUPT, "stop");
    assert_int_equal(errnum, label % 11 == 10 ? ENOENT : 0);
    if (errnum != 0)
        return SHEAF_OK;
    assert_int_equal(S_ISDIR(st->st_mode) != 0, label % 13 == 12);
    if (S_ISREG(st->st_mode))
        assert_int_equal(st->st_size, label % FILES);
    return SHEAF_OK;
}

static int ask(struct stat_queue *queue, uint32_t first, uint32_t end)
{
    struct sheaf_error err;
    int code = SHEAF_OK;

    for (uint32_t i = first; i < end && code == SHEAF_OK; i++) {
        char name[16];

        name_of(i, name);
        code = stat_queue_add(queue, &(struct stat_question){
                                  name, i % 7 == 6 ? "named" : NULL, i }, &err);
    }
    return code;
}

static void each_is_answered_in_its_turn(void **state)
{
    static const uint32_t counts[] = { 0, 1, 127, 128, 129, MANY };
    struct sheaf_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct answers a = { 0, UINT32_MAX };
        struct stat_queue *queue;

        assert_int_equal(stat_queue_open(&queue, root, take, &a, &err), SHEAF_OK);
        assert_int_equal(ask(queue, 0, counts[i]), SHEAF_OK);
        assert_int_equal(stat_queue_drain(queue, &err), SHEAF_OK);
        assert_int_equal(a.next, counts[i]);
        /* the queue can be used again */
        assert_int_equal(ask(queue, counts[i], counts[i] + 3), SHEAF_OK);
        assert_int_equal(stat_queue_drain(queue, &err), SHEAF_OK);
        assert_int_equal(a.next, counts[i] + 3);
        stat_queue_close(queue);
    }
}

static void a_refused_answer_is_the_last(void **state)
{
    struct answers a = { 0, 5000 };
    struct sheaf_error err;
    struct stat_queue *queue;

    (void)state;
    assert_int_equal(stat_queue_open(&queue, root, take, &a, &err), SHEAF_OK);
    assert_int_equal(ask(queue, 0, MANY), SHEAF_ERR_CORRUPT);
    assert_int_equal(a.next, 5001);
    stat_queue_close(queue);
    a = (struct answers){ 0, 3 };
    assert_int_equal(stat_queue_open(&queue, root, take, &a, &err), SHEAF_OK);
    assert_int_equal(ask(queue, 0, 10), SHEAF_OK);
    assert_int_equal(stat_queue_drain(queue, &err), SHEAF_ERR_CORRUPT);
    assert_int_equal(a.next, 4);
    stat_queue_close(queue);
}

static void what_was_not_answered_is_dropped(void **state)
{
    struct answers a = { 0, UINT32_MAX };
    struct sheaf_error err;
    struct stat_queue *queue;

    (void)state;
    assert_int_equal(stat_queue_open(&queue, root, take, &a, &err), SHEAF_OK);
    assert_int_equal(ask(queue, 0, 1000), SHEAF_OK);
    stat_queue_close(queue);
    stat_queue_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_answered_in_its_turn),
        cmocka_unit_test(a_refused_answer_is_the_last),
        cmocka_unit_test(what_was_not_answered_is_dropped),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
