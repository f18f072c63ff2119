/* SPDX-License-Identifier: MIT
 *
 * Tests the window of outstanding work: the order in which items come back, from workers and from
 * other threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/flag.h"
#include "base/inflight.h"
#include "base/rng.h"
#include "tests/common_random.h"

#define ITEMS 8u
#define WORKS 1000u

struct work {
    struct inflight_item item;
    unsigned number;
    unsigned pause_us;
    pthread_mutex_t *gate;      /* runs when this mutex is unlocked; NULL: at once */
    int code;
    unsigned runs;
};

static struct sheaf_error error;

static void do_work(struct inflight_item *item)
{
    struct work *w = (struct work *)item;

    if (w->pause_us != 0)
        usleep(w->pause_us);
    if (w->gate != NULL) {
        pthread_mutex_lock(w->gate);
        pthread_mutex_unlock(w->gate);
    }
    w->code = w->number % 7 == 3 ? SHEAF_ERR_IO : SHEAF_OK;
    w->runs++;
}

static void open_window(struct inflight *window, enum inflight_order order, struct work works[])
{
    inflight_open(window, order, NULL, NULL);
    for (unsigned i = 0; i < ITEMS; i++) {
        works[i] = (struct work){ .item.run = do_work };
        inflight_add(window, &works[i].item);
    }
}

/* Collects one item, checks it, and counts it. */
static void take_one(struct inflight *window, unsigned *taken, bool seen[WORKS])
{
    const struct work *w = (struct work *)inflight_next(window);

    assert_non_null(w);
    if (window->order == INFLIGHT_OLDEST)
        assert_int_equal(w->number, *taken);
    assert_false(seen[w->number]);
    assert_int_equal(w->code, w->number % 7 == 3 ? SHEAF_ERR_IO : SHEAF_OK);
    seen[w->number] = true;
    ++*taken;
    inflight_add(window, (struct inflight_item *)(uintptr_t)w);
}

/* Does all work, some of which fails, through a window with room for a few items. */
static void go_through(struct workers *workers, enum inflight_order order)
{
    struct work works[ITEMS];
    struct inflight window;
    bool seen[WORKS] = { false };
    unsigned taken = 0;
    struct rng rng;

    random_start(&rng);
    open_window(&window, order, works);
    assert_null(inflight_next(&window));
    for (unsigned i = 0; i < WORKS; i++) {
        struct work *w;

        while ((w = (struct work *)inflight_idle(&window)) == NULL)
            take_one(&window, &taken, seen);
        w->number = i;
        w->pause_us = (unsigned)rng_below(&rng, 20) == 0 ? 300 : 0;
        inflight_run(&window, workers, &w->item);
        assert_in_range(window.count, 1, ITEMS);
        assert_in_range(inflight_busy(&window), 0, window.count);
    }
    while (window.count != 0)
        take_one(&window, &taken, seen);
    assert_int_equal(taken, WORKS);
    assert_null(inflight_next(&window));
    assert_null(inflight_take(&window));
    inflight_close(&window);
}

static void test_workers(void **state)
{
    static const unsigned threads[] = { 1, 2, 8 };
    struct workers *workers;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(workers_open(&workers, threads[i], &error), SHEAF_OK);
        go_through(workers, INFLIGHT_OLDEST);
        go_through(workers, INFLIGHT_ANY);
        workers_close(workers);
    }
    go_through(NULL, INFLIGHT_OLDEST);
    go_through(NULL, INFLIGHT_ANY);
}

/* Starts three items whose work the test itself does, and completes the last one first. */
static void test_order(void **state)
{
    struct inflight_item items[3], *got;
    struct inflight window;

    (void)state;
    for (int order = INFLIGHT_OLDEST; order <= INFLIGHT_ANY; order++) {
        inflight_open(&window, (enum inflight_order)order, NULL, NULL);
        for (unsigned i = 0; i < 3; i++)
            inflight_begin(&window, &items[i]);
        assert_null(inflight_take(&window));
        inflight_done(&items[2]);
        assert_int_equal(inflight_busy(&window), 2);
        assert_int_equal(inflight_is_ready(&window), order == INFLIGHT_ANY);
        got = inflight_take(&window);
        assert_ptr_equal(got, order == INFLIGHT_ANY ? &items[2] : NULL);
        inflight_done(&items[0]);
        assert_ptr_equal(inflight_next(&window), &items[0]);
        assert_null(inflight_take(&window));
        inflight_done(&items[1]);
        assert_ptr_equal(inflight_next(&window), &items[1]);
        assert_ptr_equal(inflight_next(&window), order == INFLIGHT_ANY ? NULL : &items[2]);
        /* the list must continue after an item was taken from its end */
        inflight_begin(&window, &items[0]);
        inflight_done(&items[0]);
        assert_ptr_equal(inflight_next(&window), &items[0]);
        inflight_close(&window);
    }
}

/* Tests items that are allocated one by one and freed as soon as they come back. */
static void test_freed_at_once(void **state)
{
    struct workers *workers;
    struct inflight window;
    unsigned begun = 0, taken = 0;

    (void)state;
    assert_int_equal(workers_open(&workers, 3, &error), SHEAF_OK);
    inflight_open(&window, INFLIGHT_ANY, NULL, NULL);
    while (taken < WORKS) {
        struct work *w;

        while (begun < WORKS && inflight_busy(&window) < ITEMS) {
            w = calloc(1, sizeof(*w));
            assert_non_null(w);
            w->number = begun++;
            w->item.run = do_work;
            inflight_run(&window, workers, &w->item);
        }
        inflight_wait(&window);
        while ((w = (struct work *)inflight_take(&window)) != NULL) {
            assert_int_equal(w->runs, 1);
            taken++;
            free(w);
        }
    }
    inflight_close(&window);
    workers_close(workers);
}

/* ---- Ending it ------------------------------------------------------------------------------- */

/* A read that ends only when it is cancelled. */
struct stuck {
    struct inflight_item item;
    atomic_bool cancelled;
    unsigned cancels;
};

static void cancel_stuck(struct inflight_item *item)
{
    struct stuck *s = (struct stuck *)item;

    s->cancels++;
    if (!atomic_exchange(&s->cancelled, true))
        inflight_done(item);
}

static void begin_stuck(struct inflight *window, struct stuck *stuck, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        stuck[i].cancels = 0;
        atomic_init(&stuck[i].cancelled, false);
        inflight_begin(window, &stuck[i].item);
    }
}

static void test_cancel(void **state)
{
    struct stuck stuck[4];
    struct inflight window;

    (void)state;
    inflight_open(&window, INFLIGHT_OLDEST, cancel_stuck, NULL);
    begin_stuck(&window, stuck, 4);
    inflight_cancel(&window);
    assert_int_equal(inflight_busy(&window), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_ptr_equal(inflight_next(&window), &stuck[i].item);
    begin_stuck(&window, stuck, 2);             /* the window can be used again */
    assert_null(inflight_take(&window));
    inflight_close(&window);                    /* waits for the items */
    assert_int_equal(stuck[0].cancels, 1);
    assert_int_equal(stuck[1].cancels, 1);
}

static void *raise_soon(void *flag)
{
    usleep(20000);
    flag_raise(flag);
    return NULL;
}

static void test_interrupted(void **state)
{
    volatile int flag;
    struct stuck stuck[3];
    struct inflight window;
    pthread_t thread;

    (void)state;
    for (int order = INFLIGHT_OLDEST; order <= INFLIGHT_ANY; order++) {
        (void)flag_take(&flag);
        inflight_open(&window, (enum inflight_order)order, cancel_stuck, &flag);
        begin_stuck(&window, stuck, 3);
        assert_int_equal(pthread_create(&thread, NULL, raise_soon, (void *)(uintptr_t)&flag), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_non_null(inflight_next(&window));
        assert_null(inflight_next(&window));
        pthread_join(thread, NULL);
        inflight_close(&window);
    }
}

/* Tests a cancellation. Work that waits for a worker must be skipped, running work must end, and
 * later work must be done. */
static void test_cancelled_before_it_ran(void **state)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    struct work works[ITEMS], *later;
    struct workers *workers;
    struct inflight window;
    unsigned runs = 0;

    (void)state;
    assert_int_equal(workers_open(&workers, 1, &error), SHEAF_OK);
    open_window(&window, INFLIGHT_OLDEST, works);
    for (unsigned i = 0; i < ITEMS; i++)
        works[i].gate = &gate;
    pthread_mutex_lock(&gate);
    for (unsigned i = 0; i < ITEMS; i++)
        inflight_run(&window, workers, inflight_idle(&window));
    inflight_cancel(&window);
    pthread_mutex_unlock(&gate);
    for (unsigned i = 0; i < ITEMS; i++)
        inflight_add(&window, inflight_next(&window));
    assert_null(inflight_next(&window));
    for (unsigned i = 0; i < ITEMS; i++)
        runs += works[i].runs;
    assert_in_range(runs, 0, 1);
    later = (struct work *)inflight_idle(&window);
    runs = later->runs;
    inflight_run(&window, workers, &later->item);
    assert_ptr_equal(inflight_next(&window), &later->item);
    assert_int_equal(later->runs, runs + 1);
    inflight_close(&window);
    workers_close(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_freed_at_once),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_cancelled_before_it_ran),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
