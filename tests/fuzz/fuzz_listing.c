/* SPDX-License-Identifier: MIT
 *
 * Fuzzes listings of S3 prefixes, as sheaf_fetch and sheaf_feed use them. The input is a page of a
 * listing and, after the byte 0x1e, the content of every object: a manifest whose fingerprint is
 * corrected, a claim, or anything else. The names must come in order, and none may be a name that a
 * packing run uses. Of a data set's directory, only the shards may be listed. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "modes/objects.h"
#include "store/etag.h"
#include "store/s3/s3_xml.h"
#include "store/store.h"
#include "tests/common_seal.h"

#define BUCKET "mem://bucket/"
#define OBJECTS_MOST 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- The bucket ------------------------------------------------------------------------------ */

static struct {
    struct { char *key, *etag; uint64_t bytes; } objects[OBJECTS_MOST];
    size_t count;
    char *content;
    size_t content_size;
} bucket;

static int keep_object(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    (void)context, (void)err;
    if (entry->is_prefix || entry->upload_id != NULL || bucket.count == OBJECTS_MOST)
        return SHEAF_OK;
    bucket.objects[bucket.count].key = strdup(entry->key);
    bucket.objects[bucket.count].etag = entry->etag == NULL ? NULL : strdup(entry->etag);
    bucket.objects[bucket.count++].bytes = entry->bytes;
    return SHEAF_OK;
}

static void fill_bucket(const uint8_t *page, size_t page_size, const uint8_t *content, size_t size)
{
    struct s3_xml_page head;
    char *sealed = memmem(content, size, "\"fingerprint\"", 13) == NULL
                       ? NULL : seal_manifest_text(content, size);

    bucket.content = sealed != NULL ? sealed : memcpy(malloc(size + 1), content, size);
    bucket.content_size = sealed != NULL ? strlen(sealed) : size;
    if (s3_xml_page(page, page_size, &head, NULL) == SHEAF_OK)
        (void)s3_xml_entries(page, page_size, &head, keep_object, NULL, NULL);
    s3_xml_page_free(&head);
}

static void empty_bucket(void)
{
    while (bucket.count != 0) {
        free(bucket.objects[--bucket.count].key);
        free(bucket.objects[bucket.count].etag);
    }
    free(bucket.content);
}

static int bucket_size(const char *url, uint64_t *bytes, struct sheaf_error *err)
{
    for (size_t i = 0; i < bucket.count; i++) {
        if (strcmp(bucket.objects[i].key, url + strlen(BUCKET)) == 0) {
            *bytes = bucket.content_size;
            return SHEAF_OK;
        }
    }
    return err_set(err, SHEAF_ERR_NOT_FOUND, "%s: not found", url);
}

static int bucket_open(const char *url, struct store_object **object, struct sheaf_error *err)
{
    uint64_t bytes;
    const int code = bucket_size(url, &bytes, err);

    if (code != SHEAF_OK)
        return code;
    *object = calloc(1, sizeof(**object));
    **object = (struct store_object){ .ops = store_of_test, .url = strdup(url), .bytes = bytes };
    return SHEAF_OK;
}

static int bucket_read(struct store_object *object, uint64_t offset, void *data, size_t size,
                       struct sheaf_error *err)
{
    if (offset > bucket.content_size || size > bucket.content_size - offset)
        return err_set(err, SHEAF_ERR_TRUNCATED, "%s: ends before", object->url);
    memcpy(data, bucket.content + offset, size);
    return SHEAF_OK;
}

static void bucket_close(struct store_object *object)
{
    free(object->url);
    free(object);
}

static int bucket_walk(const char *url, store_entry_fn *each, void *context,
                       struct sheaf_error *err)
{
    const char *prefix = url + strlen(BUCKET);
    int code = SHEAF_OK;

    (void)err;
    for (size_t i = 0; i < bucket.count && code == SHEAF_OK; i++) {
        const struct store_entry entry = {
            .name = bucket.objects[i].key + strlen(prefix), .bytes = bucket.objects[i].bytes,
            .stamp = etag_stamp(bucket.objects[i].etag), .etag = bucket.objects[i].etag,
        };

        if (strncmp(bucket.objects[i].key, prefix, strlen(prefix)) == 0)
            code = each(context, &entry);
    }
    return code;
}

static const struct store_ops ops = {
    .scheme = "mem", .open = bucket_open, .read = bucket_read, .close = bucket_close,
    .size = bucket_size, .walk = bucket_walk,
};
static void __attribute__((constructor)) set_store(void)
{
    store_of_test = &ops;
}

/* ---- The list -------------------------------------------------------------------------------- */

static void check_list(const struct objects *o)
{
    require(o->count > 0 && o->count <= bucket.count && o->unit_count == o->count);
    for (size_t i = 0; i < o->count; i++) {
        char *url = object_url(o, &o->items[i]);

        require(strncmp(url, BUCKET "in", strlen(BUCKET "in")) == 0);
        require(strstr(url, "/" STORE_PARTIAL "/") == NULL);
        require(i == 0 || strcmp(o->items[i - 1].name, o->items[i].name) <= 0);
        free(url);
    }
}

static void list_prefix(const char *url)
{
    struct watch watch = { .interrupt = NULL };
    struct objects o = { 0 };
    uint64_t left_out;

    if (objects_list(url, NULL, &watch, &o, NULL) == SHEAF_OK) {
        const size_t count = o.count;

        if (o.is_listing)
            check_list(&o);
        (void)objects_refuse_unfinished(&o, url, NULL);
        if (objects_keep_shards(&o, &left_out, NULL) == SHEAF_OK)
            require(o.count + left_out == count);
    }
    objects_free(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0x1e, size);
    const size_t page_size = end == NULL ? size : (size_t)(end - data);

    fill_bucket(data, page_size, data + page_size + (end != NULL),
                size - page_size - (end != NULL));
    list_prefix(BUCKET "in");
    list_prefix(BUCKET "in/");
    empty_bucket();
    return 0;
}
