/* SPDX-License-Identifier: MIT
 *
 * Tests how long credentials live, and the cache that renews them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/s3/credentials.h"

static struct sheaf_error error;

/* ---- Life ------------------------------------------------------------------------------------ */

static void test_time(void **state)
{
    static const char *const bad[] = { "", "2026-11-20", "2026-11-20T21:00:00", "x",
        "2026-11-20T21:00:00+02:00", "2026-13-20T21:00:00Z", "2026-11-20T25:00:00Z",
        "2026-11-20T21:00:00Zx" };
    int64_t ms;

    (void)state;
    assert_true(credentials_parse_time("2015-08-30T12:36:00Z", &ms));
    assert_int_equal(ms, 1440938160000);
    assert_true(credentials_parse_time("2015-08-30T12:36:00.123456Z", &ms));
    assert_int_equal(ms, 1440938160000);
    assert_true(credentials_parse_time("2015-08-30T12:36:00+00:00", &ms));
    assert_int_equal(ms, 1440938160000);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(credentials_parse_time(bad[i], &ms));
}

static void test_age(void **state)
{
    static const struct { int64_t life_s, left_ms; enum credentials_age age; } cases[] = {
        { 3600, 3600000, CREDENTIALS_FRESH }, { 3600, 300001, CREDENTIALS_FRESH },
        { 3600, 300000, CREDENTIALS_AGING }, { 3600, 10001, CREDENTIALS_AGING },
        { 3600, 10000, CREDENTIALS_DEAD }, { 3600, -5, CREDENTIALS_DEAD },
        { 300, 75001, CREDENTIALS_FRESH }, { 300, 75000, CREDENTIALS_AGING },
        { 4, 1001, CREDENTIALS_FRESH }, { 4, 1000, CREDENTIALS_AGING },
        { 4, 501, CREDENTIALS_AGING }, { 4, 500, CREDENTIALS_DEAD },
        { 0, 0, CREDENTIALS_DEAD }, { -10, -10000, CREDENTIALS_DEAD },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int64_t from = 1000000, end = from + cases[i].life_s * 1000;

        assert_int_equal(credentials_age(from, end, end - cases[i].left_ms), cases[i].age);
    }
    assert_int_equal(credentials_age(0, CREDENTIALS_NEVER, INT64_MAX), CREDENTIALS_FRESH);
}

/* ---- The cache ------------------------------------------------------------------------------- */

/* A source that returns sets "1", "2", ... which live for `life_ms`, or that fails. */
struct counting_source {
    struct credentials_source base;
    int64_t life_ms;
    int64_t age_ms;             /* how long ago the sets say that they were obtained */
    bool fails;                 /* atomic */
    unsigned fetches;           /* atomic */
    unsigned freed;
};

static int count_fetch(struct credentials_source *base, struct credentials **set,
                       struct sheaf_error *err)
{
    struct counting_source *s = (struct counting_source *)base;
    const unsigned number = __atomic_add_fetch(&s->fetches, 1, __ATOMIC_ACQ_REL);
    char text[16];

    if (__atomic_load_n(&s->fails, __ATOMIC_ACQUIRE))
        return err_set(err, SHEAF_ERR_ACCESS, "failure %u", number);
    snprintf(text, sizeof(text), "%u", number);
    *set = credentials_new(text, "secret", NULL, s->life_ms == CREDENTIALS_NEVER
                           ? CREDENTIALS_NEVER : credentials_now_ms() + s->life_ms);
    if (*set == NULL)
        return err_memory(err, 1);
    (*set)->obtained_ms -= s->age_ms;
    return SHEAF_OK;
}

static void count_free(struct credentials_source *base)
{
    ((struct counting_source *)base)->freed++;
}

static unsigned wait_number(struct credentials_cache *cache)
{
    struct credentials *set;
    unsigned number;

    if (credentials_wait(cache, &set, &error) != SHEAF_OK)
        return 0;
    number = (unsigned)strtoul(set->access_key_id, NULL, 10);
    credentials_release(set);
    return number;
}

static void test_cache(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free },
                                      .life_ms = CREDENTIALS_NEVER };
    struct credentials_cache *cache;
    struct credentials *set;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_get(cache, &set, &error), SHEAF_END);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(wait_number(cache), 1);
    assert_int_equal(credentials_get(cache, &set, &error), SHEAF_OK);
    assert_false(credentials_reject(cache, set));
    credentials_release(set);
    assert_int_equal(wait_number(cache), 1);
    credentials_cache_close(cache);
    assert_int_equal(source.freed, 1);
}

/* Tests that a set is renewed while the old set is still good, so that nobody waits, and that a set
 * in use stays valid. With this life and age, a renewal is due after two seconds, and the set is
 * unusable two seconds later. So the thread that fetches sets has time. */
static void test_cache_renews(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = 8000,
                                      .age_ms = 24000 };
    struct credentials_cache *cache;
    struct credentials *first, *set;
    unsigned number = 1;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_wait(cache, &first, &error), SHEAF_OK);
    while (number < 2) {
        assert_int_equal(credentials_get(cache, &set, &error), SHEAF_OK);
        assert_true(set->expires_ms > credentials_now_ms());
        number = (unsigned)strtoul(set->access_key_id, NULL, 10);
        credentials_release(set);
        usleep(1000);
    }
    assert_string_equal(first->access_key_id, "1");
    credentials_release(first);
    credentials_cache_close(cache);
}

/* Tests that everyone who asks within a second after a failure gets the same error, and that then
 * the fetch is repeated. */
static void test_cache_fails(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .fails = true,
                                      .life_ms = CREDENTIALS_NEVER };
    struct credentials_cache *cache;
    int64_t began_ms;
    unsigned fetches;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    began_ms = credentials_now_ms();
    assert_int_equal(wait_number(cache), 0);
    assert_string_equal(error.message, "failure 1");
    assert_int_equal(wait_number(cache), 0);
    if (credentials_now_ms() < began_ms + 1000)     /* otherwise this machine was suspended */
        assert_string_equal(error.message, "failure 1");
    __atomic_store_n(&source.fails, false, __ATOMIC_RELEASE);
    usleep(1100000);
    fetches = __atomic_load_n(&source.fetches, __ATOMIC_ACQUIRE);
    assert_int_equal(wait_number(cache), fetches + 1);
    credentials_cache_close(cache);
}

static void test_cache_rejects(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = 3600000 };
    struct credentials_cache *cache;
    struct credentials *set;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(credentials_wait(cache, &set, &error), SHEAF_OK);
    assert_true(credentials_reject(cache, set));
    assert_int_equal(wait_number(cache), 2);
    /* the rejected set is an old one, so the new set stays */
    assert_true(credentials_reject(cache, set));
    assert_int_equal(wait_number(cache), 2);
    credentials_release(set);
    credentials_cache_close(cache);
}

/* Tests that a source whose sets have already expired causes an error, and not endless fetches. */
static void test_cache_stale(void **state)
{
    struct counting_source source = { .base = { count_fetch, count_free }, .life_ms = -60000 };
    struct credentials_cache *cache;

    (void)state;
    assert_int_equal(credentials_cache_open(&cache, &source.base, &error), SHEAF_OK);
    assert_int_equal(wait_number(cache), 0);
    assert_non_null(strstr(error.message, "clock"));
    assert_int_equal(source.fetches, 1);
    credentials_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_cache_renews),
        cmocka_unit_test(test_cache_fails),
        cmocka_unit_test(test_cache_rejects),
        cmocka_unit_test(test_cache_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
