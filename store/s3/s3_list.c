/* SPDX-License-Identifier: MIT
 *
 * Listing a prefix. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/etag.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_pages.h"
#include "store/s3/s3_xml.h"

#define PAGE_MOST ((size_t)16 << 20)    /* bytes of 1000 keys, each of 1024 bytes, encoded */

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

int s3_list_request(struct request *r, const struct s3_bucket *bucket, const char *prefix,
                    struct sigv4_pair *query, size_t count, struct sheaf_error *err)
{
    int code = s3_request_init(r, bucket, HTTP_GET, "", query, count, "listing", err);
    char *what;

    if (code != SHEAF_OK)
        return code;
    if (asprintf(&what, "%s%s", r->what, prefix) < 0)
        return err_memory(err, strlen(prefix));
    free(r->what);
    r->what = what;
    return SHEAF_OK;
}

int s3_list_page(const struct s3_bucket *bucket, const char *prefix, struct sigv4_pair *query,
                 size_t count, s3_xml_entry_fn *each, void *context, struct s3_xml_page *page,
                 struct sheaf_error *err)
{
    struct request r;
    int code = s3_list_request(&r, bucket, prefix, query, count, err);

    memset(page, 0, sizeof(*page));
    r.http.reply.limit = PAGE_MOST;
    if (code == SHEAF_OK)
        code = request_run(&r, err);
    if (code == SHEAF_OK) {
        code = s3_xml_list(r.http.reply.data, r.http.reply.size, each, context, page, err);
        if (code == SHEAF_ERR_CORRUPT)
            err_prefix(err, "%s: ", r.what);
    }
    request_free(&r);
    return code;
}

/* All pages; `delimiter` NULL for every depth. */
static int list_pages(const struct s3_bucket *bucket, const char *prefix, const char *delimiter,
                      s3_xml_entry_fn *each, void *context, struct sheaf_error *err)
{
    struct s3_pages pages = { 0 };
    char *token = NULL, *url;
    bool more = true;
    int code = SHEAF_OK;

    if (asprintf(&url, "s3://%s/%s", bucket->name, prefix) < 0)
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

struct name {
    char *text;
    uint64_t bytes, stamp;
};

/* Directory buckets list in no order, so all names are collected and sorted. */
struct names {
    const char *prefix;
    size_t prefix_size;
    bool directories;           /* the prefixes below it, and not the objects */
    struct name *items;
    size_t count, capacity;
};

/* The entry's name below the prefix; NULL for what is no plain entry: the prefix itself and other
 * markers of directories, and hidden names. */
static const char *name_below(const struct names *all, const char *key, struct sheaf_error *err)
{
    const char *name = key + all->prefix_size;
    const char *base;

    if (strncmp(key, all->prefix, all->prefix_size) != 0) {
        err_set(err, SHEAF_ERR_CORRUPT, "a listing of \"%s\" has the key \"%.200s\"", all->prefix,
                key);
        return NULL;
    }
    base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    return *base == '\0' || *base == '.' ? "" : name;
}

static int keep_entry(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    struct names *all = context;
    const size_t size = strlen(entry->key);
    struct name *grown;
    const char *name;

    if (entry->is_prefix && size != 0 && entry->key[size - 1] == '/')
        entry->key[size - 1] = '\0';
    name = name_below(all, entry->key, err);
    if (name == NULL)
        return SHEAF_ERR_CORRUPT;
    if (*name == '\0' || entry->is_prefix != all->directories)
        return SHEAF_OK;
    if (all->count == all->capacity) {
        const size_t capacity = MAX(2 * all->capacity, (size_t)64);

        grown = reallocarray(all->items, capacity, sizeof(*grown));
        if (grown == NULL)
            return err_memory(err, capacity * sizeof(*grown));
        all->items = grown;
        all->capacity = capacity;
    }
    all->items[all->count] = (struct name){ strdup(name), entry->bytes,
                                              etag_stamp(entry->etag) };
    if (all->items[all->count].text == NULL)
        return err_memory(err, strlen(name));
    all->count++;
    return SHEAF_OK;
}

static int name_compare(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return strcmp(x->text, y->text);
}

static int list(const char *url, bool directories, store_entry_fn *each, void *context,
                struct sheaf_error *err)
{
    struct names all = { .directories = directories };
    const struct s3_bucket *bucket;
    char *prefix = NULL;
    int code = s3_locate_directory(url, &bucket, &prefix, err);

    if (code == SHEAF_OK) {
        all.prefix = prefix;
        all.prefix_size = strlen(prefix);
        code = list_pages(bucket, prefix, "/", keep_entry, &all, err);
    }
    if (code == SHEAF_OK && all.count != 0)
        qsort(all.items, all.count, sizeof(all.items[0]), name_compare);
    for (size_t i = 0; i < all.count; i++) {
        const struct store_entry entry = { .name = all.items[i].text,
                                           .bytes = all.items[i].bytes,
                                           .stamp = all.items[i].stamp };

        if (code == SHEAF_OK)
            code = each(context, &entry);
        free(all.items[i].text);
    }
    free(all.items);
    free(prefix);
    return code;
}

int s3_list(const char *url, store_entry_fn *each, void *context, struct sheaf_error *err)
{
    return list(url, false, each, context, err);
}

int s3_list_directories(const char *url, store_entry_fn *each, void *context,
                        struct sheaf_error *err)
{
    return list(url, true, each, context, err);
}
