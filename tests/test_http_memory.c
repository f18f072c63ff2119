/* SPDX-License-Identifier: MIT
 *
 * Makes each allocation of libcurl fail once while an object is read. The object's URL has a query,
 * and is read directly, through a redirect, and through a proxy. The bytes of another object must
 * never be returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/remote.h"
#include "store/store.h"
#include "tests/common_fake_http.h"

#define SIZE ((size_t)40)
#define CALLS_MOST 5000

static struct fake_server *server;
static struct sheaf_error error;
static char base[64];

/* ---- libcurl's memory ------------------------------------------------------------------------ */

static atomic_long calls, fail_at;      /* 0 if none fails */

static bool fails(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == atomic_load(&fail_at);
}

static void *own_malloc(size_t size)
{
    return fails() ? NULL : malloc(size);
}

static void *own_calloc(size_t count, size_t size)
{
    return fails() ? NULL : calloc(count, size);
}

static void *own_realloc(void *old, size_t size)
{
    return fails() ? NULL : realloc(old, size);
}

static char *own_strdup(const char *text)
{
    return fails() ? NULL : strdup(text);
}

/* ---- The server ------------------------------------------------------------------------------ */

/* Serves the objects, which differ only by their query; "/go" redirects to the object. Requests to
 * a proxy have the whole URL. */
static void serve(void *context, const struct fake_request *r, const struct fake_fault *fault,
                  struct fake_answer *answer)
{
    const char digit = strcmp(r->query, "shard=1") == 0 ? '1' : '0';
    size_t first = 0, last = SIZE - 1;
    char *range = fake_header(r, "range"), body[SIZE];

    (void)context, (void)fault;
    if (strstr(r->path, "/go") != NULL) {
        answer->status = 302;
        fake_answer_header(answer, "Location: /get?shard=%c", digit);
    } else if (range != NULL && sscanf(range, "bytes=%zu-%zu", &first, &last) == 2) {
        memset(body, digit, SIZE);
        answer->status = 206;
        fake_answer_header(answer, "Content-Range: bytes %zu-%zu/%zu", first, last, SIZE);
        fake_answer_body(answer, "%.*s", (int)(last - first + 1), body);
    }
    free(range);
}

static int start(void **state)
{
    const struct request_patience patience = {
        .retry = { .attempts = 3, .time_ns = 60000000000, .base_ns = 1000000,
                   .longest_ns = 2000000 },
        .stall_ns = 10000000000, .stall_bytes = 100, .patient_ns = 10000000000,
    };

    (void)state;
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, own_malloc, free, own_realloc, own_strdup,
                         own_calloc);
    server = fake_server_start(serve, NULL);
    snprintf(base, sizeof(base), "http://127.0.0.1:%u", fake_server_port(server));
    unsetenv("http_proxy");
    unsetenv("no_proxy");
    remote_reset(&patience, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    remote_reset(NULL, NULL);
    fake_server_stop(server);
    curl_global_cleanup();
    return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Opens and reads an object while allocation number `at` fails. Sets *more to whether there was
 * such an allocation. */
static int read_once(const char *url, long at, bool *more)
{
    struct store_object *object;
    char found[SIZE], expected[SIZE];
    int code;

    memset(expected, '1', SIZE);
    atomic_store(&calls, 0);
    atomic_store(&fail_at, at);
    code = store_open(url, &object, &error);
    if (code == SHEAF_OK) {
        code = store_read(object, 0, found, SIZE, &error);
        if (code == SHEAF_OK && memcmp(found, expected, SIZE) != 0)
            fail_msg("%s: another object's bytes, after allocation %ld failed", url, at);
        store_close(object);
    }
    *more = atomic_load(&calls) >= at;
    atomic_store(&fail_at, 0);
    return code;
}

static void read_with_each_failure(const char *origin, const char *path)
{
    unsigned without_memory = 0;
    char url[128];
    bool more = true;

    snprintf(url, sizeof(url), "%s%s", origin, path);
    assert_int_equal(read_once(url, 0, &more), SHEAF_OK);
    for (long at = 1; more; at++) {
        const int code = read_once(url, at, &more);

        assert_true(at < CALLS_MOST);
        if (code == SHEAF_ERR_MEMORY)
            assert_non_null(strstr(error.message, "no memory for the request or its response"));
        without_memory += code == SHEAF_ERR_MEMORY;
    }
    assert_true(without_memory > 10);
}

static void test_http_no_memory(void **state)
{
    (void)state;
    read_with_each_failure(base, "/get?shard=1");
}

static void test_http_no_memory_redirected(void **state)
{
    (void)state;
    read_with_each_failure(base, "/go?shard=1");
}

static void test_http_no_memory_proxy(void **state)
{
    (void)state;
    setenv("http_proxy", base, 1);
    read_with_each_failure("http://a.invalid", "/get?shard=1");
    unsetenv("http_proxy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_no_memory),
        cmocka_unit_test(test_http_no_memory_redirected),
        cmocka_unit_test(test_http_no_memory_proxy),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
