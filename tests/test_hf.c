/* SPDX-License-Identifier: MIT
 *
 * Tests data sets of the Hugging Face hub. The fake hub requires a token, names commits, and
 * redirects to another host, which must not get the token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/remote.h"
#include "store/store.h"
#include "tests/common_fake_http.h"
#include "tests/common_must.h"

#define FIRST  "1111111111111111111111111111111111111111"
#define SECOND "2222222222222222222222222222222222222222"
#define REPO "/datasets/owner/some.name"
#define CONTENT "0123456789abcdefghijklmnopqrstuvwxyz"
#define URL "hf://datasets/owner/some.name"

static struct {
    struct fake_server *hub, *files;
    const char *main;           /* the commit to which "main" refers */
    const char *listing;        /* the listing of the directory "bad" */
    unsigned pages;             /* number of pages of the directory "endless" */
    unsigned leaks;             /* requests to the other host that contained the token */
    unsigned refused;           /* requests to the hub without the token */
} world = { .main = FIRST };

static struct sheaf_error error;

/* ---- The servers ----------------------------------------------------------------------------- */

static void answer_range(const struct fake_request *r, const char *content, struct fake_answer *a)
{
    char *range = fake_header(r, "range");
    const size_t size = strlen(content);
    size_t first = 0, last = size - 1;

    if (range != NULL && sscanf(range, "bytes=%zu-%zu", &first, &last) == 2 && last < size) {
        a->status = 206;
        fake_answer_header(a, "Content-Range: bytes %zu-%zu/%zu", first, last, size);
    }
    /* a different token each time */
    fake_answer_header(a, "ETag: \"of-%p\"", (const void *)r);
    fake_answer_body(a, "%.*s", (int)(last - first + 1), content + first);
    free(range);
}

static void serve_files(void *context, const struct fake_request *r, const struct fake_fault *fault,
                        struct fake_answer *a)
{
    char *token = fake_header(r, "authorization");

    (void)context, (void)fault;
    world.leaks += token != NULL;
    free(token);
    answer_range(r, CONTENT, a);
}

static void list(const struct fake_request *r, struct fake_answer *a)
{
    if (strstr(r->query, "cursor=") == NULL) {
        fake_answer_header(a, "Link: <http://other.example/x?cursor=bmV4dA%%3D%%3D&limit=1000>; "
                           "rel=\"next\"");
        fake_answer_body(a, "[{\"type\": \"file\", \"path\": \"train/b 1.tar\", \"size\": 36, "
                         "\"oid\": \"o1\"}, {\"type\": \"directory\", \"path\": \"train/deep\", "
                         "\"size\": 0, \"oid\": \"o2\"}]");
    } else if (strstr(r->query, "cursor=bmV4dA%3D%3D") != NULL) {
        fake_answer_body(a, "[{\"type\": \"file\", \"path\": \"train/a.tar\", \"size\": 5, "
                         "\"oid\": \"o3\"}, {\"type\": \"file\", \"path\": \"train/.hidden\", "
                         "\"size\": 5, \"oid\": \"o4\"}]");
    } else {
        a->status = 400;
    }
}

static void serve_hub(void *context, const struct fake_request *r, const struct fake_fault *fault,
                      struct fake_answer *a)
{
    char *token = fake_header(r, "authorization");
    const bool may = token != NULL && strcmp(token, "Bearer hf_secret") == 0;

    (void)context, (void)fault;
    free(token);
    if (!may) {
        world.refused++;
        a->status = 401;
    } else if (strcmp(r->path, "/api" REPO "/revision/main") == 0 ||
               strcmp(r->path, "/api" REPO "/revision/refs%2Fpr%2F1") == 0) {
        fake_answer_body(a, "{\"id\": \"owner/some.name\", \"sha\": \"%s\"}", world.main);
    } else if (strcmp(r->path, "/api" REPO "/tree/" FIRST "/train") == 0) {
        list(r, a);
    } else if (strcmp(r->path, "/api" REPO "/tree/" FIRST "/bad") == 0) {
        fake_answer_body(a, "%s", world.listing);
    } else if (strcmp(r->path, "/api" REPO "/tree/" FIRST "/endless") == 0) {
        fake_answer_header(a, "Link: <http://x/?cursor=%u>; rel=\"next\"", ++world.pages);
        fake_answer_body(a, "[]");
    } else if (strcmp(r->path, "/api" REPO "/revision/bad") == 0) {
        fake_answer_body(a, "{\"sha\": \"../../etc\"}");
    } else if (strcmp(r->path, REPO "/resolve/" FIRST "/train/b%201.tar") == 0) {
        a->status = 302;
        fake_answer_header(a, "X-Repo-Commit: " FIRST);
        fake_answer_header(a, "Location: http://127.0.0.1:%u/blob?signed=x",
                           fake_server_port(world.files));
    } else if (strcmp(r->path, REPO "/resolve/" SECOND "/small") == 0) {
        answer_range(r, "second", a);
    } else {
        a->status = 404;
    }
}

static int start(void **state)
{
    (void)state;
    world.hub = fake_server_start(serve_hub, NULL);
    world.files = fake_server_start(serve_files, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    remote_reset(NULL, NULL);
    fake_server_stop(world.hub);
    fake_server_stop(world.files);
    return 0;
}

static void use(const char *token)
{
    static const struct request_patience patience = {
        .retry = { .attempts = 3, .time_ns = 60000000000, .base_ns = 1000000,
                   .longest_ns = 2000000 },
        .stall_ns = 30000000000, .stall_bytes = 100, .patient_ns = 30000000000,
    };
    char endpoint[64];

    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u/", fake_server_port(world.hub));
    setenv("HF_ENDPOINT", endpoint, 1);
    setenv("HF_TOKEN_PATH", "/nonexistent", 1);
    unsetenv("HF_TOKEN");
    if (token != NULL)
        setenv("HF_TOKEN", token, 1);
    remote_reset(&patience, NULL);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void must_not_open(const char *url, int code, const char *text)
{
    struct store_object *object;

    if (store_open(url, &object, &error) != code || strstr(error.message, text) == NULL)
        fail_msg("%s: %d %s", url, error.code, error.message);
    assert_null(strstr(error.message, "hf_secret"));
}

/* Tests that the redirection is followed, and that its destination never gets the token. */
static void test_read(void **state)
{
    struct store_object *object;
    char copy[11] = "";

    (void)state;
    use("hf_secret");
    must(store_open(URL "/train/b 1.tar", &object, &error));
    assert_int_equal(object->bytes, strlen(CONTENT));
    assert_string_equal(object->version, FIRST);
    assert_string_equal(object->url, URL "/train/b 1.tar");
    must(store_read(object, 10, copy, 10, &error));
    assert_string_equal(copy, "abcdefghij");
    store_close(object);
    must(store_open_known(URL "@" FIRST "/train/b 1.tar", strlen(CONTENT), 7, &object, &error));
    must(store_read(object, 0, copy, 10, &error));
    store_close(object);
    assert_true(fake_server_count(world.files, "GET", NULL) >= 3);
    assert_int_equal(world.leaks, 0);
    assert_int_equal(world.refused, 0);
}

/* Tests that a revision always means the same commit within a process, even if the revision
 * moves. */
static void test_pinned(void **state)
{
    struct store_object *object;

    (void)state;
    use("hf_secret");
    must(store_open(URL "/train/b 1.tar", &object, &error));
    store_close(object);
    world.main = SECOND;
    must(store_open(URL "/train/b 1.tar", &object, &error));
    store_close(object);
    must_not_open(URL "/small", SHEAF_ERR_NOT_FOUND, "no such object");
    must(store_open(URL "@refs%2Fpr%2F1/small", &object, &error));
    assert_string_equal(object->version, SECOND);
    store_close(object);
    use("hf_secret");
    must(store_open(URL "@main/small", &object, &error));
    store_close(object);
    world.main = FIRST;
}

static int add_name(void *context, const struct store_entry *entry)
{
    char *names = context;

    assert_int_not_equal(entry->stamp, 0);
    snprintf(names + strlen(names), 100, "%s:%llu ", entry->name,
             (unsigned long long)entry->bytes);
    return 0;
}

static void test_list(void **state)
{
    char names[300] = "";

    (void)state;
    use("hf_secret");
    must(store_list(URL "/train/", add_name, names, &error));
    assert_string_equal(names, "a.tar:5 b 1.tar:36 ");
    assert_int_equal(store_list(URL "/nothing", add_name, names, &error), SHEAF_ERR_NOT_FOUND);
}

/* Tests that a response which ends early is requested again. */
static void test_torn(void **state)
{
    struct fake_fault torn = { .kind = FAKE_TORN, .at = 20, .times = 2 };
    char names[300] = "";

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        torn.match = i == 0 ? "/revision/" : "/tree/";
        torn.times = 2;
        use("hf_secret");
        fake_server_add_fault(world.hub, &torn);
        must(store_list(URL "/train/", add_name, names, &error));
        fake_server_clear_faults(world.hub);
        torn.times = 0;
        use("hf_secret");
        fake_server_add_fault(world.hub, &torn);
        assert_int_equal(store_list(URL "/train/", add_name, names, &error), SHEAF_ERR_CORRUPT);
        fake_server_clear_faults(world.hub);
        assert_non_null(strstr(error.message, i == 0 ? "finding revision main: "
                                                     : "listing " URL "/train/: "));
        assert_non_null(strstr(error.message, "the response is not JSON; gave up after 3 "
                               "attempts in "));
    }
    assert_string_equal(names, "a.tar:5 b 1.tar:36 a.tar:5 b 1.tar:36 ");
}

/* Tests a server that is not a hub. */
static void test_damaged(void **state)
{
    static const char *const listings[] = {
        "", "[", "{}", "[7]", "[{\"type\": \"file\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"bad\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"bad/\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"other/a\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"bad/../../a\", \"size\": 1}]",
        "[{\"type\": \"file\", \"path\": \"bad/a\", \"size\": -1}]",
    };
    char names[300] = "";

    (void)state;
    use("hf_secret");
    must_not_open(URL "@bad/x", SHEAF_ERR_CORRUPT, "names no commit");
    for (size_t i = 0; i < COUNT_OF(listings); i++) {
        world.listing = listings[i];
        if (store_list(URL "/bad", add_name, names, &error) != SHEAF_ERR_CORRUPT)
            fail_msg("%s: %d %s", listings[i], error.code, error.message);
    }
    assert_int_equal(store_list(URL "/endless", add_name, names, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "does not end"));
    assert_int_equal(world.pages, 10000);
    assert_string_equal(names, "");
}

static void test_refused(void **state)
{
    struct store_writer *writer;

    (void)state;
    use(NULL);
    must_not_open(URL "/train/b 1.tar", SHEAF_ERR_ACCESS, "needs a token: set HF_TOKEN");
    use("wrong");
    must_not_open(URL "/train/b 1.tar", SHEAF_ERR_ACCESS, "that of a login) does not allow it");
    use("hf_secret");
    must_not_open(URL "@nobody/x", SHEAF_ERR_NOT_FOUND, "finding revision nobody");
    must_not_open(URL, SHEAF_ERR_ARGUMENT, "is a data set, not a file");
    must_not_open(URL "/", SHEAF_ERR_ARGUMENT, "is a data set, not a file");
    must_not_open("hf://datasets/owner/x~y/z", SHEAF_ERR_ARGUMENT, "must be");
    must_not_open("hf://datasets/only/", SHEAF_ERR_ARGUMENT, "must be");
    must_not_open("hf://datasets/a/b@x y/c", SHEAF_ERR_ARGUMENT, "must be");
    must_not_open("hf://models/a/b/c", SHEAF_ERR_UNSUPPORTED, "only data sets of the hub");
    assert_int_equal(store_create(URL "/new", &writer, &error), SHEAF_ERR_UNSUPPORTED);
    setenv("HF_ENDPOINT", "hub.example", 1);
    remote_reset(NULL, NULL);
    must_not_open(URL "/x", SHEAF_ERR_ARGUMENT, "HF_ENDPOINT: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_torn),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
