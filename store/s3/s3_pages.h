/* SPDX-License-Identifier: MIT
 *
 * Counts the pages of a listing, and detects a listing that never ends. A faulty server may return
 * the same pages again and again, with the same token or with other tokens. Therefore the first key
 * of page 1, 2, 4, 8 and so on is remembered. If the pages repeat, the remembered key is found
 * again.
 *
 * A check that keys are in ascending order would not work, because directory buckets and some other
 * stores list in another order. */
#ifndef STORE_S3_S3_PAGES_H
#define STORE_S3_S3_PAGES_H

#include "store/s3/s3.h"
#include "store/s3/s3_xml.h"

/* Must be all zeros before the first page. */
struct s3_pages {
    uint64_t count;             /* pages so far */
    unsigned empty;             /* number of consecutive pages without an entry */
    /* key by which a repeated listing is recognised: the first key of page number `kept` (counted
     * from 1); NULL as long as no key is kept */
    char *key;
    uint64_t kept;
};

/* Sets and returns the error SHEAF_ERR_CORRUPT. The message says that a listing of `prefix` has the
 * key `key`, which does not begin with `prefix`. Implemented in s3_list.c. */
int s3_list_stray(const char *prefix, const char *key, struct sheaf_error *err);

/* A request for one page of a listing, and the values of this page from the response. The caller
 * must free both members. */
struct s3_page_request {
    struct request base;        /* the first member */
    bool is_of_uploads;         /* the listing is of uploads, not of objects */
    struct s3_xml_page page;
};
/* Initialises the request for a page of a listing. `query` has all parameters of the request,
 * including the prefix. `prefix` is only used in messages. Implemented in s3_list.c. */
int s3_page_init(struct s3_page_request *request, const struct s3_bucket *bucket,
                 const char *prefix, struct sigv4_pair *query, size_t count,
                 struct sheaf_error *err);
/* Calls `each` for the entries of the response. (s3_list.c) */
int s3_page_entries(struct s3_page_request *request, s3_xml_entry_fn *each, void *context,
                    struct sheaf_error *err);

/* Requests one page of a listing, and calls `each` for its entries. The caller must free the page
 * even after a failure. Implemented in s3_list.c. */
int s3_list_page(const struct s3_bucket *bucket, const char *prefix, struct sigv4_pair *query,
                 size_t count, s3_xml_entry_fn *each, void *context, struct s3_xml_page *page,
                 struct sheaf_error *err);

/* Prepares the request for the next page: moves the token for the next page from *page to *token.
 * Returns SHEAF_ERR_CORRUPT if the listing repeats its pages without end. `url` is for the error's
 * message. */
int s3_pages_next(struct s3_pages *pages, struct s3_xml_page *page, const char *url,
                  char **token, struct sheaf_error *err);
void s3_pages_free(struct s3_pages *pages);

#endif
