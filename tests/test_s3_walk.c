/* SPDX-License-Identifier: MIT
 *
 * Tests listings at every depth, requests for sizes, and objects that are opened without a request,
 * with the fake service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "store/store.h"
#include "tests/common_fake_s3.h"

#define LARGE ((size_t)1 << 20)

static struct fake_s3 s3;
static struct sheaf_error error;

static void must(int code)
{
    if (code != SHEAF_OK)
        print_error("%s\n", error.message);
    assert_int_equal(code, SHEAF_OK);
}

static int begin(void **state)
{
    (void)state;
    memset(&s3, 0, sizeof(s3));
    fake_s3_start(&s3);
    fake_s3_use(&s3, 30000);           /* so long that no request stalls on a slow machine */
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct found {
    char *names[5000];
    size_t count;
    uint64_t bytes, stamps;
};

static int collect(void *context, const struct store_entry *entry)
{
    struct found *f = context;

    if (store_is_mark(entry))
        return SHEAF_OK;
    assert_true(f->count < COUNT_OF(f->names));
    f->names[f->count++] = strdup(entry->name);
    f->bytes += entry->bytes;
    f->stamps += entry->stamp != 0;
    return SHEAF_OK;
}

static void clear(struct found *f)
{
    while (f->count != 0)
        free(f->names[--f->count]);
}

/* Makes `top` directories with `below` subdirectories each, and `objects` objects in each of
 * these. */
static size_t plant(const char *root, unsigned top, unsigned below, unsigned objects)
{
    char path[100];
    size_t count = 0;

    for (unsigned i = 0; i < top; i++)
        for (unsigned j = 0; j < below; j++)
            for (unsigned k = 0; k < objects; k++, count++) {
                snprintf(path, sizeof(path), "/bucket/%s/%02u/%02u/%03u.jpg", root, i, j, k);
                fake_s3_put(&s3, path, "1234567", 1 + k % 7);
            }
    snprintf(path, sizeof(path), "/bucket/%s/00/", root);
    fake_s3_put(&s3, path, "", 0);      /* the marker of a directory */
    snprintf(path, sizeof(path), "/bucket/%s/README", root);
    fake_s3_put(&s3, path, "x", 1);
    return count + 1;
}

static void check_walk(const char *url, const char *root, size_t count)
{
    static struct found found;

    found = (struct found){ .count = 0 };
    must(store_walk(url, collect, &found, &error));
    assert_int_equal(found.count, count);
    assert_int_equal(found.stamps, count);
    qsort(found.names, found.count, sizeof(found.names[0]), compare_lines);
    for (size_t i = 0; i < found.count; i++) {
        char path[200];

        assert_true(i == 0 || strcmp(found.names[i - 1], found.names[i]) != 0);
        snprintf(path, sizeof(path), "/bucket/%s/%s", root, found.names[i]);
        assert_non_null(fake_s3_object(&s3, path));
    }
    clear(&found);
}

static void test_shapes(void **state)
{
    static const struct { const char *root; unsigned top, below, objects, page; } shapes[] = {
        { "flat", 1, 1, 50, 7 }, { "wide", 40, 1, 3, 1000 }, { "deep", 3, 30, 5, 10 },
        { "binary", 2, 2, 2, 2 }, { "pages", 5, 3, 20, 3 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        char url[100];
        const size_t count = plant(shapes[i].root, shapes[i].top, shapes[i].below,
                                   shapes[i].objects);

        fake_s3_set(&s3, s3.page = shapes[i].page);
        snprintf(url, sizeof(url), "s3://bucket/%s", shapes[i].root);
        check_walk(url, shapes[i].root, count);
        snprintf(url, sizeof(url), "s3://bucket/%s/", shapes[i].root);
        check_walk(url, shapes[i].root, count);
        fake_s3_set(&s3, s3.page = 1000);
    }
}

static void test_many_at_once(void **state)
{
    const struct fake_fault slow = { .kind = FAKE_STATUS, .match = "prefix=many%2F1", .status = 503,
                                     .times = 20 };
    const size_t count = plant("many", 20, 1, 4);

    (void)state;
    fake_server_add_fault(s3.server, &slow);
    check_walk("s3://bucket/many", "many", count);
    fake_server_clear_faults(s3.server);
}

static void test_nothing(void **state)
{
    struct found found = { .count = 0 };

    (void)state;
    must(store_walk("s3://bucket/nothing", collect, &found, &error));
    assert_int_equal(found.count, 0);
}

static int stop_at_once(void *context, const struct store_entry *entry)
{
    (void)entry;
    ++*(unsigned *)context;
    return 7;
}

static void test_ends(void **state)
{
    const struct fake_fault denied = { .kind = FAKE_STATUS, .match = "prefix=ends%2F07",
                                       .status = 403, .code = "AccessDenied" };
    struct found found = { .count = 0 };
    unsigned calls = 0;

    (void)state;
    plant("ends", 20, 1, 4);
    assert_int_equal(store_walk("s3://bucket/ends", stop_at_once, &calls, &error), 7);
    assert_int_equal(calls, 1);
    fake_server_add_fault(s3.server, &denied);
    assert_int_equal(store_walk("s3://bucket/ends", collect, &found, &error), SHEAF_ERR_ACCESS);
    assert_non_null(strstr(error.message, "AccessDenied"));
    fake_server_clear_faults(s3.server);
    clear(&found);
}

/* A page of a listing ends early in a correct HTTP response. It must be requested again. If all
 * responses end early, this must be an error. */
static void test_torn(void **state)
{
    static const size_t ends[] = { 0, 30, 120 };
    struct fake_fault torn = { .kind = FAKE_TORN, .match = "prefix=torn%2F", .times = 3 };
    struct found found = { .count = 0 };
    const size_t count = plant("torn", 3, 2, 4);
    unsigned before;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        torn.at = ends[i];
        fake_server_add_fault(s3.server, &torn);
        check_walk("s3://bucket/torn", "torn", count);
        fake_server_clear_faults(s3.server);
    }
    torn.times = 0;
    before = fake_server_count(s3.server, "GET", torn.match);
    fake_server_add_fault(s3.server, &torn);
    assert_int_equal(store_walk("s3://bucket/torn", collect, &found, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "listing s3://bucket/torn/: a reply of 120 bytes is not "
                           "XML: "));
    assert_non_null(strstr(error.message, "; gave up after 6 attempts in "));
    assert_int_equal(store_list("s3://bucket/torn", collect, &found, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "; gave up after 6 attempts in "));
    assert_int_equal(fake_server_count(s3.server, "GET", torn.match) - before, 12);
    assert_int_equal(found.count, 0);
    fake_server_clear_faults(s3.server);
}

/* Tests listings that never end. Each must be an error that says so, and nothing may be freed twice
 * (AddressSanitizer checks this). */
static void test_endless(void **state)
{
    (void)state;
    for (unsigned i = FAKE_NO_TOKEN; i <= FAKE_EMPTY_PAGES; i++) {
        static struct found found;
        unsigned pages;

        found = (struct found){ .count = 0 };
        fake_s3_set(&s3, s3.listing = i);
        fake_s3_set(&s3, s3.pages = 0);
        assert_int_equal(store_walk("s3://bucket/endless", collect, &found, &error),
                         SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(error.message, "s3://bucket/endless/: it does not end"));
        fake_s3_set(&s3, pages = s3.pages);
        assert_true(pages < 1010);
        fake_s3_set(&s3, s3.pages = 0);
        assert_int_equal(store_list("s3://bucket/endless", collect, &found, &error),
                         SHEAF_ERR_CORRUPT);
        assert_non_null(strstr(error.message, "it does not end"));
        clear(&found);
    }
    fake_s3_set(&s3, s3.listing = FAKE_LISTING_ENDS);
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static void note(struct store_stat *stat)
{
    __atomic_store_n(&stat->bytes, stat->bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&stat->url, NULL, __ATOMIC_RELEASE);
}

static struct store_stat ask(const char *url)
{
    struct store_stat stat = { .url = url, .done = note };

    store_stat_start(&stat);
    while (__atomic_load_n(&stat.url, __ATOMIC_ACQUIRE) != NULL)
        ;
    if (stat.code != SHEAF_OK)
        error = stat.error;
    return stat;
}

static void test_sizes(void **state)
{
    const struct fake_fault busy = { .kind = FAKE_STATUS, .status = 503, .times = 2 };
    const struct fake_fault denied = { .kind = FAKE_STATUS, .status = 403, .code = "AccessDenied",
                                       .match = "sizes/one" };
    struct store_stat one, other;

    (void)state;
    fake_s3_put(&s3, "/bucket/sizes/one", "abc", 3);
    fake_s3_put(&s3, "/bucket/sizes/none", "", 0);
    fake_server_add_fault(s3.server, &busy);
    one = ask("s3://bucket/sizes/one");
    must(one.code);
    assert_int_equal(one.bytes, 3);
    fake_server_clear_faults(s3.server);
    fake_s3_put(&s3, "/bucket/sizes/one", "abd", 3);
    other = ask("s3://bucket/sizes/one");
    must(other.code);
    assert_int_not_equal(one.stamp, other.stamp);
    other = ask("s3://bucket/sizes/none");
    must(other.code);
    assert_int_equal(other.bytes, 0);
    assert_int_equal(ask("s3://bucket/sizes/missing").code, SHEAF_ERR_NOT_FOUND);
    assert_int_equal(ask("s3://bucket").code, SHEAF_ERR_ARGUMENT);
    assert_int_equal(ask("/no/such/file").code, SHEAF_ERR_NOT_FOUND);
    fake_server_add_fault(s3.server, &denied);
    assert_int_equal(ask("s3://bucket/sizes/one").code, SHEAF_ERR_ACCESS);
    assert_non_null(strstr(error.message, "AccessDenied"));
    fake_server_clear_faults(s3.server);
}

/* ---- Objects that are known ------------------------------------------------------------------ */

static int read_known(const struct store_entry *known, const char *url, uint8_t *data)
{
    struct store_object *object;
    int code;

    must(store_open_known(url, known->bytes, known->stamp, &object, &error));
    code = store_read(object, 0, data, (size_t)known->bytes, &error);
    store_close(object);
    return code;
}

struct known {
    struct store_entry entry;
};

static int keep(void *context, const struct store_entry *entry)
{
    ((struct known *)context)->entry = *entry;
    return SHEAF_OK;
}

static void test_known(void **state)
{
    const struct fake_fault cut = { .kind = FAKE_CUT, .match = "known/object", .at = LARGE / 2,
                                    .times = 1 };
    uint8_t *data = malloc(LARGE), *got = malloc(LARGE);
    struct known known = { 0 };
    unsigned before;

    (void)state;
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    fake_s3_put(&s3, "/bucket/known/object", data, LARGE);
    must(store_walk("s3://bucket/known", keep, &known, &error));
    assert_int_equal(known.entry.bytes, LARGE);
    before = fake_server_count(s3.server, NULL, "known/object");
    must(read_known(&known.entry, "s3://bucket/known/object", got));
    assert_memory_equal(got, data, LARGE);
    assert_int_equal(fake_server_count(s3.server, NULL, "known/object"), before + 1);
    fake_server_add_fault(s3.server, &cut);
    must(read_known(&known.entry, "s3://bucket/known/object", got));
    assert_memory_equal(got, data, LARGE);
    fake_server_clear_faults(s3.server);

    data[0] ^= 1;
    fake_s3_put(&s3, "/bucket/known/object", data, LARGE);
    assert_int_equal(read_known(&known.entry, "s3://bucket/known/object", got),
                     SHEAF_ERR_CHANGED);
    fake_s3_put(&s3, "/bucket/known/object", data, LARGE / 2);
    assert_int_equal(read_known(&known.entry, "s3://bucket/known/object", got),
                     SHEAF_ERR_CHANGED);
    free(data);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes), cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_nothing), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_known),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
