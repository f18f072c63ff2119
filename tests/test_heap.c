/* SPDX-License-Identifier: MIT
 *
 * Tests the heap: pieces must not overlap, memory must be reused, and the budget must count every
 * byte. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/heap.h"
#include "tests/common_random.h"

#define PIECES 400

struct piece {
    uint8_t *data;
    size_t size;
    uint8_t mark;
};

static void take(struct heap *heap, struct piece *piece, size_t size, uint8_t mark)
{
    piece->data = heap_take(heap, size);
    piece->size = size;
    piece->mark = mark;
    if (piece->data != NULL)
        memset(piece->data, mark, size);
}

/* Frees a piece, after checking that its content is unchanged. */
static void give(struct heap *heap, struct piece *piece)
{
    if (piece->data != NULL && piece->size != 0) {
        assert_int_equal(piece->data[0], piece->mark);
        assert_memory_equal(piece->data, piece->data + 1, piece->size - 1);
    }
    heap_give(heap, piece->data);
    piece->data = NULL;
}

static void test_pieces_come_and_go_in_any_order(void **state)
{
    struct budget budget = { .limit = 1 << 30 };
    struct piece pieces[PIECES] = { 0 };
    struct heap *heap;
    struct rng rng;

    (void)state;
    random_start(&rng);
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (unsigned i = 0; i < 50000; i++) {
        struct piece *piece = &pieces[rng_below(&rng, PIECES)];
        const size_t most = (size_t)1 << rng_below(&rng, 17);

        give(heap, piece);
        take(heap, piece, (size_t)rng_below(&rng, most), (uint8_t)i);
        assert_non_null(piece->data);
        assert_int_equal((uintptr_t)piece->data % 16, 0);
        assert_int_equal(budget.used, heap->size);
    }
    for (unsigned i = 0; i < PIECES; i++)
        give(heap, &pieces[i]);
    heap_close(heap);
    assert_int_equal(budget.used, 0);
}

/* Tests that all free neighbours are merged into one block. */
static void test_neighbours_become_one(void **state)
{
    struct budget budget = { .limit = 1 << 20 };
    struct piece pieces[64];
    struct heap *heap;
    void *whole;
    size_t held;

    (void)state;
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (unsigned i = 0; i < 64; i++)
        take(heap, &pieces[i], 10000, (uint8_t)i);
    held = heap->size;
    for (unsigned i = 0; i < 64; i++)       /* first no neighbours, then the others */
        give(heap, &pieces[i * 5 % 64]);
    whole = heap_take(heap, held * 15 / 16);
    assert_non_null(whole);
    assert_int_equal(heap->size, held);
    heap_give(heap, whole);
    heap_close(heap);
}

/* Tests that small pieces of one size are reused, the last one that was freed first. */
static void take_again(struct heap *heap, size_t size, size_t more)
{
    void *pieces[64], *larger[64];
    size_t larger_count = 0;

    for (unsigned i = 0; i < 64; i++) {     /* pieces that are the rest of a block may be larger */
        while (heap_piece_bytes(pieces[i] = heap_take(heap, size)) != size + more)
            larger[larger_count++] = pieces[i];
        memset(pieces[i], 0xff, size);
    }
    heap_lend(heap, pieces[50]);
    for (unsigned i = 0; i < 64; i++)       /* piece 50 is lent, so heap_return frees it */
        heap_give(heap, pieces[i * 5 % 64]);
    heap_return(heap, pieces[50]);
    assert_ptr_equal(heap_take(heap, size + more), pieces[50]);
    for (unsigned i = 64; i-- > 0; )
        if (i * 5 % 64 != 50)
            assert_ptr_equal(heap_take(heap, size), pieces[i * 5 % 64]);
    for (unsigned i = 0; i < 64; i++)
        heap_give(heap, pieces[i]);
    while (larger_count > 0)
        heap_give(heap, larger[--larger_count]);
    assert_int_equal(heap->taken, 0);
}

static void test_small_pieces_are_taken_again(void **state)
{
    struct budget budget = { .limit = 1 << 20 };
    struct heap *heap;
    void *whole;
    size_t held;

    (void)state;
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (size_t size = 16; size < 1008; size += 48)
        take_again(heap, size - 15, 15);    /* both sizes fit into a piece of `size` */
    held = heap->size;
    whole = heap_take(heap, held * 15 / 16);
    assert_non_null(whole);
    assert_int_equal(heap->size, held);
    heap_give(heap, whole);
    heap_close(heap);
    assert_int_equal(budget.used, 0);
}

/* Tests small pieces whose sizes change slowly. Freed pieces must become usable for other sizes. */
static void test_small_pieces_become_others(void **state)
{
    struct budget budget = { .limit = 1 << 20 };
    struct piece pieces[PIECES] = { 0 };
    struct heap *heap;
    struct rng rng;

    (void)state;
    random_start(&rng);
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (unsigned i = 0; i < 100000; i++) {
        struct piece *piece = &pieces[i < PIECES ? i : rng_below(&rng, PIECES)];

        give(heap, piece);
        take(heap, piece, 20 + i / 100 + (size_t)rng_below(&rng, 200), (uint8_t)i);
        assert_non_null(piece->data);
    }
    for (unsigned i = 0; i < PIECES; i++)
        give(heap, &pieces[i]);
    assert_int_equal(heap->taken, 0);
    heap_close(heap);
}

static void test_the_budget_is_the_limit(void **state)
{
    struct budget budget = { .limit = 1 << 20 };
    struct heap *heap;
    void *most;

    (void)state;
    assert_true(budget_take(&budget, 500000));
    assert_int_equal(heap_open(&heap, &budget, 1 << 20, NULL), SHEAF_OK);
    assert_null(heap_take(heap, 600000));
    assert_null(heap_take(heap, SIZE_MAX));
    assert_null(heap_take(heap, SIZE_MAX / 2));
    assert_int_equal(budget.used, 500000);
    budget_give(&budget, 500000);
    most = heap_take(heap, 600000);
    assert_non_null(most);
    assert_null(heap_take(heap, 600000));
    heap_give(heap, most);
    assert_ptr_equal(heap_take(heap, 600000), most);
    heap_close(heap);
    assert_int_equal(budget.used, 0);
}

/* Tests the pattern of a shuffle buffer: one piece is replaced by another of a varying size, and
 * sizes change slowly. The holes must stay a small part of the heap. */
static void test_little_is_lost_to_holes(void **state)
{
    struct budget budget = { .limit = 1 << 30 };
    struct piece pieces[PIECES] = { 0 };
    struct heap *heap;
    struct rng rng;
    size_t held = 0, most = 0;

    (void)state;
    random_start(&rng);
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (unsigned i = 0; i < 20000; i++) {
        struct piece *piece = &pieces[i < PIECES ? i : rng_below(&rng, PIECES)];
        const size_t middle = 20000 + i;

        held -= piece->data != NULL ? piece->size : 0;
        heap_give(heap, piece->data);
        piece->size = middle / 2 + (size_t)rng_below(&rng, middle);
        piece->data = heap_take(heap, piece->size);
        held += piece->size;
        most = held > most ? held : most;
    }
    assert_true(heap->size <= most + most / 4);
    heap_close(heap);
}

/* Returns lent pieces on another thread, and after the heap's owner has closed it. */
static void *return_piece(void *argument)
{
    void **heap_and_piece = argument;

    heap_return(heap_and_piece[0], heap_and_piece[1]);
    return NULL;
}

static void return_elsewhere(struct heap *heap, const struct piece *piece)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, return_piece,
                                    (void *[]){ heap, piece->data }), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_what_is_lent_comes_back(void **state)
{
    struct budget budget = { .limit = 1 << 20 };
    struct piece lent, last;
    struct heap *heap;

    (void)state;
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    take(heap, &lent, 600000, 1);
    assert_false(heap_is_lent(lent.data));
    assert_true(heap_piece_bytes(lent.data) >= 600000);
    heap_lend(heap, lent.data);
    heap_lend(heap, lent.data);
    assert_true(heap_is_lent(lent.data));
    assert_int_equal(heap->lent_bytes, heap_piece_bytes(lent.data));
    heap_give(heap, lent.data);
    return_elsewhere(heap, &lent);
    assert_null(heap_take(heap, 600000));       /* another thread still has the piece */
    return_elsewhere(heap, &lent);
    take(heap, &last, 600000, 2);
    assert_ptr_equal(last.data, lent.data);
    assert_int_equal(heap->lent_bytes, 0);
    heap_lend(heap, last.data);
    return_elsewhere(heap, &last);
    assert_null(heap_take(heap, 600000));       /* the owner still has this piece */
    heap_give(heap, last.data);
    assert_int_equal(heap->lent_bytes, 0);
    take(heap, &last, 600000, 3);
    heap_lend(heap, last.data);
    heap_close(heap);
    assert_int_equal(budget.used, 0);
    for (size_t i = 0; i < last.size; i++)
        assert_int_equal(last.data[i], 3);
    heap_return(heap, last.data);
}

/* Tests that the heap reserves no more addresses than it needs, and reserves more when these are
 * used up. */
static void test_addresses_are_few(void **state)
{
    struct budget budget = { .limit = (uint64_t)1 << 44 };
    uint8_t *pieces[9];
    struct heap *heap;

    (void)state;
    assert_int_equal(heap_open(&heap, &budget, budget.limit, NULL), SHEAF_OK);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pieces[i] = heap_take(heap, (size_t)30 << 20);
        assert_non_null(pieces[i]);
        pieces[i][0] = pieces[i][((size_t)30 << 20) - 1] = (uint8_t)i;
    }
    assert_in_range(heap->taken, (uint64_t)270 << 20, heap->size);
    assert_int_equal(budget.used, heap->size);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        assert_int_equal(pieces[i][0], i);
        heap_give(heap, pieces[i]);
    }
    assert_int_equal(heap->taken, 0);
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        pieces[i] = heap_take(heap, (size_t)30 << 20);
    assert_in_range(heap->size, (uint64_t)270 << 20, (uint64_t)290 << 20);
    heap_close(heap);
    assert_int_equal(budget.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_come_and_go_in_any_order),
        cmocka_unit_test(test_neighbours_become_one),
        cmocka_unit_test(test_small_pieces_are_taken_again),
        cmocka_unit_test(test_small_pieces_become_others),
        cmocka_unit_test(test_the_budget_is_the_limit),
        cmocka_unit_test(test_little_is_lost_to_holes),
        cmocka_unit_test(test_what_is_lent_comes_back),
        cmocka_unit_test(test_addresses_are_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
