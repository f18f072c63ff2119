/* SPDX-License-Identifier: MIT
 *
 * Reads the pages of a listing, and detects a listing that never ends. A faulty server may return
 * the same page again and again, with the same token or with new ones. So the first key is
 * remembered at page 1, 2, 4, 8 and so on. If the pages repeat in a cycle of any length, the
 * remembered key occurs again. (Ascending keys cannot be required, because directory buckets and
 * some compatible stores list in an order of their own.) */
#ifndef STORE_S3_S3_PAGES_H
#define STORE_S3_S3_PAGES_H

#include "store/s3/s3.h"
#include "store/s3/s3_xml.h"

/* Zeroed before the first page. */
struct s3_pages {
    uint64_t count;             /* pages so far */
    unsigned empty;             /* number of consecutive pages without an entry */
    /* first key of page number `kept` (counted from 1); or NULL */
    char *key;
    uint64_t kept;
};

/* Returns SHEAF_ERR_CORRUPT, because a listing of `prefix` has a key that does not begin with
 * `prefix`. (s3_list.c) */
int s3_list_stray(const char *prefix, const char *key, struct sheaf_error *err);

/* A request for a page of a listing, and the values in its response. Both must be freed. */
struct s3_page_request {
    struct request base;        /* the first member */
    struct s3_xml_page page;
};
/* Initialises a request for a page of a listing. `prefix` is named in messages only; `query` must
 * be complete. (s3_list.c) */
int s3_page_init(struct s3_page_request *request, const struct s3_bucket *bucket,
                 const char *prefix, struct sigv4_pair *query, size_t count,
                 struct sheaf_error *err);
/* Calls `each` for the entries of the response. (s3_list.c) */
int s3_page_entries(struct s3_page_request *request, s3_xml_entry_fn *each, void *context,
                    struct sheaf_error *err);

/* Requests one page of a listing and calls `each` for its entries. The page must be freed in any
 * case. (s3_list.c) */
int s3_list_page(const struct s3_bucket *bucket, const char *prefix, struct sigv4_pair *query,
                 size_t count, s3_xml_entry_fn *each, void *context, struct s3_xml_page *page,
                 struct sheaf_error *err);

/* Called for a page after which another one follows. Moves the page's token into *token for the
 * next request. Returns SHEAF_ERR_CORRUPT if the listing makes no progress. `url` is for the
 * message. */
int s3_pages_next(struct s3_pages *pages, struct s3_xml_page *page, const char *url,
                  char **token, struct sheaf_error *err);
void s3_pages_free(struct s3_pages *pages);

#endif
