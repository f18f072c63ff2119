/* SPDX-License-Identifier: MIT
 *
 * Reads the few values that Sheaf needs in the XML responses of S3 and STS. The functions have no
 * side effects.
 *
 * Everything in a response comes from outside. The nesting, the length of a value and the number of
 * entries are limited. A document type is refused, and with it entities. Unknown elements are
 * ignored. */
#ifndef STORE_S3_S3_XML_H
#define STORE_S3_S3_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The content of an <Error> element, even if it is inside STS's <ErrorResponse>. Missing values
 * become empty strings. */
struct s3_xml_error {
    char code[64];
    char message[320];
    /* The bucket's region, if the server says that the request went to the wrong one. */
    char region[64];
    char request_time[40], server_time[40];     /* of RequestTimeTooSkewed */
};

/* Returns SHEAF_OK if the text is an <Error> element, SHEAF_END if it is another element, and
 * SHEAF_ERR_CORRUPT if it is not XML. */
int s3_xml_error(const void *data, size_t size, struct s3_xml_error *out);

/* An entry of a listing. It is an object, a common prefix (`is_prefix`, size 0), or an incomplete
 * upload (`upload_id`, size 0). The strings are valid until the function that takes the entry
 * returns. If that function returns nonzero, the parse ends with its result. */
struct s3_xml_entry {
    char *key;                  /* decoded, if the page says that keys are encoded */
    char *upload_id;            /* of an upload, else NULL */
    /* The ETag of an object, as the page has it; or NULL. */
    char *etag;
    char *modified;             /* the same: "2009-10-12T17:50:30.000Z" */
    uint64_t bytes;
    bool is_prefix;
};
typedef int s3_xml_entry_fn(void *context, struct s3_xml_entry *entry, struct sheaf_error *err);

/* A page of ListObjectsV2 or ListMultipartUploads. */
struct s3_xml_page {
    bool is_encoded;            /* keys are percent-encoded in the response (encoding-type=url) */
    bool is_truncated;          /* there are more pages */
    char *token;                /* NextContinuationToken, or NULL; the caller frees it */
    char *key_marker, *id_marker;   /* for uploads: where the next page begins; or NULL */
    /* The key of the first entry on the page. It is NULL until that entry is parsed, and if the
     * page has no entries. */
    char *first_key;
    /* Set if the response was the error NoSuchUpload, by which some servers say that there are
     * no uploads. */
    bool has_no_upload;
};

/* Reads the values that belong to the page as a whole, and checks that the text is valid XML to its
 * end. The caller must free the page even after a failure. */
int s3_xml_page(const void *data, size_t size, struct s3_xml_page *page, struct sheaf_error *err);
/* Calls `each` for each entry of a page that s3_xml_page has read, and records the first entry in
 * *page. */
int s3_xml_entries(const void *data, size_t size, struct s3_xml_page *page, s3_xml_entry_fn *each,
                   void *context, struct sheaf_error *err);
void s3_xml_page_free(struct s3_xml_page *page);

/* Reads the <UploadId> in the response to CreateMultipartUpload into allocated memory. The root
 * element may have any name. */
int s3_xml_upload_id(const void *data, size_t size, char **id, struct sheaf_error *err);

/* Returns SHEAF_OK if the name of the root element begins with "CompleteMultipartUpload". The
 * content of the element is ignored, because some stores leave it out. Instead, the caller must
 * check the completed object. */
int s3_xml_completed(const void *data, size_t size, struct sheaf_error *err);

/* The <Credentials> in the responses to AssumeRole, AssumeRoleWithWebIdentity and CreateSession. If
 * the access key, the secret key or the session token is missing, s3_xml_credentials returns
 * SHEAF_ERR_CORRUPT. The caller frees the strings with s3_xml_credentials_free. */
struct s3_xml_credentials {
    char *access_key_id, *secret_access_key, *session_token;
    char *expiration;           /* "2026-11-20T21:00:00Z", or NULL */
};
int s3_xml_credentials(const void *data, size_t size, struct s3_xml_credentials *out,
                       struct sheaf_error *err);
void s3_xml_credentials_free(struct s3_xml_credentials *out);

#endif
