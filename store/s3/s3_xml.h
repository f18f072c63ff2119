/* SPDX-License-Identifier: MIT
 *
 * Reads the few values that Sheaf needs from XML responses of S3 and STS. The functions have no
 * side effects. Responses come from outside, so the nesting, the length of values and the number of
 * entries are limited. XML with a document type is refused, so there can be no entities. Unknown
 * elements are ignored. */
#ifndef STORE_S3_S3_XML_H
#define STORE_S3_S3_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* The values of an <Error> element, which may be inside of an <ErrorResponse> (STS). A missing
 * value is an empty string. */
struct s3_xml_error {
    char code[64];
    char message[320];
    /* the region of the bucket, if the response names it because the request went to another
     * region */
    char region[64];
    char request_time[40], server_time[40];     /* of RequestTimeTooSkewed */
};

/* Parses an <Error> element. Returns SHEAF_END if the text is another element, and
 * SHEAF_ERR_CORRUPT if it is not XML. */
int s3_xml_error(const void *data, size_t size, struct s3_xml_error *out);

/* An entry of a listing: an object, a common prefix of keys (is_prefix), or an incomplete upload
 * (upload_id is set). Entries are passed to a function s3_xml_entry_fn. The strings of an entry are
 * valid until this function returns. If the function returns a value other than 0, parsing ends
 * with this value. */
struct s3_xml_entry {
    char *key;                  /* decoded, if the page says that keys are encoded */
    char *upload_id;            /* of an upload, else NULL */
    /* the ETag of an object as the response has it, or NULL */
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
    /* key of the first entry on the page; NULL if the page has no entries, or if its entries were
     * not parsed yet */
    char *first_key;
    int status;                 /* HTTP status of the response */
    char reason[64];            /* the code of its <Error>, or "" */
};

/* Reads the values that belong to a whole page of a listing, such as the token for the next page.
 * Checks that the text is valid XML to its end. The caller must free the page even after a
 * failure. */
int s3_xml_page(const void *data, size_t size, struct s3_xml_page *page, struct sheaf_error *err);
/* Calls `each` for each entry of a page. s3_xml_page must have read the page before. Stores the key
 * of the first entry in *page. */
int s3_xml_entries(const void *data, size_t size, struct s3_xml_page *page, s3_xml_entry_fn *each,
                   void *context, struct sheaf_error *err);
void s3_xml_page_free(struct s3_xml_page *page);

/* Reads the <UploadId> from the response to CreateMultipartUpload into allocated memory. The name
 * of the root element is not checked. */
int s3_xml_upload_id(const void *data, size_t size, char **id, struct sheaf_error *err);

/* Checks that the root element of a response begins with "CompleteMultipartUpload". The content of
 * the element is ignored, because some stores leave it out. The caller must therefore check the
 * completed object. */
int s3_xml_completed(const void *data, size_t size, struct sheaf_error *err);

/* The <Credentials> element in the response to AssumeRole, AssumeRoleWithWebIdentity or
 * CreateSession. s3_xml_credentials returns SHEAF_ERR_CORRUPT if the access key, the secret key or
 * the session token is missing. The caller must free the strings with s3_xml_credentials_free. */
struct s3_xml_credentials {
    char *access_key_id, *secret_access_key, *session_token;
    char *expiration;           /* "2026-11-20T21:00:00Z", or NULL */
};
int s3_xml_credentials(const void *data, size_t size, struct s3_xml_credentials *out,
                       struct sheaf_error *err);
void s3_xml_credentials_free(struct s3_xml_credentials *out);

#endif
