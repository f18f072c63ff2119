/* SPDX-License-Identifier: MIT
 *
 * Aborts incomplete uploads that earlier runs of Sheaf have left in a directory. A listing of
 * uploads has only their keys and ids, so uploads of Sheaf are recognised by their keys.
 *
 * Some stores (MinIO) list uploads only if the prefix is a whole key. So if the listing is empty, a
 * test upload shows whether this store can list the uploads of a directory.
 *
 * If there are no uploads, some stores answer 404 instead of an empty listing. This response has
 * the error NoSuchUpload (gofakes3, rclone) or no text.
 *
 * A store that cannot list uploads at all answers 400, 404, 405 or 501, or sends a success with an
 * empty text. No uploads are aborted in such a store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "store/s3/s3_ops.h"
#include "store/s3/s3_pages.h"
#include "store/s3/s3_upload.h"

#define ROUNDS_MOST 4
#define PAGES_MOST 10000
#define PROBE_NAME ".sheaf-probe"       /* name of an upload that is aborted at once */

struct upload {
    char *key, *id;
};

/* The state of a search in a listing of uploads. It contains the uploads that were found and must
 * be aborted. */
struct cleaning {
    const struct s3_bucket *bucket;
    const char *prefix;
    size_t directory_size;          /* length of the prefix; the name follows it */
    store_is_ours_fn *is_ours;      /* NULL selects only the key that equals the prefix */
    const void *context;
    struct upload *uploads;
    size_t count, capacity;
    uint64_t seen;                  /* entries of all pages */
};

static void s3_clean_forget(struct cleaning *c)
{
    while (c->count != 0) {
        c->count--;
        free(c->uploads[c->count].key);
        free(c->uploads[c->count].id);
    }
}

static bool s3_clean_is_wanted(const struct cleaning *c, const char *key)
{
    if (strncmp(key, c->prefix, strlen(c->prefix)) != 0)
        return false;
    if (c->is_ours == NULL)
        return strcmp(key, c->prefix) == 0;
    key += c->directory_size;
    return strcmp(key, PROBE_NAME) == 0 || c->is_ours(c->context, key);     /* a killed run's */
}

static int s3_clean_keep_entry(void *context, struct s3_xml_entry *entry, struct sheaf_error *err)
{
    struct cleaning *c = context;
    struct upload *u;

    c->seen += entry->upload_id != NULL;
    if (entry->upload_id == NULL || !s3_clean_is_wanted(c, entry->key))
        return SHEAF_OK;
    if (c->count == c->capacity) {
        const size_t capacity = MAX(2 * c->capacity, (size_t)64);

        u = reallocarray(c->uploads, capacity, sizeof(*u));
        if (u == NULL)
            return err_memory(err, capacity * sizeof(*u));
        c->uploads = u;
        c->capacity = capacity;
    }
    u = &c->uploads[c->count++];
    *u = (struct upload){ strdup(entry->key), strdup(entry->upload_id) };
    return u->key == NULL || u->id == NULL ? err_memory(err, 64) : SHEAF_OK;
}

/* Returns whether a failed request shows that the store has no list of uploads. */
static bool has_no_list(int code, const struct s3_xml_page *page)
{
    if (page->status == 400)
        return page->reason[0] == '\0' || strcmp(page->reason, "InvalidRequest") == 0 ||
               strcmp(page->reason, "InvalidArgument") == 0;
    return code == SHEAF_ERR_UNSUPPORTED ||
           (code == SHEAF_ERR_NOT_FOUND && strcmp(page->reason, "NoSuchBucket") != 0);
}

/* Reads the whole listing of uploads. Does not ask for percent-encoded keys, because radosgw would
 * encode them without saying so in its response. */
static int list_uploads(struct cleaning *c, struct sheaf_error *err)
{
    struct s3_xml_page page = { 0 }, next;
    bool more = true;
    int code = SHEAF_OK;

    s3_clean_forget(c);
    c->seen = 0;
    for (unsigned pages = 0; code == SHEAF_OK && more; pages++) {
        struct sigv4_pair query[5] = { { "uploads", "" }, { "prefix", c->prefix } };
        size_t count = 2;

        if (c->is_ours != NULL)
            query[count++] = (struct sigv4_pair){ "delimiter", "/" };
        if (page.key_marker != NULL)
            query[count++] = (struct sigv4_pair){ "key-marker", page.key_marker };
        if (page.key_marker != NULL && page.id_marker != NULL)
            query[count++] = (struct sigv4_pair){ "upload-id-marker", page.id_marker };
        code = s3_list_page(c->bucket, c->prefix, query, count, s3_clean_keep_entry, c, &next, err);
        if (has_no_list(code, &next))
            code = SHEAF_OK;
        s3_xml_page_free(&page);
        page = next;
        more = page.is_truncated && page.key_marker != NULL;
        if (code == SHEAF_OK && more && pages == PAGES_MOST)
            code = err_set(err, SHEAF_ERR_CORRUPT, "listing the uploads of s3://%s/%s: it does not "
                           "end", c->bucket->name, c->prefix);
    }
    s3_xml_page_free(&page);
    return code;
}

/* Aborts uploads in rounds, until the listing has no upload of Sheaf. In each round, the whole
 * listing is read before its uploads are aborted. Returns an error if there are still uploads after
 * ROUNDS_MOST rounds. */
static int abort_all(struct cleaning *c, struct sheaf_error *err)
{
    int code = list_uploads(c, err);

    for (unsigned round = 1; code == SHEAF_OK && c->count != 0; round++) {
        for (size_t i = 0; i < c->count && code == SHEAF_OK; i++)
            code = s3_upload_abort(c->bucket, c->uploads[i].key, c->uploads[i].id, err);
        if (code == SHEAF_OK && round == ROUNDS_MOST)
            return err_set(err, SHEAF_ERR_NETWORK, "s3://%s/%s: its unfinished upload is still "
                           "there after it was aborted %d times", c->bucket->name,
                           c->uploads[0].key, ROUNDS_MOST);
        if (code == SHEAF_OK)
            code = list_uploads(c, err);
    }
    return code;
}

static void cleaning_free(struct cleaning *c)
{
    s3_clean_forget(c);
    free(c->uploads);
}

/* Aborts all uploads of one key. Asks for the uploads of this key only, because every store can
 * list the uploads of a single key. */
static int clean_key(const struct s3_bucket *bucket, const char *key, struct sheaf_error *err)
{
    struct cleaning c = { .bucket = bucket, .prefix = key };
    const int code = abort_all(&c, err);

    cleaning_free(&c);
    return code;
}

/* Begins a test upload for `key`, and sets *listed to whether the listing of the directory then
 * contains an upload. Then tries to abort the test upload. */
static int probe_listing(const struct cleaning *c, const char *key, bool *listed,
                         struct sheaf_error *err)
{
    struct cleaning seen = { .bucket = c->bucket, .prefix = c->prefix, .is_ours = c->is_ours,
                             .directory_size = c->directory_size, .context = c->context };
    struct s3_proving proving = { .checksum = NULL };
    char *id = NULL, mark[S3_MARK_SIZE];
    int code = s3_upload_begin(c->bucket, key, &proving, &id, mark, err), ended;

    if (code == SHEAF_OK) {
        code = list_uploads(&seen, err);
        *listed = seen.seen != 0;
        ended = s3_upload_abort(c->bucket, key, id, code == SHEAF_OK ? err : NULL);
        code = code == SHEAF_OK ? ended : code;
    }
    cleaning_free(&seen);
    free(id);
    return code;
}

/* Makes the test upload, and sets *listed to whether the store can list the uploads of a directory.
 * Afterwards aborts all uploads of the test's key. To abort only the test upload would not be
 * enough: its id is unknown if the response was lost, and an earlier test may have left an upload.
 * If the server no longer answers, the uploads stay until the next run removes them. */
static int probe(const struct cleaning *c, bool *listed, struct sheaf_error *err)
{
    char *key;
    int code, ended;

    if (asprintf(&key, "%s" PROBE_NAME, c->prefix) < 0)
        return err_memory(err, strlen(c->prefix));
    code = probe_listing(c, key, listed, err);
    if (code != SHEAF_ERR_NETWORK && code != SHEAF_ERR_INTERRUPTED) {
        ended = clean_key(c->bucket, key, code == SHEAF_OK ? err : NULL);
        code = code == SHEAF_OK ? ended : code;
    }
    free(key);
    return code;
}

/* Aborts uploads for names directly in the directory `url`. Uploads for names in subdirectories
 * stay, because other programs may still be writing them. */
int s3_clean(const char *url, store_is_ours_fn *is_ours, const void *context, bool *by_name,
             struct sheaf_error *err)
{
    struct cleaning c = { .is_ours = is_ours, .context = context };
    char *prefix = NULL;
    bool listed = true;
    int code = s3_locate_directory(url, &c.bucket, &prefix, err);

    if (code == SHEAF_OK) {
        c.prefix = prefix;
        c.directory_size = strlen(prefix);
        code = abort_all(&c, err);
    }
    if (code == SHEAF_OK && c.seen == 0 && by_name != NULL)
        code = probe(&c, &listed, err);
    if (by_name != NULL)
        *by_name = !listed;
    cleaning_free(&c);
    free(prefix);
    return code;
}

int s3_clean_object(const char *url, struct sheaf_error *err)
{
    const struct s3_bucket *bucket;
    char *key = NULL;
    int code = s3_locate(url, &bucket, &key, err);

    if (code == SHEAF_OK)
        code = clean_key(bucket, key, err);
    free(key);
    return code;
}
