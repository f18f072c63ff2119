/* SPDX-License-Identifier: MIT
 *
 * Tests behaviour of plain web servers that S3 does not have: other or missing identifications of
 * an object's content, and responses with the whole object. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "tests/common_fake_s3.h"
#include "tests/common_must.h"
#include "tests/common_random.h"

#define SIZE ((size_t)300000)

static struct fake_s3 s3;
static struct sheaf_error error;
static uint8_t data[SIZE];

static int start(void **state)
{
    (void)state;
    random_fill(data, sizeof(data));
    fake_s3_start(&s3);
    fake_s3_use(&s3, 10000);
    fake_s3_set(&s3, s3.anonymous = true);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fake_s3_stop(&s3);
    return 0;
}

/* Opens an object of a plain server, replaces it by an object of the same size, and reads it. */
static int read_replaced(enum fake_etags etags, const char *query, bool known)
{
    struct store_object *object;
    uint8_t *other = malloc(SIZE), *copy = malloc(SIZE);
    char url[200];
    int code;

    fake_s3_set(&s3, s3.etags = etags);
    fake_s3_put(&s3, "/bucket/replaced", data, SIZE);
    snprintf(url, sizeof(url), "%s/bucket/replaced%s", fake_s3_endpoint(&s3), query);
    must(known ? store_open_known(url, SIZE, 0, &object, &error)
               : store_open(url, &object, &error));
    must(store_read(object, 0, copy, 100, &error));
    memcpy(other, data, SIZE);
    other[SIZE / 2] ^= 1;
    fake_s3_put(&s3, "/bucket/replaced", other, SIZE);
    code = store_read(object, 100, copy + 100, SIZE - 100, &error);
    assert_int_equal(object->version != NULL, etags == FAKE_STRONG_ETAGS && !known);
    store_close(object);
    fake_s3_set(&s3, s3.etags = FAKE_STRONG_ETAGS);
    free(other);
    free(copy);
    return code;
}

static void test_http_replaced(void **state)
{
    (void)state;
    for (unsigned known = 0; known < 2; known++) {
        assert_int_equal(read_replaced(FAKE_STRONG_ETAGS, "", known), SHEAF_ERR_CHANGED);
        assert_int_equal(read_replaced(FAKE_WEAK_ETAGS, "", known), SHEAF_ERR_CHANGED);
        assert_int_equal(read_replaced(FAKE_ONLY_DATES, "?token=x", known), SHEAF_ERR_CHANGED);
        assert_non_null(strstr(error.message, "its Last-Modified is now"));
        assert_null(strstr(error.message, "token"));
        /* nothing shows the replacement */
        assert_int_equal(read_replaced(FAKE_NOTHING, "", known), SHEAF_OK);
    }
}

/* Tests a server that does not support ranges. It sends the whole object, whose size must be that
 * of the opened object. */
static void test_http_whole_object(void **state)
{
    const struct fake_fault whole = { .kind = FAKE_WHOLE };
    struct store_object *object;
    uint8_t *copy = malloc(SIZE);
    char url[200];

    (void)state;
    fake_s3_set(&s3, s3.etags = FAKE_NOTHING);
    fake_s3_put(&s3, "/bucket/whole", data, SIZE);
    snprintf(url, sizeof(url), "%s/bucket/whole", fake_s3_endpoint(&s3));
    must(store_open(url, &object, &error));
    fake_server_add_fault(s3.server, &whole);
    must(store_read(object, 0, copy, SIZE, &error));
    assert_memory_equal(copy, data, SIZE);
    fake_s3_put(&s3, "/bucket/whole", data, SIZE - 1);
    assert_int_equal(store_read(object, 0, copy, SIZE, &error), SHEAF_ERR_CHANGED);
    assert_non_null(strstr(error.message, "its size is now 299999 bytes"));
    fake_server_clear_faults(s3.server);
    store_close(object);
    fake_s3_set(&s3, s3.etags = FAKE_STRONG_ETAGS);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_replaced),
        cmocka_unit_test(test_http_whole_object),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
