/* SPDX-License-Identifier: MIT
 *
 * Listing a prefix. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/etag.h"
#include "store/listing.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_pages.h"
#include "store/s3/s3_xml.h"

#define PAGE_MOST ((size_t)16 << 20)    /* bytes of 1000 encoded keys of 1024 bytes each */

int s3_locate_directory(const char *url, const struct s3_bucket **bucket, char **prefix,
                        struct sheaf_error *err)
{
    char *key;
    int code = s3_locate(url, bucket, &key, err);
    size_t size;

    if (code != SHEAF_OK)
        return code;
    size = strlen(key);
    if (asprintf(prefix, "%s%s", key, size == 0 || key[size - 1] == '/' ? "" : "/") < 0)
        code = err_memory(err, size);
    free(key);
    return code;
}

static int page_check(struct request *r, struct sheaf_error *err)
{
    struct s3_xml_page *page = &((struct s3_page_request *)r)->page;

    s3_xml_page_free(page);     /* of an earlier attempt */
    if (r->http.reply.size == 0 && ((struct s3_page_request *)r)->is_of_uploads)
        return err_set(err, SHEAF_ERR_UNSUPPORTED, "the response to a listing of uploads is empty "
                       "(HTTP status %d)", r->http.status);
    return s3_xml_page(r->http.reply.data, r->http.reply.size, page, err);
}

int s3_page_init(struct s3_page_request *p, const struct s3_bucket *bucket, const char *prefix,
                 struct sigv4_pair *query, size_t count, struct sheaf_error *err)
{
    struct request *r = &p->base;
    const bool is_of_uploads = strcmp(query[0].name, "uploads") == 0;
    int code = s3_request_init(r, bucket, HTTP_GET, "", query, count, "listing", err);
    char *what;

    memset(&p->page, 0, sizeof(p->page));
    p->is_of_uploads = is_of_uploads;
    r->http.reply.limit = PAGE_MOST;
    r->check = page_check;
    if (code != SHEAF_OK)
        return code;
    if (asprintf(&what, "%s%s", r->what, prefix) < 0)
        return err_memory(err, strlen(prefix));
    free(r->what);
    r->what = what;
    return SHEAF_OK;
}

int s3_page_entries(struct s3_page_request *p, s3_xml_entry_fn *each, void *context,
                    struct sheaf_error *err)
{
    const struct buf *text = &p->base.http.reply;
    const int code = s3_xml_entries(text->data, text->size, &p->page, each, context, err);

    if (code == SHEAF_ERR_CORRUPT)
        err_prefix(err, "%s: ", p->base.what);
    return code;
}

int s3_list_page(const struct s3_bucket *bucket, const char *prefix, struct sigv4_pair *query,
                 size_t count, s3_xml_entry_fn *each, void *context, struct s3_xml_page *page,
                 struct sheaf_error *err)
{
    struct s3_page_request p;
    int code = s3_page_init(&p, bucket, prefix, query, count, err);

    if (code == SHEAF_OK)
        code = request_run(&p.base, err);
    if (code == SHEAF_OK)
        code = s3_page_entries(&p, each, context, err);
    aws_error_code(&p.base, p.page.reason);
    p.page.status = p.base.http.status;
    *page = p.page;
    request_free(&p.base);
    return code;
}

int s3_list_stray(const char *prefix, const char *key, struct sheaf_error *err)
{
    return err_set(err, SHEAF_ERR_CORRUPT, "a listing of \"%s\" has the key \"%.200s\": the server "
                   "may not have encoded it, though it was asked to", prefix, key);
}

/* Reads all pages of a listing. If `delimiter` is NULL, also lists keys in subdirectories. */
static int list_pages(const struct s3_bucket *bucket, const char *prefix, const char *delimiter,
                      s3_xml_entry_fn *each, void *context, struct sheaf_error *err)
{
    struct s3_pages pages = { 0 };
    char *token = NULL, *url;
    bool more = true;
    int code = SHEAF_OK;

    if (asprintf(&url, "%s://%s/%s", bucket->scheme, bucket->name, prefix) < 0)
        return err_memory(err, strlen(prefix));
    while (code == SHEAF_OK && more) {
        struct sigv4_pair query[6] = {
            { "list-type", "2" }, { "encoding-type", "url" }, { "prefix", prefix },
        };
        struct s3_xml_page page;
        size_t count = 3;

        if (delimiter != NULL)
            query[count++] = (struct sigv4_pair){ "delimiter", delimiter };
        if (token != NULL)
            query[count++] = (struct sigv4_pair){ "continuation-token", token };
        code = s3_list_page(bucket, prefix, query, count, each, context, &page, err);
        more = page.is_truncated;
        if (code == SHEAF_OK && more)
            code = s3_pages_next(&pages, &page, url, &token, err);
        s3_xml_page_free(&page);
    }
    s3_pages_free(&pages);
    free(token);
    free(url);
    return code;
}

/* ---- Entries --------------------------------------------------------------------------------- */

struct name_listing {
    const char *prefix;
    size_t prefix_size;
    /* whether the listing returns directories (common prefixes of keys) instead of objects */
    bool directories;
    struct listing listing;
};

/* Returns the part of a listed key after the prefix. Returns "" if the key must be skipped, because
 * it is the prefix itself, ends with '/', or has a hidden name. Returns NULL if the key does not
 * begin with the prefix, which is an error. */
static const char *name_below(const struct name_listing *all, const char *key,
                              struct sheaf_error *err)
{
    const char *name = key + all->prefix_size;
    const char *base;

    if (strncmp(key, all->prefix, all->prefix_size) != 0) {
        (void)s3_list_stray(all->prefix, key, err);
        return NULL;
    }
    base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    return *base == '\0' || *base == '.' ? "" : name;
}

static int s3_list_keep_entry(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    struct name_listing *all = context;
    const size_t size = strlen(entry->key);
    struct store_entry found = { .bytes = entry->bytes, .stamp = etag_stamp(entry->etag) };

    if (entry->is_prefix && size != 0 && entry->key[size - 1] == '/')
        entry->key[size - 1] = '\0';
    found.name = name_below(all, entry->key, err);
    if (found.name == NULL)
        return SHEAF_ERR_CORRUPT;
    if (*found.name == '\0' || entry->is_prefix != all->directories)
        return SHEAF_OK;
    return listing_add(&all->listing, &found, err);
}

static int s3_list_do(const char *url, bool directories, store_entry_fn *each, void *context,
                      struct sheaf_error *err)
{
    struct name_listing all = { .directories = directories };
    const struct s3_bucket *bucket;
    char *prefix = NULL;
    int code = s3_locate_directory(url, &bucket, &prefix, err);

    if (code == SHEAF_OK) {
        all.prefix = prefix;
        all.prefix_size = strlen(prefix);
        code = list_pages(bucket, prefix, "/", s3_list_keep_entry, &all, err);
    }
    code = listing_end(&all.listing, code, each, context);
    free(prefix);
    return code;
}

int s3_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    return s3_list_do(url, false, each, context, err);
}

int s3_list_directories(const char *url, store_entry_fn *each, void *context,
                        struct sheaf_error *err)
{
    return s3_list_do(url, true, each, context, err);
}
