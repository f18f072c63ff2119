/* SPDX-License-Identifier: MIT
 *
 * S3's and STS's XML replies: the few values in them that are needed.  Pure: text in, values out.
 *
 * Everything in a reply is foreign: its nesting, the length of a value and the number of entries
 * are limited, a document type (and with it entities) is refused, and what is not known is passed
 * over. */
#ifndef STORE_S3_S3_XML_H
#define STORE_S3_S3_XML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* <Error>, also inside STS's <ErrorResponse>.  Empty strings for what is not in it. */
struct s3_xml_error {
    char code[64];
    char message[320];
    char region[64];            /* the bucket's, where the request went to another */
    char request_time[40], server_time[40];     /* of RequestTimeTooSkewed */
};

/* SHEAF_OK if the text is an <Error>, SHEAF_END if it is something else, SHEAF_ERR_CORRUPT if it
 * is no XML. */
int s3_xml_error(const void *data, size_t size, struct s3_xml_error *out);

/* One object of a listing, or one prefix that several have in common (`is_prefix`, size 0), or one
 * upload that was not completed (`upload_id`, size 0).  The strings live as long as the call.  A
 * nonzero return ends the parse and is its result. */
struct s3_xml_entry {
    char *key;                  /* decoded, where the page says that keys are encoded */
    char *upload_id;            /* of an upload, else NULL */
    char *etag;                 /* of an object, as the page has it; or NULL */
    char *modified;             /* the same: "2009-10-12T17:50:30.000Z" */
    uint64_t bytes;
    bool is_prefix;
};
typedef int s3_xml_entry_fn(void *context, struct s3_xml_entry *entry, struct sheaf_error *err);

/* A page of ListObjectsV2 or ListMultipartUploads. */
struct s3_xml_page {
    bool is_encoded;            /* keys are percent-encoded in the reply (encoding-type=url) */
    bool is_truncated;          /* there are more pages */
    char *token;                /* NextContinuationToken, or NULL; the caller frees it */
    char *key_marker, *id_marker;   /* of uploads: where the next page begins; or NULL */
    char *first_key;            /* of the first entry; NULL before it, or if there is none */
    bool has_no_upload;         /* the reply was NoSuchUpload, which some servers mean by "none" */
};

/* The page's own values, and whether it is XML to its end; it must be freed whatever the result. */
int s3_xml_page(const void *data, size_t size, struct s3_xml_page *page, struct sheaf_error *err);
/* Calls `each` for each entry of such a page, and notes the first one. */
int s3_xml_entries(const void *data, size_t size, struct s3_xml_page *page, s3_xml_entry_fn *each,
                   void *context, struct sheaf_error *err);
void s3_xml_page_free(struct s3_xml_page *page);

/* CreateMultipartUpload's <UploadId>, whatever the root is called, in memory of its own. */
int s3_xml_upload_id(const void *data, size_t size, char **id, struct sheaf_error *err);

/* SHEAF_OK if it is a <CompleteMultipartUploadResult>, or what a server calls that: the root's name
 * begins alike.  What it says of the object is left aside: some stores say nothing, and the object
 * itself is asked. */
int s3_xml_completed(const void *data, size_t size, struct sheaf_error *err);

/* The <Credentials> of AssumeRole, AssumeRoleWithWebIdentity and CreateSession.  Any of the first
 * three missing is SHEAF_ERR_CORRUPT; the strings are the caller's. */
struct s3_xml_credentials {
    char *access_key_id, *secret_access_key, *session_token;
    char *expiration;           /* "2026-11-20T21:00:00Z", or NULL */
};
int s3_xml_credentials(const void *data, size_t size, struct s3_xml_credentials *out,
                       struct sheaf_error *err);
void s3_xml_credentials_free(struct s3_xml_credentials *out);

#endif
