/* SPDX-License-Identifier: MIT
 *
 * Tests the responses of S3 and STS, as Amazon documents them and as other services write them:
 * complete, truncated at every byte, and damaged at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/s3/s3_xml.h"

static struct sheaf_error error;

/* Returns a copy without a NUL after it, so that a sanitizer notices a read past its end. */
static char *exact(const char *text, size_t size)
{
    char *copy = malloc(size != 0 ? size : 1);

    memcpy(copy, text, size);
    return copy;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static int parse_error(const char *text, struct s3_xml_error *out)
{
    char *copy = exact(text, strlen(text));
    const int code = s3_xml_error(copy, strlen(text), out);

    free(copy);
    return code;
}

static void test_errors(void **state)
{
    struct s3_xml_error e;

    (void)state;
    assert_int_equal(parse_error("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>"
        "AuthorizationHeaderMalformed</Code><Message>expecting 'eu-west-1' &amp; not &lt;x&gt;"
        "</Message><Region>eu-west-1</Region><RequestId>1</RequestId></Error>", &e), SHEAF_OK);
    assert_string_equal(e.code, "AuthorizationHeaderMalformed");
    assert_string_equal(e.message, "expecting 'eu-west-1' & not <x>");
    assert_string_equal(e.region, "eu-west-1");
    assert_int_equal(parse_error("<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/\"><Error>"
        "<Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error><RequestId>1"
        "</RequestId></ErrorResponse>", &e), SHEAF_OK);
    assert_string_equal(e.code, "AccessDenied");
    assert_int_equal(parse_error("<Error><Code>RequestTimeTooSkewed</Code><RequestTime>"
        "20130524T000000Z</RequestTime><ServerTime>2013-05-25T00:00:00Z</ServerTime></Error>",
        &e), SHEAF_OK);
    assert_string_equal(e.request_time, "20130524T000000Z");
    assert_string_equal(e.server_time, "2013-05-25T00:00:00Z");
    assert_string_equal(e.message, "");
    assert_int_equal(parse_error("\n\n <Error/>", &e), SHEAF_OK);
    assert_string_equal(e.code, "");
}

static void test_no_errors(void **state)
{
    struct s3_xml_error e;

    (void)state;
    assert_int_equal(parse_error("<CompleteMultipartUploadResult/>", &e), SHEAF_END);
    assert_int_equal(parse_error("<A><Error><Code>x</Code></Error></A>", &e), SHEAF_END);
    assert_int_equal(parse_error("", &e), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse_error("<Error><Code>x</Code>", &e), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse_error("<html><p>Bad gateway</html>", &e), SHEAF_ERR_CORRUPT);
    assert_int_equal(parse_error("{\"error\": 1}", &e), SHEAF_ERR_CORRUPT);
}

/* Tests that an error code of any length is accepted. */
static void test_long_values(void **state)
{
    static char text[3000];
    struct s3_xml_error e;

    (void)state;
    memcpy(text, "<Error><Code>", 13);
    memset(text + 13, 'c', 2900);
    memcpy(text + 2913, "</Code></Error>", 16);
    assert_int_equal(parse_error(text, &e), SHEAF_OK);
    assert_int_equal(strlen(e.code), sizeof(e.code) - 1);
}

/* ---- Listings -------------------------------------------------------------------------------- */

static int collect(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    return buf_printf(context, err, "%s:%s%s:%llu%s\n", entry->key,
                      entry->upload_id != NULL ? entry->upload_id : "",
                      entry->etag != NULL ? entry->etag : "", (unsigned long long)entry->bytes,
                      entry->is_prefix ? ":prefix" : "");
}

static int list(const char *text, size_t size, struct buf *found, struct s3_xml_page *page)
{
    char *copy = exact(text, size);
    int code;

    found->size = 0;
    code = s3_xml_page(copy, size, page, &error);
    if (code == SHEAF_OK)
        code = s3_xml_entries(copy, size, page, collect, found, &error);
    if (code == SHEAF_OK)
        code = buf_append(found, "", 1, &error);
    free(copy);
    return code;
}

static const char whole[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
    "<Prefix>x</Prefix><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="
    "</NextContinuationToken><KeyCount>3</KeyCount><MaxKeys>3</MaxKeys><IsTruncated>true"
    "</IsTruncated><Contents><Key>a%20b%2Bc/%C3%BC</Key><LastModified>2009-10-12T17:50:30.000Z"
    "</LastModified><ETag>&quot;fba9dede5f27731c9771645a39863328&quot;</ETag><Size>434234</Size>"
    "<Owner><ID>8a6925ce4a7f21c32aa379004fef</ID><DisplayName>mtd</DisplayName></Owner>"
    "<StorageClass>STANDARD</StorageClass></Contents>\n  <Contents><Size>0</Size><Key>b+c</Key>"
    "</Contents><CommonPrefixes><Prefix>photos/</Prefix></CommonPrefixes>"
    "<EncodingType>url</EncodingType></ListBucketResult>";

static void test_list(void **state)
{
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;

    (void)state;
    assert_int_equal(list(whole, strlen(whole), &found, &page), SHEAF_OK);
    assert_string_equal(found.data, "a b+c/\u00fc:\"fba9dede5f27731c9771645a39863328\":434234\n"
                                    "b c::0\nphotos/::0:prefix\n");
    assert_true(page.is_truncated);
    assert_string_equal(page.token, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
    s3_xml_page_free(&page);
    buf_free(&found);
}

/* Tests that keys are decoded only if the response says that they are encoded. */
static void test_list_plain(void **state)
{
    static const char text[] = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents>"
        "<Key>a%20b+c</Key><Size>18446744073709551615</Size></Contents></ListBucketResult>";
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;

    (void)state;
    assert_int_equal(list(text, strlen(text), &found, &page), SHEAF_OK);
    assert_string_equal(found.data, "a%20b+c::18446744073709551615\n");
    assert_false(page.is_truncated);
    assert_null(page.token);
    s3_xml_page_free(&page);
    buf_free(&found);
}

static void test_list_uploads(void **state)
{
    static const char text[] = "<ListMultipartUploadsResult><Bucket>b</Bucket><Upload><Key>k</Key>"
        "<UploadId>id/1</UploadId><Initiator><ID>x</ID></Initiator></Upload><Upload><UploadId>2"
        "</UploadId><Key>l</Key></Upload></ListMultipartUploadsResult>";
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;

    (void)state;
    assert_int_equal(list(text, strlen(text), &found, &page), SHEAF_OK);
    assert_string_equal(found.data, "k:id/1:0\nl:2:0\n");
    s3_xml_page_free(&page);
    buf_free(&found);
}

static void test_bad_lists(void **state)
{
    static const char *const bad[] = {
        "<Other/>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size/></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>18446744073709551616</Size></Contents>"
            "</ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%0</Key><Size>1</Size>"
            "</Contents></ListBucketResult>",
        "<ListMultipartUploadsResult><Upload><Key>k</Key></Upload></ListMultipartUploadsResult>",
        "<!DOCTYPE x [<!ENTITY a \"b\">]><ListBucketResult>&a;</ListBucketResult>",
        "<!DOCTYPE ListBucketResult SYSTEM \"file:///etc/passwd\"><ListBucketResult/>",
        "<a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a></a></a></a>"
            "</a>",
    };
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (list(bad[i], strlen(bad[i]), &found, &page) != SHEAF_ERR_CORRUPT)
            fail_msg("%s was taken", bad[i]);
        s3_xml_page_free(&page);
    }
    buf_free(&found);
}

/* Tests that a very long value is refused, and does not take memory of its size. */
static void test_vast_value(void **state)
{
    const size_t size = (size_t)1 << 20;
    char *text = malloc(size);
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;

    (void)state;
    memset(text, 'k', size);
    memcpy(text, "<ListBucketResult><Key>", 23);
    assert_int_equal(list(text, size, &found, &page), SHEAF_ERR_LIMIT);
    s3_xml_page_free(&page);
    buf_free(&found);
    free(text);
}

/* Tests that no prefix of a response is accepted, and that no damaged byte does harm. */
static void test_damaged_lists(void **state)
{
    struct buf found = BUF_INIT(10000);
    struct s3_xml_page page;
    char damaged[sizeof(whole)];

    (void)state;
    for (size_t size = 0; size < sizeof(whole) - 1; size++) {
        assert_int_equal(list(whole, size, &found, &page), SHEAF_ERR_CORRUPT);
        s3_xml_page_free(&page);
    }
    for (size_t i = 0; i < sizeof(whole) - 1; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(damaged, whole, sizeof(whole));
            damaged[i] ^= (char)(1 << bit);
            (void)list(damaged, sizeof(whole) - 1, &found, &page);
            s3_xml_page_free(&page);
        }
    buf_free(&found);
}

static int stop(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    (void)entry, (void)err;
    ++*(unsigned *)context;
    return 42;
}

static void test_stop(void **state)
{
    struct s3_xml_page page;
    unsigned calls = 0;

    (void)state;
    assert_int_equal(s3_xml_page(whole, strlen(whole), &page, &error), SHEAF_OK);
    assert_int_equal(s3_xml_entries(whole, strlen(whole), &page, stop, &calls, &error), 42);
    assert_int_equal(calls, 1);
    s3_xml_page_free(&page);
}

/* ---- Uploads and credentials ----------------------------------------------------------------- */

static void test_upload_id(void **state)
{
    static const char good[] = "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key>"
        "<UploadId>VXBsb2FkIElE&amp;x</UploadId></InitiateMultipartUploadResult>";
    static const char rclone[] = "<InitiateMultipartUpload><UploadId>7</UploadId>"
        "</InitiateMultipartUpload>";
    static const char *const bad[] = { "<Error><UploadId>1</UploadId></Error>",
        "<InitiateMultipartUploadResult/>",
        "<InitiateMultipartUploadResult><UploadId/></InitiateMultipartUploadResult>" };
    char *id;

    (void)state;
    assert_int_equal(s3_xml_upload_id(good, strlen(good), &id, &error), SHEAF_OK);
    assert_string_equal(id, "VXBsb2FkIElE&x");
    free(id);
    assert_int_equal(s3_xml_upload_id(rclone, strlen(rclone), &id, &error), SHEAF_OK);
    assert_string_equal(id, "7");
    free(id);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(s3_xml_upload_id(bad[i], strlen(bad[i]), &id, &error),
                         SHEAF_ERR_CORRUPT);
        assert_null(id);
    }
}

static void test_completed(void **state)
{
    static const char good[] = "  \n <?xml version=\"1.0\"?>\n <CompleteMultipartUploadResult>"
        "<Location>x</Location><ETag>"
        "&quot;3858f62230ac3c915f300c664312c11f-9&quot;</ETag><ChecksumCRC32C>AAAAAA==-9"
        "</ChecksumCRC32C></CompleteMultipartUploadResult>";

    (void)state;
    assert_int_equal(s3_xml_completed(good, strlen(good), &error), SHEAF_OK);
    assert_int_equal(s3_xml_completed("<Other/>", 8, &error), SHEAF_ERR_CORRUPT);
    assert_int_equal(s3_xml_completed("   ", 3, &error), SHEAF_ERR_CORRUPT);
    assert_int_equal(s3_xml_completed("", 0, &error), SHEAF_ERR_CORRUPT);
    for (size_t size = 0; size < sizeof(good) - 1; size++)
        assert_int_equal(s3_xml_completed(good, size, &error), SHEAF_ERR_CORRUPT);
}

static void test_credentials(void **state)
{
    static const char good[] = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/\">"
        "<AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>se/c"
        "</SecretAccessKey><SessionToken>to+k==</SessionToken><Expiration>2026-11-20T21:00:00Z"
        "</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
    static const char bad[] = "<A><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>"
        "my-secret</SecretAccessKey></Credentials></A>";
    struct s3_xml_credentials out;

    (void)state;
    assert_int_equal(s3_xml_credentials(good, strlen(good), &out, &error), SHEAF_OK);
    assert_string_equal(out.access_key_id, "ASIA");
    assert_string_equal(out.secret_access_key, "se/c");
    assert_string_equal(out.session_token, "to+k==");
    assert_string_equal(out.expiration, "2026-11-20T21:00:00Z");
    s3_xml_credentials_free(&out);
    assert_int_equal(s3_xml_credentials(bad, strlen(bad), &out, &error), SHEAF_ERR_CORRUPT);
    assert_non_null(strstr(error.message, "SessionToken"));
    assert_null(strstr(error.message, "my-secret"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_no_errors),
        cmocka_unit_test(test_long_values),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_list_plain),
        cmocka_unit_test(test_list_uploads),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_vast_value),
        cmocka_unit_test(test_damaged_lists),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_upload_id),
        cmocka_unit_test(test_completed),
        cmocka_unit_test(test_credentials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
