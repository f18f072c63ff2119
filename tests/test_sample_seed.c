/* SPDX-License-Identifier: MIT
 *
 * Tests the seeds of samples against tests/corpus/seed_vectors.txt, which an independent
 * implementation (tests/system/seed_reference.py) has made from reader/ORDER.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sample_seed.h"
#include "tests/common_order.h"

#define VECTORS "tests/corpus/seed_vectors.txt"

static void test_vectors(void **state)
{
    FILE *file = fopen(VECTORS, "r");
    char *text = NULL;
    size_t capacity = 0, cases = 0;

    (void)state;
    assert_non_null(file);
    while (getline(&text, &capacity, file) > 0) {
        uint64_t n[8];
        char *at = text;

        if (text[0] == '#')
            continue;
        for (int i = 0; i < 8; i++)
            n[i] = order_number(&at);
        assert_true(sample_seed(n[4], sample_seed_source(n[0], n[1], (uint32_t)n[2],
                                                         (uint32_t)n[3]), n[5], n[6]) == n[7]);
        cases++;
    }
    assert_true(cases > 50);
    free(text);
    assert_int_equal(fclose(file), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
