/* SPDX-License-Identifier: MIT
 *
 * Tests Signature Version 4 with the vectors that AWS publishes: the cases of the signing test
 * suite that keep S3's rules (the path is not normalised), and the examples in S3's
 * documentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/s3/sigv4.h"
#include "store/url.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FORM  "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
#define UNRESERVED "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define HEADERS 8
#define PAIRS 3

static struct sheaf_error error;

struct vector {
    const char *name;
    const char *method, *path;              /* not encoded */
    struct sigv4_pair query[PAIRS];         /* not encoded, in the order of the request */
    struct sigv4_pair headers[HEADERS];     /* except host and x-amz-date */
    const char *payload;
    const char *names;                      /* SignedHeaders */
    const char *signature;
};

/* ---- The suite ------------------------------------------------------------------------------- */

#define TOKEN "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeM" \
    "icRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsbur" \
    "EDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64" \
    "lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

static const struct vector suite[] = {
    { "get-vanilla", "GET", "/", { }, { }, EMPTY, "host;x-amz-date",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
    { "get-header-key-duplicate", "GET", "/", { },
      { { "My-Header1", "value2" }, { "My-Header1", "value2" }, { "My-Header1", "value1" } },
      EMPTY, "host;my-header1;x-amz-date",
      "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea" },
    { "get-header-value-multiline", "GET", "/", { },
      { { "My-Header1", "value1\n  value2\n     value3" } }, EMPTY, "host;my-header1;x-amz-date",
      "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd" },
    { "get-header-value-order", "GET", "/", { },
      { { "My-Header1", "value4" }, { "My-Header1", "value1" }, { "My-Header1", "value3" },
        { "My-Header1", "value2" } }, EMPTY, "host;my-header1;x-amz-date",
      "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01" },
    { "get-header-value-trim", "GET", "/", { },
      { { "My-Header1", " value1" }, { "My-Header2", " \"a   b   c\"" } }, EMPTY,
      "host;my-header1;my-header2;x-amz-date",
      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736" },
    { "get-relative-unnormalized", "GET", "/example/..", { }, { }, EMPTY, "host;x-amz-date",
      "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282" },
    { "get-slash-dot-slash-unnormalized", "GET", "/./", { }, { }, EMPTY, "host;x-amz-date",
      "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145" },
    { "get-slashes-unnormalized", "GET", "//example//", { }, { }, EMPTY, "host;x-amz-date",
      "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5" },
    { "get-space-unnormalized", "GET", "/example space/", { }, { }, EMPTY, "host;x-amz-date",
      "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741" },
    { "get-unreserved", "GET", "/" UNRESERVED, { }, { }, EMPTY, "host;x-amz-date",
      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f" },
    { "get-utf8", "GET", "/\u1234", { }, { }, EMPTY, "host;x-amz-date",
      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
    { "get-vanilla-empty-query-key", "GET", "/", { { "Param1", "value1" } }, { }, EMPTY,
      "host;x-amz-date", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb" },
    { "get-vanilla-query-order-encoded", "GET", "/",
      { { "Param-3", "Value3" }, { "Param", "Value2" }, { "\u1234", "Value1" } }, { }, EMPTY,
      "host;x-amz-date", "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac" },
    { "get-vanilla-query-order-key-case", "GET", "/",
      { { "Param2", "value2" }, { "Param1", "value1" } }, { }, EMPTY, "host;x-amz-date",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
    { "get-vanilla-query-unreserved", "GET", "/", { { UNRESERVED, UNRESERVED } }, { }, EMPTY,
      "host;x-amz-date", "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197" },
    { "get-vanilla-utf8-query", "GET", "/", { { "\u1234", "bar" } }, { }, EMPTY,
      "host;x-amz-date", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04" },
    { "get-vanilla-with-session-token", "GET", "/", { }, { { "X-Amz-Security-Token",
      "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267" } }, EMPTY,
      "host;x-amz-date;x-amz-security-token",
      "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8" },
    { "post-vanilla", "POST", "/", { }, { }, EMPTY, "host;x-amz-date",
      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
    { "post-header-key-sort", "POST", "/", { }, { { "My-Header1", "value1" } }, EMPTY,
      "host;my-header1;x-amz-date",
      "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c" },
    { "post-header-value-case", "POST", "/", { }, { { "My-Header1", "VALUE1" } }, EMPTY,
      "host;my-header1;x-amz-date",
      "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d" },
    { "post-sts-header-before", "POST", "/", { }, { { "X-Amz-Security-Token", TOKEN } }, EMPTY,
      "host;x-amz-date;x-amz-security-token",
      "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead" },
    { "post-vanilla-query", "POST", "/", { { "Param1", "value1" } }, { }, EMPTY,
      "host;x-amz-date", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11" },
    { "post-x-www-form-urlencoded", "POST", "/", { },
      { { "Content-Type", "application/x-www-form-urlencoded" }, { "Content-Length", "13" },
        { "x-amz-content-sha256", FORM } }, FORM,
      "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
      "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b" },
    { "post-x-www-form-urlencoded-parameters", "POST", "/", { },
      { { "Content-Type", "application/x-www-form-urlencoded; charset=utf-8" },
        { "Content-Length", "13" }, { "x-amz-content-sha256", FORM } }, FORM,
      "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
      "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422" },
};

/* ---- S3's documentation ---------------------------------------------------------------------- */

#define HASH(value) { "x-amz-content-sha256", value }
#define PUT_HASH "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static const struct vector s3[] = {
    { "GET Object", "GET", "/test.txt", { }, { { "Range", "bytes=0-9" }, HASH(EMPTY) }, EMPTY,
      "host;range;x-amz-content-sha256;x-amz-date",
      "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
    { "PUT Object", "PUT", "/test$file.text", { },
      { { "Date", "Fri, 24 May 2013 00:00:00 GMT" }, HASH(PUT_HASH),
        { "x-amz-storage-class", "REDUCED_REDUNDANCY" } }, PUT_HASH,
      "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
    { "GET Bucket Lifecycle", "GET", "/", { { "lifecycle", "" } }, { HASH(EMPTY) }, EMPTY,
      "host;x-amz-content-sha256;x-amz-date",
      "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
    { "List Objects", "GET", "/", { { "prefix", "J" }, { "max-keys", "2" } }, { HASH(EMPTY) },
      EMPTY, "host;x-amz-content-sha256;x-amz-date",
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
};

/* ---- Running them ---------------------------------------------------------------------------- */

static size_t count_pairs(const struct sigv4_pair *pairs, size_t most)
{
    size_t count = 0;

    while (count < most && pairs[count].name != NULL)
        count++;
    return count;
}

static void check_vector(const struct vector *v, const char *host,
                         const struct sigv4_signer *signer)
{
    struct sigv4_pair headers[HEADERS + 2] = { { "Host", host }, { "X-Amz-Date", signer->date } };
    const size_t header_count = count_pairs(v->headers, HEADERS);
    struct sigv4_pair query[PAIRS];
    struct buf path = BUF_INIT(1000), text = BUF_INIT(1000), made = BUF_INIT(4096);
    struct buf expected = BUF_INIT(4096);
    struct sigv4_request request = { .method = v->method, .headers = headers,
                                     .header_count = header_count + 2,
                                     .payload_hash = v->payload };

    memcpy(headers + 2, v->headers, header_count * sizeof(headers[0]));
    memcpy(query, v->query, sizeof(query));
    assert_int_equal(url_encode(&path, v->path, true, &error), SHEAF_OK);
    assert_int_equal(buf_append(&path, "", 1, &error), SHEAF_OK);
    assert_int_equal(sigv4_query(query, count_pairs(query, PAIRS), &text, &error), SHEAF_OK);
    assert_int_equal(buf_append(&text, "", 1, &error), SHEAF_OK);
    request.path = (const char *)path.data;
    request.query = (const char *)text.data;
    assert_int_equal(sigv4_authorization(&request, signer, &made, &error), SHEAF_OK);
    assert_int_equal(buf_append(&made, "", 1, &error), SHEAF_OK);
    assert_int_equal(buf_printf(&expected, &error, "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/"
                                "aws4_request, SignedHeaders=%s, Signature=%s",
                                signer->access_key_id, signer->date, signer->region,
                                signer->service, v->names, v->signature), SHEAF_OK);
    assert_int_equal(buf_append(&expected, "", 1, &error), SHEAF_OK);
    if (strcmp((const char *)made.data, (const char *)expected.data) != 0)
        fail_msg("%s: %s", v->name, (const char *)made.data);
    buf_free(&path);
    buf_free(&text);
    buf_free(&made);
    buf_free(&expected);
}

static void test_suite(void **state)
{
    const struct sigv4_signer signer = {
        "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service",
        "20150830T123600Z",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(suite) / sizeof(suite[0]); i++)
        check_vector(&suite[i], "example.amazonaws.com", &signer);
}

static void test_s3_examples(void **state)
{
    const struct sigv4_signer signer = {
        "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3",
        "20130524T000000Z",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(s3) / sizeof(s3[0]); i++)
        check_vector(&s3[i], "examplebucket.s3.amazonaws.com", &signer);
}

/* Compares with the suite's canonical request of one case. */
static void test_canonical(void **state)
{
    const struct sigv4_pair headers[] = { { "X-Amz-Date", "20150830T123600Z" },
        { "My-Header2", " \"a   b   c\"" }, { "My-Header1", " value1" },
        { "Host", "example.amazonaws.com" } };
    const struct sigv4_request request = { "GET", "/", "", headers, 4, EMPTY };
    static const char expected[] = "GET\n/\n\nhost:example.amazonaws.com\nmy-header1:value1\n"
        "my-header2:\"a b c\"\nx-amz-date:20150830T123600Z\n\n"
        "host;my-header1;my-header2;x-amz-date\n" EMPTY;
    struct buf made = BUF_INIT(1000);

    (void)state;
    assert_int_equal(sigv4_canonical(&request, &made, &error), SHEAF_OK);
    assert_int_equal(made.size, sizeof(expected) - 1);
    assert_memory_equal(made.data, expected, made.size);
    buf_free(&made);
}

static void test_query(void **state)
{
    struct sigv4_pair pairs[] = { { "b", "2" }, { "uploads", "" }, { "a b", "x/y+z" },
                                  { "b", "1" }, { "a!", "" } };
    static const char expected[] = "a%20b=x%2Fy%2Bz&a%21=&b=1&b=2&uploads=";
    struct buf made = BUF_INIT(1000);

    (void)state;
    assert_int_equal(sigv4_query(pairs, 5, &made, &error), SHEAF_OK);
    assert_int_equal(made.size, sizeof(expected) - 1);
    assert_memory_equal(made.data, expected, made.size);
    made.size = 0;
    assert_int_equal(sigv4_query(NULL, 0, &made, &error), SHEAF_OK);
    assert_int_equal(made.size, 0);
    buf_free(&made);
}

static void test_date(void **state)
{
    char date[SIGV4_DATE_SIZE];

    (void)state;
    sigv4_date(1440938160, date);
    assert_string_equal(date, "20150830T123600Z");
    sigv4_date(0, date);
    assert_string_equal(date, "19700101T000000Z");
    sigv4_date(INT64_MAX, date);
    assert_int_equal(strlen(date), SIGV4_DATE_SIZE - 1);
}

static void test_limits(void **state)
{
    struct sigv4_pair headers[SIGV4_HEADERS_MOST + 1];
    struct sigv4_request request = { "GET", "/", "", headers, SIGV4_HEADERS_MOST + 1, EMPTY };
    struct sigv4_signer signer = { "key", NULL, "us-east-1", "s3", "20130524T000000Z" };
    char secret[1000];
    struct buf made = BUF_INIT(10000);

    (void)state;
    for (size_t i = 0; i <= SIGV4_HEADERS_MOST; i++)
        headers[i] = (struct sigv4_pair){ "name", "value" };
    memset(secret, 's', sizeof(secret));
    secret[999] = '\0';
    signer.secret_access_key = secret;
    assert_int_equal(sigv4_authorization(&request, &signer, &made, &error), SHEAF_ERR_LIMIT);
    request.header_count = 1;
    assert_int_equal(sigv4_authorization(&request, &signer, &made, &error), SHEAF_ERR_LIMIT);
    assert_null(strstr(error.message, "sss"));
    secret[256] = '\0';
    assert_int_equal(sigv4_authorization(&request, &signer, &made, &error), SHEAF_OK);
    buf_free(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite),
        cmocka_unit_test(test_s3_examples),
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_date),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
